"""The webs of the clock: their archives, and which of their pages satisfy."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bench.command import COMMAND
from scentline.agents.judge.judges import load_labels
from scentline.models.predicate import Predicate, parse
from scentline.models.url import host
from scentline.streams.settings import Settings
from scentline_lab import reading as lab
from scentline_lab.experiment import Progress

_TOPICS = ('cinema=category("Cinema")', 'computing=category("Computing")')
#: Of those of handbooks in docs/evaluation.toml the two nearest to 4 % of the pages.
_WORDS = ('kernel="kernel"', 'statistics="statistics"')
#: The options of `scentline synthetic`: forty hosts of forty owners, and two hundred of 120.
_SYNTHETIC = {
    "forty": ("--sites", "40", "--pages", "450"),
    "two-hundred": ("--sites", "200", "--pages", "60", "--owners", "120"),
}
#: The pages of Debian's packages, each a host; all have one owner.
_PACKAGES = {"packages": ("--of", "handbooks")}
NAMES = (*_SYNTHETIC, *_PACKAGES)


@dataclass(frozen=True)
class Web:
    """A web: its files, and the predicates that are sought in it, as NAME=EXPRESSION."""

    name: str
    archive: Path
    seeds: Path
    labels: Path | None
    predicates: Sequence[str]

    def sought(self) -> Mapping[str, Predicate]:
        """Return the predicates by name."""
        named = (entry.partition("=") for entry in self.predicates)
        return {name: parse(expression) for name, _, expression in named}


@dataclass(frozen=True)
class Pages:
    """The links of each page of a web, and of each predicate the pages that satisfy it; canonical URLs."""

    links: Mapping[str, Sequence[str]]
    hits: Mapping[str, frozenset[str]]

    @cached_property
    def hosts(self) -> frozenset[str]:
        """The hosts of the pages."""
        return frozenset(map(host, self.links))


def web(name: str, directory: Path) -> Web:
    """Return one of `NAMES`, made in ``directory`` where it is not there. Raises CalledProcessError."""
    out = directory / name
    synthetic = name in _SYNTHETIC
    if not (out / "seeds.txt").exists():
        print(f"making the web {name}", flush=True)
        command = (*COMMAND, "synthetic", *_SYNTHETIC[name]) if synthetic else (
            sys.executable, "-m", "bench.packages", *_PACKAGES[name]
        )  # fmt: skip
        subprocess.run([*command, "--out", str(out)], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    labels = out / "topics.tsv.gz" if synthetic else None
    return Web(name, out / "pages.warc.gz", out / "seeds.txt", labels, _TOPICS if synthetic else _WORDS)


def judged(of: Web) -> tuple[lab.Web, Pages]:
    """Return a web with its pages read and judged, which takes a minute, and what is counted of them."""
    labels = None if of.labels is None else load_labels(of.labels)
    bars = Progress()
    found = lab.load_web([of.archive], of.sought(), labels, Settings(), 1, bars)
    links = {url: [link.url for link in page.links] for url, page in found.pages.items()}
    return found, Pages(links, {name: frozenset(urls) for name, urls in found.hits.items()})
