"""What a data directory's crawl counts and estimates beside the usual, by its settings, from its beginning."""

from pathlib import Path

from streams.configuration import ConfigurationError
from streams.settings import Settings

#: The file that names the settings that are on; it is not there where none is.
FILE = "extras"
#: Of importance and patterns a combiner has a weight each; what users did is counted for the last two.
LEARN, FRONTIER = ("importance", "patterns"), ("visited_patterns_only",)


def keep_extras(settings: Settings, *, known: bool) -> None:
    """Note in the data directory which are on; ``known`` tells that there is a crawl there.

    Raises `ConfigurationError` where the crawl there has others.
    """
    held, given = kept_extras(settings.data), _given(settings)
    if known and held != given:
        raise ConfigurationError(
            f"{settings.data} holds a crawl with {_text(held)}: "
            f"give one with {_text(given)} a --data of its own"
        )
    if given:
        (settings.data / FILE).write_text("".join(f"{name}\n" for name in sorted(given)), encoding="utf-8")


def kept_extras(data: Path) -> frozenset[str]:
    """Return which are on in the crawl in the directory ``data``."""
    kept = data / FILE
    return frozenset(kept.read_text(encoding="utf-8").split()) if kept.exists() else frozenset()


def with_extras(settings: Settings) -> Settings:
    """Return settings with those that are on in the crawl in their data directory, and no others."""
    held = kept_extras(settings.data)
    learn = settings.learn.model_copy(update={name: name in held for name in LEARN})
    frontier = settings.frontier.model_copy(update={name: name in held for name in FRONTIER})
    return settings.model_copy(update={"learn": learn, "frontier": frontier})


def _given(settings: Settings) -> frozenset[str]:
    used = {
        "importance": settings.importance,
        "patterns": settings.patterns,
        "visited_patterns_only": settings.frontier.visited_patterns_only,
    }
    return frozenset(name for name, given in used.items() if given)


def _text(names: frozenset[str]) -> str:
    found = [f"learn.{name}" for name in LEARN if name in names]
    found += [f"frontier.{name}" for name in FRONTIER if name in names]
    return " and ".join(found) or "neither URL patterns nor importance"
