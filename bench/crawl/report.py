"""The comparison: what each crawler took, what a kill cost it, and the figures that have an aim."""

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from bench.crawl.crawlers import COMMON, RARE
from bench.crawl.measure import Resumed, Run
from scentline_lab.picture import canvas

#: The names of the crawlers, in the order of their columns.
SCRAPY, SQLITE, CRAWLEE = "Scrapy", "Scrapy SQLite", "Crawlee"
BREADTH, LEARNED, ONE_COMMON, ONE_RARE = "breadth-first", "learned", f"for {COMMON}", f"for {RARE}"

Runs = Mapping[str, Sequence[Run]]

_COUNTS: tuple[tuple[str, Callable[[Resumed], int]], ...] = (
    ("served before", lambda crawl: crawl.before),
    ("served after", lambda crawl: crawl.after),
    ("never served", lambda crawl: crawl.lost),
    ("served twice", lambda crawl: crawl.twice),
    ("in the output", lambda crawl: crawl.kept),
    ("in a whole crawl's", lambda crawl: crawl.whole),
)
_LABEL, _COLUMN = 34, 15


@dataclass(frozen=True)
class Aim:
    """A figure and what it is to be: at most ``aim``, or at least that where ``least``."""

    name: str
    value: float
    aim: float
    least: bool = False

    @property
    def met(self) -> bool:
        """Whether the figure is what it is to be."""
        return self.value >= self.aim if self.least else self.value <= self.aim


def table(runs: Runs) -> str:
    """Return the medians of each crawler's runs."""
    figures: tuple[tuple[str, Callable[[Run], float]], ...] = (
        ("pages", lambda run: run.pages),
        ("pages a second", lambda run: run.rate),
        ("CPU a page, ms", lambda run: run.cpu_a_page),
        ("CPU until the first page, s", lambda run: run.start),
        ("CPU after the last page, s", lambda run: run.end),
        ("peak memory (PSS), MB", lambda run: run.memory / 1e6),
        (f"{COMMON} hits a CPU second", lambda run: run.hits_a_second(COMMON, half(runs, COMMON))),
        (f"{RARE} hits a CPU second", lambda run: run.hits_a_second(RARE, half(runs, RARE))),
    )
    rounds = len(next(iter(runs.values())))
    lines = [_line(f"median of {rounds}", runs)]
    for label, figure in figures:
        lines.append(_line(label, (f"{median(map(figure, found)):.2f}" for found in runs.values())))
        if rounds > 1:
            lines.append(_line("  least to most", (_range(map(figure, found)) for found in runs.values())))
    return "\n".join(lines)


