"""Real Faust apps run on the embedded transport, stop, are killed, and go on."""

import asyncio
import logging
import tomllib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import faust
import pytest
from faust.types import TP

from scentline.streams.transport import embedded
from scentline.streams.transport.journal import Journal
from tests.cases import each_case
from tests.patience import PATIENCE

ID = "app"


def build(directory: Path, **options: Any) -> faust.App:
    embedded.register()
    settings = {
        "broker": f"embedded://{directory}",
        "datadir": directory / "faust",
        "web_enabled": False,
        "autodiscover": False,
        "topic_allow_declare": False,
        "topic_disable_leader": True,
        "broker_commit_interval": 0.1,
        "stream_wait_empty": False,
        "key_serializer": "raw",
        "value_serializer": "raw",
    }
    return faust.App(ID, **(settings | options))


def source(app: faust.App, name: str = "events", partitions: int = 2) -> Any:
    return app.topic(name, key_type=bytes, value_type=bytes, partitions=partitions)


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


def run(work: Callable[[Journal], Awaitable[None]], directory: Path) -> None:
    async def with_journal() -> None:
        with Journal.open(directory / "journal") as journal:
            for topic in ("events", "others"):
                journal.create_topic(topic, 2, retention=None, compacted=False)
            await work(journal)

    asyncio.run(with_journal())


def put(journal: Journal, *values: str, partition: int = 0, topic: str = "events") -> None:
    journal.append_batch(topic, partition, [(value.encode(), value.encode()) for value in values], 1.0)


def committed(journal: Journal, partition: int = 0) -> int | None:
    return journal.committed(ID, "events", partition)


def collect(app: faust.App, name: str = "events") -> list[str]:
    """Declare an agent that gathers what it reads."""
    seen: list[str] = []

    async def gather(stream: Any) -> None:
        async for value in stream:
            note(value.decode())

    note = seen.append
    app.agent(source(app, name), name=f"collect-{name}")(gather)
    return seen


def test_an_agent_reads_what_is_there_and_what_comes_and_a_restart_goes_on(tmp_path: Path) -> None:
    async def work(journal: Journal) -> None:
        put(journal, "a", "b")
        app = build(tmp_path)
        seen = collect(app)
        async with running(app):
            put(journal, "c", partition=1)
            await until(lambda: len(seen) == 3)
        assert sorted(seen) == ["a", "b", "c"]
        assert (committed(journal, 0), committed(journal, 1)) == (2, 1)
        put(journal, "d")
        app = build(tmp_path)
        again = collect(app)
        async with running(app):
            await until(lambda: len(again) == 1)
        assert again == ["d"]

    run(work, tmp_path)


def test_only_what_is_acknowledged_is_committed(tmp_path: Path) -> None:
    async def work(journal: Journal) -> None:
        put(journal, *"abcdef")
        app = build(tmp_path)
        seen: list[str] = []

        async def some(stream: Any) -> None:
            async for event in stream.noack().events():
                seen.append(event.value.decode())
                if event.value in (b"a", b"b", b"e"):
                    event.ack()

        app.agent(source(app), name="some")(some)

        async with running(app):
            await until(lambda: len(seen) == 6 and committed(journal) == 2)
        assert committed(journal) == 2
        app = build(tmp_path)
        again = collect(app)
        async with running(app):
            await until(lambda: len(again) == 4)
        assert again == list("cdef")

    run(work, tmp_path)


def test_what_retention_took_before_it_was_read_is_passed_over(tmp_path: Path) -> None:
    async def work(journal: Journal) -> None:
        journal.create_topic("events", 2, retention=10.0, compacted=False)
        put(journal, *"abc")
        journal.drop_expired(100.0)
        journal.append("events", 0, None, b"d", 100.0)
        app = build(tmp_path)
        seen = collect(app)
        async with running(app):
            await until(lambda: committed(journal) == 4)
        assert seen == ["d"]

    run(work, tmp_path)


