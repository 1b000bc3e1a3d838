"""A worker plays the roles it is given, ends with what it runs on, and keeps no partition that it lost."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from scentline.agents.observe.observer import Observer
from scentline.agents.worker.crawl import Engine, _ready
from scentline.agents.worker.worker import ROLES, STATEFUL, Worker, played
from scentline.streams.settings import ConfigurationError, Settings
from scentline.streams.topics import INBOXES
from scentline_lab.synthetic.web import SyntheticWeb, synthetic_server
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
        assert worker.roles == ("browse", "learn")
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


# a partition that went to another is kept by nobody: while its table is open it can't come back


WEB = (3, 4, 40, 4)  # seed, sites, pages a site, topics
#: Seconds in which whoever is in the middle of something has ended it.
REST_SECONDS = 1.5


async def kept(settings: Settings, log: Path) -> list[str]:
    """Crawl, and lose every partition; return the roles that keep one all the same."""
    async with asyncio.timeout(PATIENCE), Engine(settings, Observer(settings.observe, b"key")) as engine:
        await _ready(engine)
        await engine.seed(SyntheticWeb(*WEB).seeds(2))
        await engine.start_feeding([str(log)])
        while not await engine.finished():
            assert engine.failure is None
            await asyncio.sleep(0.05)
        await engine.settle()
        inboxes = {role: getattr(engine, role).inbox for role in STATEFUL}
        lost = [(role, weakref.ref(shard)) for role, box in inboxes.items() for shard in box.shards.values()]
        assert lost
        for inbox in inboxes.values():
            inbox._drop_shards()
        await asyncio.sleep(REST_SECONDS)
        gc.collect()
        return [role for role, shard in lost if shard() is not None]


@pytest.mark.parametrize(
    "frontier",
    [{"depth": "auto", "mode": "instant", "visited_patterns_only": True}, {"ordering": "pagerank"}],
    ids=["learned", "pagerank"],
)
def test_no_role_keeps_a_partition_that_it_lost(tmp_path: Path, frontier: dict[str, Any]) -> None:
    web = SyntheticWeb(*WEB)
    log = tmp_path / "access.log"
    log.write_text("".join(f"{line}\n" for line in web.access_log(users=10, accesses=100)))
    with synthetic_server(*WEB) as server:
        settings = Settings.model_validate({
            "data": tmp_path / "data", "predicates": {"any": 'not "unheard-of"'}, "streams": {"partitions": 2},
            "fetch": {"proxy": server.url, "delay_seconds": 0.0}, "frontier": {"budget": 40, **frontier},
        })  # fmt: skip
        assert asyncio.run(kept(settings, log)) == []
