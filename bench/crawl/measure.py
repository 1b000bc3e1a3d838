"""Running a crawler as a process of its own: to its end and measured, or killed half-way and resumed."""

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bench.crawl.crawlers import Crawler
from bench.crawl.server import Nginx
from bench.written import appended, puts

_POLL_SECONDS = 0.05
#: One look of so many is at the memory too: summing it up stops the process for some milliseconds.
_LOOKS_A_MEMORY = 10


@dataclass
class Usage:
    """CPU seconds, user and system, and peak memory in bytes, of a process with all its children.

    Memory is the proportional set size (PSS): a page of memory that several processes share counts once.
    """

    pid: int
    cpu: float = 0.0
    memory: int = 0
    _ended: dict[int, float] = field(default_factory=dict)

    def look(self, *, memory: bool) -> float:
        """Look once, at the memory too if ``memory``, which takes longer; return the CPU seconds so far."""
        total = 0
        for process in self._processes():
            try:
                times = process.cpu_times()
                self._ended[process.pid] = times.user + times.system
                if memory:
                    total += process.memory_full_info().pss
            except psutil.Error:
                continue  # it has just ended: what it used until then was noted
        self.cpu = sum(self._ended.values())
        self.memory = max(self.memory, total)
        return self.cpu

    def _processes(self) -> list[psutil.Process]:
        try:
            parent = psutil.Process(self.pid)
            return [parent, *parent.children(recursive=True)]
        except psutil.Error:
            return []


@dataclass(frozen=True)
class Run:
    """One crawl: ``pages`` served, its time and its CPU time in seconds, its peak memory in bytes.

    ``start`` is the CPU time until the first page was served, ``end`` that after the last. ``curve`` is of CPU
    seconds, after each of which so many pages were served, and ``hits`` says of each category the ordinals of
    the pages that are in it. ``records`` and ``puts`` are what Scentline wrote (`bench.written`), 0 for others.
    """

    pages: int
    seconds: float
    cpu: float
    memory: int
    start: float
    end: float
    curve: list[tuple[float, int]]
    hits: dict[str, list[int]]
    records: int
    puts: int

    @property
    def rate(self) -> float:
        """Pages a second, from the start of the process to its end."""
        return self.pages / self.seconds

    @property
    def cpu_a_page(self) -> float:
        """Milliseconds of CPU time a page, all threads and children, user and system."""
        return 1000 * self.cpu / self.pages

    def cpu_at(self, page: int) -> float:
        """Return the CPU time in seconds at which so many pages were served."""
        return next((cpu for cpu, pages in self.curve if pages >= page), self.cpu)

    def cpu_of_most(self) -> float:
        """Return the milliseconds of CPU time of an answer, over those between the first tenth and the last."""
        _, last = self.curve[-1]
        first, last = last // 10, last - last // 10
        return 1000 * (self.cpu_at(last) - self.cpu_at(first)) / (last - first)

    def hits_a_second(self, category: str, hits: int) -> float:
        """Return the hits for a second of CPU time until so many were served, or all where there are fewer."""
        ordinals = sorted(self.hits[category])
        if len(ordinals) < hits:
            return len(ordinals) / self.cpu
        return hits / self.cpu_at(ordinals[hits - 1])


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


def whole(crawler: Crawler, nginx: Nginx, directory: Path, categories: Mapping[str, Collection[str]]) -> Run:
    """Crawl to the end, and measure it. Raises `CrawlerError`."""
    nginx.forget()
    curve: list[tuple[float, int]] = [(0.0, 0)]
    begun = time.monotonic()
    with started(crawler, nginx.url, directory) as process:
        usage, looks = Usage(process.pid), 0
        while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            usage.look(memory=looks % _LOOKS_A_MEMORY == 0)
            looks += 1
            if (served := nginx.count()) > curve[-1][1]:
                curve.append((usage.cpu, served))
            time.sleep(_POLL_SECONDS)
        seconds = time.monotonic() - begun
        _, status, total = ended
        process.returncode = os.waitstatus_to_exitcode(status)
    _check(crawler, process, directory)
    cpu = total.ru_utime + total.ru_stime  # with its children, which it has waited for
    ordinals = {url: number for number, url in enumerate(dict.fromkeys(nginx.served()), 1)}
    data = None if crawler.data is None else directory / crawler.data
    return Run(
        pages=len(ordinals),
        seconds=seconds,
        cpu=cpu,
        memory=usage.memory,
        start=curve[min(1, len(curve) - 1)][0],
        end=cpu - curve[-1][0],
        curve=curve,
        hits={name: [ordinals[url] for url in urls if url in ordinals] for name, urls in categories.items()},
        records=0 if data is None else sum(appended(data).values()),
        puts=0 if data is None else puts(data),
    )


def killed(crawler: Crawler, nginx: Nginx, directory: Path, urls: frozenset[str], unharmed: Path) -> Resumed:
    """Crawl, ``kill -9`` when half of ``urls`` were served, and crawl on to the end.

    ``unharmed`` is the directory of a crawl that went through. Raises `CrawlerError`.
    """
    nginx.forget()
    with started(crawler, nginx.url, directory) as process:
        while process.poll() is None and nginx.count() < len(urls) // 2:
            time.sleep(_POLL_SECONDS)
        if process.returncode is not None:
            raise CrawlerError(f"{crawler.name} ended before it was killed; see {directory / 'output.log'}")
    before = nginx.count()
    with started(crawler, nginx.url, directory) as process:
        process.wait()
    _check(crawler, process, directory)
    served = Counter(nginx.served())
    return Resumed(
        before=before,
        after=served.total() - before,
        lost=len(urls - served.keys()),
        twice=sum(count > 1 for count in served.values()),
        kept=crawler.kept(directory),
        whole=crawler.kept(unharmed),
    )


@contextmanager
def started(crawler: Crawler, proxy: str, directory: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a crawler on what ``proxy`` serves, and ``kill -9`` it at the end of the block if it still runs."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "output.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - the crawlers' own commands
            crawler.command(directory, proxy),
            cwd=directory,
            env=crawler.environment(proxy),
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
