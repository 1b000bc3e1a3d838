"""The process of an examiner (`agents.judge.examiner`)."""

from scentline.streams.memory import collect_seldom


def main() -> None:
    """Serve until the end of standard input."""
    collect_seldom()  # before most is imported: no garbage is among it
    from scentline.agents.judge.examiner import serve

    serve()


if __name__ == "__main__":
    main()
