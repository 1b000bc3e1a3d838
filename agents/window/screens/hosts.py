"""Hosts: which may be asked, which wait, for how long and why, and what came of the requests to each."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

import msgspec
import zstandard

from scentline.agents.window.hosts import SHOWN, HostRows
from scentline.agents.window.reading import Reading
from scentline.models.frontier.depth import advised
from scentline.models.frontier.politeness import HostClocks, HostState, Wait
from scentline.models.frontier.rows import HostRow
from scentline.models.frontier.waits import BOUNDS
from scentline.models.published import HostStanding
from scentline.models.records import Natural, RobotsTxt
from scentline.streams.logging import printable

#: Rows of a list at most.
ROWS = 50
#: Characters that are shown of a robots.txt.
ROBOTS = 20_000
#: Part of the answers that came within the time that is shown.
MOST_ANSWERS = 0.95

Name = Annotated[str, msgspec.Meta(max_length=300)]


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which hosts are listed: with ``find`` in their names, sorted by a figure, from ``offset`` on.

    With a ``host`` all is shown that is known of that one.
    """

    find: Name = ""
    by: Literal["name", "pages", "failures", "seconds"] = "pages"
    descending: bool = True
    offset: Natural = 0
    host: Name = ""


def view(reading: Reading, query: Query) -> object:
    """Return a list of hosts, or all that is known of one.

    What is said of the hosts is newer than what they were chosen by, and they are sorted by it once more.
    """
    if not reading.begun:
        return {"begun": False}
    scan = reading.lists.hosts
    scan.look()
    if query.host:
        return {"begun": True, "host": _Hosts(reading, [query.host]).whole(query.host)}
    names = scan.names(query.find, query.by, descending=query.descending)
    if not names and HostRows(reading.journal).host(query.find) is not None:
        names = [query.find]  # beyond those that were looked at
    shown = names[query.offset :][:ROWS]
    hosts = _Hosts(reading, shown)
    rows = [hosts.row(name) for name in shown]
    if query.by != "name":
        rows.sort(key=lambda row: row[query.by] or 0, reverse=query.descending)
    return {
        "begun": True,
        "rows": rows,
        "offset": query.offset,
        "total": len(names),
        "hosts": len(scan),
        "more": scan.more,
        "as_of": scan.as_of,
    }


class _Hosts:
    """What is known of some hosts, for one view."""

    def __init__(self, reading: Reading, names: Iterable[str]) -> None:
        self._reading = reading
        self._rows = HostRows(reading.journal)
        self._fetch = reading.settings.fetch
        known = [name for name in names if self._rows.host(name) is not None]
        running = reading.standings("", known) if reading.running() else []
        self._live = {each.host: each for standing in running for each in standing.looked_at}

    def row(self, name: str) -> dict[str, Any]:
        """Return what a list tells of a host."""
        row = self._rows.host(name) or HostRow()
        return {
            "host": printable(name, SHOWN),
            **self._standing(name, row.state),
            "pages": row.judged,
            "requests": row.requests + row.again,
            "failures": sum(cause.count for cause in row.causes.values()),
            "seconds": row.waits.mean,
            "most": row.waits.within(MOST_ANSWERS),
            "delay": row.state.delay,
            "robots": next((_robots(told) for told in self._rows.robots(name)), None),
        }

    def _standing(self, name: str, state: HostState) -> dict[str, object]:
        """Return how a host stands: as its frontier tells, or else by its row."""
        live = self._live.get(name)
        if live is None:
            why, until = self._wait(name, state)
            kind = "unknown" if state == HostState() else "waits" if why else "rests"
            live = HostStanding(name, kind, why, until if why else 0.0)
        candidates = live.candidates if name in self._live else None
        why = printable(live.why, SHOWN)
        return {"state": live.state, "why": why, "until": live.until, "candidates": candidates}

    def _wait(self, name: str, state: HostState) -> Wait:
        fetch = self._fetch
        clocks = HostClocks(fetch.delay_seconds, 1, {name: state}.get, fetch.delay_factor)
        return clocks.wait(name, self._reading.now)

    def whole(self, name: str) -> dict[str, object]:
        """Return all that is known of a host."""
        known = self._rows.host(name)
        row = known or HostRow()
        return {
            **self.row(name),
            "known": known is not None,
            "again": row.again,
            "moved": row.moved,
            "server": printable(row.state.server, SHOWN),
            "causes": self._rows.causes(name, row.causes),
            "times": [{"within": bound, "answers": count} for bound, count in _times(row)],
            "robots_txt": [_robots(told) | _text(told) for told in self._rows.robots(name)],
            "depth": self._depth(name),
        }

    def _depth(self, name: str) -> str:
        settings = self._reading.settings.frontier
        counts = self._rows.depth(name) if settings.depth == "auto" else None
        if counts is None:
            return ""
        found = advised(counts, settings)
        if found.depth is None:
            return f"It is crawled to any depth: {found.why}."
        return f"It is crawled to level {found.depth}: that keeps {found.why}."


def _times(row: HostRow) -> Iterable[tuple[float | None, int]]:
    counted = zip((*BOUNDS, None), row.waits.counts, strict=False)
    return ((bound, count) for bound, count in counted if count)


def _robots(found: RobotsTxt) -> dict[str, object]:
    url, error = printable(found.url, SHOWN), printable(found.error, SHOWN)
    return {"url": url, "time": found.time, "until": found.until, "error": error}


def _text(told: RobotsTxt) -> dict[str, object]:
    """Return the text of a robots.txt, a line after the other, as far as it is shown."""
    try:
        with zstandard.ZstdDecompressor().stream_reader(told.text) as reader:
            text = reader.read(ROBOTS + 1).decode(errors="replace") if told.text else ""
    except zstandard.ZstdError:
        return {"text": [], "cut": False}
    lines = (printable(line, ROBOTS) for line in text[:ROBOTS].splitlines())
    return {"text": "\n".join(lines), "cut": len(text) > ROBOTS}
