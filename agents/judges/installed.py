"""The judge ``python``: a callable of an installed package, from the entry-point group `scentline.judges`."""

from collections.abc import Callable, Iterable
from importlib.metadata import entry_points

from models.page import Page
from streams.configuration import ConfigurationError

GROUP = "scentline.judges"


def load(name: str) -> Callable[[Page], Iterable[str]]:
    """Return the callable of a name; raises `ConfigurationError` where there is none, or it can't be loaded."""
    found = entry_points(group=GROUP)
    if name not in found.names:
        there = ", ".join(sorted(found.names)) or "none"
        raise ConfigurationError(
            f"judge.python: no installed package offers the judge {name!r}; there are: {there}"
        )
    try:
        judge = found[name].load()
    except Exception as error:
        raise ConfigurationError(f"judge.python: {name} can't be loaded: {error}") from error
    if not callable(judge):
        raise ConfigurationError(f"judge.python: {name} is no callable; expected one that takes a page")
    found_judge: Callable[[Page], Iterable[str]] = judge
    return found_judge
