"""``python -m bench.fair``: what predicates find that share a crawl, as parts of what each finds alone.

Pairs and triples of common and rare predicates, at equal shares, are crawled with the budget
that each has alone, and so is the web breadth-first. A predicate's part is its hits by those that it has
alone. Nobody can give all of them .6, so each part stands beside what it would be if the crawls that they make
alone were cut off and put together in the best way: the greatest product of parts within the budget, a page
counting for whomever it satisfies.

With ``--among`` ten of many predicates are looked at: what a page costs, and what they find of what is fair to
expect with so many others. That is what each finds alone in its share of the pages, and in the other pages as
much as chance has it.
"""

import argparse
import gzip
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from math import exp, log, prod
from pathlib import Path
from random import Random
from statistics import mean, stdev

from bench.command import DATA, children_cpu, crawling, kept, summary
from scentline.agents.judge.judges import load_labels
from scentline.agents.offline.archive import Archive
from scentline.agents.offline.process import ServerProcess
from scentline.agents.operate.record import outcomes
from scentline.models.predicate import parse
from scentline.streams.settings import Settings
from scentline.streams.transport.journal import Journal
from scentline_lab.experiment import progress
from scentline_lab.picture import INK, Look, canvas, frame
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
        category, _, word = predicate.partition(" + ")
        if not self.labels:
            return f'"{predicate}"'
        return f'category("{category}")' + (f' and "{word}"' if word else "")


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


#: The predicates whose hits are looked at among many, common and rare.
LOOKED_AT = (
    "Science", "Geography", "Countries", "History", "People", "Design_and_Technology", "Everyday_life",
    "Religion", "Music", "Science.Chemistry",
)  # fmt: skip
#: Words that make further predicates of categories.
WORDS = ("century", "world")


def main() -> None:
    """Parse the command line, crawl, and print a line for each combination."""
    given = _arguments().parse_args()
    web: Web = WEBS[given.web]
    bench = Bench(web, given.data, given.budget, given.kept)
    with ServerProcess.archive([given.data / web.archive]) as server:
        starts = [bench.crawls(server.url, start) for start in range(1, given.starts + 1)]
        if given.among:
            among(bench, starts, given.among, given.picture)
        else:
            apart(bench, starts)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.fair")
    parser.add_argument("--data", type=Path, default=DATA, help="the directory of the webs")
    parser.add_argument("--web", choices=[*WEBS], default="wikispeedia")
    parser.add_argument("--budget", type=int, default=300, help="pages of each crawl")
    parser.add_argument(
        "--starts", type=int, default=1, help="sets of seeds, or of chances where seeds are fixed"
    )
    parser.add_argument("--kept", type=Path, help="directory that keeps crawls: a stopped run goes on")
    parser.add_argument("--among", type=int, action="append", help="so many predicates at once instead")
    parser.add_argument("--picture", type=Path, help="SVG file of cost and fairness among many")
    return parser


@dataclass(frozen=True)
class Crawl:
    """The URLs of the pages of a crawl, in the order of judging, and the CPU seconds that it took."""

    pages: tuple[str, ...]
    cpu: float


@dataclass(frozen=True)
class Crawls:
    """Crawls of one web from the same seeds."""

    web: Web
    data: Path
    proxy: str
    seeds: Sequence[str]
    budget: int
    start: int
    kept: Path | None = None

    def crawl(self, predicates: Sequence[str], *arguments: str) -> Crawl:
        """Crawl for some predicates at once, unless that was kept. Raises CalledProcessError."""
        what = (self.web.archive, self.budget, self.start, *predicates, *arguments)
        return kept(self.kept, what, Crawl, lambda: self._crawl(predicates, arguments))

    def _crawl(self, predicates: Sequence[str], arguments: Sequence[str]) -> Crawl:
        labels = ["--labels", str(self.data / self.web.labels)] if self.web.labels else []
        sought = {f"p{number}": self.web.expression(name) for number, name in enumerate(predicates)}
        with tempfile.TemporaryDirectory() as directory:
            before = children_cpu()
            summary(*crawling(
                self.proxy, Path(directory) / "data", self.seeds, sought, *labels, *arguments,
                "--budget", str(self.budget), "--set", f"random_seed={self.start}",
            ))  # fmt: skip
            spent = children_cpu() - before
            with Journal.open(Path(directory) / "data" / "journal", read_only=True) as journal:
                return Crawl(tuple(dict.fromkeys(outcome.url for outcome in outcomes(journal))), spent)


