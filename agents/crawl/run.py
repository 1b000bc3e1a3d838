"""Running a crawl to its end: until it is finished, is interrupted, or can't go on."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial

from agents.crawl.engine import Engine
from agents.crawl.status import Meter, Status
from agents.judge.apart.process import ExaminerProcess
from agents.observe.observer import Observer
from agents.signals import told_to_end
from streams.settings import Settings

#: Seconds between two reports of where the crawl stands.
REPORT_SECONDS = 0.5

#: Is shown the engine and where the crawl stands, now and then.
Report = Callable[[Engine, Status], None]


async def run_crawl(
    settings: Settings,
    observer: Observer,
    seeds: Sequence[str],
    logs: Sequence[str],
    report: Report,
    follow: bool = False,
    examiner: ExaminerProcess | None = None,
) -> tuple[Status, bool]:
    """Crawl; return the last status and whether the crawl was interrupted before its end.

    ``examiner`` is as in `Worker`.
    Ctrl-C (SIGINT) and SIGTERM stop it cleanly: what is in flight is ordered again by the next run.
    """
    told = asyncio.Event()
    # It is told to end while the engine stops, too.
    with ExitStack() as heard:
        async with Engine(settings, observer, examiner) as engine:
            heard.enter_context(told_to_end(partial(_stop, engine, told)))
            await _ready(engine)
            meter = Meter(engine)
            await _crawl(engine, meter, seeds, logs, report, follow)
            if not told.is_set() and engine.failure is None:
                await engine.settle()
            status = meter.status()
            report(engine, status)
    if engine.failure is not None:
        raise engine.failure
    return status, told.is_set()


def _stop(engine: Engine, told: asyncio.Event) -> None:
    told.set()
    engine.stopped.set()


async def _crawl(
    engine: Engine, meter: Meter, seeds: Sequence[str], logs: Sequence[str], report: Report, follow: bool
) -> None:
    """Crawl until the crawl is finished or the engine is stopped."""
    await engine.seed(seeds)
    if logs:
        await engine.start_feeding(logs, follow)
    while not engine.stopped.is_set() and not await engine.finished():
        report(engine, meter.status())
        with suppress(TimeoutError):
            async with asyncio.timeout(REPORT_SECONDS):
                await _finished(engine)


async def _ready(engine: Engine) -> None:
    while any(len(inbox.shards) < engine.settings.streams.partitions for inbox in engine.inboxes):
        if engine.stopped.is_set():
            return
        await asyncio.sleep(0.01)
    await engine.take_up()


async def _finished(engine: Engine) -> None:
    while not engine.stopped.is_set() and not await engine.finished():
        await asyncio.sleep(0.02)