def test_a_full_partition_does_not_hold_up_the_others_and_nothing_of_it_is_lost(tmp_path: Path) -> None:
    async def work(journal: Journal) -> None:
        app = build(tmp_path, stream_buffer_maxsize=16)
        others = collect(app, "others")
        seen: list[str] = []
        released = asyncio.Event()

        async def slow(stream: Any) -> None:
            async for value in stream:
                await released.wait()
                seen.append(value.decode())

        app.agent(source(app), name="slow")(slow)

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

    run(work, tmp_path)


def test_a_long_backlog_of_one_partition_leaves_room_for_another(tmp_path: Path) -> None:
    async def work(journal: Journal) -> None:
        put(journal, *map(str, range(5000)))
        put(journal, "x", partition=1)
        app = build(tmp_path)
        seen = collect(app)
        async with running(app):
            await until(lambda: len(seen) == 5001)
        assert seen.index("x") < 10

    run(work, tmp_path)


def test_an_idle_app_waits_and_does_not_poll(tmp_path: Path) -> None:
    async def work(journal: Journal) -> None:
        app = build(tmp_path)
        seen = collect(app)
        async with running(app):
            consumer, polls = app.consumer, 0
            ready = consumer._ready

            def counted(active: Any) -> Any:
                nonlocal polls
                polls += 1
                return ready(active)

            consumer._ready = counted
            put(journal, "a")
            await until(lambda: seen == ["a"])
            await asyncio.sleep(0.2)
            assert polls < 10

    run(work, tmp_path)


def test_an_app_comes_up_with_all_partitions_in_one_announced_rebalance(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(journal: Journal) -> None:
        put(journal, "a")
        app = build(tmp_path)
        generations: list[int] = []
        keep = generations.append

        async def note(stream: Any) -> None:
            async for event in stream.events():
                keep(event.message.generation_id)

        app.agent(source(app), name="generations")(note)

        async with running(app):  # it never came up
            await until(lambda: len(generations) == 1)  # events of another generation are dropped in silence
            assert app.consumer.assignment() == {TP("events", 0), TP("events", 1)}
            assert generations == [app.consumer_generation_id] == [app.rebalancing_count] == [1]
            assert not app.rebalancing

    with caplog.at_level(logging.WARNING):
        run(work, tmp_path)
    assert [r.getMessage() for r in caplog.records if r.name.startswith(("faust", "scentline", "mode"))] == []


def test_a_new_topic_is_taken_in_and_what_was_not_acknowledged_comes_again(tmp_path: Path) -> None:
    async def work(journal: Journal) -> None:
        put(journal, *"abc")
        app = build(tmp_path)
        seen: list[str] = []

        async def first(stream: Any) -> None:
            async for event in stream.noack().events():
                seen.append(event.value.decode())
                if len(seen) != 2:
                    event.ack()

        app.agent(source(app), name="first")(first)

        async with running(app):
            await until(lambda: len(seen) == 3 and committed(journal) == 1)
            names = {tp.topic for tp in app.consumer.assignment()}
            await app.consumer.subscribe(names | {"others"})
            await until(lambda: committed(journal) == 3)
            assert seen == list("abcbc")
            assert app.consumer_generation_id == 2
            assert TP("others", 1) in app.consumer.assignment()

    run(work, tmp_path)


@each_case("broker", ["embedded://relative/x", "embedded://", "embedded:///"])
def test_a_broker_url_without_an_absolute_directory_is_refused(broker: str, tmp_path: Path) -> None:
    embedded.register()
    with pytest.raises(ValueError, match="expected embedded:///ABSOLUTE/DIRECTORY"):
        faust.App(ID, broker=broker, autodiscover=False, datadir=tmp_path).transport  # noqa: B018 the transport is made on access


def test_faust_finds_the_transport_by_its_entry_point() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    declared = project["project"]["entry-points"]["faust.transports"]["embedded"]
    assert EntryPoint("embedded", declared, "faust.transports").load() is embedded.Transport
