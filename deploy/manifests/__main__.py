"""``python -m deploy.manifests``: write every generated file anew."""

from deploy.manifests.files import DEPLOY, files


def main() -> None:
    """Write the files, and name those that changed."""
    for name, text in files().items():
        path = DEPLOY / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"written: deploy/{name}")


if __name__ == "__main__":
    main()
