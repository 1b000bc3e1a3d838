"""What a crawl at rest must show: every line, page and candidate counted, and counted once."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench.faults.cluster import Cluster
from scentline.agents.browse import USER_PREFIX, UserRow
from scentline.agents.observe.logfile import LogFile
from scentline.agents.observe.observer import Observer
from scentline.agents.operate.audit import audit
from scentline.agents.operate.record import users
from scentline.agents.operate.topics import take
from scentline.models.facts import Access
from scentline.streams.settings import Settings
from scentline.streams.transport.journal import Journal


@dataclass(frozen=True)
class Checked:
    """The figures of a crawl at rest: pages judged, log lines counted, what is lost, what is counted twice."""

    judged: int
    lines: int
    lost: int
    twice: int
    differences: int
    examples: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether nothing is lost and nothing counted twice."""
        return not (self.lost or self.twice or self.differences)


def check(cluster: Cluster, lines_fed: bool) -> Checked:
    """Recount everything; the crawl must be at rest. ``lines_fed``: the whole log was, and must be counted."""
    data = cluster.directory / "snapshot"
    shutil.rmtree(data, ignore_errors=True)
    settings = cluster.settings.model_copy(update={"data": data})
    take(settings, lambda _: None)
    report = audit(settings)
    counted = sum(row.accesses for row in _users(data))
    expected = accepted(cluster.crawl.log, settings) if lines_fed else counted
    return Checked(
        judged=report.judged,
        lines=counted,
        lost=report.lost + max(0, expected - counted),
        twice=report.judged_twice + max(0, counted - expected),
        differences=report.differences + report.behind,
        examples=tuple(report.examples),
    )


def accepted(log: Path, settings: Settings) -> int:
    """Return how many accesses a log holds that a crawl counts: a line that is there twice counts once."""
    observer = Observer(settings.observe, b"any")
    with LogFile(str(log)) as lines:
        observer.recognise(lines.sample)
        seen = [observer.observe(line) for _, line in lines]
    rows, _ = users((access for access in seen if isinstance(access, Access)), settings.browse.window)
    return sum(row.accesses for row in rows.values())


def _users(data: Path) -> Iterator[UserRow]:
    decode = msgspec.msgpack.Decoder(UserRow).decode
    with Journal.open(data / "journal", read_only=True) as journal:
        for part in journal.table("users").values():
            for _, raw in part.scan(USER_PREFIX):
                yield decode(raw)
