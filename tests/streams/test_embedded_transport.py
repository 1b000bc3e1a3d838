"""Real Faust apps run on the embedded transport, stop, are killed, and go on; and what a worker runs in."""

import asyncio
import gc
import inspect
import logging
import platform
import re
import subprocess
import sys
import time
import tomllib
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import faust
import pytest
from faust.tables import TableManager
from faust.types import TP
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.judge.markup import Markup, read
from scentline.agents.observe.observer import Observer
from scentline.agents.worker.connect import open_journal
from scentline.agents.worker.crawl import Engine
from scentline.streams.inbox import MARK
from scentline.streams.memory import YOUNG, YOUNG_OF_PAGES, collected_seldom, uncollected
from scentline.streams.metrics import Assignment
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings
from scentline.streams.stateful import Stateful
from scentline.streams.topics import ACCESSES, APP_ID, TABLES, TOPICS, changelog_of, declared
from scentline.streams.transport import embedded
from scentline.streams.transport.embedded import JournalBus, Tables, create_app
from scentline.streams.transport.journal import Journal
from tests.agents.loopback import awaited
from tests.agents.shards import a_runtime
from tests.cases import each_case
from tests.patience import PATIENCE
from tests.streams.test_commits import Counting, decode, packed


def build(directory: Path) -> faust.App:
    return create_app(Settings.model_validate({"data": directory, "streams": {"commit_seconds": 0.1}}))


@asynccontextmanager
async def running(app: faust.App) -> AsyncIterator[faust.App]:
    app.finalize()
    await asyncio.wait_for(app.start(), PATIENCE)
    try:
        yield app
    finally:
        await asyncio.wait_for(app.stop(), PATIENCE)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


@contextmanager
def events(directory: Path) -> Iterator[Journal]:
    with Journal.open(directory / "journal") as journal:
        for topic in ("events", "others"):
            journal.create_topic(topic, 2, retention=None, compacted=False)
        yield journal


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with events(tmp_path) as journal:
        yield journal


def put(journal: Journal, *values: str, partition: int = 0, topic: str = "events") -> None:
    journal.append_batch(topic, partition, [(value.encode(), value.encode()) for value in values], 1.0)


def committed(journal: Journal) -> list[int | None]:
    return [journal.committed(APP_ID, "events", partition) for partition in range(2)]


def collect(
    app: faust.App,
    name: str = "events",
    acks: Callable[[list[str]], bool] = lambda seen: True,
    released: asyncio.Event | None = None,
) -> list[str]:
    """Declare an agent that gathers what it reads, once it is released, and acknowledges some of it."""
    seen: list[str] = []

    async def gather(stream: Any) -> None:
        async for event in stream.noack().events():
            if released is not None:
                await released.wait()
            seen.append(event.value.decode())
            if acks(seen):
                event.ack()

    app.agent(app.topic(name, key_type=bytes, value_type=bytes, partitions=2), name=f"of-{name}")(gather)
    return seen


@asynccontextmanager
async def collecting(
    directory: Path, acks: Callable[[list[str]], bool] = lambda seen: True
) -> AsyncIterator[tuple[faust.App, list[str]]]:
    """Run an app with one such agent."""
    app = build(directory)
    seen = collect(app, acks=acks)
    async with running(app):
        yield app, seen


@each_case("acknowledged, goes_on", [("abe", "cdefg"), ("abdef", "cdefg"), ("bcdef", "abcdefg")])
@awaited
async def test_a_restart_goes_on_at_what_was_not_acknowledged(
    tmp_path: Path, acknowledged: str, goes_on: str
) -> None:
    with events(tmp_path / acknowledged) as journal:
        put(journal, *"abcdef")
        async with collecting(tmp_path / acknowledged, lambda seen: seen[-1] in acknowledged + "x") as (
            _,
            seen,
        ):
            put(journal, "x", partition=1)
            await until(lambda: len(seen) == 7 and committed(journal)[1] == 1)
        assert sorted(seen) == list("abcdefx")
        put(journal, "g")
        async with collecting(tmp_path / acknowledged) as (_, again):
            await until(lambda: again[-1:] == ["g"])
        assert again == list(goes_on)


@awaited
async def test_what_retention_took_before_it_was_read_is_passed_over(journal: Journal, tmp_path: Path) -> None:
    journal.create_topic("events", 2, retention=10.0, compacted=False)
    put(journal, *"abc")
    journal.drop_expired(100.0)
    journal.append("events", 0, None, b"d", 100.0)
    async with collecting(tmp_path) as (_, seen):
        await until(lambda: committed(journal)[0] == 4)
    assert seen == ["d"]


