"""The Faust app: how this program wants Faust to be."""

from collections.abc import Callable
from typing import Any

import faust
from faust.sensors import Monitor
from faust.tables import TableManager

from scentline.streams.settings import Settings
from scentline.streams.topics import APP_ID, group_of
from scentline.streams.transport.embedded import Assignor, Leader, register

__all__ = ["APP_ID", "create_app", "watch"]


class Tables(TableManager):
    """Faust's tables, which do not wait a second for further ones: each is there before an app starts."""

    #: What its start and stop are logged at: as little to people as those of Faust's own parts.
    mundane_level = "debug"

    async def sleep(self, n: Any) -> None:
        """Return at once; the tables sleep nowhere but at their start."""


class Rebalances(Monitor):
    """What Faust notes of itself but for messages: they would take 1 % of a page, and nobody asks."""

    mundane_level = Tables.mundane_level

    def _ignore(self, *_: Any) -> None: ...

    on_message_in = on_stream_event_in = on_stream_event_out = on_message_out = _ignore


def create_app(settings: Settings, role: str | None = None) -> faust.App:
    """Return an app without agents. On Kafka each role has its own app and consumer group."""
    kafka = settings.on_kafka
    register()
    app = faust.App(
        settings.named(group_of(role)) if kafka and role is not None else APP_ID,
        store="rocksdb://" if kafka else "memory://",  # on the embedded log Faust has no table
        TableManager=Tables,
        datadir=str(settings.data.resolve()),
        autodiscover=False,
        web_enabled=False,
        key_serializer="raw",
        value_serializer="raw",
        topic_partitions=settings.streams.partitions,
        broker_commit_interval=settings.streams.commit_seconds,
        # A group that is not committed comes again: nobody has to wait for it at a stop or a rebalance.
        stream_wait_empty=False,
        # Counted in messages, and one may be a page of megabytes.
        stream_buffer_maxsize=256,
        stream_recovery_delay=0.0,
        # Topics are made before, by `scentline topics create` or with the data directory, with what each needs.
        topic_allow_declare=False,
        topic_disable_leader=True,
        **(_kafka(settings) if kafka else _embedded(settings)),
    )
    if kafka:
        # Imported when it is used: the embedded log has no use for a Kafka client.
        from scentline.streams.transport.kafka.consumer import Transport

        app.transport = app.producer_transport = Transport(app.conf.broker_consumer, app)
    return app


async def watch(app: faust.App, fail: Callable[[BaseException], None]) -> None:
    """Fail with an app that fails: it would work no more, and say nothing."""
    await app.wait_until_stopped()
    if app.crashed:
        fail(app.crash_reason or RuntimeError(f"{app.conf.id} ended"))


def _embedded(settings: Settings) -> dict[str, Any]:
    return {
        "broker": settings.broker,
        "topic_replication_factor": 1,
        "PartitionAssignor": Assignor,
        "LeaderAssignor": Leader,
        "Monitor": Rebalances,
    }


def _kafka(settings: Settings) -> dict[str, Any]:
    from scentline.streams.transport.kafka.connection import REQUEST_SECONDS, addresses, faust_credentials

    kafka = settings.kafka
    return {
        "broker": ";".join(f"kafka://{address}" for address in addresses(settings.broker)),
        "broker_credentials": faust_credentials(kafka),
        "broker_session_timeout": kafka.session_seconds,
        "broker_heartbeat_interval": kafka.heartbeat_seconds,
        "broker_request_timeout": max(REQUEST_SECONDS, 2 * kafka.session_seconds),
        "consumer_auto_offset_reset": "earliest",
        "topic_replication_factor": kafka.replication,
        # A standby would write the same table on another worker; a changelog is read in seconds.
        "table_standby_replicas": 0,
    }
