"""``python -m deploy.manifests``: write every generated file anew."""

from argparse import ArgumentParser

from deploy.manifests.files import DEPLOY, ROOT, files


def main() -> None:
    """Write the files, and name those that changed."""
    parser = ArgumentParser(prog="python -m deploy.manifests", description=__doc__)
    parser.add_argument("--prefix", default="", help="The setting kafka.prefix of this crawl.")
    for name, text in files(parser.parse_args().prefix).items():
        path = DEPLOY / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"written: {path.resolve().relative_to(ROOT)}")


if __name__ == "__main__":
    main()
