"""Crawls that are looked at: written by hand, and running ones that are killed and started again."""

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from scentline.agents.window.reading import Reading
from scentline.agents.window.screens import screen
from scentline.models.frontier.keys import host_key
from scentline.models.frontier.rows import FrontierRow, HostRow
from scentline.models.published import Change, Outcome
from scentline.models.records import DeadLetter, encode, partition_of
from scentline.streams.settings import Settings
from scentline.streams.topics import CHANGES, CONTROL, DEAD_LETTERS, OUTCOMES, SIGHTINGS, TABLES
from scentline.streams.transport.journal import Journal
from tests.agents.commands import Forked, forked, printed
from tests.agents.shards import put
from tests.patience import wait_for
from tests.webs.hostile import SCRIPT, address, log_lines

PARTITIONS = 3
#: The time of a view, unless a test says another.
NOW = 1000.0
#: What a page, a server or a log may say.
HOSTILE = "<img src=x onerror=alert(1)>\x1b[2J\u202egnp.exe\x00\x07"
#: A predicate with hits, and one whose expression is hostile.
HOSTILE_PREDICATES = {
    "hockey": '"ice hockey"',
    "hostile": f'url("{SCRIPT}") or url("<img src=x onerror=\'globalThis.hit=2\'>") or "gardens"',
}
Record = Outcome | Change | DeadLetter


def a_letter(at: int, topic: str = "pages", why: str = "", reason: str = "", value: bytes = b"") -> DeadLetter:
    return DeadLetter(topic=topic, partition=0, offset=at, reason=reason, value=value, time=float(at), why=why)


@contextmanager
def _a_journal(
    data: Path, tables: Iterable[str], records: Sequence[Record], hosts: Mapping[str, HostRow] | None
) -> Iterator[Journal]:
    with Journal.open(data / "journal") as journal:
        for topic in (SIGHTINGS, OUTCOMES, CHANGES, CONTROL, DEAD_LETTERS):
            parts = PARTITIONS if topic.shards or topic is SIGHTINGS else 1
            journal.create_topic(topic.name, parts, retention=100.0, compacted=topic.compacted)
        for name in tables:
            journal.create_table(name, PARTITIONS)
        write_hosts(journal, hosts or {})
        tell(journal, *records)
        yield journal


@contextmanager
def a_crawl(
    *records: Record, hosts: Mapping[str, HostRow] | None = None, **settings: Any
) -> Iterator[tuple[Journal, Reading]]:
    """Give the journal of a crawl that has these records, and what reads it."""
    with tempfile.TemporaryDirectory() as directory:
        given = Settings.model_validate({"data": Path(directory), **settings})
        with (
            _a_journal(given.data, TABLES, records, hosts) as journal,
            closing(Reading(given, lambda: NOW)) as reading,
        ):
            settle(reading)
            yield journal, reading


@contextmanager
def a_small_journal(*records: Record, hosts: Mapping[str, HostRow] | None = None) -> Iterator[Journal]:
    """Give the journal of a crawl that has these records, and the frontier's table alone."""
    with (
        tempfile.TemporaryDirectory() as directory,
        _a_journal(Path(directory), ["frontier"], records, hosts) as journal,
    ):
        yield journal


def write_rows(journal: Journal, host: str, rows: Mapping[bytes, FrontierRow]) -> None:
    """Write rows of a host, as the frontier does."""
    parts = journal.table("frontier")
    put(parts[partition_of(host, len(parts))], {key: msgspec.msgpack.encode(row) for key, row in rows.items()})


def write_hosts(journal: Journal, hosts: Mapping[str, HostRow]) -> None:
    for name, row in hosts.items():
        write_rows(journal, name, {host_key(name): row})


def tell(journal: Journal, *records: Record, at: float = 0.0) -> None:
    for each in records:
        if isinstance(each, DeadLetter):
            journal.append(DEAD_LETTERS.name, 0, None, encode(each), at)
        else:
            topic = OUTCOMES.name if isinstance(each, Outcome) else CHANGES.name
            journal.append(topic, partition_of(each.url, PARTITIONS), None, msgspec.json.encode(each), at)


def settle(reading: Reading) -> None:
    """Have all work done that is done ahead of views."""
    while reading.work() is not None:
        pass


def seen(reading: Reading, name: str, **query: object) -> dict[str, Any]:
    """Return a view as a browser has it, once all is worked out; it is of bounded size."""
    view = screen(name, {key: str(value) for key, value in query.items()})
    view(reading)
    settle(reading)
    encoded = msgspec.json.encode(view(reading))
    assert len(encoded) < 1_000_000
    found: dict[str, Any] = msgspec.json.decode(encoded)
    return found


class RunningCrawl:
    """``scentline crawl`` in a process of its own; ``requests`` tells how many its web has had."""

    def __init__(self, data: Path, arguments: Sequence[str], requests: Callable[[], int]) -> None:
        self.data, self.requests = data, requests
        self._arguments = ("crawl", "--data", str(data), *arguments)
        self._run: Forked | None = None
        self._runs = ExitStack()

    def start(self) -> None:
        """Start it, or go on after it was killed; it has asked for something when this returns."""
        before = self.requests()
        self._run = self._runs.enter_context(forked(self.data.parent, *self._arguments))
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
        assert self._run is not None
        assert self._run.process.is_alive(), self._run.err.read_text()
        return True

    def kill(self) -> None:
        """End it as a failing machine would."""
        self._runs.close()

    def told(self, *arguments: str) -> str:
        """Run a command on its directory, and return what it prints."""
        return printed(self.data.parent, *arguments, "--data", str(self.data))


@contextmanager
def running_crawl(data: Path, arguments: Sequence[str], requests: Callable[[], int]) -> Iterator[RunningCrawl]:
    """Start a crawl, and kill it at the end."""
    crawl = RunningCrawl(data, arguments, requests)
    try:
        crawl.start()
        yield crawl
    finally:
        crawl.kill()


def of_hostile_web(directory: Path, proxy: str) -> list[str]:
    """Return the arguments of a crawl of a hostile web, with a log that is no better; it has no end."""
    log = directory / "access.log"
    log.write_text("".join(f"{line}\n" for line in log_lines(time.time())), encoding="utf-8")
    return [
        "--log", str(log), "--follow", "--seed", address(0, 0), *of_predicates(HOSTILE_PREDICATES),
        "--budget", "100000", "--set", f"fetch.proxy={proxy}", "--set", "fetch.delay_seconds=0.5",
        "--set", "frontier.retry_seconds=5",
    ]  # fmt: skip


def of_predicates(predicates: dict[str, str]) -> list[str]:
    """Return predicates as a command takes them."""
    return [word for name, expression in predicates.items() for word in ("--predicate", f"{name}={expression}")]