@awaited
async def test_a_full_partition_holds_up_no_other_and_loses_nothing(journal: Journal, tmp_path: Path) -> None:
    app, released = build(tmp_path), asyncio.Event()
    app.conf.stream_buffer_maxsize = 16
    others, seen = collect(app, "others"), collect(app, released=released)
    numbers = [str(number) for number in range(300)]
    async with running(app):
        put(journal, *numbers[:100])
        await until(lambda: TP("events", 0) in app.consumer._buffered_partitions)
        put(journal, *numbers[100:])
        put(journal, "x", topic="others")
        await until(lambda: others == ["x"])
        assert seen == []
        released.set()
        await until(lambda: len(seen) == 300)
    assert seen == numbers


@awaited
async def test_a_long_backlog_leaves_room_and_idle_apps_do_not_poll(journal: Journal, tmp_path: Path) -> None:
    put(journal, *map(str, range(5000)))
    put(journal, "x", partition=1)
    async with collecting(tmp_path) as (app, seen):
        await until(lambda: len(seen) == 5001)
        assert seen.index("x") < 10
        polls = app.consumer._ready = Mock(wraps=app.consumer._ready)
        put(journal, "a")
        await until(lambda: len(seen) == 5002)
        await asyncio.sleep(0.2)
        assert 0 < polls.call_count < 10


