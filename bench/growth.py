"""``python -m bench.growth``: how the CPU time of a page grows with the size of a crawl.

Pages, candidates, predicates and links a page are made ten and a hundred times as many, one after the other, in
crawls of a web made for it. A page's time is what a longer crawl takes more than a shorter one of the same web:
the start is not in it. An exponent of 0 says that a page costs the same, one of 1 that it costs in proportion.
"""

import argparse
import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import BinaryIO

from bench.command import children_cpu, crawling, summary
from scentline.agents.offline.archive import Answer
from scentline.agents.offline.serve import ServerProcess
from scentline_lab.synthetic.web import record

#: Words of a page, words that there are, and the exponent of Zipf's law by which they are drawn.
WORDS, VOCABULARY, EXPONENT = 300, 20_000, 1.1
HOSTS = 50
#: Links of a hub: pages that only make candidates known.
HUB_LINKS = 1_000


@dataclass(frozen=True)
class Size:
    """A crawl of ``budget`` pages, after ``hubs``, of a web whose pages have ``links`` links each."""

    budget: int = 300
    hubs: int = 0
    predicates: int = 2
    links: int = 20


#: What grows, and the crawls in which it does.
GROWING: dict[str, tuple[tuple[int, Size], ...]] = {
    "pages": tuple((number, Size(budget=number)) for number in (100, 1_000, 10_000)),
    "candidates": tuple((HUB_LINKS * hubs, Size(hubs=hubs)) for hubs in (1, 10, 100)),
    "predicates": tuple((number, Size(predicates=number)) for number in (1, 10, 100, 300)),
    "links a page": tuple((number, Size(links=number)) for number in (10, 100, 1_000)),
}


def main() -> None:
    """Parse the command line, crawl, and print a line for each size."""
    parser = argparse.ArgumentParser(prog="bench.growth")
    parser.add_argument("--only", choices=[*GROWING], action="append", help="what grows; all by default")
    parser.add_argument("--policy", default="learned")
    given = parser.parse_args()
    print(f"{'':<14}{'':>10}{'ms of CPU a page':>20}{'exponent':>12}", flush=True)
    for what in given.only or GROWING:
        before: tuple[int, float] | None = None
        for number, size in GROWING[what]:
            spent = cpu_a_page(size, given.policy)
            exponent = "" if before is None else f"{_exponent(before, (number, spent)):.2f}"
            print(f"{what:<14}{number:>10,}{1e3 * spent:>20.1f}{exponent:>12}", flush=True)
            before = number, spent


def _exponent(first: tuple[int, float], second: tuple[int, float]) -> float:
    return math.log(second[1] / first[1]) / math.log(second[0] / first[0])


def cpu_a_page(size: Size, policy: str) -> float:
    """Return the CPU seconds, user and system, that a page of a crawl takes."""
    with tempfile.TemporaryDirectory(prefix="scentline-growth-") as name:
        directory = Path(name)
        pages = directory / "pages.warc.gz"
        with pages.open("wb") as out:
            write_web(out, size)
        with ServerProcess.archive([pages]) as server:
            short = size.hubs + size.budget // 3
            first = _crawl(size, short, policy, server.url, directory / "short")
            whole = _crawl(size, size.hubs + size.budget, policy, server.url, directory / "whole")
    return (whole - first) / (size.hubs + size.budget - short)


def _crawl(size: Size, budget: int, policy: str, proxy: str, data: Path) -> float:
    seeds = [_hub(number) for number in range(size.hubs)] or [_page(number) for number in range(10)]
    predicates = {f"p{number}": f'"{_word(20 + 7 * number)}"' for number in range(size.predicates)}
    before = children_cpu()
    summary(*crawling(proxy, data, seeds, predicates, "--budget", str(budget), "--policy", policy))
    return children_cpu() - before


def write_web(out: BinaryIO, size: Size) -> None:
    """Write hubs, and pages enough for the crawl, as WARC; the same for the same size."""
    random = Random(1)
    known = HUB_LINKS * size.hubs
    pages = max(size.budget * 3 // 2 + 100, 2 * size.links)
    words = list(_text(random, pages * WORDS))
    for number in range(size.hubs):
        listed = range(HUB_LINKS * number, HUB_LINKS * (number + 1))
        _write(out, _hub(number), words[:WORDS], listed, random)
    for number in range(max(pages, known)):
        start = WORDS * (number % pages)
        targets = [random.randrange(max(pages, known)) for _ in range(size.links)]
        _write(out, _page(number), [*words[start : start + WORDS], f"page{number}"], targets, random)


def _write(out: BinaryIO, url: str, words: Sequence[str], targets: Sequence[int], random: Random) -> None:
    anchors = (f'<a href="{_page(target)}">{" ".join(random.sample(words, 3))}</a>' for target in targets)
    html = f"<title>{' '.join(words[:5])}</title><p>{' '.join(words)}</p><p>{' '.join(anchors)}</p>"
    head = (("Content-Type", "text/html; charset=utf-8"),)
    out.write(record(url, Answer(200, head, html.encode())))


def _text(random: Random, length: int) -> Iterator[str]:
    weights = [1 / (rank + 1) ** EXPONENT for rank in range(VOCABULARY)]
    return map(_word, random.choices(range(VOCABULARY), weights, k=length))


def _word(rank: int) -> str:
    letters = []
    for _ in range(4):
        rank, letter = divmod(rank, 26)
        letters.append(chr(ord("a") + letter))
    return "w" + "".join(letters)


def _page(number: int) -> str:
    return f"http://s{number % HOSTS}.growth.test/p/{number}"


def _hub(number: int) -> str:
    return f"http://hubs.growth.test/h/{number}"


if __name__ == "__main__":
    main()
