"""``python -m bench.near``: whether crawls find what the virtual crawls of `evaluate` do, from the same seeds.

Every predicate of a web of docs/evaluation.toml is crawled from several sets of seeds by the learned policy,
with pages in flight as by default and with one at a time, and each crawl has a virtual twin. One at a time
there is no order of answers: what is left are weights that come late, and what only one of the two does. What
pages in flight cost is the difference between twins.
"""

import argparse
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from random import Random
from statistics import mean, median, stdev

from bench.command import crawling, kept, summary
from scentline.agents.judge.judges import load_labels
from scentline.agents.offline.serve import ServerProcess
from scentline.agents.operate.record import judged_pages
from scentline.agents.stored import table_of
from scentline.models.frontier.turns import FEW
from scentline.models.predicate import parse
from scentline.models.trace import Trace
from scentline.streams.settings import Settings
from scentline.streams.transport.journal import Journal
from scentline_lab.evaluate.command import WebSpec, read_webs
from scentline_lab.evaluate.results import lift_curve
from scentline_lab.evaluate.run import read_seeds
from scentline_lab.experiment import Progress
from scentline_lab.reading import Web, load_web
from scentline_lab.simulation.policies import LEARNED, Truth, changed, policies
from scentline_lab.simulation.virtual import Task, Terms, virtual_crawl
from scentline_lab.simulation.words import Hindsight

WEBS = Path(__file__).parents[1] / "docs" / "evaluation.toml"
#: Pages in flight at most: as by default, and one at a time.
IN_FLIGHT = (FEW, 1)


def main() -> None:
    """Parse the command line, crawl, and print lines for each web."""
    parser = argparse.ArgumentParser(prog="bench.near")
    parser.add_argument(
        "--web", action="append", help="a web of docs/evaluation.toml; wikispeedia and docs-held-out"
    )
    parser.add_argument("--budget", type=int, default=200, help="pages of each crawl")
    parser.add_argument("--starts", type=int, default=2, help="sets of seeds for each predicate")
    parser.add_argument("--in-flight", type=int, action="append", help="pages in flight at most; 16 and 1")
    parser.add_argument("--kept", type=Path, help="directory that keeps crawls: a stopped run goes on")
    given = parser.parse_args()
    for name, spec in read_webs(WEBS, given.web or ("wikispeedia", "docs-held-out")).items():
        compare(name, Twins(spec, given.budget, given.kept), given.starts, given.in_flight or IN_FLIGHT)


@dataclass(frozen=True)
class Found:
    """What a crawl found: its pages in their order, those that satisfy, and the requests made."""

    pages: Sequence[str]
    hits: Sequence[bool]
    requests: int


