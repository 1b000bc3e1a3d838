"""The exactly-once inbox: a stateful agent's rows, committed in groups together with what they absorbed.

A shard is one partition of a stateful agent: its inbox partition and its table partition. Messages are absorbed
unacknowledged; they change rows in memory and gather emissions. At the group's end the emissions are sent, the
changed rows and the *mark row* are written, and the messages are acknowledged. On the embedded log that is one
batch of one database (`streams.transport.journal`), on Kafka it takes four steps (`streams.transport.commits`).

The mark row holds the last inbox offset absorbed and the last origin accepted of each source. After a crash
at any point the rows are those of some group's end, the messages after the mark come again, and their repeated
emissions are recognised by their origins. So every fact is counted once, without transactions.

The origin of a fact is the offset of the message it was made from, and its index among that message's facts. A
repeated fact has the same origin: a source reads its messages in order and gathers in the order it reads.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from scentline.models.errors import ScentlineError
from scentline.models.records import Pack, RecordError, encode

Row = TypeVar("Row")

MARK = b"\x00mark"
ROW_BYTES = 500  #: Bytes assumed for a decoded row beside those of its encoding.
KEPT = 0.9  #: Share of the bound on decoded rows that is kept when they exceed it.
MOST_SOURCES = 10_000  #: Sources, logs above all, whose origins a shard remembers.
#: Facts in one message at most: enough to spread a message's fixed cost, few enough to be absorbed at once.
PACK_FACTS = 200
#: Bytes of one message at most, if it has more than one fact; the largest fact has a page's links.
PACK_BYTES = 1024 * 1024

Message = tuple[str, int, bytes | None, bytes | None]  #: One message to send: topic, partition, key, value.


class Outbox:
    """Gathers the emissions of one source, the stream that origins count in, such as ``"pages/3"``."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._facts: dict[tuple[str, int], list[tuple[int, int, Any]]] = {}
        self._plain: list[Message] = []
        self._offset = 0
        self._index = 0

    def begin(self, offset: int) -> None:
        """Start the emissions of the source's message at ``offset``."""
        self._offset = offset
        self._index = 0

    def emit(self, topic: str, partition: int, fact: Any) -> None:
        """Gather one fact for a partition."""
        self._facts.setdefault((topic, partition), []).append((self._offset, self._index, fact))
        self._index += 1

    def skip(self, facts: int = 1) -> None:
        """Reserve the origins of facts that another attempt may emit; later facts keep theirs."""
        self._index += facts

    def clear(self) -> None:
        """Discard everything gathered."""
        self._facts, self._plain = {}, []

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> None:
        """Gather one whole message, whose repetition does no harm."""
        self._plain.append((topic, partition, key, value))

    @property
    def gathered(self) -> bool:
        """Whether anything is gathered."""
        return bool(self._facts or self._plain)

    def take(self) -> list[Message]:
        """Return everything gathered as messages, and clear it."""
        messages = self._plain
        for (topic, partition), facts in self._facts.items():
            for start in range(0, len(facts), PACK_FACTS):
                packs = self._packs(facts[start : start + PACK_FACTS])
                messages += [(topic, partition, None, pack) for pack in packs]
        self.clear()
        return messages

    def _packs(self, facts: list[tuple[int, int, Any]]) -> Iterator[bytes]:
        """Yield the facts as one pack, or as several that hold parts of them in their order."""
        value = encode(Pack(source=self.source, facts=facts))
        if len(value) <= PACK_BYTES or len(facts) == 1:
            yield value
        else:
            half = len(facts) // 2
            yield from self._packs(facts[:half])
            yield from self._packs(facts[half:])


class Mark(msgspec.Struct, array_like=True):
    """How far a shard has absorbed."""

    offset: int = -1  #: The last inbox offset absorbed.
    origins: dict[str, tuple[int, int]] = {}  #: The last (offset, index) of each source.
    quarantined: int = 0  #: Facts, and whole messages, that could not be absorbed.


class Store(Protocol):
    """One partition of a table on disk."""

    def get(self, key: bytes) -> bytes | None:
        """Return a row's bytes."""

    def size(self) -> tuple[int, int]:
        """Return the approximate number of rows, and their bytes."""

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """Yield rows whose key starts with ``prefix``, in key order, those after key ``after`` only."""