def half(runs: Runs, category: str) -> int:
    """Return how many hits are half of those that any crawl found: there may be few pages left after that."""
    return max(1, max(len(run.hits[category]) for found in runs.values() for run in found) // 2)


def kills(resumed: Mapping[str, Resumed]) -> str:
    """Return what was left of each crawl that was killed."""
    lines = [_line("killed with -9 half-way", resumed)]
    for label, count in _COUNTS:
        lines.append(_line(label, (str(count(crawl)) for crawl in resumed.values())))
    return "\n".join(lines)


def aims(runs: Runs) -> list[Aim]:
    """Return the figures that have an aim; hits are compared with those of the better of Scrapy's crawls."""

    def times(name: str, figure: Callable[[Run], float]) -> float:
        return _median(runs[name], figure) / _median(runs[SCRAPY], figure)

    def hits(name: str, category: str) -> float:
        enough = half(runs, category)
        found = {each: _median(runs[each], lambda run: run.hits_a_second(category, enough)) for each in runs}
        best = max(found[SCRAPY], found[SQLITE])
        return found[name] / best if best else math.inf

    learned = runs[LEARNED]
    return [
        Aim("CPU a page, learned: times Scrapy's", times(LEARNED, lambda run: run.cpu_a_page), 0.9),
        Aim("CPU a page, breadth-first: times Scrapy's", times(BREADTH, lambda run: run.cpu_a_page), 0.7),
        Aim("peak memory, learned: MB", _median(learned, lambda run: run.memory) / 1e6, 300),
        Aim(f"{COMMON} hits a CPU second: times Scrapy's", hits(ONE_COMMON, COMMON), 2, least=True),
        Aim(f"{RARE} hits a CPU second: times Scrapy's", hits(ONE_RARE, RARE), 4, least=True),
        Aim("start to first page, learned: CPU s", _median(learned, lambda run: run.start), 0.8),
        Aim("last page to exit, learned: CPU s", _median(learned, lambda run: run.end), 0.2),
        Aim("log records a page, learned", _median(learned, lambda run: run.records / run.pages), 12),
        Aim("RocksDB puts a page, learned", _median(learned, lambda run: run.puts / run.pages), 80),
    ]


def aimed(found: Sequence[Aim], before: Mapping[str, float]) -> str:
    """Return the figures beside their aims, and beside those of the run ``before``, by name."""
    lines = [f"{'':<44}{'asked':>10}{'found':>10}{'before':>10}{'ratio':>8}"]
    for aim in found:
        asked = f"{'>=' if aim.least else '<='} {aim.aim:g}"
        line = f"{aim.name:<44}{asked:>10}{aim.value:>10.2f}"
        if earlier := before.get(aim.name):
            line += f"{earlier:>10.2f}{aim.value / earlier:>8.2f}"
        lines.append(line + ("" if aim.met else "  not met"))
    return "\n".join(lines)


def _median(runs: Sequence[Run], figure: Callable[[Run], float]) -> float:
    return median(map(figure, runs))


def _line(label: str, cells: Iterable[str]) -> str:
    return f"{label:<{_LABEL}}" + "".join(f"{cell:>{_COLUMN}}" for cell in cells)


def _range(values: Iterable[float]) -> str:
    found = sorted(values)
    return f"{found[0]:.2f}-{found[-1]:.2f}"


# kept beside the runs before

#: Told apart by the colour-blind too (Okabe and Ito).
_COLOURS = ("#8a8a8a", "#000000", "#e69f00", "#56b4e9", "#d55e00", "#009e73", "#cc79a7")


def before(directory: Path, kind: str) -> Mapping[str, float]:
    """Return the figures of the latest run of its kind, by name; none where there was no run."""
    latest = max(directory.glob(f"{kind}-*.json"), default=None)
    if latest is None:
        return {}
    figures: dict[str, float] = json.loads(latest.read_text())["figures"]
    return figures


def keep(directory: Path, kind: str, runs: Runs, resumed: Mapping[str, Resumed], found: Sequence[Aim]) -> Path:
    """Write a run's JSON and its picture; return the JSON's path, which sorts by its time."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{kind}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.json"
    document = {
        "figures": {aim.name: aim.value for aim in found},
        "runs": {name: [asdict(run) for run in each] for name, each in runs.items()},
        "killed": {name: asdict(crawl) for name, crawl in resumed.items()},
    }
    path.write_text(json.dumps(document) + "\n")
    draw(path.with_suffix(".png"), {name: each[0] for name, each in runs.items()})
    return path


def draw(path: Path, runs: Mapping[str, Run]) -> None:
    """Draw the hits of each category against the CPU time that they took, one line a crawler."""
    categories = list(next(iter(runs.values())).hits)
    figure = canvas(5 * len(categories), 4.4)
    for panel, category in zip(figure.subplots(1, len(categories), squeeze=False)[0], categories, strict=True):
        for (name, run), colour in zip(runs.items(), _COLOURS, strict=True):
            ordinals = run.hits[category]
            hits = [sum(ordinal <= pages for ordinal in ordinals) for _, pages in run.curve]
            panel.plot([cpu for cpu, _ in run.curve], hits, label=name, color=colour, linewidth=1.8)
        panel.set_title(category, loc="left")
        panel.set_xlabel("CPU seconds")
        panel.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("hits")
    figure.axes[0].legend(frameon=False)
    figure.savefig(path, format="png")
