"""Shards on a real RocksDB, without Faust: what a stateful agent's handler is tested on."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from rocksdict import Options, Rdict

from agents.crawl.journal import open_journal
from streams.app import create_app
from streams.inbox import Codec, Shard
from streams.outbox import Message
from streams.records import AccessPack, Decoder, EvidencePack, Pack, SightingPack
from streams.runtime import Runtime
from streams.settings import Settings
from streams.tables import TablePartition
from streams.topics import ACCESSES, EVIDENCE, SIGHTINGS, Topic
from streams.transport.publisher import JournalPublisher

Row = TypeVar("Row")

_DECODERS: dict[str, Decoder[Pack[Any]]] = {
    SIGHTINGS.name: Decoder[Pack[Any]](SightingPack),
    ACCESSES.name: Decoder[Pack[Any]](AccessPack),
    EVIDENCE.name: Decoder[Pack[Any]](EvidencePack),
}


class Disk:
    """A directory of table partitions; shards can be opened on one again and again, as after a crash."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._resources = ExitStack()
        self._stores: dict[int, TablePartition] = {}

    def shard(self, row_type: Any, topic: Topic, partition: int = 0, cached: int = 1000) -> Shard[Any]:
        """Return the partition's shard as the disk has it, changes that were not written left out."""
        store = self._stores.get(partition)
        if store is None:
            db = Rdict(str(self._directory / f"rows-{partition}"), Options(raw_mode=True))
            self._resources.callback(db.close)
            store = self._stores[partition] = TablePartition(db)
        source = f"{topic.name}/{partition}"
        return Shard(partition, source, store, Codec[Any](row_type), cached)

    def clear(self) -> None:
        """Remove all rows and marks; shards that were opened before must not be used any more."""
        for store in self._stores.values():
            store.write({key: None for key, _ in store.scan(b"")}, 0)

    def close(self) -> None:
        """Close the databases."""
        self._resources.close()


@contextmanager
def disk(directory: Path) -> Iterator[Disk]:
    """Give a disk in a directory and close it in the end."""
    opened = Disk(directory)
    try:
        yield opened
    finally:
        opened.close()


def write(shard: Shard[Any]) -> list[Message]:
    """End the shard's group: write its rows to disk; return what it emitted."""
    group = shard.close_group()
    shard.store.write(group.rows, 0)
    shard.landed()
    return group.emissions


def take_in(shard: Shard[Any], handler: Any, *facts: Any) -> list[Message]:
    """Have a handler absorb facts as one new inbox message; return what it emitted."""
    for fact in shard.accept(shard.mark.offset + 1, Pack(facts=[(0, 0, fact) for fact in facts])):
        handler.absorb(shard, fact)
    return shard.outbox.take()


def emitted(messages: Iterable[Message], topic: Topic) -> list[tuple[int, Any]]:
    """Return the facts of a topic's messages, each with its partition."""
    decode = _DECODERS[topic.name]
    return [
        (partition, fact)
        for name, partition, _, value in messages
        if name == topic.name
        for _, _, fact in decode(value or b"").facts
    ]


@contextmanager
def a_runtime(settings: Settings, now: float = 1000.0) -> Iterator[Runtime]:
    """Give a runtime on the real journal of the settings' data directory; its app is never started."""

    def fail(error: BaseException) -> None:
        raise error

    with open_journal(settings) as journal:
        publisher = JournalPublisher(journal, lambda: now)
        yield Runtime(create_app(settings), settings, publisher, fail, lambda: now)
