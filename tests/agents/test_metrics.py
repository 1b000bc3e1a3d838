"""What the agents count and tell of themselves, one by one."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scentline.agents.fetch
from scentline.agents.fetch.agent import FetchAgent
from scentline.agents.fetch.client import Client
from scentline.agents.fetch.pool import _REASONS
from scentline.agents.fetch.result import OUTCOMES, Early, Failure, Fetched, Moved, outcome_of
from scentline.agents.frontier.metrics import KINDS, TELLING, Kept, RevisitMetrics
from scentline.agents.harvest.agent import HarvestMetrics
from scentline.models.harvest import Harvest
from scentline.streams.metrics.catalogue import (
    CHANGES,
    DEAD_LETTERS,
    EXPECTED_UNCHANGED,
    FETCHED,
    FETCHED_BYTES,
    HARVEST_LIFT,
    HARVEST_PAGES,
    HARVEST_RATE,
    MATCHES,
    MATCHES_AGE,
    MATCHES_CURRENT,
    REVISITS,
    TAKEN,
    WAIT_SECONDS,
    WAITS,
    Metric,
)
from scentline.streams.metrics.registry import MOST_PREDICATES, OTHER, Reading
from scentline.streams.records import FetchOrder, encode
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings
from tests.agents.loopback import fixed, serving
from tests.agents.loopback import settings as fetch_settings
from tests.agents.shards import a_runtime, journal_of

NOW = 1000.0
WEB = Path(scentline.agents.fetch.__file__).parent
URL = "http://example.org/"


#: The class of each reason for which a fetch fails.
REASONS = {
    "4xx": ["status 404", "status 429"],
    "5xx": ["status 503"],
    "3xx": ["redirect to itself"],
    "other": ["status 206", "no content", "url"],
    "robots": ["robots.txt", "X-Robots-Tag noindex"],
    "robots_unreachable": ["robots.txt status 503", "robots.txt timeout"],
    "address": ["address 10.0.0.1", "host denied", "port 25"],
    "error": ["error RecursionError", "robots.txt error RecursionError"],
    "size": ["over 100 gzip members", "body over 5000000 bytes", "compressed over 200 to 1"],
    "contact": ["contact missing in fetch.user_agent"],
    "timeout": ["timeout"],
    "dns": ["dns"],
    "connection": ["proxy"],
    "tls": ["certificate"],
    "broken": ["broken response", "broken compression", "body cut short"],
    "type": ["content type image/png", "content encoding"],
}


def test_what_came_of_a_fetch_is_of_one_class() -> None:
    found = {
        kind: [outcome_of(Failure("retry", reason)) for reason in reasons] for kind, reasons in REASONS.items()
    }
    assert found == {kind: [kind] * len(reasons) for kind, reasons in REASONS.items()}
    results = (Fetched(URL, 200, {}, b"", elapsed=0.1), Moved(URL, URL, 301), Early(3.0))
    assert [outcome_of(result) for result in results] == ["2xx", "3xx", "early"]


def test_every_reason_that_a_fetch_may_fail_for_has_its_class() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in WEB.glob("*.py"))
    reasons = set(re.findall(r'FetchError\(\s*"\w+",\s*f?"([^"]+)"', sources))
    reasons = {re.sub("{.+}", "404", reason) for reason in reasons} | {reason for _, reason in _REASONS}
    assert len(reasons) > 15
    unclassed = {reason for reason in reasons if outcome_of(Failure("retry", reason)) == "other"}
    assert unclassed == {"no content", "url"}


@given(st.text() | st.builds("{} {}".format, st.sampled_from(["status", "robots.txt", "address"]), st.text()))
def test_no_reason_makes_a_new_class(reason: str) -> None:
    assert outcome_of(Failure("gone", reason)) in OUTCOMES


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with a_runtime(Settings.model_validate({"data": tmp_path / "data"}), NOW) as made:
        yield made


def counted(runtime: Runtime, metric: Metric, *labels: str) -> float:
    """Return a counter's value; 0 where its labels were never bound."""
    given = dict(zip(metric.labels, labels, strict=True))
    return runtime.metrics.registry.get_sample_value(metric.name, given) or 0.0


def told(reading: Reading) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in reading.families()
        for sample in family.samples
    }


def an_order(url: str, lease: float = NOW + 60) -> FetchOrder:
    return FetchOrder(
        url=url, order=1, predicate="p", policy="linkage", explored=False, probability=0.99, priority=1.5,
        depth=0, lease=lease,
    )  # fmt: skip


class Event:
    """A message of the topic of orders, as the agent's stream hands it over."""

    message = SimpleNamespace(partition=0, offset=7)

    def __init__(self, value: bytes) -> None:
        self.value = value

    def ack(self) -> None:
        pass


