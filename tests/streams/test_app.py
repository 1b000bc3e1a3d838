"""What a worker runs in: its Faust app, its topics, and memory that is collected seldom and given back."""

import asyncio
import gc
import inspect
import platform
import re
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
from faust.tables import TableManager
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.judge.markup import Markup, read
from scentline.agents.observe.observer import Observer
from scentline.agents.worker.crawl import Engine
from scentline.streams.memory import YOUNG, YOUNG_OF_PAGES, collected_seldom, uncollected
from scentline.streams.metrics import Assignment
from scentline.streams.settings import Settings
from scentline.streams.topics import TABLES, TOPICS, changelog_of, declared
from scentline.streams.transport.embedded import Tables, create_app
from tests.agents.loopback import awaited
from tests.agents.shards import a_runtime
from tests.patience import PATIENCE


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
def test_each_topic_is_declared_once_an_inbox_with_its_changelogs_partitions_and_none_grows_without_bound(
    partitions: int,
) -> None:
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

    async def run() -> weakref.ref[Cycle]:
        async with asyncio.timeout(PATIENCE), Engine(here, Observer(here.observe, b"key")):
            assert gc.get_threshold()[0] == YOUNG
            return weakref.ref(Cycle())

    before = gc.get_threshold()
    left = asyncio.run(run())
    assert left() is not None, "closing its tables, Faust looked through the whole heap"
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
    gc.collect()
    assert left() is None


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
