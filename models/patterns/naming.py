"""The text of a pattern: a URL in which stars stand for what differs."""

from collections.abc import Collection, Mapping
from enum import Enum

from models.patterns.decompose import EXTENSION, LABELS, SEGMENTS, place


class Other(Enum):
    """Stands for the value of a key that is any other than those its siblings have."""

    OTHER = "*"


Decided = Mapping[str, str | Other | None]


def name_of(decided: Decided, varying: Collection[str]) -> str:
    """Return a pattern's text.

    ``decided`` has the value of each key that the pattern decides (None: such a URL has no such key),
    ``varying`` the other keys that its URLs differ in. "*" stands for any other value than those of sibling
    patterns, "**" for what is not told apart here, ".../**" for any number of such segments. A star that a URL
    itself has is written as %2A.

    >>> name_of({"scheme": "http", "host.1": "test", "path.1": "wp", "?id": Other.OTHER}, ["host.2", "path.2"])
    'http://**.test/wp/**?id=*'
    >>> name_of({"scheme": "https", "host.1": "a", "path.1": "b", "extension": "html"}, ["path.2", "path.3"])
    'https://a/b/.../**.html'
    """

    def text(key: str) -> str | None:
        value = decided.get(key)
        if isinstance(value, Other):
            return "*"
        if value is not None:
            return value.replace("*", "%2A")
        return "**" if key in varying else None

    labels = [found for number in range(1, LABELS + 1) if (found := text(f"host.{number}")) is not None]
    port = text("port")
    segments = [found for number in range(1, SEGMENTS + 1) if (found := text(f"path.{number}")) is not None]
    open_end = 0
    while open_end < len(segments) and segments[-1 - open_end] == "**":
        open_end += 1
    if open_end > 1:
        segments[-open_end:] = ["...", "**"]
    extension = text(EXTENSION)
    query = [
        f"{key[1:]}={text(key)}"
        for key in sorted({*decided, *varying}, key=place)
        if key.startswith("?") and text(key) is not None
    ]
    return (
        f"{text('scheme') or '**'}://{'.'.join(reversed(labels))}"
        + (f":{port}" if port is not None else "")
        + "/"
        + "/".join(segments)
        + (f".{extension}" if extension is not None and extension != "**" else "")
        + (f"?{'&'.join(query)}" if query else "")
    )
