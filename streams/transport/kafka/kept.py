"""What a partition of a Kafka topic holds, read once from its start: for the operator's commands."""

from collections.abc import Iterator

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError as ClientError

from streams.settings import Settings
from streams.transport.kafka.connecting import AdminError, connecting
from streams.transport.kafka.connection import addresses
from streams.transport.layout import Entry

_POLL_MS = 1000
_PATIENCE = 30  # polls in a row that bring nothing, though records are there


def kept(settings: Settings, topic: str, partition: int) -> Iterator[Entry]:
    """Yield the partition's records in their order, up to the last one that is there at the beginning.

    It joins no group and commits nothing. Raises `AdminError` for a broker that can't be asked,
    lacks the topic or falls silent.
    """
    with connecting(settings) as options:
        consumer = KafkaConsumer(**options, enable_auto_commit=False, allow_auto_create_topics=False)
    broker = ",".join(addresses(settings.broker))
    try:
        yield from _read(consumer, TopicPartition(topic, partition), broker)
    except ClientError as error:
        raise AdminError(f"{broker}: {topic}: {error}") from error
    finally:
        consumer.close()


def _read(consumer: KafkaConsumer, place: TopicPartition, broker: str) -> Iterator[Entry]:
    if place.topic not in consumer.topics():
        raise AdminError(f"{broker}: has no topic {place.topic}: make it with scentline topics create")
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    end = consumer.end_offsets([place])[place]
    silent = 0
    # The position passes over what compaction removed, at the end of the log too.
    while consumer.position(place) < end:
        records = consumer.poll(_POLL_MS).get(place, [])
        silent = 0 if records else silent + 1
        if silent == _PATIENCE:
            raise AdminError(f"{broker}: {place.topic}: nothing came for {_PATIENCE * _POLL_MS // 1000} s")
        for record in records:
            if record.offset < end:
                yield Entry(record.offset, record.timestamp / 1000, record.key, record.value)
