"""What a crawl wrote, read from its data directory after its end: nothing counts while it crawls."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from rocksdict import AccessType, Options, Rdict

from scentline.models.records import Pack
from scentline.streams.transport.journal import Journal


def appended(data: Path) -> Mapping[str, int]:
    """Return the records that were appended to each topic, with those that are gone since."""
    with Journal.open(data / "journal", read_only=True) as journal:
        return {
            topic: sum(journal.end(topic, partition) for partition in range(meta.partitions))
            for topic, meta in journal.topics().items()
        }


def facts(data: Path, topic: str) -> int:
    """Return the facts that the packs of a topic hold."""
    decode = msgspec.msgpack.Decoder(Pack[msgspec.Raw]).decode
    with Journal.open(data / "journal", read_only=True) as journal:
        return sum(
            len(decode(entry.value or b"").facts)
            for partition in range(journal.partitions(topic))
            for entry in journal.read(topic, partition, 0, journal.end(topic, partition))
        )


def puts(data: Path) -> int:
    """Return the puts and deletes that RocksDB took, in all databases below a directory.

    RocksDB numbers them without gaps, whatever batch they come in, and keeps the last number.
    """
    return sum(_last_number(current.parent) for current in data.rglob("CURRENT"))


def _last_number(database: Path) -> int:
    db = Rdict(str(database), Options(raw_mode=True), access_type=AccessType.read_only())
    try:
        number: int = db.latest_sequence_number()
        return number
    finally:
        db.close()
