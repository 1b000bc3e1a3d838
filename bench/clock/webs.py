"""The webs of the clock: their archives, and which of their pages satisfy."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from agents.judge.labels import load
from agents.lab.progress import progress
from agents.lab.reading import load_web
from bench.command import COMMAND, kept
from models.predicate import parse
from streams.settings import Settings

_TOPICS = ('cinema=category("Cinema")', 'computing=category("Computing")')
_WORDS = ('password="password"', 'unicode="unicode"')
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


@dataclass(frozen=True)
class Pages:
    """The pages of a web, and of each predicate those that satisfy it; canonical URLs."""

    pages: frozenset[str]
    hits: Mapping[str, frozenset[str]]

    @property
    def hosts(self) -> frozenset[str]:
        """The hosts of the pages."""
        return frozenset(urlsplit(url).netloc for url in self.pages)


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


def judged(of: Web, directory: Path) -> Pages:
    """Return the pages of a web, judged; ``directory`` keeps the verdicts, which take a minute."""
    what = (of.archive, of.archive.stat().st_mtime_ns, of.labels, of.predicates)
    return kept(directory, what, Pages, lambda: _judged(of))


def _judged(of: Web) -> Pages:
    named = (entry.partition("=") for entry in of.predicates)
    predicates = {name: parse(expression) for name, _, expression in named}
    labels = None if of.labels is None else load(of.labels)
    with progress(sys.stderr) as bars:
        found = load_web([of.archive], predicates, labels, Settings(), 1, bars)
    return Pages(frozenset(found.pages), found.hits)