@awaited
async def test_an_app_comes_up_at_once(
    journal: Journal, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(journal, "a")
    with caplog.at_level(logging.WARNING):
        async with collecting(tmp_path) as (app, seen):  # it never came up
            await until(lambda: len(seen) == 1)  # events of another generation are dropped in silence
            assert app.consumer.assignment() == {TP("events", 0), TP("events", 1)}
            assert app.consumer_generation_id == app.rebalancing_count == 1
            assert not app.rebalancing
    assert [r.getMessage() for r in caplog.records if r.name.startswith(("faust", "scentline", "mode"))] == []


@awaited
async def test_a_new_topic_is_taken_in_the_unacknowledged_again(journal: Journal, tmp_path: Path) -> None:
    put(journal, *"abc")
    async with collecting(tmp_path, lambda seen: len(seen) != 2) as (app, seen):
        await until(lambda: len(seen) == 3 and committed(journal)[0] == 1)
        names = {tp.topic for tp in app.consumer.assignment()}
        await app.consumer.subscribe(names | {"others"})
        await until(lambda: committed(journal)[0] == 3)
        assert seen == list("abcbc")
        assert app.consumer_generation_id == 2
        assert TP("others", 1) in app.consumer.assignment()


@each_case("broker", ["embedded://relative/x", "embedded://", "embedded:///"])
def test_a_broker_url_without_an_absolute_directory_is_refused(broker: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected embedded:///ABSOLUTE/DIRECTORY"):
        _ = create_app(Settings(data=tmp_path), broker=broker).transport  # it is made when it is asked for


def test_faust_finds_the_transport_by_its_entry_point() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    declared = project["project"]["entry-points"]["faust.transports"]["embedded"]
    assert EntryPoint("embedded", declared, "faust.transports").load() is embedded.Transport


# tables


@asynccontextmanager
async def counting(data: Path) -> AsyncIterator[Journal]:
    """Run a counting agent; gives the journal."""

    def fail(error: BaseException) -> None:
        raise error

    here = Settings(data=data)
    with open_journal(here) as journal:
        app = create_app(here)
        runtime = Runtime(app, here, JournalBus(journal), fail)
        Stateful(runtime, ACCESSES, "users", int, decode, Counting(), 0.001)
        async with running(app):
            yield journal


async def caught_up(journal: Journal) -> None:
    await until(lambda: journal.committed(APP_ID, ACCESSES.name, 0) == journal.end(ACCESSES.name, 0))


@awaited
async def test_a_table_goes_on_after_a_restart_and_has_no_changelog(tmp_path: Path) -> None:
    for number in range(2):
        async with counting(tmp_path) as journal:
            [value] = packed([["ann", "bob", "ann"]], first=number)
            journal.append(ACCESSES.name, 0, None, value, time.time())
            await caught_up(journal)
            rows = dict(journal.table("users")[0].scan(b""))
            assert (rows[b"ann"], set(rows)) == (bytes([2 * (number + 1)]), {b"ann", b"bob", MARK})
            assert set(journal.topics()) & {changelog_of(name) for name in TABLES} == set()


# apps


def test_the_tables_start_at_once_and_sleep_nowhere_else() -> None:
    assert isinstance(create_app(Settings()).tables, Tables)
    asleep = [
        (name, found)
        for name, method in inspect.getmembers(TableManager, inspect.isfunction)
        if method.__module__ == TableManager.__module__
        for found in re.findall(r"self\.sleep\((.*)\)", inspect.getsource(method))
    ]
    assert asleep == [("on_start", "1.0")]


@awaited
async def test_a_probe_before_the_start_leaves_an_app_in_its_event_loop(tmp_path: Path) -> None:
    app = create_app(Settings(data=tmp_path))
    missing = await asyncio.to_thread(Assignment(app).missing)
    assert missing == ["all: no partitions are assigned yet"]
    assert {app.loop, app.monitor.loop} == {asyncio.get_running_loop()}


@awaited
async def test_what_is_begun_after_the_close_does_nothing(tmp_path: Path) -> None:
    done: list[str] = []

    async def work(name: str) -> None:
        done.append(name)

    with a_runtime(Settings(data=tmp_path)) as runtime:
        runtime.finish(work("before"))
        await runtime.close()
        late = runtime.spawn(work("after"))
        await asyncio.wait([late])
        assert late.cancelled()
    assert done == ["before"]


# topics


@given(st.integers(1, 500))
def test_each_topic_is_declared_once_and_none_grows_without_bound(partitions: int) -> None:
    topics = {topic.name: topic for topic in declared(partitions)}
    assert len(topics) == len(declared(partitions)) == len(TOPICS) + len(TABLES)
    for table, inbox in TABLES.items():
        assert topics[changelog_of(table)].partitions == topics[inbox.name].partitions == partitions
    assert {topics[topic.name].partitions for topic in TOPICS if not topic.shards} == {1}
    for name, topic in topics.items():
        numbers = {key: int(value) for key, value in topic.configs.items() if value.isdigit()}
        if topic.configs["cleanup.policy"] == "compact":
            assert numbers["max.compaction.lag.ms"] > 0 and "retention.ms" not in numbers, name
        else:
            assert numbers["retention.ms"] > numbers["segment.ms"] > 0, name
            assert numbers["retention.bytes"] > numbers["segment.bytes"], name
        # A segment and a request hold the largest batch.
        assert numbers["max.message.bytes"] <= min(numbers["segment.bytes"], 100 * 1024 * 1024 - 1), name
    for replicas, needed in ((3, "2"), (2, "1")):
        assert {topic.configs["min.insync.replicas"] for topic in declared(partitions, replicas)} == {needed}


# memory


class Cycle:
    """Is freed by the collector alone."""

    def __init__(self) -> None:
        self.itself = self


def test_what_was_there_is_left_alone_and_the_rest_collected_seldom() -> None:
    before = gc.get_threshold()
    there = weakref.ref(Cycle())
    with collected_seldom():
        new = weakref.ref(Cycle())
        gc.collect()
        assert there() is not None
        assert new() is None
        assert gc.get_threshold() == (YOUNG, *before[1:])
    assert gc.get_threshold() == before
    gc.collect()
    assert there() is None


def test_a_crawl_collects_seldom_and_leaves_the_collector_as_it_was(tmp_path: Path) -> None:
    here = Settings.model_validate({"data": tmp_path / "data"})

    async def run() -> None:
        async with asyncio.timeout(PATIENCE), Engine(here, Observer(here.observe, b"key")):
            assert gc.get_threshold()[0] == YOUNG

    gc.collect()  # so that none is due by itself
    before, full = gc.get_threshold(), gc.get_stats()[2]
    asyncio.run(run())
    assert gc.get_stats()[2] == full, "opening or closing, Faust looked through the whole heap"
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


def test_of_the_pages_that_were_read_few_stay_in_memory() -> None:
    html = "<title>page</title>" + '<p>some <a href="/other">words</a>' * 30
    with collected_seldom(YOUNG_OF_PAGES):
        for _ in range(500):
            read(html, 100, "agent")
        kept = [each for each in gc.get_objects() if isinstance(each, Markup)]
    assert len(kept) < 100


def test_nothing_is_collected_while_modules_are_imported_and_they_are_left_out_afterwards() -> None:
    frozen = gc.get_freeze_count()
    try:
        with uncollected():
            assert not gc.isenabled()
            kept = [[number] for number in range(1000)]
        assert gc.isenabled()
        assert gc.get_freeze_count() >= frozen + len(kept)
    finally:
        gc.unfreeze()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of the C libraries glibc alone can be told")
def test_large_blocks_are_given_back_though_small_ones_lie_between() -> None:
    # The first round is what glibc would raise its bound by.
    code = (
        "import psutil; from scentline.streams import memory; memory.give_back_large_blocks(); small = []\n"
        "for _ in range(2):\n"
        "    large = [(b'x' * 1_500_000, small.append(b'y' * 2_000)) for _ in range(40)]\n"
        "    held, large = psutil.Process().memory_info().rss, None\n"
        "print(held - psutil.Process().memory_info().rss)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert int(run.stdout) > 50_000_000
