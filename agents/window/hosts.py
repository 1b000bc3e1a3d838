"""Hosts as the frontier's rows have them: one by its name, and the first of them in several orders."""

import time
from collections.abc import Callable, Iterator, Mapping
from itertools import islice, starmap
from typing import Any, NamedTuple, TypeVar

import msgspec

from scentline.models.frontier.causes import Cause
from scentline.models.frontier.keys import HOST_PREFIX, PAGE_PREFIX, depth_key, host_key, robots_key
from scentline.models.frontier.rows import DepthRow, FrontierRow, HostRow, PageRow, RobotsRow
from scentline.models.records import RobotsTxt, partition_of
from scentline.streams.logging import printable
from scentline.streams.topics import SIGHTINGS
from scentline.streams.transport.database import TableMissingError
from scentline.streams.transport.journal import Journal

#: Characters that are shown of what strangers wrote.
SHOWN = 300
#: Hosts that are looked at in all, the first of each partition, and at a time.
MOST_HOSTS, HOSTS = 20_000, 100
#: Seconds for which rounds go on after a view, and between the begins of two.
LOOKED_SECONDS, ROUND_SECONDS = 30.0, 5.0
#: By which figures hosts are sorted.
ORDERS = ("name", "pages", "failures", "seconds")
#: The seconds of a host that never answered.
_NEVER = -1.0
#: Lists that are kept until the next hosts are read.
_REMEMBERED = 8

T = TypeVar("T")
_decode = msgspec.msgpack.Decoder(FrontierRow).decode
_decode_host = msgspec.msgpack.Decoder(HostRow).decode


class HostRows:
    """What the frontier knows of hosts, read for each view."""

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


class _Host(NamedTuple):
    """The figures by which a host is sorted, and why fetches of it brought no page."""

    name: str
    pages: int
    failures: int
    seconds: float
    causes: Mapping[str, Cause]


class CauseTotal(NamedTuple):
    """A cause: of how many fetches, on how many hosts, when it came last, and on which host."""

    cause: str
    fetches: int
    hosts: int
    time: float
    host: str


class HostScan:
    """The first `MOST_HOSTS` hosts of a frontier's table, read a piece at a time while they are viewed.

    Round follows on round; lists are as of the last whole one, or as far as the first has come. ``as_of`` is
    when that began, and ``more`` whether there are hosts that were not looked at.
    """

    def __init__(self, journal: Journal, clock: Callable[[], float] = time.time) -> None:
        self.as_of: float | None = None
        self.more = False
        self._journal = journal
        self._clock = clock
        self._until = self._begun = float("-inf")
        self._round: Iterator[None] | None = None
        self._written: int | None = None
        self._hosts: dict[str, _Host] = {}
        self._worked_out: dict[tuple[str, ...], list[Any]] = {}

    def __len__(self) -> int:
        return len(self._hosts)

    def look(self) -> None:
        """Go on with rounds for a while."""
        self._until = self._clock() + LOOKED_SECONDS

    def step(self) -> bool:
        """Read some hosts; return whether there is more to do: not without a viewer or a change."""
        now = self._clock()
        if now >= self._until:
            return False
        if self._round is None:
            if self._journal.written == self._written or now < self._begun + ROUND_SECONDS:
                return False
            self._written, self._begun = self._journal.written, now
            self._round = self._read()
        if next(self._round, self) is self:
            self._round = None
        return True

    def _read(self) -> Iterator[None]:
        try:
            parts = self._journal.table("frontier").values()
        except TableMissingError:
            return
        found, more = {} if self._hosts else self._hosts, False
        for part in parts:
            rest, after = MOST_HOSTS // len(parts), None
            while rows := list(islice(part.scan(HOST_PREFIX, after), min(rest, HOSTS))):
                rest, after = rest - len(rows), rows[-1][0]
                found.update((each.name, each) for each in starmap(_host, rows))
                self._worked_out.clear()
                yield
            more |= rest == 0 and any(True for _ in part.scan(HOST_PREFIX, after))
        self._hosts, self.more, self.as_of = found, more, self._begun
        self._worked_out.clear()

    # looking up

    def names(self, part: str = "", by: str = "name", *, descending: bool = False) -> list[str]:
        """Return the hosts whose names have a part, in one of `ORDERS`, those of equal figures by name."""
        assert by in ORDERS

        def find() -> list[str]:
            found = (each for each in self._hosts.values() if part.lower() in each.name)
            return [each.name for each in sorted(found, key=lambda each: (getattr(each, by), each.name))]

        names = self._once(("names", part, by), find)
        return names[::-1] if descending else names

    def causes(self) -> list[CauseTotal]:
        """Return every cause, the one that came most often first."""

        def find() -> list[CauseTotal]:
            found: dict[str, CauseTotal] = {}
            for each in self._hosts.values():
                for name, cause in each.causes.items():
                    _, fetches, hosts, last, host = found.get(name, (name, 0, 0, -1.0, ""))
                    newest = max((last, host), (cause.time, each.name))
                    found[name] = CauseTotal(name, fetches + cause.count, hosts + 1, *newest)
            return sorted(found.values(), key=lambda each: (-each.fetches, each.cause))

        return self._once(("causes",), find)

    def hosts_of(self, cause: str) -> list[str]:
        """Return the hosts of a cause, those where it came most often first."""

        def find() -> list[str]:
            found = [each for each in self._hosts.values() if cause in each.causes]
            found.sort(key=lambda each: (-each.causes[cause].count, each.name))
            return [each.name for each in found]

        return self._once(("hosts", cause), find)

    def _once(self, key: tuple[str, ...], find: Callable[[], list[T]]) -> list[T]:
        """Return what was found for a key, worked out once for as long as the hosts stay as they are."""
        if key not in self._worked_out:
            if len(self._worked_out) >= _REMEMBERED:
                self._worked_out.clear()
            self._worked_out[key] = find()
        found: list[T] = self._worked_out[key]
        return found


def _host(key: bytes, raw: bytes) -> _Host:
    row = _decode_host(raw)
    seconds = _NEVER if row.waits.mean is None else row.waits.mean
    failures = sum(cause.count for cause in row.causes.values())
    return _Host(key[len(HOST_PREFIX) :].decode(), row.judged, failures, seconds, row.causes)
