"""``python -m bench.fair``: what predicates find that share a crawl, as parts of what each finds alone.

Pairs and triples of common and rare predicates, at equal shares, are crawled by each rule of turns with the
budget that each has alone, and so is the web breadth-first. A predicate's part is its hits by those that it has
alone.
"""

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import mean

from agents.offline.archive import Archive
from agents.offline.process import ServerProcess
from bench.command import DATA, summary

RULES = ("proportional", "yields", "shares")
SEEDS = 10


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
    """Parse the command line, crawl, and print a line for each combination and rule."""
    parser = argparse.ArgumentParser(prog="bench.fair")
    parser.add_argument("--data", type=Path, default=DATA, help="the directory of the webs")
    parser.add_argument("--web", choices=[*WEBS], default="wikispeedia")
    parser.add_argument("--budget", type=int, default=500, help="pages of each crawl")
    parser.add_argument("--rule", choices=RULES, action="append", help="rule of turns; all by default")
    parser.add_argument("--start", type=int, default=1, help="which seeds are drawn, where they are")
    given = parser.parse_args()
    web: Web = WEBS[given.web]
    with ServerProcess.archive([given.data / web.archive]) as server:
        crawls = Crawls(web, given.data, server.url, _seeds(web, given.data, given.start), given.budget)
        predicates = sorted({name for names in web.combinations for name in names})
        breadth = crawls.hits(predicates, "--policy", "breadth-first")
        alone = {name: crawls.hits([name])[name] for name in predicates}
        for name in predicates:
            print(f"{name}: {alone[name]} alone, {breadth[name]} breadth-first", flush=True)
        for rule in given.rule or RULES:
            show(rule, web, crawls, alone, breadth)


@dataclass(frozen=True)
class Crawls:
    """Crawls of one web from the same seeds."""

    web: Web
    data: Path
    proxy: str
    seeds: Sequence[str]
    budget: int

    def hits(self, predicates: Sequence[str], *arguments: str) -> dict[str, int]:
        """Crawl for some predicates at once; return how many pages satisfy each. Raises CalledProcessError."""
        labels = ["--labels", str(self.data / self.web.labels)] if self.web.labels else []
        given = [f"p{number}={self.web.expression(name)}" for number, name in enumerate(predicates)]
        with tempfile.TemporaryDirectory() as directory:
            crawled = summary(
                "--data", f"{directory}/data", "--budget", str(self.budget), *labels, *arguments,
                "--set", f"fetch.proxy={self.proxy}", "--set", "fetch.delay_seconds=0",
                "--set", "fetch.user_agent=fair/1.0 (+mailto:bench@example.org)",
                *(word for predicate in given for word in ("--predicate", predicate)),
                *(word for seed in self.seeds for word in ("--seed", seed)),
            )["predicates"]  # fmt: skip
        return {name: crawled[f"p{number}"]["hits"] for number, name in enumerate(predicates)}


def show(rule: str, web: Web, crawls: Crawls, alone: Mapping[str, int], breadth: Mapping[str, int]) -> None:
    """Crawl all combinations by a rule; print each predicate's part, and how all did together."""
    parts: list[float] = []
    below = 0
    for names in web.combinations:
        hits = crawls.hits(names, "--set", f"frontier.turns={rule}")
        found = {name: hits[name] / max(1, alone[name]) for name in names}
        below += sum(hits[name] < breadth[name] for name in names)
        parts.extend(found.values())
        print(f"{rule:<14}" + ", ".join(f"{name} {part:.2f}" for name, part in found.items()), flush=True)
    low = sum(part < 0.6 for part in parts)
    print(
        f"{rule:<14}mean {mean(parts):.2f}, least {min(parts):.2f}; {low} of {len(parts)} below .6, "
        f"{below} below breadth-first",
        flush=True,
    )


def _seeds(web: Web, data: Path, start: int) -> list[str]:
    if web.seeds:
        return (data / web.seeds).read_text().split()
    with closing(Archive([data / web.archive])) as archive:
        return Random(f"fair:{start}").sample(sorted(archive.urls()), SEEDS)


if __name__ == "__main__":
    main()