def test_fetches_are_counted_by_what_came_of_them(runtime: Runtime) -> None:
    body = b"<p>hello"

    async def run() -> Reading:
        delayed = fetch_settings(delay_seconds=0.05)
        async with serving(fixed(body)) as server, Client(delayed, lambda: NOW) as client:
            agent: Any = FetchAgent(runtime, client, journal_of(runtime))
            page, closed = f"{server.origin}/", "http://127.0.0.1:2/"
            for value in (encode(an_order(page)), encode(an_order(page, NOW - 1)), encode(an_order(closed))):
                await answer(agent, value)
            await answer(agent, b"rubbish")
            await client.fetch(page)
            reading = Reading()
            agent._metrics.measure(reading)
            return reading

    async def answer(agent: Any, value: bytes) -> None:
        await agent._slots.acquire()
        event = Event(value)
        await agent._answer(event, agent._given(event))

    found = told(asyncio.run(run()))
    assert found[WAITS.name, ()] >= 1
    assert 0 < found[WAIT_SECONDS.name, ()] <= 0.05 * found[WAITS.name, ()]
    outcomes = {outcome: counted(runtime, FETCHED, outcome) for outcome in (*OUTCOMES, "expired")}
    assert {outcome: number for outcome, number in outcomes.items() if number} == {
        "2xx": 1, "expired": 1, "connection": 1,
    }  # fmt: skip
    assert counted(runtime, FETCHED_BYTES) == len(body)
    assert counted(runtime, TAKEN, "fetches") == 4
    assert counted(runtime, DEAD_LETTERS, "fetches", "unreadable") == 1


def a_harvest(pages: int, hits: int) -> Harvest:
    harvest = Harvest(window_pages=10, window_seconds=60.0)
    for number in range(pages):
        harvest.add(number < hits, NOW, "linkage", explored=number == 0)
    return harvest


def test_the_figures_of_partitions_add_up_before_their_rate_is_taken(runtime: Runtime) -> None:
    explored = Harvest(10, 60.0)
    for number in range(80):
        explored.add(number < 40, NOW, "linkage", explored=number >= 40)
    states = [("p", a_harvest(30, 20)), ("p", a_harvest(10, 0)), ("q", a_harvest(0, 0)), ("r", explored)]
    reading = Reading()
    HarvestMetrics(runtime, lambda: states).measure(reading)
    found = told(reading)
    assert found[HARVEST_LIFT.name, ("r",)] == pytest.approx(0.5 / (0.5 / 41))
    assert (HARVEST_LIFT.name, ("p",)) not in found  # two explored pages say nothing yet
    assert found[HARVEST_PAGES.name, ("p",)] == 40
    assert found[HARVEST_RATE.name, ("p",)] == 0.5
    assert found[HARVEST_RATE.name, ("q",)] == 0.0
    assert (HARVEST_LIFT.name, ("q",)) not in found


def test_predicates_beyond_the_bound_have_sums_and_no_rate(runtime: Runtime) -> None:
    states = [(f"p{number}", a_harvest(2, 1)) for number in range(MOST_PREDICATES + 3)]
    reading = Reading()
    HarvestMetrics(runtime, lambda: states).measure(reading)
    found = told(reading)
    assert found[HARVEST_PAGES.name, (OTHER,)] == 6 and (HARVEST_RATE.name, (OTHER,)) not in found


def test_revisits_are_held_against_what_was_expected_and_matches_told_of_each_predicate(
    runtime: Runtime,
) -> None:
    metrics = RevisitMetrics(runtime)
    for outcome in ("unchanged", "changed", "retry", "lost", "gone"):
        metrics.ended(outcome, 0.75)
    assert counted(runtime, REVISITS, "unchanged") == counted(runtime, REVISITS, "retry") == 1
    assert counted(runtime, EXPECTED_UNCHANGED) == 0.75 * 3
    assert metrics.visits == len({"unchanged", "changed", "gone"} & TELLING) == 3
    with pytest.raises(KeyError):
        metrics.ended("eaten", 0.75)
    for name in ("tea", "none"):
        metrics.known(name)
    metrics.changed("tea", "appeared")
    assert [counted(runtime, CHANGES, "tea", kind) for kind in KINDS] == [
        float(kind == "appeared") for kind in KINDS
    ]
    metrics.figures = lambda: {"tea": Kept(10, 7.5, 600.0), "late": Kept(1, 1.0, 3.0)}
    reading = Reading()
    metrics.measure(reading)
    found = told(reading)
    for name, figures in {"tea": [10, 7.5, 600], "late": [1, 1, 3], "none": [0, 0, 0]}.items():
        assert [found[metric.name, (name,)] for metric in (MATCHES, MATCHES_CURRENT, MATCHES_AGE)] == figures
