"""On a real broker each role is ready by itself, and every lag is known."""

import asyncio
from pathlib import Path

from scentline.agents.crawl.engine import Engine
from scentline.agents.crawl.run import Meter, Status, _ready
from scentline.agents.observe.observer import Observer
from scentline.agents.worker.roles import ROLES
from scentline.streams.metrics import catalogue
from scentline.streams.metrics.endpoint import serving
from scentline.streams.settings import Settings
from scentline.streams.topics import FETCHES, INTERESTS, PREDICATES, PROXY_LOG, TABLES
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import printed
from tests.patience import PATIENCE
from tests.streams.scraping import HOST, PATIENT, Scrape, get, idle

WEB = (5, 3, 30, 3)  # seed, sites, pages a site, topics
PARTITIONS = 2
BUDGET = 30


async def crawl(settings: Settings, seeds: list[str]) -> tuple[Status, Scrape, tuple[int, str]]:
    async with (
        asyncio.timeout(PATIENCE),
        Engine(settings, Observer(settings.observe, b"key")) as engine,
        serving(HOST, 0, PATIENT, engine.runtime.metrics) as url,
    ):
        await _ready(engine)
        await engine.seed(seeds)
        meter = Meter(engine)
        while not await engine.finished() and engine.failure is None:
            await asyncio.sleep(0.05)
        await engine.settle()
        found = meter.status(), await idle(url), await get(f"{url}/readyz")
    if engine.failure is not None:
        raise engine.failure
    return found


def test_each_role_is_ready_and_every_lag_is_known(tmp_path: Path, empty_kafka: str) -> None:
    printed(tmp_path, "topics", "create", "--partitions", str(PARTITIONS), "--broker", empty_kafka)
    with synthetic_server(*WEB) as server:
        settings = Settings.model_validate(
            {
                "data": tmp_path / "data",
                "broker": empty_kafka,
                "predicates": {"menu": 'title("*")'},
                "streams": {"partitions": PARTITIONS},
                "fetch": {"proxy": server.url, "delay_seconds": 0.0},
                "frontier": {"budget": BUDGET},
            }
        )
        status, scrape, ready = asyncio.run(crawl(settings, SyntheticWeb(*WEB).seeds(2)))
    assert ready == (200, "ok\n")
    for role in ROLES:
        assert scrape.of(catalogue.READY, role=role) == 1
        assert scrape.of(catalogue.REBALANCES, role=role) >= 1
        assert scrape.of(catalogue.RECOVERY, role=role) > 0
    for topic in (PROXY_LOG, FETCHES, *TABLES.values()):
        assert scrape.of(catalogue.PARTITIONS, topic=topic.name) == PARTITIONS
        assert scrape.of(catalogue.LAG, topic=topic.name) == 0
    for topic in (INTERESTS, PREDICATES):
        assert scrape.of(catalogue.LAG, topic=topic.name) == 0
    assert scrape.of(catalogue.HARVEST_PAGES, predicate="menu") == status.fetched == BUDGET
