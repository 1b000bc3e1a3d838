"""Hosts: which are ready, which wait and why, and the results of their requests; and errors by cause.

A single host is read by name; lists cover the first `MOST_HOSTS` of the frontier's table.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec
import zstandard

from scentline.agents.window.reading import Reading
from scentline.agents.window.recent import MOST_LETTERS
from scentline.models.frontier.answers import BOUNDS
from scentline.models.frontier.depth import advised
from scentline.models.frontier.keys import HOST_PREFIX, PAGE_PREFIX, host_key, robots_key
from scentline.models.frontier.politeness import HostClocks, HostState
from scentline.models.frontier.rows import FrontierRow, HostRow, PageRow
from scentline.models.published import HostStanding
from scentline.models.records import Natural, RobotsTxt, partition_of
from scentline.streams.logging import printable
from scentline.streams.transport.journal import Journal

#: Most rows of a list, and most characters shown of a robots.txt.
ROWS, ROBOTS = 50, 20_000
#: Share of the answers within the time that is shown.
MOST_ANSWERS = 0.95
#: Most hosts of a round, the first of each partition, and of a piece.
MOST_HOSTS, HOSTS = 20_000, 50
#: Least seconds between the starts of two rounds.
ROUND_SECONDS = 5.0
#: Most lists cached until the next hosts are read.
_REMEMBERED = 8

T = TypeVar("T")
Name = Annotated[str, msgspec.Meta(max_length=300)]
Part = Annotated[str, msgspec.Meta(max_length=100)]
_decode = msgspec.msgpack.Decoder(FrontierRow).decode
_decode_host = msgspec.msgpack.Decoder(HostRow).decode


# lists


def _failures(row: HostRow) -> int:
    return sum(cause.count for cause in row.causes.values())


#: What hosts are sorted by; one that never answered comes first.
FIGURES: Mapping[str, Callable[[HostRow], float]] = {
    "name": lambda _: 0,
    "pages": lambda row: row.judged,
    "failures": _failures,
    "seconds": lambda row: -1.0 if row.waits.mean is None else row.waits.mean,
}


class CauseTotal(NamedTuple):
    """A cause: how many fetches and hosts it has, and the time and host of the last."""

    cause: str
    fetches: int
    hosts: int
    time: float
    host: str


class Hosts:
    """The hosts of a round, as of a time; with ``more`` there are others."""

    def __init__(self, found: dict[str, HostRow], as_of: float | None = None, *, more: bool = False) -> None:
        self.as_of = as_of
        self.more = more
        self._found = found
        self._lists: dict[tuple[object, ...], list[Any]] = {}

    def __len__(self) -> int:
        return len(self._found)

    def names(self, part: str = "", by: str = "name", *, descending: bool = False) -> list[str]:
        """Return the hosts whose names contain a part, sorted by a field, then by name."""

        def find() -> list[str]:
            found = ((FIGURES[by](row), name) for name, row in self._found.items() if part.lower() in name)
            return [name for _, name in sorted(found, reverse=descending)]

        return self._once((part, by, descending), find)

    def causes(self) -> list[CauseTotal]:
        """Return every cause, the most frequent first."""

        def find() -> list[CauseTotal]:
            found: dict[str, CauseTotal] = {}
            for at, row in self._found.items():
                for name, cause in row.causes.items():
                    _, fetches, hosts, last, host = found.get(name, (name, 0, 0, -1.0, ""))
                    newest = max((last, host), (cause.time, at))
                    found[name] = CauseTotal(name, fetches + cause.count, hosts + 1, *newest)
            return sorted(found.values(), key=lambda each: (-each.fetches, each.cause))

        return self._once(("causes",), find)

    def of_cause(self, cause: str) -> list[str]:
        """Return the hosts with a cause, those with most of it first."""

        def find() -> list[str]:
            rows = self._found.items()
            found = ((-row.causes[cause].count, name) for name, row in rows if cause in row.causes)
            return [name for _, name in sorted(found)]

        return self._once(("hosts", cause), find)

    def _once(self, key: tuple[object, ...], find: Callable[[], list[T]]) -> list[T]:
        key = (len(self._found), *key)  # it grows during the first round
        if key not in self._lists:
            if len(self._lists) >= _REMEMBERED:
                self._lists.clear()
            self._lists[key] = find()
        found: list[T] = self._lists[key]
        return found


def looked_through(journal: Journal, clock: Callable[[], float]) -> Iterator[tuple[Hosts, bool]]:
    """Yield hosts, a piece at a time, and whether there is more to do: round after round, once rows change.

    They are from the last complete round, or from the first so far.
    """
    known = Hosts({})
    while True:
        written, begun, found, more = journal.written, clock(), dict[str, HostRow](), False
        if known.as_of is None:
            known = Hosts(found)
        parts = journal.table("frontier").values()
        for part in parts:
            scanned = part.scan(HOST_PREFIX)
            for number, (key, raw) in enumerate(islice(scanned, MOST_HOSTS // len(parts)), 1):
                row = _decode_host(raw)
                if row.depth is None or row.requests or row.causes:  # else known from users only
                    found[key[len(HOST_PREFIX) :].decode()] = row
                if number % HOSTS == 0:
                    yield known, True
            more |= next(scanned, None) is not None
        known = Hosts(found, begun, more=more)
        yield known, False
        while journal.written == written or clock() < begun + ROUND_SECONDS:
            yield known, False


def _hosts(reading: Reading) -> Hosts:
    return reading.ahead("hosts", lambda: looked_through(reading.journal, lambda: reading.now))


# the rows of hosts


class _Rows:
    """The frontier's rows of some hosts, and a running frontier's answers about them, for one view."""

    def __init__(self, reading: Reading, names: Iterable[str] = ()) -> None:
        self._reading = reading
        self._parts = reading.journal.table("frontier")
        known = [name for name in names if self.host(name) is not None]
        running = reading.standings("", known) if known and reading.running() else []
        self._live = {each.host: each for standing in running for each in standing.looked_at}

    def _get(self, host: str, key: bytes, kind: type[T]) -> T | None:
        raw = self._parts[partition_of(host, len(self._parts))].get(key)
        row = None if raw is None else _decode(raw)
        return row if isinstance(row, kind) else None

    def host(self, name: str) -> HostRow | None:
        """Return a host's row, None if it is unknown."""
        return self._get(name, host_key(name), HostRow)

    def row(self, name: str) -> dict[str, Any]:
        """Return a host's row in a list."""
        row = self.host(name) or HostRow()
        return {
            "host": name,
            **self._standing(name, row.state),
            "pages": row.judged,
            "requests": row.requests + row.again,
            "failures": _failures(row),
            "seconds": row.waits.mean,
            "most": row.waits.within(MOST_ANSWERS),
            "delay": row.state.delay,
            "robots": next((_robots(told) for told in self._told(name)), None),
        }

    def _standing(self, name: str, state: HostState) -> dict[str, object]:
        """Return a host's standing, from its frontier or else from its row."""
        live, fetch = self._live.get(name), self._reading.settings.fetch
        if live is None:
            clocks = HostClocks(fetch.delay_seconds, 1, {name: state}.get, fetch.delay_factor)
            why, until = clocks.wait(name, self._reading.now)
            kind = "unknown" if state == HostState() else "waits" if why else "rests"
            live = HostStanding(name, kind, why, until if why else 0.0)
        candidates = live.candidates if name in self._live else None
        return {"state": live.state, "why": live.why, "until": live.until, "candidates": candidates}

    def whole(self, name: str) -> dict[str, object]:
        """Return all that is known about a host."""
        known = self.host(name)
        row = known or HostRow()
        counted = zip((*BOUNDS, None), row.waits.counts, strict=False)
        causes = sorted(row.causes, key=lambda each: (-row.causes[each].count, each))
        return {
            **self.row(name),
            "known": known is not None,
            "again": row.again,
            "moved": row.moved,
            "server": row.state.server,
            "causes": [self.cause(name, each) for each in causes],
            "times": [{"within": bound, "answers": count} for bound, count in counted if count],
            "robots_txt": [_robots(told) | _text(told) for told in self._told(name)],
            "depth": self._depth(name),
        }

    def _told(self, name: str) -> Iterator[RobotsTxt]:
        """Yield a host's robots.txt of each scheme."""
        for scheme in ("https", "http"):
            row = self._get(name, robots_key(f"{scheme}://{name}"), HostRow)
            if row is not None and row.robots is not None:
                yield row.robots

    def _depth(self, name: str) -> str:
        settings = self._reading.settings.frontier
        row = self.host(name) if settings.depth == "auto" else None
        if row is None or row.depth is None:
            return ""
        found = advised(row.depth, settings)
        if found.depth is None:
            return f"It is crawled to any depth: {found.why}."
        return f"It is crawled to level {found.depth}: that keeps {found.why}."

    def cause(self, name: str, cause: str) -> dict[str, object] | None:
        """Return a cause of a host with an example, None if the host does not have it."""
        row = self.host(name)
        known = None if row is None else row.causes.get(cause)
        if known is None:
            return None
        page = self._get(name, PAGE_PREFIX + known.page, PageRow)
        url, reason = ("", "") if page is None else (page.url, page.reason)
        return {"cause": cause, "fetches": known.count, "time": known.time, "url": url, "reason": reason}


