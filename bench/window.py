"""``python -m bench.window``: what a viewer costs beside a crawl.

A crawl of recorded pages runs at a steady pace. Its CPU time and the window's are read over equal times: with
no window, with one that nobody looks at, and with one viewer of each screen, an event stream as a browser's.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import httpx
import psutil

from bench.command import WIKISPEEDIA
from bench.crawl.measure import Usage
from bench.crawl.web import HOME
from tests.agents.commands import running, wait_until
from tests.window.windows import base_of, printed_address

SCREENS = ("now", "hosts", "next", "pages", "errors", "learning", "steer")
#: Seconds between two requests of the crawl's one host: it is far from using up a core.
PACE = 0.1
#: Seconds after which a crawl has taken up its work, and a viewer what was there already.
SETTLED = 15.0


@contextmanager
def looking(address: str, screen: str) -> Iterator[None]:
    """Look at a screen as a browser does, while the block runs."""
    done = Event()

    def look() -> None:
        with httpx.Client(base_url=base_of(address), timeout=3_600) as client:
            client.get(address)
            with client.stream("GET", f"/events/{screen}") as stream:
                for _ in stream.iter_lines():
                    if done.is_set():
                        return

    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()


def beside(place: Path, seconds: float) -> None:
    """Print what viewers cost beside a crawl."""
    web = WIKISPEEDIA / "pages.warc.gz"
    options = (
        "--archive", str(web), "--labels", str(WIKISPEEDIA / "topics.tsv.gz"), "--data", "data",
        "--predicate", 'science=category("Science")', "--predicate", 'music=category("Music")',
        "--seed", HOME, "--log", str(WIKISPEEDIA / "access.log.gz"),
        "--set", f"fetch.delay_seconds={PACE}",
    )  # fmt: skip
    with running(place, "crawl", *options) as crawl:
        wait_until((place / "data" / "journal" / "CURRENT").exists, crawl)
        time.sleep(2 * SETTLED)
        alone = _over(crawl.pid, None, seconds)
        print(f"{'no window':<28}{alone[0]:8.2%} of a core by the crawl", flush=True)
        with printed_address(place / "data") as address:
            window = _child("window")
            _print("a window without a viewer", _over(crawl.pid, window, seconds), alone[0])
            for screen in SCREENS:
                with looking(address, screen):
                    time.sleep(SETTLED)
                    _print(f"one viewer of {screen}", _over(crawl.pid, window, seconds), alone[0])


def _child(word: str) -> int:
    """Return the process among those started from here that has a word among its arguments."""
    found = psutil.Process().children(recursive=True)
    return next(each.pid for each in found if word in each.cmdline())


def _over(crawl: int, window: int | None, seconds: float) -> tuple[float, float]:
    """Return the parts of a core that both use meanwhile, with all that they started."""
    usages = [Usage(pid) for pid in (crawl, window) if pid is not None]
    before = [usage.look(memory=False) for usage in usages]
    time.sleep(seconds)
    shares = [(usage.look(memory=False) - used) / seconds for usage, used in zip(usages, before, strict=True)]
    return shares[0], shares[1] if len(shares) > 1 else 0.0


def _print(what: str, shares: tuple[float, float], alone: float) -> None:
    crawl, window = shares
    print(f"{what:<28}{crawl:8.2%} by the crawl ({crawl - alone:+.2%}), {window:.2%} by the window", flush=True)


def main() -> None:
    """Parse the command line, measure and print."""
    parser = argparse.ArgumentParser(prog="bench.window")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long each is measured")
    with tempfile.TemporaryDirectory(prefix="scentline-bench-") as temporary:
        beside(Path(temporary), parser.parse_args().seconds)


if __name__ == "__main__":
    main()
