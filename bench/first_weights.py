"""``python -m bench.first_weights``: the weights before the first page, out of crawls for what was tuned on.

In the first round every weight is 0, give or take 1; in each further one it is what the crawls of the round
before learned on the mean, give or take how far they differed. What the last round learned stands beside the
weights that a crawl starts with. ``--of failures`` are the weights that foretell that a request fails;
``--compare`` crawls by both once more, from the same seeds.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from scentline.models.page import FAILED
from scentline.models.policy.combiner import Combining, Vector, failing
from scentline.models.policy.inputs import INPUTS, Input
from scentline.models.predicate import parse
from scentline.models.reuse import Learned, State
from scentline.streams.settings import Settings, load
from scentline_lab.evaluate.command import read_webs
from scentline_lab.evaluate.results import Results, paired_bootstrap
from scentline_lab.evaluate.run import Evaluation, prepare
from scentline_lab.evaluate.tables import AREAS
from scentline_lab.experiment import Progress
from scentline_lab.simulation.core import NAME, CoreCrawler
from scentline_lab.simulation.policies import LEARNED, Truth, policies
from scentline_lab.simulation.virtual import Task

#: The webs, beside what was tuned on each.
WEBS = Path(__file__).parents[1] / "docs" / "evaluation.toml"


class Source(NamedTuple):
    """Where weights come from: a web, each predicate's crawls and their pages; and what a crawl starts with."""

    web: str
    starts: int
    pages: int
    inputs: Sequence[Input]


SOURCES = {
    "hits": Source("wikispeedia-tuned", 2, 200, INPUTS),
    "failures": Source("docs", 1, 400, failing(INPUTS)),
}


class School:
    """Makes crawlers with the same ``weights`` at the start, of hits or of ``failures``, and keeps them."""

    def __init__(self, weights: Sequence[Input], failures: bool) -> None:
        names = tuple(entry.name for entry in weights)
        mean = np.array([entry.weight for entry in weights])
        covariance = np.diag([entry.deviation**2 for entry in weights])
        combining = Combining(names, mean.tobytes(), covariance.tobytes())
        self._name = FAILED if failures else NAME
        self._state = State(LEARNED, [Learned(self._name, "", 0.0, 0.0, {}, combining)])
        self._make = policies(Settings())[LEARNED]
        self._crawlers: list[CoreCrawler] = []

    def __call__(self, task: Task, truth: Truth, state: Any = None) -> CoreCrawler:
        """Make one, as a policy's maker does."""
        made = self._make(task, truth, self._state)
        assert isinstance(made, CoreCrawler)
        self._crawlers.append(made)
        return made

    def learned(self, weights: Sequence[Input]) -> list[Input]:
        """Return what they learned: the mean of each weight, and the deviation from crawl to crawl."""
        found = np.array([self._mean(crawler.export_state()) for crawler in self._crawlers])
        means, deviations = found.mean(0).tolist(), found.std(0, ddof=1).tolist()
        return [
            Input(entry.name, mean, deviation)
            for entry, mean, deviation in zip(weights, means, deviations, strict=True)
        ]

    def _mean(self, state: State) -> Vector:
        (combining,) = (each.combining for each in state.learned if each.name == self._name)
        assert combining is not None
        return np.frombuffer(combining.mean)


def main() -> None:
    """Parse the command line, crawl, and print a line an input."""
    parser = argparse.ArgumentParser(prog="bench.first_weights")
    parser.add_argument("--of", choices=tuple(SOURCES), default="hits", help="what the weights foretell")
    parser.add_argument("--rounds", type=int, default=2, help="rounds of crawls, each after another")
    parser.add_argument("--compare", action="store_true", help="crawl by both, and compare what they find")
    given = parser.parse_args()
    source, failures = SOURCES[given.of], given.of == "failures"
    evaluation = prepared(source)
    weights = [Input(entry.name, 0.0, 1.0) for entry in source.inputs]
    for _ in range(given.rounds):
        school = School(weights, failures)
        crawled(evaluation, school)
        weights = school.learned(weights)
    for line in table(source.inputs, weights):
        print(line)
    if given.compare:
        results = [crawled(evaluation, School(each, failures)) for each in (weights, source.inputs)]
        for name, figure in AREAS.items():
            one, two = ([each.groups(LEARNED, figure)] for each in results)
            found = paired_bootstrap(one, two, 1)
            print(f"{name}: found - start {found.difference:+.3f} ({found.low:+.3f} to {found.high:+.3f})")


def prepared(source: Source) -> Evaluation:
    """Read the web that weights come from."""
    spec = read_webs(WEBS, [source.web])[source.web]
    overrides = {key: value for key, value in spec.overrides().items() if value is not None}
    settings = load(overrides).settings
    options = spec.model_copy(update={"policies": (LEARNED,), "starts": source.starts, "budget": source.pages})
    predicates = {name: parse(text) for name, text in settings.predicates.items()}
    bars = Progress()
    return prepare(settings, options, predicates, {}, bars)


def crawled(evaluation: Evaluation, school: School) -> Results:
    """Crawl for every predicate from every start."""
    taught = replace(evaluation, makers={LEARNED: school})
    crawls = (crawl for job in taught.jobs() for crawl in taught.run(job)[1])
    return Results.of(crawls, evaluation.terms.budget)


def table(start: Sequence[Input], found: Sequence[Input]) -> list[str]:
    """Return the lines of the table: what a crawl starts with, what was found, and how far apart they are.

    >>> table([Input("siblings", 0.2, 0.25)], [Input("siblings", 0.1, 0.125)])[1]
    'siblings                       +0.20  0.25  +0.10  0.12  -0.4'
    """
    rows = [
        f"{one.name:28}  {_weight(one)} {_weight(two)} {apart(one, two):+5.1f}"
        for one, two in zip(start, found, strict=True)
    ]
    furthest = max(zip(start, found, strict=True), key=lambda pair: abs(apart(*pair)))
    last = f"furthest apart: {furthest[0].name}, by {abs(apart(*furthest)):.1f} of the deviations at the start"
    return [f"{'input':28}  {'start':>6}{'+-':>6} {'found':>6}{'+-':>6} {'apart':>5}", *rows, last]


def _weight(entry: Input) -> str:
    return f"{entry.weight:+6.2f}{entry.deviation:6.2f}"


def apart(start: Input, found: Input) -> float:
    """Return how far a weight is from that at the start, in deviations of that."""
    return (found.weight - start.weight) / start.deviation


if __name__ == "__main__":
    main()