def _robots(found: RobotsTxt) -> dict[str, object]:
    return {name: getattr(found, name) for name in ("url", "time", "until", "error")}


def _text(told: RobotsTxt) -> dict[str, object]:
    """Return the shown text of a robots.txt, and whether it is cut."""
    try:
        with zstandard.ZstdDecompressor().stream_reader(told.text) as reader:
            text = reader.read(ROBOTS + 1).decode(errors="replace") if told.text else ""
    except zstandard.ZstdError:
        text = ""
    lines = (printable(line, ROBOTS) for line in text[:ROBOTS].splitlines())
    return {"text": "\n".join(lines), "cut": len(text) > ROBOTS}


# the screens


class HostsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which hosts to list: with ``find`` in their names, sorted by a figure, from ``offset`` on.

    With a ``host``, show all that is known about it.
    """

    find: Name = ""
    by: Literal["name", "pages", "failures", "seconds"] = "pages"
    descending: bool = True
    offset: Natural = 0
    host: Name = ""


def hosts(reading: Reading, query: HostsQuery) -> dict[str, Any]:
    """Return a list of hosts, or all that is known about one.

    The rows are newer than the figures that selected them, so they are sorted again.
    """
    known = _hosts(reading)
    if query.host:
        return {"host": _Rows(reading, [query.host]).whole(query.host)}
    names = known.names(query.find, query.by, descending=query.descending)
    if not names and _Rows(reading).host(query.find) is not None:
        names = [query.find]  # beyond the hosts of a round
    shown = names[query.offset :][:ROWS]
    found = _Rows(reading, shown)
    rows = [found.row(name) for name in shown]
    if query.by != "name":
        rows.sort(key=lambda row: row[query.by] or 0, reverse=query.descending)
    counts = {"total": len(names), "hosts": len(known), "more": known.more, "as_of": known.as_of}
    return {"rows": rows, "offset": query.offset, **counts}


class ErrorsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which causes and hosts to list, and where each list begins."""

    #: Only causes with this text are listed.
    reason: Part = ""
    #: The hosts of this cause are listed, from ``offset`` on.
    cause: Part = ""
    offset: Natural = 0
    #: So many causes, and kinds of dead letters, are skipped.
    causes: Natural = 0
    letters: Natural = 0


