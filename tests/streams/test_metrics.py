"""Metrics, how they are counted and asked for; the endpoint tells them though the event loop is stuck."""

import asyncio
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from functools import partial

import pytest
from prometheus_client import generate_latest

from scentline.streams.metrics import (
    MOST_PREDICATES,
    OTHER,
    ByPredicate,
    Health,
    Metrics,
    Outcomes,
    Reading,
    catalogue,
)
from scentline.streams.metrics.endpoint import MOST_REQUESTS, serving_metrics
from scentline.streams.runtime import Ends, read_lag
from scentline.streams.settings import ConfigurationError
from tests.agents.loopback import awaited
from tests.cases import each_case
from tests.patience import PATIENCE, wait_for
from tests.streams.scraping import HOST, PATIENT, Scrape, asked, get, read, while_stuck

#: All the labels there may be: none of a URL, a host or a user.
LABELS = {
    *("chosen", "kind", "outcome", "predicate", "python", "reason"),
    *("role", "state", "table", "topic", "version"),
}


def samples(metrics: Metrics) -> Scrape:
    """Scrape, from whatever thread."""
    return read(generate_latest(metrics.registry).decode())


def test_names_follow_the_conventions() -> None:
    names = [metric.name for metric in catalogue.CATALOGUE]
    assert len(names) == len(set(names)) > 40
    for metric in catalogue.CATALOGUE:
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
    outcomes = Outcomes(metrics, catalogue.FETCHED, ["2xx", "4xx"])
    outcomes.count("4xx")
    ByPredicate(metrics, catalogue.ORDERS, "chance").count("p", 3)
    metrics.histogram(catalogue.GROUP_SECONDS).labels("users").observe(0.1)
    found = samples(metrics)
    assert (found.of(catalogue.FETCHED, outcome="2xx"), found.of(catalogue.FETCHED, outcome="4xx")) == (0, 1)
    assert found.of(catalogue.ORDERS, predicate="p", chosen="chance") == 3
    with pytest.raises(KeyError):
        outcomes.count("http://example.org/")
    assert catalogue.FETCHED.name not in samples(Metrics()).kinds
    assert not [name for name, _ in found.samples if name.endswith("_created")]
    with pytest.raises(AssertionError, match="harvest_pages"):
        Reading().add(catalogue.HARVEST_PAGES, 1)  # it has a label


def test_predicates_beyond_the_bound_share_a_label() -> None:
    metrics = Metrics()
    hits = ByPredicate(metrics, catalogue.HITS)
    for number in range(MOST_PREDICATES + 20):
        hits.count(f"p{number}")
        hits.count(f"p{number}", 0)
    found = samples(metrics)
    assert sum(name == catalogue.HITS.name for name, _ in found.samples) == MOST_PREDICATES + 1
    assert found.of(catalogue.HITS, predicate=OTHER) == 20
    assert metrics.predicate("p0") == "p0"


def test_gauges_of_several_sources_add_up_asked_in_the_event_loop() -> None:
    asked: list[int] = []

    async def source(reading: Reading, number: int) -> None:
        asked.append(threading.get_ident())
        reading.add(catalogue.QUEUED, number, "p")
        reading.add(catalogue.REBALANCES, number, "fetch")

    async def run() -> Scrape:
        metrics = Metrics()
        for number in (1, 2):
            metrics.watch(partial(source, number=number))
        metrics.attach(asyncio.get_running_loop())
        return await asyncio.to_thread(samples, metrics)  # as the endpoint does, while the loop turns

    found = asyncio.run(run())
    assert found.of(catalogue.QUEUED, predicate="p") == found.of(catalogue.REBALANCES, role="fetch") == 3
    assert (found.kinds[catalogue.REBALANCES.name], found.kinds[catalogue.QUEUED.name]) == ("counter", "gauge")
    assert asked == [threading.get_ident()] * 2


def test_a_stuck_loop_leaves_the_counters() -> None:
    async def run() -> Scrape:
        metrics = Metrics(patience_seconds=0.01)
        Outcomes(metrics, catalogue.FETCHED, ["2xx"]).count("2xx")

        async def source(reading: Reading) -> None:
            reading.add(catalogue.LAG, 1, "interests")

        metrics.watch(source)
        metrics.attach(asyncio.get_running_loop())
        return while_stuck(partial(samples, metrics))

    found = asyncio.run(run())
    assert found.of(catalogue.FETCHED, outcome="2xx") == 1
    assert catalogue.LAG.name not in found.kinds


def lag(positions: Mapping[int, int], ends: Ends) -> dict[str, float]:
    reading = Reading()
    asyncio.run(read_lag(reading, "pages", positions, ends))
    return {family.name: sample.value for family in reading.families() for sample in family.samples}


def test_lag_lies_between_the_positions_and_the_ends_the_log_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scentline.streams.runtime.ENDS_SECONDS", 0.01)

    async def ends(topic: str) -> Mapping[int, int]:
        return {"pages": {0: 10, 1: 100, 3: 7}}[topic]

    async def silent(_: str) -> Mapping[int, int]:
        return await asyncio.Future[Mapping[int, int]]()

    async def refusing(_: str) -> Mapping[int, int]:
        raise ConnectionError("no broker")

    assert lag({0: 4, 3: 8}, ends) == {catalogue.PARTITIONS.name: 2, catalogue.LAG.name: 6}
    for other in (silent, refusing):
        assert lag({0: 4}, other) == {catalogue.PARTITIONS.name: 1}


# the endpoint


def served(
    metrics: Metrics, stuck_seconds: float = PATIENT, ready: bool = True
) -> AbstractAsyncContextManager[str]:
    """Serve; give the address."""
    if ready:
        metrics.health.need(lambda: [])
    return serving_metrics(HOST, 0, stuck_seconds, metrics)


