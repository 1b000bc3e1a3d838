"""The keys of the frontier's rows, and looking rows up by them."""

from scentline.agents.frontier.linking import ChildrenRow, ParentRow
from scentline.agents.frontier.rows import (
    BesideRow,
    DepthRow,
    FrontierShard,
    HubRow,
    LeasedRow,
    NewsRow,
    StartRow,
    TotalsRow,
    VisitRow,
)
from scentline.models.url import identifier
from scentline.streams.configuration import ConfigurationError

PAGE_PREFIX = b"p"
PARENT_PREFIX = b"g"
CHILDREN_PREFIX = b"e"
BESIDE_PREFIX = b"n"
HOST_PREFIX = b"h"
ROBOTS_PREFIX = b"x"
OWNER_PREFIX = b"o"
SPACE_PREFIX = b"s"
WAYS_PREFIX = b"v"
HUB_PREFIX = b"u"
VISIT_PREFIX = b"r"
GROUP_PREFIX = b"q"
DUE_PREFIX = b"j"
DEPTH_PREFIX = b"d"
CLICKS_PREFIX = b"k"
NEWS_KEY = b"w"
TOTALS_KEY = b"t"
LEASED_KEY = b"f"
START_KEY = b"b"
BLOCK_PREFIX = b"a"
SEGMENT_PREFIX = b"c"


def check_release(shard: FrontierShard) -> None:
    """Raise `ConfigurationError` where an earlier release wrote the partition: it has no counts of requests."""
    counted = any(True for prefix in (BLOCK_PREFIX, SEGMENT_PREFIX) for _ in shard.store.scan(prefix))
    if totals_of(shard).requests and not counted:
        raise ConfigurationError(
            "table frontier: an earlier release wrote it, without counts; expected one of this release: finish "
            "the crawl with that release, or begin another in a data directory of its own"
        )


def page_key(url: str) -> bytes:
    """Return the key of a URL's row."""
    return PAGE_PREFIX + identifier(url)


def parent_key(page: bytes) -> bytes:
    """Return the key of a linking page's row, from its identifier."""
    return PARENT_PREFIX + page


def children_key(page: bytes) -> bytes:
    """Return the key of the row of a linking page's judged targets, from its identifier."""
    return CHILDREN_PREFIX + page


def beside_key(page: bytes) -> bytes:
    """Return the key of the row of a page beside others, from its identifier."""
    return BESIDE_PREFIX + page


def host_key(host: str) -> bytes:
    """Return the key of a host's row."""
    return HOST_PREFIX + host.encode()


def robots_key(origin: str) -> bytes:
    """Return the key of the row of a site's robots.txt."""
    return ROBOTS_PREFIX + origin.encode()


def owner_key(owner: str) -> bytes:
    """Return the key of the row of an owner of hosts."""
    return OWNER_PREFIX + owner.encode()


def space_key(space: bytes) -> bytes:
    """Return the key of a space's row, from the identifier of its pattern."""
    return SPACE_PREFIX + space


def hub_key(url: str) -> bytes:
    """Return the key of a hub's row."""
    return HUB_PREFIX + identifier(url)


def visit_key(url: str) -> bytes:
    """Return the key of the row of a page that is visited again."""
    return VISIT_PREFIX + identifier(url)


def due_key(time: float, url: str) -> bytes:
    """Return the key of a page that is due at a time, in seconds since the epoch: in their order."""
    return due_before(time) + identifier(url)


def due_before(time: float) -> bytes:
    """Return what the keys of all pages that are due before a time lie below, to the millisecond."""
    return DUE_PREFIX + round(1000 * time).to_bytes(8)


def due_at(key: bytes) -> float:
    """Return when the page of a key of `due_key` is due."""
    return int.from_bytes(key[len(DUE_PREFIX) :][:8]) / 1000


def group_key(name: str) -> bytes:
    """Return the key of the row of a host, a URL prefix or a URL pattern that pages are visited again of."""
    return GROUP_PREFIX + name.encode()


def segment_key(number: int) -> bytes:
    """Return the key of a segment of counts; they come in the order of their numbers."""
    return SEGMENT_PREFIX + number.to_bytes(8)


def block_key(number: int) -> bytes:
    """Return the key of a block of counts."""
    return BLOCK_PREFIX + number.to_bytes(4)


def number_of(key: bytes) -> int:
    """Return the number of a segment or block that a row's key names."""
    return int.from_bytes(key[1:])


def clicks_key(url: str) -> bytes:
    """Return the key of the row of a URL's clicks."""
    return CLICKS_PREFIX + identifier(url)


def ways_prefix(site: str) -> bytes:
    """Return what the keys of the ways to a site's pages begin with."""
    return WAYS_PREFIX + site.encode() + b"\0"


def ways_key(site: str, url: str) -> bytes:
    """Return the key of the ways to a site's page."""
    return ways_prefix(site) + identifier(url)


def depth_key(host: str) -> bytes:
    """Return the key of what is known of a host's depth."""
    return DEPTH_PREFIX + host.encode()


def parent_of(shard: FrontierShard, page: bytes) -> ParentRow:
    """Return a linking page's row, an empty one where there is none."""
    row = shard.get(parent_key(page))
    return row if isinstance(row, ParentRow) else ParentRow()


def children_of(shard: FrontierShard, page: bytes) -> ChildrenRow:
    """Return the row of a linking page's judged targets, an empty one where there is none."""
    row = shard.get(children_key(page))
    return row if isinstance(row, ChildrenRow) else ChildrenRow()


def beside_of(shard: FrontierShard, page: bytes) -> BesideRow:
    """Return the row of a page beside others, an empty one where there is none."""
    row = shard.get(beside_key(page))
    return row if isinstance(row, BesideRow) else BesideRow()


def depth_of(shard: FrontierShard, host: str) -> DepthRow:
    """Return what is known of a host's depth."""
    row = shard.get(depth_key(host))
    return row if isinstance(row, DepthRow) else DepthRow()


def hub_of(shard: FrontierShard, url: str) -> HubRow | None:
    """Return a hub's row, None for a page that is none."""
    row = shard.get(hub_key(url))
    return row if isinstance(row, HubRow) else None


def visit_of(shard: FrontierShard, url: str) -> VisitRow | None:
    """Return the row of a page that is visited again, None for one that is not."""
    row = shard.get(visit_key(url))
    return row if isinstance(row, VisitRow) else None


def news_of(shard: FrontierShard) -> NewsRow:
    """Return what is known of news in the partition."""
    row = shard.get(NEWS_KEY)
    return row if isinstance(row, NewsRow) else NewsRow()


def leased_of(shard: FrontierShard) -> LeasedRow:
    """Return which pages of the partition are leased."""
    row = shard.get(LEASED_KEY)
    return row if isinstance(row, LeasedRow) else LeasedRow()


def start_of(shard: FrontierShard) -> StartRow | None:
    """Return what to start the partition with, None where that was never noted."""
    row = shard.get(START_KEY)
    return row if isinstance(row, StartRow) else None


def totals_of(shard: FrontierShard) -> TotalsRow:
    """Return the partition's totals."""
    row = shard.get(TOTALS_KEY)
    return row if isinstance(row, TotalsRow) else TotalsRow()
