"""The rows of a partition as the frontier sees them, their keys, and lookups."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Protocol, TypeGuard

from scentline.models.facts import Linked
from scentline.models.frontier.linking import ChildrenRow, ParentRow, identifiers_in
from scentline.models.frontier.rows import (
    BesideRow,
    Depth,
    FrontierRow,
    HostRow,
    HubRow,
    MemoRow,
    News,
    PageRow,
    TotalsRow,
    VisitRow,
)
from scentline.models.url import identifier


class Rows(Protocol):
    """One partition of the frontier's table, and what it emits: `streams.inbox.Shard` in a crawl.

    Rows are live objects; `put` announces that one changed.
    """

    partition: int
    origin: tuple[int, int]  #: The origin of the fact that is being absorbed.

    @property
    def place(self) -> str:
        """The inbox message that is being absorbed, as "topic/partition@offset"."""

    def get(self, key: bytes) -> FrontierRow | None:
        """Return a row as it stands."""

    def get_all(self, keys: Iterable[bytes]) -> list[FrontierRow | None]:
        """Return the rows of some keys as they stand."""

    def put(self, key: bytes, row: FrontierRow) -> None:
        """Keep a new or changed row."""

    def put_all(self, rows: Mapping[bytes, FrontierRow]) -> None:
        """Keep new or changed rows."""

    def delete(self, key: bytes) -> None:
        """Remove a row."""

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[tuple[bytes, FrontierRow]]:
        """Yield the rows on disk whose keys start with ``prefix``, in key order, only those ``after`` a key."""

    def staged(self, key: bytes) -> bool:
        """Return whether a row has changes that are not committed yet."""

    def let_go(self, key: bytes) -> None:
        """Drop a decoded row from memory."""

    def let_go_of_excess(self) -> None:
        """Drop decoded rows from memory, while none is in use."""

    def emit(self, topic: str, partition: int, fact: object) -> None:
        """Send a fact to a partition of a topic."""

    def skip(self) -> None:
        """Skip a fact that a replay may emit, so that the facts that follow keep their origins."""

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> None:
        """Send a whole message, one that may be repeated without harm."""


PAGE_PREFIX = b"p"
PARENT_PREFIX = b"g"
CHILDREN_PREFIX = b"e"
BESIDE_PREFIX = b"n"
HOST_PREFIX = b"h"
ROBOTS_PREFIX = b"x"
OWNER_PREFIX = b"o"
ALIKE_PREFIX = b"s"
WAYS_PREFIX = b"v"
HUB_PREFIX = b"u"
VISIT_PREFIX = b"r"
DUE_PREFIX = b"j"
CLICKS_PREFIX = b"k"
MEMO_PREFIX = b"m"
NEWS_KEY = b"w"
TOTALS_KEY = b"t"
START_KEY = b"b"
BLOCK_PREFIX = b"a"
SEGMENT_PREFIX = b"c"


def page_key(url: str) -> bytes:
    """Return the key of a URL's row."""
    return PAGE_PREFIX + identifier(url)


def host_key(host: str) -> bytes:
    """Return the key of a host's row."""
    return HOST_PREFIX + host.encode()


def robots_key(origin: str) -> bytes:
    """Return the key of the row of a site's robots.txt."""
    return ROBOTS_PREFIX + origin.encode()


def owner_key(owner: str) -> bytes:
    """Return the key of the row of an owner of hosts."""
    return OWNER_PREFIX + owner.encode()


def hub_key(url: str) -> bytes:
    """Return the key of a hub's row."""
    return HUB_PREFIX + identifier(url)


def memo_key(url: str) -> bytes:
    """Return the key of the row of a URL's memo."""
    return MEMO_PREFIX + identifier(url)


def memo_of(shard: "Rows", url: str) -> MemoRow:
    """Return the row of a URL's memo, an empty one where there is none."""
    row = shard.get(memo_key(url))
    return row if isinstance(row, MemoRow) else MemoRow()


def referrer_of(shard: "Rows", row: PageRow) -> str:
    """Return a page that links to a URL, empty where none is known."""
    return parents_of(shard, row.parents[:1])[0].url if row.parents else ""


def visit_key(url: str) -> bytes:
    """Return the key of the row of a page that is visited again."""
    return VISIT_PREFIX + identifier(url)


def due_key(time: float, url: str) -> bytes:
    """Return the key of a page that is due at a time, in seconds since the epoch; keys sort by time."""
    return due_before(time) + identifier(url)


def due_before(time: float) -> bytes:
    """Return the bound below which the keys of pages due before a time lie, to the millisecond."""
    return DUE_PREFIX + round(1000 * time).to_bytes(8)


