"""Whether a data directory's crawl has depths of its sites: what is counted for them begins with the crawl."""

from pathlib import Path
from typing import Literal

from streams.configuration import ConfigurationError
from streams.settings import Settings

#: The file that says so, and is not there where the crawl has none.
FILE = "depth"


def keep_depth(settings: Settings, *, known: bool) -> None:
    """Note whether the crawl has depths in its data directory; ``known`` tells that there is a crawl there.

    Raises `ConfigurationError` where the crawl there is of the other kind: what users did so far would be
    missing from its counts.
    """
    found, given = kept_depth(settings.data), settings.frontier.depth
    if known and found != given:
        raise ConfigurationError(
            f'{settings.data} holds a crawl with frontier.depth = "{found}": '
            f'give one with "{given}" a --data of its own'
        )
    if given:
        (settings.data / FILE).write_text(f"{given}\n", encoding="utf-8")


def kept_depth(data: Path) -> Literal["", "auto"]:
    """Return the setting frontier.depth of the crawl in the directory ``data``."""
    return "auto" if (data / FILE).exists() else ""
