"""A worker plays the roles it is given, on the embedded log too, and ends with what it runs on."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from scentline.agents.crawl.connect import connect
from scentline.agents.observe.observer import Observer
from scentline.agents.worker.command import played
from scentline.agents.worker.roles import ROLES
from scentline.agents.worker.worker import Worker
from scentline.streams.configuration import ConfigurationError
from scentline.streams.metrics.registry import Metrics
from scentline.streams.settings import Settings
from scentline.streams.topics import INBOXES
from tests.patience import PATIENCE


def worked(directory: Path, roles: tuple[str, ...], work: Callable[[Worker], Awaitable[None]]) -> Worker:
    """Have a worker of some roles run until ``work`` is done."""

    async def run() -> Worker:
        here = Settings(data=directory / "data")
        observer = Observer(here.observe, b"key")
        async with (
            asyncio.timeout(PATIENCE),
            connect(here) as log,
            Worker(here, roles, log, observer, Metrics()) as worker,
        ):
            await work(worker)
        return worker

    return asyncio.run(run())


def test_roles_are_played_in_the_order_of_the_flow() -> None:
    assert played(["learn", "observe"]) == ("observe", "learn")
    assert played(["all"]) == ROLES
    assert set(ROLES) == INBOXES.keys()
    with pytest.raises(ConfigurationError, match="no role 'learner'; expected some of observe"):
        played(["learner"])


def test_a_worker_has_the_agents_of_its_roles_only(tmp_path: Path) -> None:
    async def work(worker: Worker) -> None:
        worker.begin()
        assert list(worker.parts) == ["browse", "learn"]
        while not all(inbox.shards for inbox in worker.inboxes):
            await asyncio.sleep(0.01)

    assert worked(tmp_path, ("learn", "browse"), work).failure is None


def test_a_worker_fails_with_the_app_that_it_runs_on(tmp_path: Path) -> None:
    async def work(worker: Worker) -> None:
        app: Any = worker.runtimes["browse"].app
        await app.consumer.crash(OSError("the broker is gone"))
        await worker.stopped.wait()

    assert isinstance(worked(tmp_path, ("browse",), work).failure, OSError)
