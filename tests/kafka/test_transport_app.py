"""The Faust app on Kafka: what it is told, what it waits for, and what it does when it loses a partition."""

import asyncio
import logging
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deploy.kafka.broker import Broker
from scentline.streams.app import create_app
from scentline.streams.facts import Access
from scentline.streams.records import Pack, encode
from scentline.streams.runtime import Runtime
from scentline.streams.settings import KafkaSettings, Settings
from scentline.streams.topics import ACCESSES, APP_ID, changelog_of, declared
from scentline.streams.transport.kafka.admin import Admin
from scentline.streams.transport.kafka.consumer import Consumer, ConsumerThread
from scentline.streams.transport.kafka.log import KafkaLog, connected, wait_for_topics
from tests.cases import each_case
from tests.kafka import counting
from tests.kafka.counting import settings_of
from tests.patience import PATIENCE

PARTITIONS = 2


def fail(error: BaseException) -> None:
    raise AssertionError("no error was expected") from error


def test_a_role_has_an_app_of_its_own_on_kafka_and_shares_one_on_the_embedded_log(tmp_path: Path) -> None:
    on_kafka = Settings(broker="kafka://one:9092;two", data=tmp_path)
    assert create_app(on_kafka, "browse").conf.id == "scentline-browse"
    embedded = Settings(data=tmp_path)
    assert {create_app(embedded, role).conf.id for role in ("browse", "judge", None)} == {"scentline"}


def test_the_app_is_told_of_brokers_and_sessions(tmp_path: Path) -> None:
    kafka = KafkaSettings(session_seconds=40, heartbeat_seconds=7)
    conf = create_app(Settings(broker="kafka://one:9092;two", data=tmp_path, kafka=kafka), "browse").conf
    assert [str(url) for url in conf.broker] == ["kafka://one:9092", "kafka://two:9092"]
    assert (conf.broker_session_timeout, conf.broker_heartbeat_interval) == (40, 7)
    assert conf.broker_request_timeout >= conf.broker_session_timeout
    assert not conf.topic_allow_declare
    assert conf.topic_disable_leader


class Beating(Consumer):
    """The consumer's look at the clock, without a client."""

    def __init__(self, alive_at: float) -> None:
        self.app = SimpleNamespace(conf=SimpleNamespace(broker_session_timeout=10.0))
        self._thread: Any = SimpleNamespace(alive_at=alive_at)


@each_case(("ago", "owns"), [(ConsumerThread.alive_at, False), (60.0, False), (10.0, False), (0.0, True)])
def test_a_worker_of_whom_the_group_has_heard_nothing_owns_nothing(ago: float, owns: bool) -> None:
    assert Beating(time.monotonic() - abs(ago)).in_session() is owns


def test_a_worker_waits_for_a_broker_and_for_topics_and_says_for_which(
    broker: Broker, empty_kafka: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_of(empty_kafka, tmp_path)
    caplog.set_level(logging.WARNING)

    async def told(what: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while not any(what in str(vars(record).get("fields")) for record in caplog.records):
                await asyncio.sleep(0.05)

    async def run() -> None:
        broker.kill()
        waiting = asyncio.ensure_future(wait_for_topics(settings, [ACCESSES.name, "sightings"]))
        await told("no answer")
        await asyncio.to_thread(broker.start)
        await told("no topics accesses, sightings")
        assert not waiting.done()
        with Admin(settings) as admin:
            admin.create(declared(PARTITIONS), 1)
        async with asyncio.timeout(PATIENCE):
            await waiting

    asyncio.run(run())


def test_a_worker_whose_changelog_another_has_claimed_counts_each_access_once_all_the_same(
    empty_kafka: str, tmp_path: Path
) -> None:
    settings = settings_of(empty_kafka, tmp_path)
    changelog = changelog_of(APP_ID, counting.TABLE)
    with Admin(settings) as admin:
        admin.create(declared(PARTITIONS), 1)

    async def send(log: KafkaLog, numbers: range) -> None:
        packs = [Pack(facts=[(0, 0, Access("user", "http://a.org/", float(n)))]) for n in numbers]
        await log.publisher.send_all([(ACCESSES.name, 0, None, encode(pack)) for pack in packs])

    async def run() -> Counter[str]:
        async with connected(settings) as log, connected(settings) as other, asyncio.timeout(PATIENCE):
            runtime = Runtime(log.app("browse"), settings, log.publisher, fail)
            inbox = counting.Counter(runtime).inbox
            runtime.app.finalize()
            await runtime.app.start()

            async def absorbed(count: int) -> None:
                while not (shard := inbox.shards.get(0)) or shard.mark.offset < count - 1 or shard.pending:
                    await asyncio.sleep(0.01)

            await send(log, range(100))
            await absorbed(100)
            await other.publisher.claim(changelog, 0, -1)
            lost = inbox.shards[0]
            await send(log, range(100, 200))
            while inbox.shards.get(0) in {lost, None}:
                await asyncio.sleep(0.01)
            await absorbed(200)
            row = inbox.shards[0].get(b"user")
            await runtime.close()
            await runtime.app.stop()
            return Counter(user=row.count if row else 0)

    assert asyncio.run(run()) == Counter(user=200)
