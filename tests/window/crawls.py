"""Crawls that run beside who looks at them: they are killed, started again, and told what to do."""

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from scentline.streams.topics import SIGHTINGS, TABLES
from scentline.streams.transport.journal import Journal
from tests.agents.commands import COMMAND, environment, printed
from tests.patience import PATIENCE, wait_for
from tests.webs.hostile import SCRIPT, HostileWeb, address, log_lines

#: A predicate with hits, and one whose expression is hostile.
PREDICATES = {
    "hockey": '"ice hockey"',
    "hostile": f'url("{SCRIPT}") or url("<img src=x onerror=\'globalThis.hit=2\'>") or "gardens"',
}


def make_tables(journal: Journal, partitions: int) -> None:
    """Make the tables of a crawl and the topic that they go by; nobody reads a directory without them."""
    journal.create_topic(SIGHTINGS.name, partitions, retention=100.0, compacted=SIGHTINGS.compacted)
    for name in TABLES:
        journal.create_table(name, partitions)


class RunningCrawl:
    """``scentline crawl`` in a process of its own; ``requests`` counts what its web was asked."""

    def __init__(self, data: Path, arguments: Sequence[str], requests: Callable[[], int]) -> None:
        self.data = data
        self.requests = requests
        self._arguments = arguments
        self._errors = data.with_suffix(".errors")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, or go on after it was killed; it has asked for something when this returns."""
        before = self.requests()
        with self._errors.open("ab") as errors:
            self._process = subprocess.Popen(
                [*COMMAND, "crawl", "--data", str(self.data), *self._arguments],
                cwd=self.data.parent, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=errors,
            )  # fmt: skip
        self.wait_for(before + 1)

    def wait_for(self, requests: int) -> None:
        """Wait until the web has had so many requests."""
        wait_for(f"{requests} requests", lambda: self._alive() and self.requests() >= requests)

    def wait_until_silent(self) -> None:
        """Wait until it asks for nothing more."""
        counts = [-2, -1]

        def silent() -> bool:
            counts.append(self.requests())
            return self._alive() and counts[-1] == counts[-2]

        wait_for("silence", silent, pause=2.0)

    def _alive(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._errors.read_text()
        return True

    def kill(self) -> None:
        """End it as a failing machine would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)
            self._process = None

    def told(self, *arguments: str) -> str:
        """Run a command on its directory, and return what it prints."""
        return printed(self.data.parent, *arguments, "--data", str(self.data))


class HostileCrawl(RunningCrawl):
    """A crawl of a hostile ``web``."""

    def __init__(self, data: Path, arguments: Sequence[str], web: HostileWeb) -> None:
        super().__init__(data, arguments, web.asked.total)
        self.web = web


def of_hostile_web(directory: Path, web: HostileWeb) -> HostileCrawl:
    """Return a crawl of a hostile web, with a log that is no better; it has no end."""
    log = directory / "access.log"
    log.write_text("".join(f"{line}\n" for line in log_lines(time.time())), encoding="utf-8")
    arguments = [
        "--log", str(log), "--follow", "--seed", address(0, 0), *of_predicates(PREDICATES),
        "--budget", "100000", "--set", f"fetch.proxy={web.url}", "--set", "fetch.delay_seconds=0.5",
        "--set", "frontier.retry_seconds=5",
    ]  # fmt: skip
    return HostileCrawl(directory / "data", arguments, web)


def of_predicates(predicates: dict[str, str]) -> list[str]:
    """Return predicates as a command takes them."""
    return [word for name, expression in predicates.items() for word in ("--predicate", f"{name}={expression}")]
