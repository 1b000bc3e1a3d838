"""What became of the predicates' matches, each once, by the time of the visits; also as a feed.

Reader programs subscribe to it (RSS 2.0, https://www.rssboard.org/rss-specification). Titles are plain text,
descriptions HTML: what pages say is escaped in both. It loses what XML 1.0 can't hold (2.2, Characters),
control characters, and those that turn the direction of text (Unicode UAX 9).
"""

import html
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import format_datetime
from hashlib import blake2b
from heapq import merge
from operator import attrgetter
from xml.etree.ElementTree import Element, SubElement, tostring

from scentline.agents.operate.inspect.record import followed, read_change
from scentline.models.published import Change
from scentline.models.records import RecordError
from scentline.streams.settings import Settings
from scentline.streams.topics import CHANGES
from scentline.streams.transport.partition import Entry

#: Changes by which one that comes twice is known. Repeats come soon, where a worker goes on for another one.
REMEMBERED = 100_000


def told(settings: Settings, follow: bool) -> Iterator[Iterator[Change]]:
    """Yield the changes of a crawl, and with ``follow`` those that come, batch by batch, each once.

    Those of a partition are in their order, those of several are by their times. Raises `JournalMissingError`
    without a crawl, `AdminError` where brokers don't answer.
    """
    once = _Once()
    for partitions in followed(settings, CHANGES.name, follow):
        in_order = merge(*map(_changes, partitions), key=attrgetter("time"))
        yield (change for change in in_order if once.new(change))


class _Once:
    """Knows the newest changes: those of equal origin, predicate and kind are one."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, str], None] = {}

    def new(self, change: Change) -> bool:
        key = change.origin, change.predicate, change.kind
        if key in self._seen:
            return False
        if len(self._seen) >= REMEMBERED:
            del self._seen[next(iter(self._seen))]
        self._seen[key] = None
        return True


def _changes(found: Iterable[Entry]) -> Iterator[Change]:
    for entry in found:
        with suppress(RecordError):
            yield read_change(entry.value or b"")


#: The newest changes that a feed holds: readers ask again before so many more have come.
ITEMS = 200
#: Characters of a title, and of an excerpt or a reason.
TITLE, TEXT = 200, 1_000

_UNSHOWN = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
    "|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def feed(title: str, newest: Iterable[Change]) -> bytes:
    """Return a feed of these changes, at most `ITEMS`, in their order."""
    changes = list(newest)[:ITEMS]
    rss = Element("rss", version="2.0")
    channel = SubElement(rss, "channel")
    _say(channel, "title", title)
    # A channel needs the address of a site, and what was crawled has no one.
    _say(channel, "link", _link(changes[0]) if changes else "about:blank")
    _say(channel, "description", "What appeared, changed, left and moved")
    _say(channel, "generator", "Scentline")
    if changes:
        _say(channel, "lastBuildDate", _date(max(change.time for change in changes)))
    for change in changes:
        _item(SubElement(channel, "item"), change)
    text: bytes = tostring(rss, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _item(item: Element, change: Change) -> None:
    _say(item, "title", f"{change.kind.capitalize()}: {(change.title or change.url)[:TITLE]}")
    _say(item, "link", _link(change))
    _say(item, "description", "".join(f"<p>{html.escape(line)}</p>" for line in _description(change)))
    _say(item, "category", change.predicate)
    _say(item, "pubDate", _date(change.time))
    SubElement(item, "guid", isPermaLink="false").text = guid(change)


def guid(change: Change) -> str:
    """Return the name of a change: the same wherever it is told, and of no other change."""
    parts = (change.origin, change.predicate, change.kind, change.url, repr(change.time))
    return "scentline:" + blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


def _link(change: Change) -> str:
    return change.target or change.url


def _description(change: Change) -> Iterable[str]:
    """Yield lines: what the page says, where it went and why, and when it was last otherwise."""
    where = f"{change.url} is at {change.target} now" if change.target else change.reason
    yield from filter(None, (change.excerpt[:TEXT], where[:TEXT]))
    if change.before is not None:
        yield f"The visit before was on {_date(change.before)}"


def _date(time: float) -> str:
    return format_datetime(datetime.fromtimestamp(time, UTC), usegmt=True)


def _say(parent: Element, name: str, text: str) -> None:
    SubElement(parent, name).text = _UNSHOWN.sub("", text)
