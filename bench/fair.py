"""``python -m bench.fair``: what predicates find that share a crawl, as parts of what each finds alone.

Pairs and triples of common and rare predicates, at equal shares, are crawled with the budget
that each has alone, and so is the web breadth-first. A predicate's part is its hits by those that it has
alone. Nobody can give all of them .6, so each part stands beside what it would be if the crawls that they make
alone were cut off and put together in the best way: the greatest product of parts within the budget, a page
counting for whomever it satisfies.
"""

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from random import Random
from statistics import mean, stdev

from bench.command import DATA, crawling, kept, summary
from scentline.agents.judge.judges import load_labels
from scentline.agents.offline.archive import Archive
from scentline.agents.offline.serve import ServerProcess
from scentline.agents.operate.record import outcomes
from scentline.models.predicate import parse
from scentline.streams.settings import Settings
from scentline.streams.transport.journal import Journal
from scentline_lab.experiment import Progress
from scentline_lab.reading import load_web

SEEDS = 10
#: Pages between two places where a crawl may be cut off.
CUT = 10


@dataclass(frozen=True)
class Web:
    """An archive, its labels if it has any, its seeds (drawn from its pages if none), and who shares crawls."""

    archive: str
    labels: str
    seeds: str
    combinations: tuple[tuple[str, ...], ...]

    def expression(self, predicate: str) -> str:
        """Return what pages of a predicate satisfy: a category where there are labels, else a word."""
        return f'category("{predicate}")' if self.labels else f'"{predicate}"'


WEBS = {
    "wikispeedia": Web(
        "wikispeedia/pages.warc.gz",
        "wikispeedia/topics.tsv.gz",
        "",
        (
            ("Science", "Music"),
            ("Geography", "Religion"),
            ("Science.Biology", "Everyday_life.Food_and_agriculture"),
            ("People", "Science.Chemistry"),
            ("History", "Design_and_Technology.Railway_transport"),
            ("Design_and_Technology", "Everyday_life"),
            ("Science", "Geography", "Music"),
            ("People", "Religion", "Design_and_Technology.Railway_transport"),
        ),
    ),
    "docs": Web(
        "docs/pages.warc.gz",
        "",
        "docs/seeds.txt",
        (
            ("compiler", "sorting"),
            ("unicode", "ldap"),
            ("macro", "backup"),
            ("password", "merge"),
            ("regex", "gc"),
            ("timezone", "certificate"),
            ("matrix", "encryption", "daemon"),
            ("password", "compiler", "ldap"),
        ),
    ),
}


def main() -> None:
    """Parse the command line, crawl, and print a line for each combination."""
    parser = argparse.ArgumentParser(prog="bench.fair")
    parser.add_argument("--data", type=Path, default=DATA, help="the directory of the webs")
    parser.add_argument("--web", choices=[*WEBS], default="wikispeedia")
    parser.add_argument("--budget", type=int, default=300, help="pages of each crawl")
    parser.add_argument(
        "--starts", type=int, default=1, help="sets of seeds, or of chances where seeds are fixed"
    )
    parser.add_argument("--kept", type=Path, help="directory that keeps crawls: a stopped run goes on")
    given = parser.parse_args()
    with ServerProcess.archive([given.data / WEBS[given.web].archive]) as server:
        apart(Bench(given, server.url), given.starts)


