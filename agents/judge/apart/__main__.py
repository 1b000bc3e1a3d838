"""The process of an examiner (`agents.judge.apart.serve`)."""

from scentline.streams.memory import collect_seldom


def main() -> None:
    """Serve until the end of standard input."""
    collect_seldom()  # before most is imported: no garbage is among it
    from scentline.agents.judge.apart.serve import serve

    serve()


if __name__ == "__main__":
    main()