def due_at(key: bytes) -> float:
    """Return when the page of a `due_key` is due."""
    return int.from_bytes(key[len(DUE_PREFIX) :][:8]) / 1000


def segment_key(number: int) -> bytes:
    """Return the key of a segment of counts; keys sort by number."""
    return SEGMENT_PREFIX + number.to_bytes(8)


def block_key(number: int) -> bytes:
    """Return the key of a block of counts."""
    return BLOCK_PREFIX + number.to_bytes(4)


def number_of(key: bytes) -> int:
    """Return the number in the key of a segment or block."""
    return int.from_bytes(key[1:])


def clicks_key(url: str) -> bytes:
    """Return the key of the row of a URL's clicks."""
    return CLICKS_PREFIX + identifier(url)


def ways_prefix(site: str) -> bytes:
    """Return the prefix of the keys of the ways to a site's pages."""
    return WAYS_PREFIX + site.encode() + b"\0"


def ways_key(site: str, url: str) -> bytes:
    """Return the key of the ways to a site's page."""
    return ways_prefix(site) + identifier(url)


def parent_of(shard: Rows, page: bytes) -> ParentRow:
    """Return a linking page's row, an empty one where there is none."""
    return parents_of(shard, (page,))[0]


def parents_of(shard: Rows, pages: Iterable[bytes]) -> list[ParentRow]:
    """Return the rows of linking pages, an empty one where there is none."""
    found = shard.get_all([PARENT_PREFIX + page for page in pages])
    return [row if isinstance(row, ParentRow) else ParentRow() for row in found]


def known_pages(shard: Rows, keys: Collection[bytes]) -> dict[bytes, PageRow]:
    """Return those of the rows of URLs that there are, by their keys."""
    rows = zip(keys, shard.get_all(keys), strict=True)
    return {key: row for key, row in rows if isinstance(row, PageRow)}


def targets_of(shard: Rows, parent: ParentRow) -> dict[bytes, PageRow]:
    """Return the rows of a linking page's targets, by their keys."""
    return known_pages(shard, [PAGE_PREFIX + target for target in identifiers_in(parent.targets)])


def is_first(fact: object, shard: Rows) -> TypeGuard[Linked]:
    """Return whether a fact has the links of a judged page whose row does not have them yet."""
    return isinstance(fact, Linked) and fact.judged and not parent_of(shard, fact.page).linked


def children_of(shard: Rows, page: bytes) -> ChildrenRow:
    """Return the row of a linking page's judged targets, an empty one where there is none."""
    row = shard.get(CHILDREN_PREFIX + page)
    return row if isinstance(row, ChildrenRow) else ChildrenRow()


def beside_of(shard: Rows, page: bytes) -> BesideRow:
    """Return the row of a page beside others, an empty one where there is none."""
    row = shard.get(BESIDE_PREFIX + page)
    return row if isinstance(row, BesideRow) else BesideRow()


def host_of(shard: Rows, name: str) -> HostRow:
    """Return a host's row, a new one where it has none."""
    row = shard.get(host_key(name))
    return row if isinstance(row, HostRow) else HostRow()


def depth_of(shard: Rows, host: str) -> Depth:
    """Return the counts for a host's depth."""
    return host_of(shard, host).depth or Depth()


def put_depth(shard: Rows, host: str, depth: Depth) -> None:
    """Store the counts for a host's depth."""
    row = host_of(shard, host)
    row.depth = depth
    shard.put(host_key(host), row)


def hub_of(shard: Rows, url: str) -> HubRow | None:
    """Return a hub's row, None for a page that is not a hub."""
    row = shard.get(hub_key(url))
    return row if isinstance(row, HubRow) else None


def visit_of(shard: Rows, url: str) -> VisitRow | None:
    """Return the row of a page that is visited again, None for one that is not."""
    row = shard.get(visit_key(url))
    return row if isinstance(row, VisitRow) else None


def news_of(shard: Rows) -> News:
    """Return the partition's state of news."""
    row = shard.get(NEWS_KEY)
    return row.news if isinstance(row, TotalsRow) and row.news is not None else News()


def put_news(shard: Rows, news: News) -> None:
    """Store the partition's state of news."""
    shard.put(NEWS_KEY, TotalsRow(news=news))


def start_of(shard: Rows) -> TotalsRow | None:
    """Return the row to start the partition with, None where it was never stored."""
    row = shard.get(START_KEY)
    return row if isinstance(row, TotalsRow) else None


def totals_of(shard: Rows) -> TotalsRow:
    """Return the partition's totals."""
    row = shard.get(TOTALS_KEY)
    return row if isinstance(row, TotalsRow) else TotalsRow()
