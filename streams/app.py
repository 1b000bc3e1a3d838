"""The Faust app: how this program wants Faust to be."""

import faust

from streams.settings import Settings

APP_ID = "scentline"


def create_app(settings: Settings) -> faust.App:
    """Return an app without agents, its state in the data directory, its messages at the broker."""
    return faust.App(
        APP_ID,
        broker=settings.broker,
        store="rocksdb://",
        datadir=str(settings.data.resolve()),
        autodiscover=False,
        web_enabled=False,
        key_serializer="raw",
        value_serializer="raw",
        topic_partitions=settings.streams.partitions,
        topic_replication_factor=1,
        broker_commit_interval=settings.streams.commit_seconds,
        # A group that is not committed comes again: nobody has to wait for it at a stop or a rebalance.
        stream_wait_empty=False,
        # Counted in messages, and one may be a page of megabytes.
        stream_buffer_maxsize=256,
        stream_recovery_delay=0.0,
    )
