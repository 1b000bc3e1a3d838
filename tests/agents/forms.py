"""Facts of the less common forms: of hubs, and of what later predicates say."""

from collections.abc import Iterable

from scentline.models.facts import Fetched, Found, Hub, Linked, Page
from scentline.models.page import Link, Verdict
from scentline.models.url import identifier
from tests.agents.scenarios import ended


def hub(url: str, rate: float, until: float) -> Found:
    return Found(url, hub=Hub(rate, until))


def links(of: str, targets: Iterable[str], time: float, since: float) -> Linked:
    """Return the links of a hub that was visited at a time, and ``since`` before."""
    found = tuple(map(Link, targets))
    return Linked(identifier(of), of, 0, {}, links=found, time=time, visit="links", since=since)


def rejudged(url: str, verdict: Verdict, time: float, words: Iterable[str] = (), subject: str = "") -> Fetched:
    """Return what later predicates say of a page that came at a time."""
    return ended(url, Page(verdict, tuple(words), subject), time, 0, "kept")


def relinked(url: str, verdict: Verdict, time: float, depth: int = 0) -> Linked:
    """Return what those with links of the page hear of that."""
    return Linked(identifier(url), url, depth, verdict, time=time, visit="kept")
