"""``python -m bench.again``: what a visit to a judged page costs, beside what a page costs that is new.

Recorded pages are crawled with `frontier.revisit` off, and on; then those of the latter are visited again, as
fast as it goes, each time from the same data directory: nginx answers that they are unchanged (304), or sends
them as they were. CPU is that of all the crawler's processes, its start and its end left out.
"""

import argparse
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.command import WIKISPEEDIA
from bench.crawl.crawlers import BOTH, Scentline
from bench.crawl.measure import Run, whole
from bench.crawl.server import Nginx, find
from bench.crawl.web import HOME, unpack

OFF, ON = "new: revisit off", "new: revisit on"
NOT_MODIFIED, SAME = "again: 304", "again: 200, unchanged"
#: With it all pages are due as soon as they were visited, and hosts have no further page that may be fetched.
DUE = ("revisit.shortest_seconds=0.001", "revisit.longest_seconds=0.001", "frontier.host_budget=1")


class Cost(NamedTuple):
    """What a visit takes: milliseconds of CPU time, records of the log, RocksDB's puts."""

    cpu: float
    records: float
    puts: float


class Web:
    """The recorded pages as nginx serves them, and the directories of crawls of them."""

    def __init__(self, place: Path, nginx: str) -> None:
        self.root = place / "web"
        self._place = place
        self._nginx = nginx
        self._seeds = place / "seeds.txt"
        unpack(WIKISPEEDIA / "pages.warc.gz", self.root)
        self._seeds.write_text(HOME)

    def crawl(self, name: str, policy: str, directory: Path, pages: int | None, *settings: str) -> Run:
        """Crawl; return what it took."""
        labels = WIKISPEEDIA / "topics.tsv.gz"
        crawler = Scentline(self._seeds, pages, name, labels, policy, BOTH, settings=settings)
        with Nginx(self._nginx, self.root, self._place / "nginx", versions=name != SAME) as server:
            return whole(crawler, server, directory, {})


def main() -> None:
    """Parse the command line, measure and print."""
    parser = argparse.ArgumentParser(prog="bench.again")
    parser.add_argument("--policies", nargs="*", default=["breadth-first", "learned"])
    parser.add_argument("--pages", type=int, default=600, help="pages to fetch")
    parser.add_argument("--visits", type=int, default=1_800, help="visits of each kind")
    parser.add_argument("--rounds", type=int, default=1, help="rounds, of which the least of each kind counts")
    parser.add_argument("--nginx", type=Path, default=Path("nginx"), help="where an unpacked nginx may lie")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="scentline-bench-") as temporary:
        web = Web(Path(temporary), find(given.nginx))
        for policy in given.policies:
            place = Path(temporary) / policy
            rounds = [
                _round(web, policy, place / f"{number}", given.pages, given.visits)
                for number in range(given.rounds)
            ]
            print(f"{policy}: {given.pages} pages, {given.visits} visits\n{table(rounds)}", flush=True)


def _round(web: Web, policy: str, place: Path, pages: int, visits: int) -> dict[str, Cost]:
    """Return what each kind of visit took."""
    again = "frontier.revisit=0.5"
    off = web.crawl(OFF, policy, place / "off", pages)
    on = web.crawl(ON, policy, place / "on", pages, again)
    found = {
        name: Cost(run.cpu_of_most(), run.records / pages, run.puts / pages)
        for name, run in ((OFF, off), (ON, on))
    }
    for name in (NOT_MODIFIED, SAME):
        shutil.rmtree(place / "again", ignore_errors=True)
        shutil.copytree(place / "on", place / "again")
        run = web.crawl(name, policy, place / "again", None, again, f"frontier.requests={pages + visits}", *DUE)
        answers = run.curve[-1][1]
        found[name] = Cost(
            run.cpu_of_most(), (run.records - on.records) / answers, (run.puts - on.puts) / answers
        )
    return found


def table(rounds: Sequence[Mapping[str, Cost]]) -> str:
    """Return what each kind of visit takes, and the ratio of its CPU to that of a new page."""
    least = {name: Cost(*map(min, zip(*(each[name] for each in rounds), strict=True))) for name in rounds[0]}
    lines = [f"{'':<30}{'ms of CPU':>12}{'ratio':>8}{'records':>10}{'puts':>8}"]
    for name, cost in least.items():
        ratio = cost.cpu / least[ON].cpu
        lines.append(f"{name:<30}{cost.cpu:>12.2f}{ratio:>8.2f}{cost.records:>10.2f}{cost.puts:>8.1f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