@awaited
async def test_a_process_that_is_well_says_so_and_what_there_is_until_it_ends() -> None:
    async with served(Metrics()) as url:
        assert await get(f"{url}/healthz") == await get(f"{url}/readyz") == (200, "ok\n")
        status, text = await get(f"{url}/metrics?name[]=all")
        assert status == 200
        assert f"# TYPE {catalogue.BUILD.name} gauge" in text
        assert catalogue.BEAT_AGE.name in text
        assert await get(f"{url}/<script>") == (404, "expected one of: /metrics, /healthz, /readyz\n")
    with pytest.raises(OSError, match="refused"):
        await get(url)


@awaited
async def test_what_is_missing_is_named_line_by_line_and_the_process_live_all_the_same() -> None:
    metrics, missing = Metrics(), ["frontier: waits for the topic sightings", "fetch: no partitions yet"]
    async with served(metrics, ready=False) as url:
        assert await get(f"{url}/readyz") == (503, "no role has started yet\n")
        for each in missing:
            metrics.health.need(partial(list, [each]))
        status, text = await get(f"{url}/readyz")
        assert (status, text.splitlines()) == (503, missing)
        assert (await get(f"{url}/healthz"))[0] == 200


@awaited
async def test_a_stuck_loop_is_neither_live_nor_ready() -> None:
    async with served(Metrics(patience_seconds=0.01), stuck_seconds=0.05) as url:
        await asyncio.sleep(0)  # one beat
        while_stuck(partial(time.sleep, 0.1))
        for path in ("healthz", "readyz"):
            status, text = while_stuck(partial(asked, f"{url}/{path}"))
            assert status == 503
            assert text.startswith("event loop: has not turned for")
        assert while_stuck(partial(asked, f"{url}/metrics"))[0] == 200


@awaited
async def test_beats_and_how_late_they_come_are_known_from_the_process_s_begin_on() -> None:
    now = [5.0]
    late: list[float] = []
    health = Health(lambda: now[0])
    now[0] = 70.0
    assert health.age() == 65.0
    beats = asyncio.create_task(health.beat(late.append))
    await asyncio.sleep(0)
    assert health.age() == 0.0
    now[0] = 73.5  # the loop stands still for two and a half seconds beyond the beat's one
    assert health.age() == 3.5
    await asyncio.to_thread(wait_for, "the beat", lambda: bool(late), 0.01)
    beats.cancel()
    assert late == [2.5]


@awaited
async def test_a_wrong_address_is_named() -> None:
    async with served(Metrics()) as url:
        port = int(url.rpartition(":")[2])
        for host, taken, named in (
            (HOST, port, rf"metrics.port {port}: .*expected a free port"),
            ("no-such-host.invalid", 1, r"metrics.host no-such-host\.invalid"),
        ):
            with pytest.raises(ConfigurationError, match=named):
                async with serving_metrics(host, taken, 1.0, Metrics()):
                    pass


@contextmanager
def silent(url: str, number: int, sent: bytes = b"", buffer: int = 0) -> Iterator[list[socket.socket]]:
    """Open connections that send so much, and read nothing."""
    with ExitStack() as opened:
        connections = [opened.enter_context(socket.socket()) for _ in range(number)]
        for connection in connections:
            connection.settimeout(PATIENCE)
            if buffer:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            connection.connect((HOST, int(url.rpartition(":")[2])))
            connection.sendall(sent)
        yield connections


@each_case("sent", [b"", b"GET /metrics HTTP/1.1\r\nX: "])
@each_case("idle", [MOST_REQUESTS, 3 * MOST_REQUESTS])
@awaited
async def test_connections_that_ask_for_nothing_stop_no_health_check(sent: bytes, idle: int) -> None:
    async with served(Metrics()) as url:
        with silent(url, idle, sent):
            for path in ("healthz", "readyz", "metrics"):
                assert {(await get(f"{url}/{path}"))[0] for _ in range(MOST_REQUESTS)} == {200}


@awaited
async def test_beyond_the_bound_the_oldest_that_has_not_asked_is_broken_off() -> None:
    async with served(Metrics()) as url:
        with silent(url, MOST_REQUESTS + 2) as opened:
            assert [one.recv(1) for one in opened[:2]] == [b"", b""]
            for one in opened[2:]:
                one.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
                assert one.recv(12) == b"HTTP/1.0 200"


@awaited
async def test_those_who_do_not_take_their_answer_stop_no_health_check() -> None:
    """Each asks, and reads nothing of an answer that fits into no buffer."""

    async def read(reading: Reading) -> None:
        for number in range(5_000):
            reading.add(catalogue.PARTITIONS, 0, f"{number:01000}")

    metrics = Metrics()
    metrics.watch(read)
    async with served(metrics) as url:
        with silent(url, 2 * MOST_REQUESTS, b"GET /metrics HTTP/1.0\r\n\r\n", buffer=4096):
            assert (await get(f"{url}/healthz"))[0] == 200


@awaited
async def test_a_request_that_takes_too_long_is_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scentline.streams.metrics.endpoint.REQUEST_SECONDS", 0.05)
    async with served(Metrics()) as url:
        with silent(url, 1, b"GET /metr") as [connection]:
            assert connection.recv(1) == b""


@awaited
async def test_a_source_that_fails_fails_the_scrape_alone() -> None:
    async def read(_: object) -> None:
        raise ZeroDivisionError("secret")

    metrics = Metrics()
    metrics.watch(read)
    async with served(metrics) as url:
        assert await get(f"{url}/metrics") == (500, "answering /metrics: ZeroDivisionError\n")
        assert (await get(f"{url}/healthz"))[0] == 200
