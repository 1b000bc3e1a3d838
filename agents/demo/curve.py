"""A crawl's lift curves: the harvest rate of each predicate as pages come in."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agents.inspect.record import judged_pages
from streams.records import Outcome
from streams.transport.journal import Journal


@dataclass(frozen=True)
class Curve:
    """One predicate in one crawl: ``hits[n]`` of the first n + 1 pages judged satisfy it."""

    hits: tuple[int, ...]

    @property
    def found(self) -> int:
        """Pages that satisfy the predicate."""
        return self.hits[-1] if self.hits else 0

    @property
    def rates(self) -> list[float]:
        """The harvest rate after each page.

        >>> Curve((0, 1, 2, 2)).rates
        [0.0, 0.5, 0.6666666666666666, 0.5]
        """
        return [hits / pages for pages, hits in enumerate(self.hits, start=1)]

    @property
    def rate(self) -> float:
        """The harvest rate of the whole crawl; 0 before its first page."""
        return self.found / len(self.hits) if self.hits else 0.0


def judged(data: Path) -> list[Outcome]:
    """Return the pages of the crawl in directory ``data``, each once, in the order of judging."""
    with Journal.open(data / "journal", read_only=True) as journal:
        return sorted(judged_pages(journal).values(), key=lambda outcome: outcome.time)


def curves(pages: Iterable[Outcome], predicates: Iterable[str]) -> dict[str, Curve]:
    """Return the curve of each of ``predicates`` over pages in the order of judging."""
    hits: dict[str, list[int]] = {name: [] for name in predicates}
    for page in pages:
        for name, counts in hits.items():
            counts.append((counts[-1] if counts else 0) + page.verdict[name])
    return {name: Curve(tuple(counts)) for name, counts in hits.items()}
