"""What the figures of docs/papers/2007-wang.md are measured on, as ``python -m agents.news`` shows.

``log DIR`` writes ``access.log.gz``, the log of a synthetic web of news, and ``labels.tsv``, what its pages
are; ``revisits`` prints how long links wait on simulated hubs.
"""

import argparse
import gzip
from pathlib import Path
from random import Random

from agents.offline.synthetic.news import NewsWeb
from models.news.revisits import Revisits
from models.news.simulation import expected, simulate

_HUBS, _VISITS_AN_HOUR, _WEEKS = 50, 100, 4
_HOUR, _WEEK = 3_600.0, 604_800.0


def main() -> None:
    """Parse the command line and do what it asks for."""
    parser = argparse.ArgumentParser(prog="agents.news", description="What figures are measured on.")
    parser.add_argument("--seed", type=int, default=1)
    parts = parser.add_subparsers(dest="part", required=True)
    parts.add_parser("log").add_argument("directory", type=Path, metavar="DIR")
    parts.add_parser("revisits")
    given = parser.parse_args()
    if given.part == "log":
        _write_log(given.directory, NewsWeb(given.seed))
    else:
        _print_revisits(Random(given.seed))


def _write_log(directory: Path, web: NewsWeb) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with gzip.open(directory / "access.log.gz", "wt", encoding="ascii", compresslevel=6) as log:
        log.writelines(f"{line}\n" for line in web.access_log())
    labels = "".join(f"{url}\t{label}\n" for url, label in web.labels())
    (directory / "labels.tsv").write_text(labels, encoding="ascii")


def _print_revisits(rng: Random) -> None:
    """Print the waits for hubs of which the k-th gets 1/k as many links as the first, twelve an hour."""
    rates = {f"hub{rank}": 12 / rank / _HOUR for rank in range(1, _HUBS + 1)}
    known = expected(rates, _VISITS_AN_HOUR / _HOUR)
    print(f"{_HUBS} hubs, {_VISITS_AN_HOUR} visits an hour; minutes that a link waits on average")
    print(f"equal intervals          {known.equal / 60:6.2f}")
    print(f"square root, rates known {known.square_root / 60:6.2f}")
    revisits = Revisits(_VISITS_AN_HOUR / _HOUR, shortest=30.0)
    for hub in rates:
        revisits.add(hub, 1 / _HOUR, 0.0)
    for week in range(_WEEKS):
        found = simulate(revisits, rates, week * _WEEK, (week + 1) * _WEEK, rng)
        print(f"learned, week {week + 1}          {found.wait / 60:6.2f}   ({found.visits} visits)")


if __name__ == "__main__":
    main()
