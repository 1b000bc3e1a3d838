"""``make export``: how fast judged pages become Parquet, in how much memory, and that none is lost or doubled.

First a log of many judged pages is exported, whole, and again with three kills on the way; then recorded pages
that are kept, with what they hold.
"""

import argparse
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec
import pyarrow.parquet
from msgspec.structs import replace

from bench.command import COMMAND
from scentline.agents.operate.export import PART_ROWS
from scentline.agents.worker.connect import open_journal
from scentline.models.page import Link
from scentline.models.published import Outcome
from scentline.streams.settings import Settings
from scentline.streams.topics import OUTCOMES
from tests.agents.cells import an_outcome
from tests.agents.judging import responses
from tests.agents.test_keep import Store, fetched

#: Words and links of an outcome, as the mean is of a crawl of documentation: 6 kB.
WORDS, LINKS = 160, 20
KEPT = 2_500


def judged(pages: int) -> Iterator[Outcome]:
    """Yield outcomes of pages of many hosts."""
    random = Random(1)
    words = [f"word{random.randrange(10 ** random.randint(2, 6))}" for _ in range(5_000)]
    for number in range(pages):
        url, at = f"http://host{number % 997}.example/path/{number}.html", random.randrange(4_000)
        said = (*words[at : at + 3],), (*words[at : at + 16],)
        links = [Link(f"http://host{place}.example/other/{at}", *said) for place in range(LINKS)]
        yield an_outcome(
            url, {"tea": number % 2 == 0, "ski": number % 7 == 0}, links, time=1.7e9 + number,
            title=" ".join(words[at : at + 8]), words=(*words[at : at + WORDS],), predicate="tea",
            priority=random.uniform(-9, 0), expected=random.random(), referrer=url, depth=number % 9,
            origin=f"pages/0@{number}",
        )  # fmt: skip


def tell(data: Path, outcomes: Iterator[Outcome]) -> None:
    """Publish outcomes."""
    with open_journal(Settings(data=data)) as journal:
        while some := [*islice(outcomes, 1_000)]:
            journal.append_all([(OUTCOMES.name, 0, None, msgspec.json.encode(each)) for each in some], 1.7e9)


def keep(data: Path) -> None:
    """Keep recorded pages, and publish their outcomes."""
    store, told = Store(data), []
    for number, (url, kind, body) in enumerate(islice(responses("docs"), KEPT)):
        page = replace(fetched(number), body=body, time=1.7e9 + number)
        page = replace(page, order=replace(page.order, url=url), headers={"content-type": kind or "text/html"})
        store.keep(page)
        told.append(an_outcome(url, {"tea": True}, (), time=page.time))
    store.kept.close()
    tell(data, iter(told))


class Spent(NamedTuple):
    """Seconds, seconds of CPU of the process and those that it started, and its megabytes at most."""

    seconds: float
    cpu: float
    memory: float


def export(data: Path, out: Path, killed_at: int = 0) -> Spent:
    """Export all pages as Parquet; or kill the export once there is a part of a number."""
    begun = time.perf_counter()
    command = (*COMMAND, "export", "--all", "--format", "parquet", "--data", str(data), "--out", str(out))
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    while killed_at and not (out / f"part-{killed_at:05d}.parquet").exists():
        time.sleep(0.01)
    if killed_at:
        os.kill(process.pid, signal.SIGKILL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != (-signal.SIGKILL if killed_at else 0):
        raise SystemExit(f"the export ended with {process.returncode}")
    return Spent(time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3)


def rows(out: Path) -> int:
    """Return the rows of all parts."""
    return sum(pyarrow.parquet.read_metadata(part).num_rows for part in out.glob("part-*.parquet"))


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(prog="make export", description=__doc__)
    parser.add_argument("--pages", type=int, default=1_000_000)
    pages = parser.parse_args().pages
    with tempfile.TemporaryDirectory(prefix="bench-export-") as directory:
        place = Path(directory)
        tell(place / "log", judged(pages))
        spent = export(place / "log", place / "whole")
        print(f"{rows(place / 'whole'):,} rows, {spent.memory:,.0f} MB at most")
        print(f"{pages / spent.seconds:,.0f} rows a second, {pages / spent.cpu:,.0f} a second of CPU")
        for part in (part for part in (1, 2, 4) if part * PART_ROWS < pages):
            export(place / "log", place / "killed", part)
            print(f"killed with {rows(place / 'killed'):,} rows")
        export(place / "log", place / "killed")
        print(f"and then: {rows(place / 'killed'):,} rows")
        keep(place / "kept")
        spent = export(place / "kept", place / "held")
        found = rows(place / "held")
        print(
            f"with what {found:,} kept pages hold: {found / spent.seconds:,.0f} pages a second, "
            f"{spent.cpu / found * 1e3:.1f} ms of CPU a page"
        )


if __name__ == "__main__":
    main()
