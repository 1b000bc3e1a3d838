"""The revisits command: make webs, crawl them by every policy, write and print how fresh each keeps them."""

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from scentline.agents.cli.output import print_table
from scentline_lab.experiment import Cut, Output, spread
from scentline_lab.progress import progress
from scentline_lab.revisits.pictures import draw
from scentline_lab.revisits.policies import Name, policies
from scentline_lab.revisits.web import DAY, crawl, make_web

#: Visits a page, in the mean, before the freshness is measured, and while it is: a part of the curve for each.
LEARNING, MEASURED = 20, 10
#: Visits a page and day, and the part of the changes that the log shows.
VISITS, RECALL = 0.1, 0.5


class Figures(NamedTuple):
    """A policy's freshness once it has learned, in the mean of all webs, the least and most; and by visits."""

    policy: str
    freshness: float
    least: float
    most: float
    curve: tuple[float, ...]


def show(pages: int, seeds: int, processes: int, out: Path | None) -> None:
    """Crawl every web by every policy, write everything into ``out``, and print."""
    output = Output(out, "revisits", ("freshness.csv", "curves.csv", "freshness.png")).prepare()
    found = run(pages, seeds, processes)
    output.write("freshness", ("policy", "freshness", "least", "most"), (each[:4] for each in found))
    points = zip(*(each.curve for each in found), strict=True)
    rows = ((part + 0.5, *point) for part, point in enumerate(points))
    output.write("curves", ("visits_a_page", *Name), rows)
    output.draw("freshness.png", draw, {each.policy: each.curve for each in found}, LEARNING)
    told = ((each.policy, f"{each.freshness:.3f}", f"{each.least:.3f} to {each.most:.3f}") for each in found)
    print_table(("policy", "freshness", "webs"), told)
    output.finish()


def run(pages: int, seeds: int, processes: int) -> list[Figures]:
    """Crawl each of so many webs by every policy."""

    def crawled(job: tuple[Name, int]) -> tuple[tuple[Name, int], list[float]]:
        visits, a_second = pages * (LEARNING + MEASURED), pages * VISITS / DAY
        web = make_web(pages, visits / a_second, RECALL, job[1])
        policy = policies(web, a_second, RECALL)[job[0]]()
        return job, crawl(web, policy, a_second, visits, LEARNING + MEASURED).tolist()

    jobs = [(policy, seed) for seed in range(1, seeds + 1) for policy in Name]
    curves: dict[tuple[Name, int], Sequence[float]] = {}
    with progress(sys.stderr) as bars, Cut() as cut:
        bars.phase("crawl", len(jobs))
        for job, curve in spread(crawled, jobs, processes):
            curves[job] = curve
            bars.advance()
    cut.end("Interrupted: nothing was written.")
    found = []
    for policy in Name:
        own = [curves[job] for job in jobs if job[0] == policy]
        late = [mean(curve[LEARNING:]) for curve in own]
        whole = tuple(map(mean, zip(*own, strict=True)))
        found.append(Figures(policy, mean(late), min(late), max(late), whole))
    return found
