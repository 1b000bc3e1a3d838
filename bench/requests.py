"""``python -m bench.requests``: what crawls of sites with dead links ask for, and find, from their front pages.

A crawl for each word, by each policy. What the archive lacks answers 404, as a dead link does.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import mean

from bench.command import DOCS, each, summary

WORDS = (
    "password", "unicode", "compiler", "encryption", "regex", "backup", "matrix", "macro", "merge", "gc",
    "timezone", "certificate",
)  # fmt: skip


def main() -> None:
    """Parse the command line, crawl, and print a line a crawl and the means of each policy."""
    parser = argparse.ArgumentParser(prog="bench.requests")
    parser.add_argument("--data", type=Path, default=DOCS, help="directory with pages.warc.gz and seeds.txt")
    parser.add_argument("--words", nargs="+", default=WORDS, help="what to look for")
    parser.add_argument("--policies", nargs="+", default=("learned", "breadth-first"))
    parser.add_argument("--budget", type=int, default=400, help="pages to judge in each crawl")
    given = parser.parse_args()
    found: dict[str, list[tuple[float, float, float]]] = {policy: [] for policy in given.policies}
    for word in given.words:
        for policy in given.policies:
            figures = crawl(given.data, word, policy, given.budget)
            found[policy].append(figures)
            print(line(f"{word} {policy}", figures), flush=True)
    for policy, crawls in found.items():
        requests, harvest, hits = map(mean, zip(*crawls, strict=True))
        print(line(f"mean {policy}", (requests, harvest, hits)))


def crawl(data: Path, word: str, policy: str, budget: int) -> tuple[float, float, float]:
    """Return one crawl's requests a page, hits a page and hits a request."""
    seeds = (data / "seeds.txt").read_text().split()
    with tempfile.TemporaryDirectory() as directory:
        crawled = summary(
            "--archive", str(data / "pages.warc.gz"), "--data", f"{directory}/data",
            "--predicate", f'word="{word}"', "--policy", policy, "--budget", str(budget),
            *each("--seed", seeds),
        )  # fmt: skip
    predicate = crawled["predicates"]["word"]
    return crawled["requests"] / crawled["fetched"], predicate["harvest_rate"], predicate["hits_per_request"]


def line(name: str, figures: tuple[float, float, float]) -> str:
    """Return one line of the table."""
    requests, harvest, hits = figures
    return f"{name:28} {requests:6.2f} requests a page  {harvest:6.3f} hits a page  {hits:6.3f} hits a request"


if __name__ == "__main__":
    main()
