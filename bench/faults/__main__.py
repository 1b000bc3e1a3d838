"""``python -m bench.faults``: faults on a real broker with real pages, and a recount after each.

With ``--hours`` they are done again and again in an order of chance, until the time is over or something is
lost; the seed that is printed brings the same order again.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

from bench.command import WIKISPEEDIA, needs
from bench.faults.cluster import Cluster
from bench.faults.crawl import wikispeedia
from bench.faults.faults import FAULTS
from bench.faults.suite import Result, run
from bench.faults.workers import WorkerError
from deploy.kafka.jars import BrokerError
from scentline.agents.signals import end_as_by_ctrl_c
from scentline.agents.worker.worker import ROLES

HEAD = ("fault", "times", "pages", "lines", "lost", "twice", "wrong", "seconds")


def _row(result: Result) -> tuple[str, ...]:
    """Return a result as a row of the table."""
    found = result.checked
    numbers = (result.times, found.judged, found.lines, found.lost, found.twice, found.differences)
    return (result.fault, *map(str, numbers), f"{result.seconds:.1f}")


def table(results: Iterable[Result]) -> str:
    """Return the table as Markdown.

    ``pages`` and ``lines`` are what the crawl had counted at the recount; ``wrong`` are rows that differ from
    it; ``seconds`` are those until ten more pages were judged.
    """
    lines = [HEAD, ("---", *("--:" for _ in HEAD[1:])), *map(_row, results)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


#: Two workers of each role, and two partitions for each.
LAYOUT = {f"{role}-{number}": (role,) for role in ROLES for number in (1, 2)}
PARTITIONS = 4


def main() -> None:
    """Parse the command line, run, and print the table; ends with status 1 where anything is lost or wrong."""
    given = _arguments().parse_args()
    end_as_by_ctrl_c()  # so that what was started is ended
    needs(given.data / "pages.warc.gz", "faults")
    unknown = sorted(set(given.fault) - FAULTS.keys())
    if unknown:
        raise SystemExit(f"faults: there is no fault {unknown[0]!r}; expected some of: {', '.join(FAULTS)}")
    results: list[Result] = []
    try:
        if given.keep is None:
            with tempfile.TemporaryDirectory(prefix="scentline-faults-") as directory:
                _run(given, Path(directory), results)
        else:
            given.keep.mkdir(parents=True, exist_ok=True)
            _run(given, given.keep.absolute(), results)
    except (WorkerError, BrokerError) as error:
        raise SystemExit(f"faults: {error}") from error
    finally:
        print(table(results), flush=True)
    if not all(result.checked.exact for result in results):
        sys.exit(1)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.faults")
    parser.add_argument(
        "--data", type=Path, default=WIKISPEEDIA, help="directory of the Wikispeedia pages and log"
    )
    parser.add_argument("--lines", type=int, default=20_000, help="lines of the log")
    parser.add_argument("--seed", type=int, default=1, help="of every random choice")
    parser.add_argument("--fault", action="append", default=[], metavar="NAME", help="this one; repeatable")
    parser.add_argument("--hours", type=float, default=0.0, help="go on for so long, in an order of chance")
    parser.add_argument("--keep", type=Path, help="write here, and leave it")
    return parser


def _run(given: argparse.Namespace, directory: Path, results: list[Result]) -> None:
    random = Random(given.seed)
    crawl = wikispeedia(given.data, directory / "access.log", given.lines)
    print(f"seed {given.seed}", file=sys.stderr, flush=True)
    with Cluster(directory, crawl, LAYOUT, PARTITIONS) as cluster:
        chosen = _endless(random, given.hours) if given.hours else iter(given.fault or FAULTS)
        for result in run(cluster, ((name, FAULTS[name]) for name in chosen), random, _tell):
            results.append(result)
            for example in result.checked.examples:
                _tell(example)
            if not result.checked.exact:
                return


def _endless(random: Random, hours: float) -> Iterator[str]:
    end = time.monotonic() + hours * 3600
    while time.monotonic() < end:
        yield random.choice(list(FAULTS))


def _tell(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
