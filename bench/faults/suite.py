"""Running faults one after the other on one cluster, with a recount after each.

A crawl at rest must show every line, page and candidate counted, and counted once.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import msgspec

from bench.command import COMMAND
from bench.faults.cluster import PATIENCE, Cluster
from bench.faults.faults import Fault
from bench.faults.workers import USER_KEY, WorkerError
from scentline.agents.browse import USER_PREFIX, UserRow
from scentline.agents.observe.logfile import LogFile
from scentline.agents.observe.observer import Observer
from scentline.agents.operate.audit import audit
from scentline.agents.operate.record import users
from scentline.agents.operate.topics import take
from scentline.models.facts import Access
from scentline.streams.settings import Settings
from scentline.streams.transport.journal import Journal

#: Pages that must be judged after a fault for the crawl to work again.
WORKING_PAGES = 10


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
        differences=report.differences + report.behind + report.quarantined,
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


@dataclass(frozen=True)
class Result:
    """What a fault did: times injected, messages and pages of the crawl by then, seconds until it worked."""

    fault: str
    times: int
    seconds: float
    checked: Checked


def run(
    cluster: Cluster, faults: Iterable[tuple[str, Fault]], random: Random, tell: Callable[[str], None]
) -> Iterator[Result]:
    """Feed the log twice at a time and seed the crawl; then do each fault, wait until it works, and recount."""
    with ExitStack() as started:
        feeders = [started.enter_context(_feeder(cluster)) for _ in range(2)]
        yield from _faults(cluster, feeders, faults, random, tell)


def _faults(
    cluster: Cluster,
    feeders: "list[subprocess.Popen[str]]",
    faults: Iterable[tuple[str, Fault]],
    random: Random,
    tell: Callable[[str], None],
) -> Iterator[Result]:
    cluster.seed()
    tell("waiting for the first pages")
    cluster.wait_for_pages(WORKING_PAGES)
    fed = False
    for name, fault in faults:
        cluster.wait_for_pages(random.randint(1, 20))
        tell(name)
        times = fault(cluster, random)
        seconds = cluster.wait_for_pages(WORKING_PAGES)
        if not fed:
            tell("waiting for the feeders")
            for feeder in feeders:
                _finish(feeder)
            fed = True
        tell("recounting")
        cluster.pause()
        checked = check(cluster, lines_fed=True)
        cluster.resume()
        yield Result(name, times, seconds, checked)


@contextmanager
def _feeder(cluster: Cluster) -> Iterator["subprocess.Popen[str]"]:
    """Feed the log as long as the block runs, or to its end."""
    data = cluster.directory / "feeder"  # both know users by the same key
    with subprocess.Popen(  # noqa: S603 - no shell reads it
        [
            *COMMAND, "feed", str(cluster.crawl.log), "--data", str(data), *cluster.options,
            "--set", f"observe.user_key={USER_KEY}",
        ],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=cluster.directory,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def _finish(feeder: "subprocess.Popen[str]") -> None:
    _, said = feeder.communicate(timeout=PATIENCE)
    if feeder.returncode:
        raise WorkerError(f"scentline feed: status {feeder.returncode}: {said[-2000:]}")