class Bench:
    """A web's pages, by what they satisfy."""

    def __init__(self, web: Web, data: Path, budget: int, kept: Path | None) -> None:
        self.web = web
        self._kept = kept
        self.budget = budget
        self._data = data
        self._hits: Mapping[str, frozenset[str]] = {}
        self.pages = 0

    def read(self, predicates: Sequence[str]) -> None:
        """Read which pages satisfy the predicates."""
        parsed = {name: parse(self.web.expression(name)) for name in predicates}
        labels = load_labels(self._data / self.web.labels) if self.web.labels else None
        with progress(sys.stderr) as bars:
            found = load_web([self._data / self.web.archive], parsed, labels, Settings(), 1, bars)
        self._hits, self.pages = found.hits, len(found.pages)

    def crawls(self, proxy: str, start: int) -> Crawls:
        """Return the crawls of a start."""
        return Crawls(self.web, self._data, proxy, self._seeds(start), self.budget, start, self._kept)

    def _seeds(self, start: int) -> list[str]:
        if self.web.seeds:
            return (self._data / self.web.seeds).read_text().split()
        with closing(Archive([self._data / self.web.archive])) as archive:
            return Random(f"fair:{start}").sample(sorted(archive.urls()), SEEDS)

    def hits(self, name: str, pages: Sequence[str]) -> int:
        """Return how many pages satisfy a predicate."""
        return len(self._hits[name].intersection(pages))

    def categories(self) -> set[str]:
        """Return the categories that pages are labelled with."""
        with gzip.open(self._data / self.web.labels, "rt") as lines:
            return {line.rstrip("\n").partition("\t")[2] for line in lines}

    def rate(self, name: str) -> float:
        """Return the part of all pages that satisfies a predicate."""
        return len(self._hits[name]) / self.pages

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


# by pairs and triples


def apart(bench: Bench, starts: Sequence[Crawls]) -> None:
    """Crawl all combinations; print each predicate's part beside the best, and how all did."""
    combinations = bench.web.combinations
    predicates = sorted({name for names in combinations for name in names})
    bench.read(predicates)
    parts: dict[str, dict[tuple[int, str], list[float]]] = {"best": {}, "found": {}}
    lead: dict[tuple[int, str], list[float]] = {}
    for crawls in starts:
        alone = {name: crawls.crawl([name]).pages for name in predicates}
        breadth = crawls.crawl(predicates, "--policy", "breadth-first").pages
        for place, names in enumerate(combinations):
            _add(parts["best"], place, bench.best(names, alone))
            pages = crawls.crawl(names).pages
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


# among many


def among(bench: Bench, starts: Sequence[Crawls], numbers: Sequence[int], picture: Path | None) -> None:
    """Crawl for many predicates at once; print what a page costs and how fair that was to the ten looked at."""
    bench.read(LOOKED_AT)
    alone = {(crawls.start, name): crawls.crawl([name]) for crawls in starts for name in LOOKED_AT}
    cpu = mean(crawl.cpu for crawl in alone.values())
    points = [Point(1, 1e3 * cpu / bench.budget, 1.0, 1.0)]
    print(f"{'predicates':>10}{'ms of CPU a page':>20}{'least':>8}{'mean':>8}\n{points[0]}", flush=True)
    for number in numbers:
        costs, parts = [], []
        for crawls in starts:
            crawl = crawls.crawl(_many(bench, number))
            costs.append(crawl.cpu)
            parts += [
                bench.hits(name, crawl.pages) / _expected(bench, name, alone[crawls.start, name].pages, number)
                for name in LOOKED_AT
            ]
        whole = exp(mean(log(max(part, 0.01)) for part in parts))
        points.append(Point(number, 1e3 * mean(costs) / bench.budget, min(parts), whole))
        print(points[-1], flush=True)
    if picture is not None:
        draw(points, picture)


@dataclass(frozen=True)
class Point:
    """What a page costs among so many predicates, in ms of CPU, and what they find of what is fair."""

    predicates: int
    cost: float
    least: float
    mean: float

    def __str__(self) -> str:
        return f"{self.predicates:>10}{self.cost:>20.1f}{self.least:>8.2f}{self.mean:>8.2f}"


def _many(bench: Bench, number: int) -> list[str]:
    further = sorted(bench.categories() - set(LOOKED_AT))
    further += [f"{name} + {word}" for word in WORDS for name in further]
    return [*LOOKED_AT, *further][:number]


def _expected(bench: Bench, name: str, alone: Sequence[str], number: int) -> float:
    own = bench.budget // number
    return bench.hits(name, alone[:own]) + bench.rate(name) * (bench.budget - own)


def draw(points: Sequence[Point], path: Path) -> None:
    """Draw what a page costs, and the parts of what is fair, by the number of predicates."""
    figure = canvas(7.2, 2.8)
    cost, fair = figure.subplots(1, 2)
    numbers = [point.predicates for point in points]
    for panel, title in ((cost, "ms of CPU a page"), (fair, "hits by what is fair to expect")):
        frame(panel)
        panel.set_xscale("log")
        panel.set_xticks(numbers, [str(number) for number in numbers])
        panel.minorticks_off()
        panel.set_title(title, fontsize=9, color=INK, loc="left")
        panel.set_xlabel("predicates", fontsize=8, color=INK)
    cost.yaxis.set_major_formatter("{x:.0f}")
    cost.plot(numbers, [point.cost for point in points], marker="o", **Look("#2b6cb0").line)
    fair.plot(numbers, [point.mean for point in points], marker="o", label="mean", **Look("#2b6cb0").line)
    fair.plot(numbers, [point.least for point in points], marker="o", label="least", **Look("#c05621").line)
    fair.axhline(1.0, color=INK, linewidth=0.8, linestyle=":")
    fair.set_ylim(bottom=0)
    fair.legend(frameon=False, fontsize=8)
    figure.savefig(path)


if __name__ == "__main__":
    main()
