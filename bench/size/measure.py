"""What is measured: a frontier that starts, a crawl that takes up a log. Each is for a process of its own."""

import asyncio
import random
import resource
import time
from pathlib import Path
from typing import NamedTuple

from bench.size.directory import settings
from scentline.agents.observe.observer import Observer
from scentline.agents.worker.crawl import Engine
from scentline.agents.worker.worker import Worker
from scentline.streams.topics import FETCHES
from scentline.streams.transport.embedded import JournalBus

#: Seconds between two looks.
LOOK_SECONDS = 0.01
#: Hosts that the log names, and its lines a second.
HOSTS, RATE = 3_000, 20


class Mark(NamedTuple):
    """What it took to come so far: seconds since the start, CPU seconds, megabytes."""

    seconds: float
    cpu: float
    memory: float

    @classmethod
    def since(cls, begun: float) -> "Mark":
        """Return what it took until now."""
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        return cls(time.perf_counter() - begun, time.process_time(), most)


def start(directory: Path) -> tuple[Mark, Mark]:
    """Start a frontier; return what it took until its first order, and until all is taken up."""
    return asyncio.run(_start(directory))


async def _start(directory: Path) -> tuple[Mark, Mark]:
    begun = time.perf_counter()
    given = settings(directory)
    async with Worker(given, ["frontier"], Observer(given.observe, b"key")) as worker:
        assert isinstance(worker.bus, JournalBus)
        journal = worker.bus.journal
        agent = worker.frontier
        end = journal.end(FETCHES.name, 0)
        worker.begin()
        while journal.end(FETCHES.name, 0) == end:
            await _look(worker)
        first = Mark.since(begun)
        while agent.core.candidates.opening:
            await _look(worker)
        return first, Mark.since(begun)


async def _look(worker: Worker) -> None:
    await asyncio.sleep(LOOK_SECONDS)
    if worker.failure is not None:
        raise worker.failure


def write_log(file: Path, lines: int, users: int) -> None:
    """Write a log in Squid's own format: each line has a URL of its own."""
    chance = random.Random(3)
    with file.open("w", encoding="ascii") as log:
        for line in range(lines):
            user = chance.randrange(users)
            site = int(HOSTS * chance.random() ** 2)
            log.write(
                f"{1_700_000_000 + line / RATE:.3f} 120 10.{user >> 16}.{user >> 8 & 255}.{user & 255} "
                f"TCP_MISS/200 9000 GET http://www.site{site}.org/section-{line % 97}/article-{line}.html - "
                "HIER_DIRECT/192.0.2.1 text/html\n"
            )


def take_up(file: Path, directory: Path) -> Mark:
    """Feed a log to a crawl; return what it took until all of it was taken in."""
    return asyncio.run(_take_up(file, directory))


async def _take_up(file: Path, directory: Path) -> Mark:
    given = settings(directory)
    async with Engine(given, Observer(given.observe, b"key")) as engine:
        begun, before = time.perf_counter(), time.process_time()
        await engine.start_feeding([str(file)])
        while engine.feeding or not await engine.caught_up():
            await _look(engine)
        mark = Mark.since(begun)
        return mark._replace(cpu=mark.cpu - before)
