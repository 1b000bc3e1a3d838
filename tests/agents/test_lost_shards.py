"""A partition that went to another worker is kept by nobody: while its table is open it can't come back."""

import asyncio
import gc
import weakref
from pathlib import Path
from typing import Any

import pytest

from scentline.agents.crawl.engine import Engine
from scentline.agents.crawl.run import _ready
from scentline.agents.observe.observer import Observer
from scentline.streams.settings import Settings
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.patience import PATIENCE

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
        inboxes = {role: part.inbox for role, part in engine.parts.items() if part.inbox is not None}
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
