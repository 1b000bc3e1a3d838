"""The frontier's rows of hosts, read for each view."""

from collections.abc import Iterator, Mapping
from typing import TypeVar

import msgspec

from scentline.agents.frontier.keys import PAGE_PREFIX, depth_key, host_key, robots_key
from scentline.agents.frontier.rows import DepthRow, FrontierRow, HostRow, PageRow, RobotsRow
from scentline.models.frontier.causes import Cause
from scentline.streams.logging import printable
from scentline.streams.records import RobotsTxt
from scentline.streams.topics import SIGHTINGS, partition_of
from scentline.streams.transport.journal import Journal

#: Characters that are shown of what strangers wrote.
SHOWN = 300
T = TypeVar("T")
_decode = msgspec.msgpack.Decoder(FrontierRow).decode


class HostRows:
    """What the frontier knows of hosts."""

    def __init__(self, journal: Journal) -> None:
        self._parts = journal.table("frontier")
        self._partitions = journal.partitions(SIGHTINGS.name)

    def _get(self, host: str, key: bytes, kind: type[T]) -> T | None:
        raw = self._parts[partition_of(host, self._partitions)].get(key)
        row = None if raw is None else _decode(raw)
        return row if isinstance(row, kind) else None

    def host(self, name: str) -> HostRow | None:
        """Return a host's row, None where no fetch of it has ended."""
        return self._get(name, host_key(name), HostRow)

    def depth(self, name: str) -> DepthRow | None:
        """Return how deep users and links go on a host."""
        return self._get(name, depth_key(name), DepthRow)

    def robots(self, name: str) -> Iterator[RobotsTxt]:
        """Yield the robots.txt of a host, of each scheme."""
        for scheme in ("https", "http"):
            row = self._get(name, robots_key(f"{scheme}://{name}"), RobotsRow)
            if row is not None:
                yield row.told

    def causes(self, name: str, causes: Mapping[str, Cause]) -> list[dict[str, object]]:
        """Return why fetches of a host brought no page, what came most often first, each with an example."""
        found = sorted(causes.items(), key=lambda each: (-each[1].count, each[0]))
        return [self._cause(name, *each) for each in found]

    def cause(self, name: str, cause: str) -> dict[str, object] | None:
        """Return the same of one cause, None where the host does not have it."""
        row = self.host(name)
        known = None if row is None else row.causes.get(cause)
        return None if known is None else self._cause(name, cause, known)

    def _cause(self, host: str, cause: str, known: Cause) -> dict[str, object]:
        page = self._get(host, PAGE_PREFIX + known.page, PageRow)
        url, reason = ("", "") if page is None else (printable(page.url, SHOWN), printable(page.reason, SHOWN))
        cause = printable(cause, SHOWN)
        return {"cause": cause, "fetches": known.count, "time": known.time, "url": url, "reason": reason}
