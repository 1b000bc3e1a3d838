"""Workers that render, on a broker: one is killed, and every page is judged once."""

from pathlib import Path

import pytest

from scentline.agents.operate.topics import take
from scentline.models.published import Counted
from scentline.streams.topics import OUTCOMES, RENDERS
from tests.e2e.crawls import exact, synthetic
from tests.kafka.crawls import Crawl
from tests.patience import wait_for
from tests.render.test_crawl import WEB, reached


def judged(crawl: Crawl) -> set[str]:
    return {outcome.url for outcome in crawl.records(OUTCOMES.name, Counted)}


@pytest.mark.slow
def test_a_worker_that_renders_is_killed_and_its_orders_come_again(tmp_path: Path, empty_kafka: str) -> None:
    given = {
        "fetch.delay_seconds": 0, "render.pages": "where-needed", "predicates.nebula": '"nebula"',
        "kafka.session_seconds": 3, "kafka.heartbeat_seconds": 0.5, "frontier.lease_seconds": 20,
    }  # fmt: skip
    expected = len(reached(scripts=True))
    with (
        synthetic(WEB) as served,  # type: ignore[arg-type]  # it answers as the synthetic web does
        Crawl(tmp_path, empty_kafka, 2, given | {"fetch.proxy": served.origin}) as crawl,
    ):
        crawl.worker("others", "browse", "fetch", "frontier", "judge", "learn", "harvest")
        browser = crawl.worker("browser", "render")
        crawl.command("seed", *WEB.seeds)
        wait_for("a page to render", lambda: any("/api/" in target for target in served.targets()))
        browser.kill()
        browser.start()
        wait_for("every page", lambda: len(judged(crawl)) == expected)
        wait_for("what was fetched to be counted", lambda: crawl.lag().total() == 0)
        assert crawl.ends(RENDERS.name) > 0
        take(crawl.settings, lambda _: None)
    exact(tmp_path, "--data", "snapshot", judged=expected)