class Bench:
    """A web that ``proxy`` serves: its pages, by what they satisfy, and crawls of it."""

    def __init__(self, given: argparse.Namespace, proxy: str) -> None:
        self.web: Web = WEBS[given.web]
        self.budget: int = given.budget
        self._data: Path = given.data
        self._kept, self._proxy = given.kept, proxy
        self._hits: Mapping[str, frozenset[str]] = {}

    def read(self, predicates: Sequence[str]) -> None:
        """Read which pages satisfy the predicates."""
        parsed = {name: parse(self.web.expression(name)) for name in predicates}
        labels = load_labels(self._data / self.web.labels) if self.web.labels else None
        archives = [self._data / self.web.archive]
        self._hits = load_web(archives, parsed, labels, Settings(), 1, Progress()).hits

    def crawl(self, start: int, predicates: Sequence[str], *arguments: str) -> list[str]:
        """Crawl for some predicates at once, unless that was kept; return the pages in the order of judging."""
        what = (self.web.archive, self.budget, start, *predicates, *arguments)
        return [*kept(self._kept, what, list, lambda: self._crawl(start, predicates, arguments))]

    def _crawl(self, start: int, predicates: Sequence[str], arguments: Sequence[str]) -> list[str]:
        labels = ["--labels", str(self._data / self.web.labels)] if self.web.labels else []
        sought = {f"p{number}": self.web.expression(name) for number, name in enumerate(predicates)}
        with tempfile.TemporaryDirectory() as directory:
            data = Path(directory) / "data"
            summary(*crawling(
                self._proxy, data, self._seeds(start), sought, *labels, *arguments,
                "--budget", str(self.budget), "--set", f"random_seed={start}",
            ))  # fmt: skip
            with Journal.open(data / "journal", read_only=True) as journal:
                return list(dict.fromkeys(outcome.url for outcome in outcomes(journal)))

    def _seeds(self, start: int) -> list[str]:
        if self.web.seeds:
            return (self._data / self.web.seeds).read_text().split()
        with closing(Archive([self._data / self.web.archive])) as archive:
            return Random(f"fair:{start}").sample(sorted(archive.urls()), SEEDS)

    def hits(self, name: str, pages: Sequence[str]) -> int:
        """Return how many pages satisfy a predicate."""
        return len(self._hits[name].intersection(pages))

    def best(self, names: Sequence[str], alone: Mapping[str, Sequence[str]]) -> dict[str, float]:
        """Return the parts of the crawls alone, cut off so that the product of the parts is greatest."""
        whole = {name: max(1, self.hits(name, alone[name])) for name in names}
        found = [dict.fromkeys(names, 0.0)]
        for cuts in product(range(0, self.budget + 1, CUT), repeat=len(names)):
            if sum(cuts) > 2 * self.budget or max(cuts) < self.budget / len(names):
                continue
            pages = set().union(*(alone[name][:cut] for name, cut in zip(names, cuts, strict=True)))
            if self.budget - len(names) * CUT <= len(pages) <= self.budget:
                found.append({name: len(self._hits[name] & pages) / whole[name] for name in names})
        return max(found, key=lambda parts: prod(parts.values()))


def apart(bench: Bench, starts: int) -> None:
    """Crawl all combinations; print each predicate's part beside the best, and how all did."""
    combinations = bench.web.combinations
    predicates = sorted({name for names in combinations for name in names})
    bench.read(predicates)
    parts: dict[str, dict[tuple[int, str], list[float]]] = {"best": {}, "found": {}}
    lead: dict[tuple[int, str], list[float]] = {}
    for start in range(1, starts + 1):
        alone = {name: bench.crawl(start, [name]) for name in predicates}
        breadth = bench.crawl(start, predicates, "--policy", "breadth-first")
        for place, names in enumerate(combinations):
            _add(parts["best"], place, bench.best(names, alone))
            pages = bench.crawl(start, names)
            hits = {name: bench.hits(name, pages) for name in names}
            whole = {name: max(1, bench.hits(name, alone[name])) for name in names}
            _add(lead, place, {name: hits[name] - bench.hits(name, breadth) for name in names})
            _add(parts["found"], place, {name: hits[name] / whole[name] for name in names})
    for place, names in enumerate(combinations):
        for what, found in parts.items():
            each = ", ".join(f"{name} {mean(found[place, name]):.2f}" for name in names)
            print(f"{what:<14}{each}", flush=True)
    _sum_up("found", parts["found"], parts["best"])
    behind = [f"{name} {mean(hits):+.1f} hits" for (_, name), hits in lead.items() if mean(hits) < 0]
    print(f"{'':<14}below breadth-first: {', '.join(behind) or 'nobody'}", flush=True)


def _add(parts: dict[tuple[int, str], list[float]], place: int, found: Mapping[str, float]) -> None:
    for name, part in found.items():
        parts.setdefault((place, name), []).append(part)


def _sum_up(
    rule: str, parts: Mapping[tuple[int, str], list[float]], best: Mapping[tuple[int, str], list[float]]
) -> None:
    means = {key: mean(found) for key, found in parts.items()}
    attained = [means[key] / max(1e-9, mean(best[key])) for key in means]
    starts = [mean(found) for found in zip(*parts.values(), strict=True)]
    luck = f" +- {stdev(starts) / len(starts) ** 0.5:.2f}" if len(starts) > 1 else ""
    low = sum(part < 0.6 for part in means.values())
    print(
        f"{rule:<14}mean {mean(means.values()):.2f}{luck}, least {min(means.values()):.2f}, {low} of "
        f"{len(means)} below .6; of the best mean {mean(attained):.2f}, least {min(attained):.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
