"""What a crawler finds with the door, beside what it finds alone and what ours finds."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.clock.webs import Web, judged
from bench.command import DOCS, WIKISPEEDIA, kept
from bench.crawl.crawlers import BOTH
from bench.crawl.server import Nginx
from bench.crawl.web import HOME, unpack
from bench.door.pairs import Found, alone, both_by_the_clock, by_the_clock, crawlers, together

#: Least seconds between two requests to a host, where hits are counted by the clock.
DELAY = 1.0
OURS, ALONE, DOOR = "Scentline", "alone", "with the door"
_WORDS = ('password="password"', 'unicode="unicode"')


def webs(place: Path) -> list[Web]:
    """Return the webs: articles under a common and a rare subject, and manuals under words."""
    seeds = place / "seeds.txt"
    seeds.write_text(f"{HOME}\n")
    labels = WIKISPEEDIA / "topics.tsv.gz"
    return [
        Web("wikispeedia", WIKISPEEDIA / "pages.warc.gz", seeds, labels, BOTH),
        Web("docs", DOCS / "pages.warc.gz", DOCS / "seeds.txt", None, _WORDS),
    ]


def hits_of(of: Web, results: Path) -> Mapping[str, list[str]]:
    """Return the pages of a web that satisfy each predicate, kept with the results of benches."""

    def make() -> dict[str, list[str]]:
        return {name: sorted(urls) for name, urls in judged(of)[1].hits.items()}

    return kept(results / "doors", (of.archive, of.predicates), dict[str, list[str]], make)


def compared(kind: str, of: Web, python: Path, nginx: str, place: Path, given: Mapping[str, int]) -> str:
    """Crawl a web by each; return a table, and the ratios with their goals."""
    results = Path("bench-results")
    hits, pages, seconds = hits_of(of, results), given["pages"], given["seconds"]
    unpack(of.archive, place / "web")
    rounds: list[dict[str, Found]] = []
    with Nginx(nginx, place / "web", place / "nginx") as server:
        for number in range(given["rounds"]):
            ours, other = crawlers(kind, of, python, pages, 0.0)
            at = place / f"{number}"
            rounds.append({
                OURS: alone(ours, server, at, hits, pages),
                ALONE: alone(other, server, at, hits, pages),
                DOOR: together(ours, other, server, at, hits, pages),
            })  # fmt: skip
        ours, other = crawlers(kind, of, python, None, DELAY)
        clock = {
            OURS: by_the_clock(ours, server, place / "clock-ours", hits, seconds),
            ALONE: by_the_clock(other, server, place / "clock-alone", hits, seconds),
            DOOR: both_by_the_clock(ours, other, server, place / "clock", hits, seconds),
        }
    return table(kind, of, rounds, clock, seconds)


def table(
    kind: str, of: Web, rounds: Sequence[Mapping[str, Found]], clock: Mapping[str, Found], seconds: float
) -> str:
    """Return a row a crawler, and a line a ratio."""

    def mean(way: str, figure: Callable[[Found], float]) -> float:
        return sum(figure(one[way]) for one in rounds) / len(rounds)

    names = list(rounds[0][OURS].hits)
    heads = ("", "pages", *names, "hits a minute", "ms of CPU a page", "of the frontier")
    lines = [f"\n{of.name}, {kind}", " | ".join(heads), "|".join(["---"] * len(heads))]
    for way in (OURS, ALONE, DOOR):
        found = (f"{mean(way, lambda one, name=name: one.hits[name]):.0f}" for name in names)  # type: ignore[misc]
        lines.append(
            f"{way} | {mean(way, lambda one: one.pages):.0f} | {' | '.join(found)} | "
            f"{_all(clock[way]) * 60 / seconds:.0f} | {mean(way, _client):.1f} | {mean(way, _frontier):.1f}"
        )
    for name in names:
        one = {way: mean(way, lambda found, name=name: found.hits[name]) for way in rounds[0]}  # type: ignore[misc]
        lines.append(_ratio(f"{name} hits, door over ours", one[DOOR], one[OURS], ">= 0.95"))
        lines.append(_ratio(f"{name} hits, door over {kind} alone", one[DOOR], one[ALONE], ">= 2"))
    minute = {way: _all(found) for way, found in clock.items()}
    lines.append(_ratio(f"hits a minute, door over {kind} alone", minute[DOOR], minute[ALONE], ">= 1.5"))
    lines.append(_ratio("hits a minute, door over ours", minute[DOOR], minute[OURS], ""))
    lines.append(
        _ratio(f"CPU of {kind}, door over alone", mean(DOOR, _client), mean(ALONE, _client), "<= 1.25")
    )
    lines.append(
        _ratio("CPU of ours, door over fetching", mean(DOOR, _frontier), mean(OURS, _client), "<= 1.05")
    )
    return "\n".join(lines)


def _ratio(what: str, one: float, other: float, goal: str) -> str:
    return f"{what}: {one / other if other else float('inf'):.2f}{f' (goal {goal})' if goal else ''}"


def _all(found: Found) -> int:
    return sum(found.hits.values())


def _client(found: Found) -> float:
    return 1000 * found.cpu / found.pages


def _frontier(found: Found) -> float:
    return 1000 * found.frontier / found.pages
