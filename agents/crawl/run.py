"""Running a crawl to its end: until it is finished, is interrupted, or can't go on; and where it stands."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from scentline.agents.crawl.engine import Engine
from scentline.agents.frontier.instant import NewsStanding
from scentline.agents.judge.apart.process import ExaminerProcess
from scentline.agents.observe.observer import Observer
from scentline.agents.signals import told_to_end
from scentline.models.frontier.slots import Slots
from scentline.models.harvest import Harvest, Lift
from scentline.streams.settings import Settings


@dataclass(frozen=True)
class PredicateStatus:
    """A predicate's figures: ``lift`` is None while chance might find as much.

    ``hits_per_request`` are those of the pages that it judged, over all requests of the crawl;
    ``hits_per_minute`` those of the last minute of this run, or of all of it while it is shorter.
    """

    hits: int
    judged: int
    harvest_rate: float
    hits_per_request: float
    hits_per_minute: float
    recent_rate: float
    lift: Lift | None


class KeptUp(NamedTuple):
    """How a crawl keeps up: ``revisits`` that were answered over all its runs, ``changes`` told in this one."""

    revisits: int
    changes: int


@dataclass(frozen=True)
class Status:
    """A crawl's figures: ``fetched`` over all its runs, ``run_fetched`` in this one, out of a ``budget`` (0:
    any number).

    ``requests`` were answered, ``failed`` URLs brought no page, ``refused`` ones are not for this crawl.
    ``log_read`` is the part of a log, None where unknown; ``seconds_left`` are by the time or the rate of
    pages. ``news`` is only of the mode "instant", ``kept_up`` where pages are visited again, ``slots`` where
    requests have a delay. The last status has the reason why the crawl ``ended``.
    """

    fetched: int
    run_fetched: int
    requests: int
    failed: int
    refused: int
    seconds: float
    candidates: int
    in_flight: int
    log_read: float | None
    predicates: dict[str, PredicateStatus]
    news: NewsStanding | None = None
    kept_up: KeptUp | None = None
    slots: Slots | None = None
    paused: bool = False
    budget: int = 0
    seconds_left: float | None = None
    refused_seeds: frozenset[str] = frozenset()
    ended: str = ""

    @property
    def pages_per_second(self) -> float:
        """Pages judged a second in this run."""
        return self.run_fetched / self.seconds if self.seconds > 0 else 0.0


class Meter:
    """Takes a running engine's status; it counts from when it was made."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._started = time.monotonic()
        self._before = engine.frontier.totals().judged
        self._hits: deque[tuple[float, dict[str, int]]] = deque()

    def status(self) -> Status:
        """Return where the crawl stands now."""
        engine = self._engine
        totals = engine.frontier.totals()
        seconds = time.monotonic() - self._started
        harvest = {name: engine.harvest.whole(name) for name in engine.predicates.active}
        before, then = self._a_minute_ago(seconds, {name: state.hits for name, state in harvest.items()})
        run_fetched = totals.judged - self._before
        closed = totals.judged + totals.failed + totals.refused + totals.moved + totals.trapped
        return Status(
            fetched=totals.judged,
            run_fetched=run_fetched,
            requests=totals.requests,
            failed=totals.failed,
            refused=totals.refused,
            seconds=seconds,
            candidates=totals.discovered - closed,
            in_flight=len(engine.frontier.candidates.flights),
            log_read=engine.log_read if engine.feeding else None,
            predicates={
                name: predicate_status(
                    state, totals.requests, 60.0 * (state.hits - then.get(name, 0)) / max(1.0, seconds - before)
                )
                for name, state in harvest.items()
            },
            news=engine.frontier.instant.standing() if engine.frontier.instant is not None else None,
            kept_up=KeptUp(totals.revisits, engine.frontier.revisits.changes)
            if engine.frontier.schedule is not None
            else None,
            slots=engine.frontier.slots(),
            paused=engine.frontier.paused,
            budget=engine.frontier.budget.pages,
            seconds_left=self._seconds_left(seconds, run_fetched),
            refused_seeds=engine.frontier.refused_seeds,
        )

    def _seconds_left(self, seconds: float, run_fetched: int) -> float | None:
        settings, budget = self._engine.settings.frontier, self._engine.frontier.budget
        by_time = [settings.time - seconds] if settings.time else []
        by_rate = [(budget.remaining or 0) * seconds / run_fetched] if budget.pages and run_fetched else []
        return max(0.0, min(by_time + by_rate)) if by_time or by_rate else None

    def _a_minute_ago(self, seconds: float, hits: dict[str, int]) -> tuple[float, dict[str, int]]:
        """Note predicates' hits; return those of a minute ago, or of the run's start, and when that was."""
        self._hits.append((seconds, hits))
        while len(self._hits) > 1 and self._hits[1][0] <= seconds - 60.0:
            self._hits.popleft()
        return self._hits[0]


def predicate_status(state: Harvest, requests: int, hits_per_minute: float) -> PredicateStatus:
    """Return a predicate's figures, after so many requests."""
    return PredicateStatus(
        hits=state.hits,
        judged=state.pages,
        harvest_rate=state.rate,
        hits_per_request=state.hits / requests if requests else 0.0,
        hits_per_minute=hits_per_minute,
        recent_rate=state.rate_by_pages,
        lift=state.lift_if_sure,
    )


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

    Ctrl-C (SIGINT) and SIGTERM stop it cleanly: the next run orders again what was in flight.
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
            status = replace(meter.status(), ended=_why(engine, told=told.is_set()))
            report(engine, status)
    if engine.failure is not None:
        raise engine.failure
    return status, told.is_set()


def _why(engine: Engine, *, told: bool) -> str:
    standing = engine.frontier.standing.take(final=True)
    if standing.state == "spent":
        return standing.spent
    if told:
        return "it was stopped, and the same command goes on with it"
    return "nothing is left to fetch" if standing.judged else "no page could be fetched"


def _stop(engine: Engine, told: asyncio.Event) -> None:
    told.set()
    engine.stopped.set()


async def _crawl(
    engine: Engine, meter: Meter, seeds: Sequence[str], logs: Sequence[str], report: Report, follow: bool
) -> None:
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
