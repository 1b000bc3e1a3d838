"""Whoever asks whether a role is ready changes nothing about it."""

import asyncio
from pathlib import Path

from scentline.streams.app import create_app
from scentline.streams.metrics.registry import Assignment
from scentline.streams.settings import Settings


def test_a_probe_before_the_start_leaves_an_app_in_its_event_loop(tmp_path: Path) -> None:
    async def run() -> None:
        app = create_app(Settings(data=tmp_path))
        missing = await asyncio.to_thread(Assignment(app).missing)
        assert missing == ["all: no partitions are assigned yet"]
        assert {app.loop, app.monitor.loop} == {asyncio.get_running_loop()}

    asyncio.run(run())
