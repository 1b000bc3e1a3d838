"""The Faust app: what it relies on, and what it does at its start, its close and a probe."""

import asyncio
import inspect
import logging
import re
from pathlib import Path

import pytest
from faust.tables import TableManager

from scentline.agents.crawl.engine import Engine
from scentline.agents.observe.observer import Observer
from scentline.streams.app import Tables, create_app
from scentline.streams.metrics.registry import Assignment
from scentline.streams.settings import Settings
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


def test_starts_and_stops_of_tables_are_not_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    here = Settings(data=tmp_path)

    async def run() -> None:
        async with asyncio.timeout(PATIENCE), Engine(here, Observer(here.observe, b"key")):
            pass

    with caplog.at_level(logging.INFO, logger="scentline.streams.app"):
        asyncio.run(run())
    assert [record for record in caplog.records if record.name == "scentline.streams.app"] == []


def test_a_probe_before_the_start_leaves_an_app_in_its_event_loop(tmp_path: Path) -> None:
    async def run() -> None:
        app = create_app(Settings(data=tmp_path))
        missing = await asyncio.to_thread(Assignment(app).missing)
        assert missing == ["all: no partitions are assigned yet"]
        assert {app.loop, app.monitor.loop} == {asyncio.get_running_loop()}

    asyncio.run(run())


def test_what_is_begun_after_the_close_does_nothing(tmp_path: Path) -> None:
    done: list[str] = []

    async def work(name: str) -> None:
        done.append(name)

    async def run() -> None:
        with a_runtime(Settings(data=tmp_path)) as runtime:
            runtime.finish(work("before"))
            await runtime.close()
            late = runtime.spawn(work("after"))
            await asyncio.wait([late])
            assert late.cancelled()

    asyncio.run(run())
    assert done == ["before"]
