"""A worker plays the roles it is given, on the embedded log too, and ends with what it runs on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from scentline.agents.observe.observer import Observer
from scentline.agents.worker.command import played
from scentline.agents.worker.worker import ROLES, Worker
from scentline.streams.configuration import ConfigurationError
from scentline.streams.settings import Settings
from scentline.streams.topics import INBOXES
from tests.agents.loopback import awaited
from tests.patience import PATIENCE


@asynccontextmanager
async def a_worker(directory: Path, *roles: str) -> AsyncIterator[Worker]:
    here = Settings(data=directory / "data")
    observer = Observer(here.observe, b"key")
    async with asyncio.timeout(PATIENCE), Worker(here, roles, observer) as worker:
        yield worker


def test_roles_are_played_in_the_order_of_the_flow() -> None:
    assert played(["learn", "observe"]) == ("observe", "learn")
    assert played(["all"]) == ROLES
    assert set(ROLES) == INBOXES.keys()
    with pytest.raises(ConfigurationError, match="no role 'learner'; expected some of observe"):
        played(["learner"])


@awaited
async def test_a_worker_has_the_agents_of_its_roles_only(tmp_path: Path) -> None:
    async with a_worker(tmp_path, "learn", "browse") as worker:
        worker.begin()
        assert list(worker.parts) == ["browse", "learn"]
        while not all(inbox.shards for inbox in worker.inboxes):
            await asyncio.sleep(0.01)
    assert worker.failure is None


@awaited
async def test_a_worker_fails_with_the_app_that_it_runs_on(tmp_path: Path) -> None:
    async with a_worker(tmp_path, "browse") as worker:
        app: Any = worker.runtimes["browse"].app
        await app.consumer.crash(OSError("the broker is gone"))
        await worker.stopped.wait()
    assert isinstance(worker.failure, OSError)