@dataclass
class Group:
    """A closed group."""

    emissions: list[Message]
    rows: dict[bytes, bytes | None]
    messages: list[Any]  #: Faust's events, to be acknowledged.
    absorbed: int  #: The offset of the last message absorbed, -1 before any.
    closed: float = field(default_factory=time.perf_counter)


class Codec(Generic[Row]):
    """How a table's rows are written: one struct type or a tagged union, as MessagePack."""

    def __init__(self, row_type: Any) -> None:
        self.encode: Callable[[Row], bytes] = msgspec.msgpack.Encoder().encode
        self.decode: Callable[[bytes], Row] = msgspec.msgpack.Decoder(row_type).decode


class Shard(Outbox, Generic[Row]):
    """The rows of one partition, overlaid with the open group's changes, and its emissions.

    `get` returns rows as objects, and `put` stages their changes. ``cached`` bounds the bytes of rows kept
    decoded.
    """

    def __init__(self, partition: int, source: str, store: Store, codec: Codec[Row], cached: int) -> None:
        super().__init__(source)
        self.partition = partition
        self.store = store
        self._codec = codec
        self._cached = cached
        # Decoded rows, None where there is none, with their sizes; the least recently used first.
        self._cache: dict[bytes, tuple[Row | None, int]] = {}
        self._held = 0
        self._dirty: dict[bytes, Row | None] = {}
        self._flying: dict[bytes, bytes | None] = {}
        self._messages: list[Any] = []
        self._bytes = 0
        raw = store.get(MARK)
        self._marked = msgspec.msgpack.encode(Mark()) if raw is None else raw
        self.mark = msgspec.msgpack.decode(self._marked, type=Mark)
        #: Why facts of the open group's messages are quarantined, by the offset and the fact's number.
        self.quarantined: dict[tuple[int, int], str] = {}
        self.origin = (-1, -1)  #: The origin, (offset, index), of the fact that is being absorbed.
        self.lock = asyncio.Lock()
        #: Called before the open group is closed, to write what is kept beside the rows into them.
        self.closing: Callable[[], object] = tuple

    # rows

    def get(self, key: bytes) -> Row | None:
        """Return the current row, with this group's changes."""
        if key in self._dirty:
            return self._dirty[key]
        kept = self._cache.pop(key, None)
        if kept is not None:
            self._cache[key] = kept
            return kept[0]
        raw = self._flying[key] if key in self._flying else self.store.get(key)
        row = None if raw is None else self._codec.decode(raw)
        self._keep(key, row, len(raw or b""))
        return row

    def get_all(self, keys: Iterable[bytes]) -> list[Row | None]:
        """Return the current rows of some keys."""
        return [*map(self.get, keys)]

    def put(self, key: bytes, row: Row) -> None:
        """Stage a new or changed row."""
        self._dirty[key] = row

    def put_all(self, rows: Mapping[bytes, Row]) -> None:
        """Stage new or changed rows."""
        for key, row in rows.items():
            self.put(key, row)

    def delete(self, key: bytes) -> None:
        """Stage a row's removal."""
        self._dirty[key] = None
        self.let_go(key)

    def staged(self, key: bytes) -> bool:
        """Return whether a row changed since the last committed group: the disk has an older one."""
        return key in self._dirty or key in self._flying

    def let_go(self, key: bytes) -> None:
        """Drop a row from memory: it is not read again while the shard is open."""
        kept = self._cache.pop(key, None)
        if kept is not None:
            self._held -= kept[1]

    def _keep(self, key: bytes, row: Row | None, size: int) -> None:
        self.let_go(key)
        self._cache[key] = row, size + ROW_BYTES
        self._held += size + ROW_BYTES

    def let_go_of_excess(self) -> None:
        """Drop the least recently used rows, while none is in use: they are changed in place."""
        if self._held > self._cached:
            for key in list(self._cache):
                if self._held <= KEPT * self._cached:
                    break
                self.let_go(key)

    def scan(self, prefix: bytes, after: bytes | None = None) -> Iterator[tuple[bytes, Row]]:
        """Yield the rows on disk with ``prefix`` in key order, each with its latest changes."""
        for key, raw in self.store.scan(prefix, after):
            known = key in self._dirty or key in self._flying or key in self._cache
            row = self.get(key) if known else self._codec.decode(raw)
            if row is not None:
                yield key, row

    # messages

    @property
    def place(self) -> str:
        """The inbox message in hand, as "topic/partition@offset"."""
        return f"{self.source}@{self.mark.offset}"

    def begin(self, offset: int) -> None:
        """Start the emissions of the inbox message at ``offset``, and mark it absorbed."""
        super().begin(offset)
        self.mark.offset = offset

    def check_source(self, pack: Pack[Any]) -> None:
        """Raise `RecordError` for a pack of one source too many: the mark row holds them all."""
        origins = self.mark.origins
        if pack.source and pack.source not in origins and len(origins) >= MOST_SOURCES:
            raise RecordError(f"a pack of one source more than {MOST_SOURCES}: its origins can't be kept")

    def accept(self, offset: int, pack: Pack[Any]) -> Iterator[Any]:
        """Yield the facts of the inbox message at ``offset`` that have not been absorbed yet."""
        self.begin(offset)
        last = self.mark.origins.get(pack.source, (-1, -1))
        for origin_offset, index, fact in pack.facts:
            self.origin = (origin_offset, index)
            if not pack.source:
                yield fact
            elif self.origin > last:
                last = self.mark.origins[pack.source] = self.origin
                yield fact

    def absorbed(self, message: Any, size: int = 0) -> None:
        """Note that a message of ``size`` bytes is in the group; it is acknowledged when the group is safe."""
        self._messages.append(message)
        self._bytes += size

    # groups

    @property
    def pending(self) -> bool:
        """Whether anything waits to be committed."""
        return bool(self._messages or self._dirty or self.gathered)

    @property
    def sending(self) -> bool:
        """Whether the open group holds emissions, or a closed one is being committed."""
        return self.gathered or self.lock.locked()

    def size(self) -> tuple[int, int, int]:
        """Return the messages of the open group, its changed rows, and the messages' bytes."""
        return len(self._messages), len(self._dirty), self._bytes

    def close_group(self) -> Group:
        """Close the group and open the next."""
        self.closing()
        encode = self._codec.encode
        rows: dict[bytes, bytes | None] = {}
        for key, row in self._dirty.items():
            raw = rows[key] = None if row is None else encode(row)
            if row is not None and raw is not None:
                self._keep(key, row, len(raw))
        rows[MARK] = self._marked = msgspec.msgpack.encode(self.mark)
        absorbed = self.mark.offset
        group = Group(self.take(), rows, self._messages, absorbed)
        self._dirty, self._messages, self._bytes, self._flying = {}, [], 0, rows
        self.quarantined = {fact: why for fact, why in self.quarantined.items() if fact[0] > absorbed}
        return group

    def roll_back(self) -> list[Any]:
        """Discard the open group and all decoded rows, which it may have changed; return its messages."""
        messages, self._messages, self._bytes = self._messages, [], 0
        self._dirty, self._cache, self._held = {}, {}, 0
        self.clear()
        self.mark = msgspec.msgpack.decode(self._marked, type=Mark)
        return messages

    def landed(self) -> None:
        """Drop the last closed group: RocksDB has it."""
        self._flying = {}
        self.let_go_of_excess()


class LostShardError(ScentlineError):
    """The shard belongs to another worker now: its open group must not be written."""

    explains_itself = False


class Committer(Protocol):
    """How the groups of a stateful agent become safe on the log in use."""

    async def claim(self, partition: int) -> Store:
        """Become the only writer of a partition of the table; return it as the last group left it."""

    def release(self, partition: int) -> None:
        """Give a partition up."""

    async def commit(self, shard: Shard[Any], group: Group, check: Callable[[], None]) -> None:
        """Make a group safe. ``check`` is called before every write but the first, and may raise."""


async def commit(shard: Shard[Any], committer: Committer, still_owned: Callable[[], bool]) -> Group | None:
    """Commit the shard's open group, and return it; None if it holds nothing.

    ``still_owned`` is called before every write, so that a frozen worker does not repeat its successor's
    emissions; the broker refuses its changelog. Raises `LostShardError`: the shard must be dropped.
    """

    def check() -> None:
        if not still_owned():
            raise LostShardError(f"partition {shard.partition} of {shard.source} has another owner")

    async with shard.lock:
        if not shard.pending:
            return None
        check()
        group = shard.close_group()
        await committer.commit(shard, group, check)
        shard.landed()
        for message in group.messages:
            message.ack()
        return group
