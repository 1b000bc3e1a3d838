"""Whoever is slow slows those before it: no topic grows on and on, and the one that waits is named."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.kafka.broker import Broker
from scentline.agents.operate.control.command import submit
from scentline.agents.operate.control.requests import Seeds
from scentline.streams.metrics.catalogue import LAG
from scentline.streams.topics import ACCESSES, INBOXES, OUTCOMES, PAGES, TOPICS
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import running
from tests.kafka.crawls import Crawl
from tests.patience import PATIENCE, wait_for

pytestmark = pytest.mark.slow
WEB = (5, 3, 60, 3)  # seed, sites, pages a site, topics
#: Pages in flight, once as many are judged; and with those whose answer takes longer than usual.
WINDOW, CONNECTIONS = 4, 8
#: Looks in a row that must find the same: for longer than it takes until a fetch counts as a slow one.
QUIET_LOOKS = 20
#: Python that has a worker take a third of a second for each page that it reads.
SLOW = """\
import asyncio
from scentline.agents.judge.apart.process import ExaminerProcess
examine = ExaminerProcess.examine
async def slowly(self, question):
    await asyncio.sleep(0.3)
    return await examine(self, question)
ExaminerProcess.examine = slowly
"""


class Slow(Crawl):
    """A crawl of one partition, few pages at a time."""

    def __init__(self, directory: Path, broker: str, proxy: str) -> None:
        values = {
            "kafka.session_seconds": 6,
            "kafka.heartbeat_seconds": 2,
            "fetch.proxy": proxy,
            "fetch.delay_seconds": 0,
            "fetch.connections": CONNECTIONS,
            "frontier.window_share": 1,
            "frontier.window_max": WINDOW,
            "predicates.menu": 'title("*")',
        }
        super().__init__(directory, broker, 1, values)

    def all_ends(self) -> dict[str, int]:
        return {topic.name: self.ends(topic.name) for topic in TOPICS}

    def lag(self) -> dict[str, int]:
        """Return how many messages of each topic wait, as the command tells it."""
        found = json.loads(self.command("lag", "--json"))
        return {each["topic"]: each["lag"] for each in found}

    def measured_lag(self) -> dict[str, float]:
        """Return how many messages of each inbox wait, as the workers' metrics tell it."""
        scrapes = self.scrapes()
        return {
            topic.name: sum(each.sum(LAG, topic=topic.name) for each in scrapes) for topic in INBOXES.values()
        }


@pytest.fixture
def crawl(tmp_path: Path, empty_kafka: str) -> Iterator[Slow]:
    with synthetic_server(*WEB) as server, Slow(tmp_path, empty_kafka, server.url) as crawl:
        yield crawl


def settled(read: Callable[[], Any]) -> Any:
    """Return what is read when it was the same for some looks."""
    seen: list[Any] = []

    def same() -> bool:
        seen.append(read())
        return len(seen) >= QUIET_LOOKS and all(each == seen[-1] for each in seen[-QUIET_LOOKS:])

    wait_for("nothing to change", same)
    return seen[-1]


def longest(lag: dict[str, Any]) -> str:
    return max(lag, key=lambda topic: float(lag[topic]))


def test_a_slow_judge_slows_fetching_and_a_frozen_one_stops_it(crawl: Slow) -> None:
    crawl.worker("others", "observe", "browse", "fetch", "frontier", "learn", "harvest")
    judge = crawl.worker("judge", "judge", first=SLOW)
    submit(crawl.settings, Seeds(tuple(SyntheticWeb(*WEB).seeds(3))))
    wait_for("a full window", lambda: crawl.ends(OUTCOMES.name) >= 2 * WINDOW)

    def pages_wait() -> bool:
        lag = crawl.measured_lag()
        assert lag[PAGES.name] <= CONNECTIONS
        return lag[PAGES.name] > 1 and longest(lag) == PAGES.name

    wait_for("the metrics to name the pages", pages_wait)

    judge.freeze()
    before = crawl.all_ends()
    after = settled(crawl.all_ends)
    assert after[PAGES.name] - before[PAGES.name] <= CONNECTIONS
    lag = crawl.lag()
    assert 0 < lag.pop(PAGES.name) <= 2 * CONNECTIONS  # what was judged last was not committed yet
    assert set(lag.values()) == {0}

    judge.thaw()
    wait_for("pages to be judged again", lambda: crawl.ends(OUTCOMES.name) >= after[OUTCOMES.name] + 2 * WINDOW)


def test_the_feeding_of_a_log_waits_until_it_is_taken_in(crawl: Slow, broker: Broker) -> None:
    lines = list(SyntheticWeb(*WEB).access_log(users=20, accesses=8000))
    (crawl.directory / "access.log").write_text("\n".join(lines) + "\n")
    arguments = ("feed", "access.log", *crawl.options, "--set", "streams.backlog=5")
    with running(crawl.directory, *arguments) as feeder:
        assert feeder.stderr is not None
        said = feeder.stderr.readline()
        assert "waiting for scentline-browse: 6 messages of accesses are not absorbed yet" in said
        assert settled(crawl.all_ends)[ACCESSES.name] == 6
        broker.kill()
        while "waiting because the lag is unknown" not in said:
            said = feeder.stderr.readline()
            assert said, "the feeder ended"
        broker.start()
        crawl.worker("those who take it in", "browse", "frontier", "learn")
        _, said = feeder.communicate(timeout=PATIENCE)
        assert feeder.returncode == 0, said
    assert crawl.ends(ACCESSES.name) > 6
    wait_for("the rest to be taken in", lambda: crawl.lag()[ACCESSES.name] == 0)
