"""Where a crawl stands: the figures that the live view and the summary show."""

import time
from dataclasses import dataclass

from agents.crawl.engine import Engine
from agents.frontier.instant import NewsStanding
from models.harvest import Harvest


@dataclass(frozen=True)
class PredicateStatus:
    """A predicate's figures: ``lift`` is None until a page was explored by chance.

    ``hits_per_request`` are those of the pages that it judged, over all requests of the crawl.
    """

    hits: int
    judged: int
    harvest_rate: float
    hits_per_request: float
    recent_rate: float
    lift: float | None


@dataclass(frozen=True)
class Status:
    """A crawl's figures; ``fetched`` counts over all runs of the crawl, ``run_fetched`` in this one.

    ``requests`` are those for pages that were answered, ``failed`` URLs that brought none. ``refused`` are URLs
    that are no business of the crawl: files that are no pages, what robots.txt forbids.

    ``log_read`` is the part of the log that was read, None while no log is being fed or its size is not known.
    ``news`` is None but in the mode "instant".
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

    def status(self) -> Status:
        """Return where the crawl stands now."""
        engine = self._engine
        totals = engine.frontier.totals()
        closed = totals.judged + totals.failed + totals.refused + totals.moved + totals.trapped
        return Status(
            fetched=totals.judged,
            run_fetched=totals.judged - self._before,
            requests=totals.requests,
            failed=totals.failed,
            refused=totals.refused,
            seconds=time.monotonic() - self._started,
            candidates=totals.discovered - closed,
            in_flight=len(engine.frontier.candidates.flights),
            log_read=engine.log_read if engine.feeding else None,
            predicates={
                name: predicate_status(engine.harvest.whole(name), totals.requests)
                for name in engine.predicates.active
            },
            news=engine.frontier.instant.standing() if engine.frontier.instant is not None else None,
        )


def predicate_status(state: Harvest, requests: int) -> PredicateStatus:
    """Return a predicate's figures, after so many requests."""
    return PredicateStatus(
        hits=state.hits,
        judged=state.pages,
        harvest_rate=state.rate,
        hits_per_request=state.hits / requests if requests else 0.0,
        recent_rate=state.rate_by_pages,
        lift=state.lift,
    )
