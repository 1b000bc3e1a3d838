"""The endpoint: metrics, liveness and readiness, told by a thread even while the event loop is stuck."""

import asyncio
import socket
import threading
import time
import urllib.request
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from functools import partial
from typing import TypeVar

import pytest

from scentline.streams.configuration import ConfigurationError
from scentline.streams.metrics.catalogue import BEAT_AGE, BUILD, PARTITIONS
from scentline.streams.metrics.endpoint import MOST_REQUESTS, endpoint, serving
from scentline.streams.metrics.registry import Health, Metrics, Reading
from scentline.streams.settings import MetricsSettings
from tests.cases import each_case
from tests.patience import PATIENCE, wait_for
from tests.streams.scraping import HOST, PATIENT, asked, get

T = TypeVar("T")


def ready(metrics: Metrics) -> Metrics:
    metrics.health.need(lambda: [])
    return metrics


def served(metrics: Metrics, work: Callable[[str], Awaitable[None]], stuck_seconds: float = PATIENT) -> str:
    """Serve while ``work`` is done; return the address."""

    async def run() -> str:
        async with serving(HOST, 0, stuck_seconds, metrics) as url:
            await work(url)
            return url

    return asyncio.run(run())


def in_a_thread(metrics: Metrics, work: Callable[[str], None]) -> None:
    served(metrics, lambda url: asyncio.to_thread(work, url))


def test_a_process_that_is_well_says_so_and_what_there_is_until_it_ends() -> None:
    async def work(url: str) -> None:
        assert await get(f"{url}/healthz") == await get(f"{url}/readyz") == (200, "ok\n")
        status, text = await get(f"{url}/metrics?name[]=all")
        assert status == 200
        assert f"# TYPE {BUILD.name} gauge" in text
        assert BEAT_AGE.name in text
        assert await get(f"{url}/<script>") == (404, "expected one of: /metrics, /healthz, /readyz\n")

    url = served(ready(Metrics()), work)
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(url, timeout=5)


def test_what_is_missing_is_named_line_by_line_and_the_process_live_all_the_same() -> None:
    metrics = Metrics()

    async def work(url: str) -> None:
        assert await get(f"{url}/readyz") == (503, "no role has started yet\n")
        metrics.health.need(lambda: ["frontier: waits for the topic sightings"])
        metrics.health.need(lambda: ["fetch: no partitions are assigned yet"])
        status, text = await get(f"{url}/readyz")
        assert status == 503
        assert text.splitlines() == [line for check in metrics.health._checks for line in check()]
        assert (await get(f"{url}/healthz"))[0] == 200

    served(metrics, work)


def while_stuck(work: Callable[[], T]) -> T:
    """Return what ``work`` returns in another thread while this one, the loop's, does not go on."""
    done: list[T] = []
    thread = threading.Thread(target=lambda: done.append(work()))
    thread.start()
    thread.join()
    return done[0]


def test_a_stuck_loop_is_neither_live_nor_ready() -> None:
    async def work(url: str) -> None:
        await asyncio.sleep(0)  # one beat
        while_stuck(partial(time.sleep, 0.1))
        for path in ("healthz", "readyz"):
            status, text = while_stuck(partial(asked, f"{url}/{path}"))
            assert status == 503
            assert text.startswith("event loop: has not turned for")
        assert while_stuck(partial(asked, f"{url}/metrics"))[0] == 200

    served(ready(Metrics(patience_seconds=0.01)), work, stuck_seconds=0.05)


def test_beats_and_how_late_they_come_are_known_from_the_process_s_begin_on() -> None:
    now = [5.0]
    late: list[float] = []
    health = Health(lambda: now[0])
    now[0] = 70.0
    assert health.age() == 65.0

    async def run() -> None:
        beats = asyncio.create_task(health.beat(late.append))
        await asyncio.sleep(0)
        assert health.age() == 0.0
        now[0] = 73.5  # the loop stands still for two and a half seconds beyond the beat's one
        assert health.age() == 3.5
        await asyncio.to_thread(wait_for, "the beat", lambda: bool(late), 0.01)
        beats.cancel()

    asyncio.run(run())
    assert late == [2.5]


def test_without_a_port_nothing_is_served_and_a_wrong_address_is_named() -> None:
    async def work(url: str) -> None:
        async with endpoint(MetricsSettings(), Metrics()) as none:
            assert none is None
        port = int(url.rpartition(":")[2])
        for settings, named in (
            (MetricsSettings(port=port), rf"metrics.port {port}: .*expected a free port"),
            (MetricsSettings(host="no-such-host.invalid", port=1), r"metrics.host no-such-host\.invalid"),
        ):
            with pytest.raises(ConfigurationError, match=named):
                async with endpoint(settings, Metrics()):
                    pass

    served(Metrics(), work)


def connected(url: str) -> socket.socket:
    return socket.create_connection((HOST, int(url.rpartition(":")[2])), timeout=PATIENCE)


@each_case("sent", [b"", b"GET /metrics HTTP/1.1\r\nX: "])
@each_case("idle", [MOST_REQUESTS, 3 * MOST_REQUESTS])
def test_connections_that_ask_for_nothing_stop_no_health_check(sent: bytes, idle: int) -> None:
    def fill(url: str) -> None:
        with ExitStack() as opened:
            for _ in range(idle):
                silent = opened.enter_context(connected(url))
                silent.sendall(sent)
            for path in ("healthz", "readyz", "metrics"):
                for _ in range(MOST_REQUESTS):
                    assert asked(f"{url}/{path}")[0] == 200

    in_a_thread(ready(Metrics()), fill)


def test_beyond_the_bound_the_oldest_that_has_not_asked_is_broken_off() -> None:
    def fill(url: str) -> None:
        with ExitStack() as opened:
            silent = [opened.enter_context(connected(url)) for _ in range(MOST_REQUESTS + 2)]
            assert [one.recv(1) for one in silent[:2]] == [b"", b""]
            for one in silent[2:]:
                one.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
                assert one.recv(12) == b"HTTP/1.0 200"

    in_a_thread(ready(Metrics()), fill)


def test_those_who_do_not_take_their_answer_stop_no_health_check() -> None:
    """Each asks, and reads nothing of an answer that fits into no buffer."""

    def fill(url: str) -> None:
        with ExitStack() as opened:
            for _ in range(2 * MOST_REQUESTS):
                greedy = opened.enter_context(socket.socket())
                greedy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                greedy.connect((HOST, int(url.rpartition(":")[2])))
                greedy.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            assert asked(f"{url}/healthz")[0] == 200

    async def read(reading: Reading) -> None:
        for number in range(5_000):
            reading.add(PARTITIONS, 0, f"{number:01000}")

    metrics = ready(Metrics())
    metrics.watch(read)
    in_a_thread(metrics, fill)


def test_a_request_that_takes_too_long_is_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scentline.streams.metrics.endpoint.REQUEST_SECONDS", 0.05)

    def silence(url: str) -> None:
        with connected(url) as connection:
            connection.sendall(b"GET /metr")
            assert connection.recv(1) == b""

    in_a_thread(Metrics(), silence)


def test_a_source_that_fails_fails_the_scrape_alone() -> None:
    async def read(_: object) -> None:
        raise ZeroDivisionError("secret")

    async def work(url: str) -> None:
        assert await get(f"{url}/metrics") == (500, "reading the metrics: ZeroDivisionError\n")
        assert (await get(f"{url}/healthz"))[0] == 200

    metrics = ready(Metrics())
    metrics.watch(read)
    served(metrics, work)