class Twins:
    """Crawls of one web, and virtual ones; without chance, and without the web's log."""

    def __init__(self, spec: WebSpec, budget: int, directory: Path | None) -> None:
        self.spec = spec
        self._kept = directory
        self._budget = budget
        self._predicates = {name: parse(text) for name, text in spec.predicates.items()}
        labels = load_labels(spec.labels) if spec.labels else None
        bars = Progress()
        self._web: Web = load_web(spec.archives, self._predicates, labels, Settings(), 1, bars)

    def seeds(self, start: int) -> list[str]:
        """Return the seeds of a start."""
        sources = read_seeds(self.spec.seed_file) if self.spec.seed_file else sorted(self._web.pages)
        return Random(f"near:{start}").sample(sources, self.spec.seeds)

    def crawl(self, proxy: str, predicate: str, start: int, in_flight: int) -> Found:
        """Crawl through a proxy that serves the web, unless that was kept. Raises CalledProcessError."""
        what = (self.spec.archives, self.spec.predicates[predicate], self.seeds(start), self._budget, in_flight)
        return kept(self._kept, what, Found, lambda: self._crawl(proxy, predicate, start, in_flight))

    def _crawl(self, proxy: str, predicate: str, start: int, in_flight: int) -> Found:
        labels = ["--labels", str(self.spec.labels)] if self.spec.labels else []
        with tempfile.TemporaryDirectory() as directory:
            data = Path(directory) / "data"
            sought = {predicate: self.spec.predicates[predicate]}
            came_to = summary(*crawling(
                proxy, data, self.seeds(start), sought, *labels, "--budget", str(self._budget),
                "--policy", "learned", "--set", "frontier.explore=0",
                "--set", f"frontier.window_max={in_flight}",
            ))  # fmt: skip
            with Journal.open(data / "journal", read_only=True) as journal:
                judged = judged_pages(journal)
        hits = [outcome.verdict[predicate] for outcome in judged.values()]
        return Found(list(judged), hits, came_to["requests"])

    def virtual(self, predicate: str, start: int, in_flight: int) -> Found:
        """Crawl without a network."""
        settings = changed(Settings(), frontier={"explore": 0.0})
        task = Task((), Trace([]), Random(start), self._predicates[predicate].sought)
        crawler, frontier = (
            policies(settings, table_of(settings.learn.table))[LEARNED](task, Truth((), Hindsight({}))),
            settings.frontier,
        )
        terms = Terms(self._budget, window_share=frontier.window_share, window_max=in_flight, seeds_first=False)
        web, seeds = self._web, self.seeds(start)
        asked = virtual_crawl(web.pages, web.hits[predicate], seeds, crawler, terms, texts=web.texts)
        came = [request for request in asked if request.page]
        return Found([request.url for request in came], [request.hit for request in came], len(asked))


def compare(name: str, twins: Twins, starts: int, in_flight: Sequence[int]) -> None:
    """Crawl each predicate from each start, as real and virtual crawls; print how near they are."""
    virtual: dict[int, list[float]] = {}
    with ServerProcess.archive(list(twins.spec.archives)) as server:
        for most in in_flight:
            pairs = list(_pairs(twins, server.url, starts, most))
            virtual[most] = [area(second) for _, second in pairs]
            print(f"{name}, {len(pairs)} crawls, {most} in flight at most: {_line(pairs)}", flush=True)
    first, *others = in_flight
    for other in others:
        changes = [one - more for one, more in zip(virtual[other], virtual[first], strict=True)]
        print(f"{name}, virtual, {other} instead of {first} in flight: {_difference(changes)}", flush=True)


def _pairs(twins: Twins, proxy: str, starts: int, in_flight: int) -> Iterator[tuple[Found, Found]]:
    for predicate in twins.spec.predicates:
        for start in range(1, starts + 1):
            yield (
                twins.crawl(proxy, predicate, start, in_flight),
                twins.virtual(predicate, start, in_flight),
            )


def area(found: Found) -> float:
    """Return the area under the curve of a crawl's hits."""
    return float(lift_curve(found.hits, len(found.hits)).mean())


def _line(pairs: Sequence[tuple[Found, Found]]) -> str:
    crawls, virtual = zip(*pairs, strict=True)
    differences = [area(crawl) - area(twin) for crawl, twin in pairs]
    alike = median(
        sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(crawl.pages, twin.pages, strict=False)))
        for crawl, twin in pairs
    )
    requests = (mean(found.requests / len(found.pages) for found in each) for each in (crawls, virtual))
    return (
        f"area {mean(map(area, crawls)):.3f}, virtual {mean(map(area, virtual)):.3f}, difference "
        f"{_difference(differences)}, of one {mean(map(abs, differences)):.3f}; "
        f"requests a page {' and '.join(f'{number:.2f}' for number in requests)}; "
        f"the first {alike:.0f} pages alike (median)"
    )


def _difference(differences: Sequence[float]) -> str:
    """Return a mean with its 95 % interval."""
    middle, half = mean(differences), 1.96 * stdev(differences) / math.sqrt(len(differences))
    return f"{middle:+.3f} ({middle - half:+.3f} to {middle + half:+.3f})"


if __name__ == "__main__":
    main()