def errors(reading: Reading, query: ErrorsQuery) -> dict[str, Any]:
    """Return why fetches brought no page, the hosts of one cause, and dead letters in groups."""
    known, rows, letters = _hosts(reading), _Rows(reading), reading.lists.letters
    causes = [each for each in known.causes() if query.reason.casefold() in each.cause.casefold()]
    alike = letters.alike()[query.letters :]
    names = known.of_cause(query.cause) if query.cause else []
    listed = ((name, rows.cause(name, query.cause)) for name in names[query.offset :][:ROWS])
    return {
        "causes": [_total(rows, total) for total in causes[query.causes :][:ROWS]],
        "of": len(causes),
        "fetches": sum(total.fetches for total in causes),
        "hosts": [{"host": name} | found for name, found in listed if found is not None],
        "hosts_of": len(names),
        "letters": [each._asdict() for each in alike[:ROWS]],
        "more_letters": len(alike) > ROWS,
        "kept": letters.total(),
        "grouped": MOST_LETTERS,
        "known": len(known),
        "more": known.more,
        "as_of": known.as_of,
    }


def _total(rows: _Rows, total: CauseTotal) -> dict[str, object]:
    example = rows.cause(total.host, total.cause) or {"url": "", "reason": ""}
    return {**total._asdict(), "url": example["url"], "reason": example["reason"]}
