"""What the revisits command does: webs made, crawled by every policy, and the freshness that each keeps."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from scentline.agents.progress import progress
from scentline_lab.output import OutputDirectory, rounded, write_table
from scentline_lab.revisits.pictures import draw
from scentline_lab.revisits.policies import (
    LEARNED,
    LEARNED_SIGNALS,
    NUTCH,
    OPTIMUM,
    OPTIMUM_SIGNALS,
    PROPORTIONAL,
    STORMCRAWLER,
    UNIFORM,
    policies,
)
from scentline_lab.revisits.simulation import crawl
from scentline_lab.revisits.web import DAY, make_web
from scentline_lab.spread import spread

POLICIES = (
    UNIFORM, PROPORTIONAL, NUTCH, STORMCRAWLER, OPTIMUM, LEARNED, OPTIMUM_SIGNALS, LEARNED_SIGNALS,
)  # fmt: skip
#: Visits a page, in the mean, before the freshness is measured, and while it is; parts of a curve for each.
LEARNING, MEASURED, PARTS = 20, 10, 1


class Output(OutputDirectory):
    """The output directory of ``scentline revisits``."""

    command = "revisits"
    files = ("freshness.csv", "curves.csv", "freshness.png")


@dataclass(frozen=True)
class Options:
    """What is simulated: ``visits`` a page and day, and the part ``recall`` of changes that shows in the log.

    ``processes`` changes the time it takes and nothing else.
    """

    pages: int = 1000
    visits: float = 0.1
    recall: float = 0.5
    seeds: int = 3
    processes: int = 1


class Job(NamedTuple):
    """One crawl."""

    policy: str
    seed: int


class Figures(NamedTuple):
    """A policy's freshness once it has learned, in the mean of all webs, the least and most; and by visits."""

    policy: str
    freshness: float
    least: float
    most: float
    curve: tuple[float, ...]


def run(options: Options, out: Path | None) -> list[Figures] | None:
    """Crawl every web by every policy, and write everything into ``out``; None when interrupted."""
    output = Output.prepared(out)
    jobs = [Job(policy, seed) for seed in range(1, options.seeds + 1) for policy in POLICIES]
    curves: dict[Job, Sequence[float]] = {}
    try:
        with progress(sys.stderr) as bars:
            bars.phase("crawl", len(jobs))
            for job, curve in spread(_Crawler(options), jobs, options.processes):
                curves[job] = curve
                bars.advance()
    except KeyboardInterrupt:
        sys.stderr.write("\nInterrupted: nothing was written.\n")
        return None
    found = [_figures(policy, [curves[job] for job in jobs if job.policy == policy]) for policy in POLICIES]
    if output is not None:
        _write(output, found)
    return found


class _Crawler:
    """Makes the web of a job and crawls it."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, job: Job) -> tuple[Job, list[float]]:
        options = self._options
        visits = options.pages * (LEARNING + MEASURED)
        a_second = options.pages * options.visits / DAY
        web = make_web(options.pages, visits / a_second, options.recall, job.seed)
        policy = policies(web, a_second, options.recall)[job.policy]()
        return job, crawl(web, policy, a_second, visits, (LEARNING + MEASURED) * PARTS).tolist()


def _figures(policy: str, curves: Sequence[Sequence[float]]) -> Figures:
    late = [mean(curve[LEARNING * PARTS :]) for curve in curves]
    return Figures(policy, mean(late), min(late), max(late), tuple(map(mean, zip(*curves, strict=True))))


def _write(output: Output, found: Sequence[Figures]) -> None:
    rows = [(each.policy, *map(rounded, (each.freshness, each.least, each.most))) for each in found]
    write_table(output.table("freshness"), ("policy", "freshness", "least", "most"), rows)
    points = zip(*(each.curve for each in found), strict=True)
    write_table(
        output.table("curves"),
        ("visits_a_page", *(each.policy for each in found)),
        (((part + 0.5) / PARTS, *map(rounded, point)) for part, point in enumerate(points)),
    )
    draw(output.picture("freshness"), {each.policy: each.curve for each in found}, PARTS, LEARNING)
