"""``python -m bench.size``: a frontier of so many candidates starts, and a log is taken up.

A worker with the frontier alone is started on a data directory that was made for it, in a process of its own.
Nobody answers its orders: it fills its window and takes up the rest. A log is fed to a whole crawl, whose
fetches come to nothing. Memory is the most that was resident.
"""

import argparse
import logging
import multiprocessing
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar

from bench.size.directory import build
from bench.size.measure import Mark, start, take_up, write_log

Value = TypeVar("Value")


def apart(work: Callable[..., Value], *given: object) -> Value:
    """Return what work comes to in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    # Nobody is to be told of orders that nobody answers.
    with ProcessPoolExecutor(1, spawn, initializer=logging.disable, initargs=(logging.WARNING,)) as pool:
        return pool.submit(work, *given).result()


def main() -> None:
    """Parse the command line, measure and print."""
    parser = argparse.ArgumentParser(prog="bench.size")
    parser.add_argument("--candidates", type=int, nargs="*", default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--lines", type=int, nargs="*", default=[300_000], help="lines of the log")
    parser.add_argument("--users", type=int, default=1_000_000, help="users in the log")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        for candidates in given.candidates:
            apart(build, place / f"{candidates}", candidates)
            first, whole = apart(start, place / f"{candidates}")
            _print(f"{candidates:,} candidates: to the first order", first)
            _print(f"{candidates:,} candidates: all taken up", whole)
        for lines in given.lines:
            write_log(place / "access.log", lines, given.users)
            _print(f"a log of {lines:,} URLs", apart(take_up, place / "access.log", place / f"of-{lines}"))


def _print(what: str, mark: Mark) -> None:
    print(f"{what:<45}{mark.seconds:9.1f} s{mark.cpu:9.1f} s of CPU{mark.memory:9.0f} MB", flush=True)


if __name__ == "__main__":
    main()
