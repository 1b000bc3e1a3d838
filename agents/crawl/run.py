"""Running a crawl to its end: until it is finished, is interrupted, or can't go on."""

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress

from agents.crawl.engine import Engine
from agents.crawl.status import Meter, Status
from agents.observation.observer import Observer
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
) -> tuple[Status, bool]:
    """Crawl; return the last status and whether the crawl was interrupted before its end.

    Ctrl-C (SIGINT) and SIGTERM stop it cleanly: what is in flight is ordered again by the next run.
    """
    async with Engine(settings, observer) as engine:
        interrupted = _stop_on_signals(engine)
        await _ready(engine)
        meter = Meter(engine)
        await engine.seed(seeds)
        if logs:
            await engine.start_feeding(logs, follow)
        while not engine.stopped.is_set() and not await engine.finished():
            report(engine, meter.status())
            with suppress(TimeoutError):
                async with asyncio.timeout(REPORT_SECONDS):
                    await _finished(engine)
        if not interrupted and engine.failure is None:
            await engine.settle()
        status = meter.status()
        report(engine, status)
    if engine.failure is not None:
        raise engine.failure
    return status, bool(interrupted)


async def _ready(engine: Engine) -> None:
    while any(len(inbox.shards) < engine.settings.streams.partitions for inbox in engine.inboxes):
        if engine.stopped.is_set():
            return
        await asyncio.sleep(0.01)
    await engine.take_up()


async def _finished(engine: Engine) -> None:
    while not engine.stopped.is_set() and not await engine.finished():
        await asyncio.sleep(0.02)


def _stop_on_signals(engine: Engine) -> list[str]:
    received: list[str] = []

    def stop(name: str) -> None:
        received.append(name)
        engine.stopped.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number.name)
    return received
