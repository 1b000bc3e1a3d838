"""Running a crawler as a process of its own: to its end and measured, or killed half-way and resumed."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.crawl.crawlers import Crawler
from bench.crawl.server import Nginx

_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Run:
    """One whole crawl: ``pages`` served, its time and its CPU time in seconds, peak memory in bytes."""

    pages: int
    seconds: float
    cpu: float
    memory: int

    @property
    def rate(self) -> float:
        """Pages a second, from the start of the process to its end."""
        return self.pages / self.seconds

    @property
    def cpu_a_page(self) -> float:
        """Milliseconds of CPU time a page, all threads, user and system."""
        return 1000 * self.cpu / self.pages


@dataclass(frozen=True)
class Resumed:
    """A crawl that was killed and started again; all counts are of pages.

    ``lost`` were never served to it, ``twice`` were served more than once, ``kept`` are in its output, and
    ``whole`` in that of a crawl that nobody killed.
    """

    before: int
    after: int
    lost: int
    twice: int
    kept: int
    whole: int


class CrawlerError(Exception):
    """A crawler that did not do its work; the text names its log."""


def whole(crawler: Crawler, nginx: Nginx, directory: Path) -> Run:
    """Crawl everything, and measure it. Raises `CrawlerError`."""
    nginx.forget()
    started = time.monotonic()
    memory = 0
    with _started(crawler, nginx, directory) as process:
        while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            memory = max(memory, _peak(process.pid))
            time.sleep(_POLL_SECONDS)
        seconds = time.monotonic() - started
        _, status, usage = ended
        process.returncode = os.waitstatus_to_exitcode(status)
    _check(crawler, process, directory)
    return Run(len(nginx.served()), seconds, usage.ru_utime + usage.ru_stime, memory)


def killed(crawler: Crawler, nginx: Nginx, directory: Path, urls: frozenset[str], unharmed: Path) -> Resumed:
    """Crawl, ``kill -9`` when half of ``urls`` were served, and crawl on to the end.

    ``unharmed`` is the directory of a crawl that went through. Raises `CrawlerError`.
    """
    nginx.forget()
    with _started(crawler, nginx, directory) as process:
        while process.poll() is None and len(nginx.served()) < len(urls) // 2:
            time.sleep(_POLL_SECONDS)
        if process.returncode is not None:
            raise CrawlerError(f"{crawler.name} ended before it was killed; see {directory / 'output.log'}")
    before = nginx.served()
    with _started(crawler, nginx, directory) as process:
        process.wait()
    _check(crawler, process, directory)
    served = nginx.served()
    return Resumed(
        before=len(before),
        after=served.total() - before.total(),
        lost=len(urls - served.keys()),
        twice=sum(count > 1 for count in served.values()),
        kept=crawler.kept(directory),
        whole=crawler.kept(unharmed),
    )


def _peak(pid: int) -> int:
    """Return a process's peak memory in bytes; its usage at the end would count what its parent held, too."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmHWM:\s+([0-9]+) kB", status)
    return 1024 * int(found[1]) if found else 0  # none is told of a process that has just ended


@contextmanager
def _started(crawler: Crawler, nginx: Nginx, directory: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a crawler, and ``kill -9`` it at the end of the block if it still runs."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "output.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - the two crawlers' own commands
            crawler.command(directory, nginx.url),
            cwd=directory,
            env=crawler.environment(nginx.url),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _check(crawler: Crawler, process: "subprocess.Popen[bytes]", directory: Path) -> None:
    if process.returncode != 0:
        raise CrawlerError(
            f"{crawler.name} ended with status {process.returncode}; see {directory / 'output.log'}"
        )
