"""Shards on a real RocksDB, without Faust: what a stateful agent's handler is tested on."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from rocksdict import WriteBatch

from scentline.agents.worker.connect import open_journal
from scentline.models.facts import AccessPack, EvidencePack, SightingPack
from scentline.models.records import Decoder, Pack
from scentline.streams.inbox import Codec, Message, Shard
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES, EVIDENCE, SIGHTINGS, Topic
from scentline.streams.transport.database import TablePartition
from scentline.streams.transport.embedded import JournalBus, create_app
from scentline.streams.transport.journal import Journal

Row = TypeVar("Row")

DECODERS: dict[str, Decoder[Pack[Any]]] = {
    SIGHTINGS.name: Decoder[Pack[Any]](SightingPack),
    ACCESSES.name: Decoder[Pack[Any]](AccessPack),
    EVIDENCE.name: Decoder[Pack[Any]](EvidencePack),
}


class Disk:
    """A table in a data directory; shards can be opened on one again and again, as after a crash.

    It has to be the directory of the runtime, where there is one, whose agents commit groups.
    """

    def __init__(self, data: Path) -> None:
        self._journal = Journal.open(data / "journal")
        self._journal.create_table("rows", 1)

    def shard(self, row_type: Any, topic: Topic, partition: int = 0, cached: int = 1_000_000) -> Shard[Any]:
        """Return the partition's shard as the disk has it, changes that were not written left out."""
        self._journal.create_table("rows", partition + 1)
        store = self._journal.table("rows")[partition]
        source = f"{topic.name}/{partition}"
        return Shard(partition, source, store, Codec[Any](row_type), cached)

    def clear(self) -> None:
        """Remove all rows and marks; shards that were opened before must not be used any more."""
        for store in self._journal.table("rows").values():
            put(store, {key: None for key, _ in store.scan(b"")})

    def close(self) -> None:
        self._journal.close()


@contextmanager
def disk(data: Path) -> Iterator[Disk]:
    """Give a disk in a data directory and close it in the end."""
    with closing(Disk(data)) as opened:
        yield opened


def put(store: Any, rows: Mapping[bytes, bytes | None]) -> None:
    """Write rows to a partition of a table; None deletes."""
    batch = WriteBatch(raw_mode=True)
    store.stage(batch, rows)
    store.write(batch)


@contextmanager
def table(data: Path, name: str, read_only: bool = True) -> Iterator[list[TablePartition]]:
    with Journal.open(data / "journal", read_only=read_only) as journal:
        yield list(journal.table(name).values())


def rows_of(data: Path, name: str, prefix: bytes) -> list[tuple[bytes, bytes]]:
    """Return the rows of a crawl's table whose keys start with ``prefix``."""
    with table(data, name) as parts:
        return [row for part in parts for row in part.scan(prefix)]


def write(shard: Shard[Any]) -> list[Message]:
    """End the shard's group: write its rows to disk; return what it emitted."""
    group = shard.close_group()
    put(shard.store, group.rows)
    shard.landed()
    return group.emissions


def take_in(shard: Shard[Any], handler: Any, *facts: Any) -> list[Message]:
    """Have a handler absorb facts as one new inbox message; return what it emitted."""
    for fact in shard.accept(shard.mark.offset + 1, Pack(facts=[(0, 0, fact) for fact in facts])):
        handler.absorb(shard, fact)
    return shard.take()


def emitted(messages: Iterable[Message], topic: Topic) -> list[tuple[int, Any]]:
    decode = DECODERS[topic.name]
    return [
        (partition, fact)
        for name, partition, _, value in messages
        if name == topic.name
        for _, _, fact in decode(value or b"").facts
    ]


@contextmanager
def a_runtime(settings: Settings, now: float = 1000.0) -> Iterator[Runtime]:
    """Give a runtime on the real journal of the settings' data directory; its app is never started."""
    with open_journal(settings) as journal:
        yield Runtime(create_app(settings), settings, JournalBus(journal, lambda: now), raised, lambda: now)


def raised(error: BaseException) -> None:
    raise error


def journal_of(runtime: Runtime) -> Journal:
    assert isinstance(runtime.bus, JournalBus)
    return runtime.bus.journal
