"""Running faults one after the other on one cluster, with a recount after each."""

import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from random import Random

from bench.command import COMMAND
from bench.faults.check import Checked, check
from bench.faults.cluster import PATIENCE, Cluster
from bench.faults.faults import Fault
from bench.faults.workers import USER_KEY, WorkerError

#: Pages that must be judged after a fault for the crawl to work again.
WORKING_PAGES = 10


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
