"""Metrics: their names and labels, how they are counted, and how gauges are asked for."""

import asyncio
import re
import threading
from collections.abc import Mapping

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from scentline.streams.metrics.catalogue import (
    CATALOGUE,
    FETCHED,
    GROUP_SECONDS,
    HARVEST_PAGES,
    HITS,
    LAG,
    ORDERS,
    PARTITIONS,
    QUEUED,
    REBALANCES,
)
from scentline.streams.metrics.registry import (
    MOST_PREDICATES,
    OTHER,
    ByPredicate,
    Ends,
    Metrics,
    Outcomes,
    Reading,
    Source,
    broadcast_lag,
    read_lag,
)

#: All the labels there may be: none of a URL, a host or a user.
LABELS = {
    *("chosen", "kind", "outcome", "predicate", "python", "reason"),
    *("role", "state", "table", "topic", "version"),
}

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(metrics: Metrics) -> Series:
    """Return every sample of a scrape by its name and labels."""
    text = generate_latest(metrics.registry).decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(series: Series, name: str, **labels: str) -> float:
    return series[name, frozenset(labels.items())]


async def scraped(metrics: Metrics) -> Series:
    """Scrape as the endpoint does: from another thread, while the loop turns."""
    metrics.attach(asyncio.get_running_loop())
    return await asyncio.to_thread(samples, metrics)


def test_names_follow_the_conventions() -> None:
    names = [metric.name for metric in CATALOGUE]
    assert len(names) == len(set(names)) > 40
    for metric in CATALOGUE:
        assert re.fullmatch(r"scentline_[a-z]+(_[a-z]+)*", metric.name)
        assert metric.name.endswith("_total") == (metric.kind == "counter"), metric.name
        assert bool(metric.buckets) == (metric.kind == "histogram"), metric.name
        assert metric.buckets == tuple(sorted(metric.buckets))
        for unit in ("seconds", "bytes"):
            if unit in metric.name:
                assert metric.name.removesuffix("_total").endswith(unit), metric.name
        assert set(metric.labels) <= LABELS


def test_outcomes_are_there_at_0_and_others_are_refused_in_a_registry_of_one_s_own() -> None:
    metrics = Metrics()
    outcomes = Outcomes(metrics, FETCHED, ["2xx", "4xx"])
    outcomes.count("4xx")
    ByPredicate(metrics, ORDERS, "chance").count("p", 3)
    metrics.histogram(GROUP_SECONDS).labels("users").observe(0.1)
    found = samples(metrics)
    assert (value(found, FETCHED.name, outcome="2xx"), value(found, FETCHED.name, outcome="4xx")) == (0, 1)
    assert value(found, ORDERS.name, predicate="p", chosen="chance") == 3
    with pytest.raises(KeyError):
        outcomes.count("http://example.org/")
    assert FETCHED.name not in {name for name, _ in samples(Metrics())}
    assert not [name for name, _ in found if name.endswith("_created")]


def test_predicates_beyond_the_bound_share_a_label() -> None:
    metrics = Metrics()
    hits = ByPredicate(metrics, HITS)
    for number in range(MOST_PREDICATES + 20):
        hits.count(f"p{number}")
        hits.count(f"p{number}", 0)
    found = {labels: number for (name, labels), number in samples(metrics).items() if name == HITS.name}
    assert len(found) == MOST_PREDICATES + 1
    assert found[frozenset({("predicate", OTHER)})] == 20
    assert metrics.predicate("p0") == "p0"


def test_gauges_of_several_sources_add_up_asked_in_the_event_loop() -> None:
    asked: list[int] = []

    def source(number: int) -> Source:
        async def read(reading: Reading) -> None:
            asked.append(threading.get_ident())
            reading.add(QUEUED, number, "p")
            reading.add(REBALANCES, number, "fetch")

        return read

    async def run() -> None:
        metrics = Metrics()
        for number in (1, 2):
            metrics.watch(source(number))
        found = await scraped(metrics)
        assert value(found, QUEUED.name, predicate="p") == value(found, REBALANCES.name, role="fetch") == 3
        assert asked == [threading.get_ident()] * 2
        text = (await asyncio.to_thread(generate_latest, metrics.registry)).decode()
        assert f"# TYPE {REBALANCES.name} counter" in text
        assert f"# TYPE {QUEUED.name} gauge" in text

    asyncio.run(run())


def test_a_stuck_loop_leaves_the_counters() -> None:
    async def run() -> None:
        metrics = Metrics(patience_seconds=0.01)
        Outcomes(metrics, FETCHED, ["2xx"]).count("2xx")
        metrics.watch(broadcast_lag("interests", lambda: 1))
        metrics.attach(asyncio.get_running_loop())
        done: list[Series] = []
        thread = threading.Thread(target=lambda: done.append(samples(metrics)))
        thread.start()
        thread.join()  # the loop does not turn
        assert value(done[0], FETCHED.name, outcome="2xx") == 1
        assert LAG.name not in {name for name, _ in done[0]}

    asyncio.run(run())


def lag(positions: Mapping[int, int], ends: Ends | None) -> dict[str, float]:
    reading = Reading()
    asyncio.run(read_lag(reading, "pages", positions, ends))
    return {family.name: sample.value for family in reading.families() for sample in family.samples}


def test_lag_is_what_lies_between_the_positions_and_the_ends_where_the_log_gives_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scentline.streams.metrics.registry.ENDS_SECONDS", 0.01)

    async def ends(topic: str) -> Mapping[int, int]:
        return {"pages": {0: 10, 1: 100, 3: 7}}[topic]

    async def silent(_: str) -> Mapping[int, int]:
        return await asyncio.Future[Mapping[int, int]]()

    async def refusing(_: str) -> Mapping[int, int]:
        raise ConnectionError("no broker")

    assert lag({0: 4, 3: 8}, ends) == {PARTITIONS.name: 2, LAG.name: 6}
    for other in (None, silent, refusing):
        assert lag({0: 4}, other) == {PARTITIONS.name: 1}


def test_a_metric_has_its_labels_alone() -> None:
    with pytest.raises(AssertionError, match="harvest_pages"):
        Reading().add(HARVEST_PAGES, 1)
