"""What the app takes for granted of Faust."""

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
from scentline.streams.settings import Settings
from tests.patience import PATIENCE


def test_faust_s_tables_sleep_nowhere_but_at_their_start() -> None:
    asleep = [
        (name, found)
        for name, method in inspect.getmembers(TableManager, inspect.isfunction)
        if method.__module__ == TableManager.__module__
        for found in re.findall(r"self\.sleep\((.*)\)", inspect.getsource(method))
    ]
    assert asleep == [("on_start", "1.0")]


def test_the_app_has_tables_that_start_at_once() -> None:
    assert isinstance(create_app(Settings()).tables, Tables)


def test_people_are_not_told_that_tables_start_and_stop(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    here = Settings(data=tmp_path)

    async def run() -> None:
        async with asyncio.timeout(PATIENCE), Engine(here, Observer(here.observe, b"key")):
            pass

    with caplog.at_level(logging.INFO, logger="scentline.streams.app"):
        asyncio.run(run())
    assert [record for record in caplog.records if record.name == "scentline.streams.app"] == []
