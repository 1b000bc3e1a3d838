"""Every form in which something lies in a topic or table: an example, and how it is written and read."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from scentline.agents.frontier.steered import read_steering
from scentline.agents.harvest.agent import read_outcome
from scentline.agents.judge.predicates import read_definition
from scentline.agents.operate.inspect.record import read_change, read_point, read_standing
from scentline.streams.facts import AccessPack, EvidencePack, SightingPack
from scentline.streams.inbox import Codec, Mark
from scentline.streams.published import FreshnessPart, HarvestPart, Watch
from scentline.streams.records import (
    DeadLetter,
    Decoder,
    FetchedPage,
    FetchOrder,
    Interests,
    JsonDecoder,
    LogPosition,
    Pack,
    encode,
)
from scentline.streams.topics import (
    ACCESSES,
    CHANGES,
    DEAD_LETTERS,
    EVIDENCE,
    FETCHES,
    FRESHNESS,
    HARVEST,
    HARVEST_PARTS,
    INTERESTS,
    LOG_POSITIONS,
    OUTCOMES,
    PAGES,
    PREDICATES,
    SIGHTINGS,
    STANDING,
    STEERING,
    WATCHING,
)
from scentline.streams.transport.partition import Entry, TopicMeta, decode_record, encode_record
from tests.streams.wire.records import RECORDS
from tests.streams.wire.rows import MARK, ROW_TYPES, ROWS, TOPIC

Encode = Callable[[Any], bytes]
Decode = Callable[[bytes], Any]

_json = msgspec.json.encode
#: How the messages of each topic are written and read: as whoever reads the topic does.
CODECS: dict[str, tuple[Encode, Decode]] = {
    ACCESSES.name: (encode, Decoder[Any](AccessPack)),
    SIGHTINGS.name: (encode, Decoder[Any](SightingPack)),
    FETCHES.name: (encode, Decoder[Any](FetchOrder)),
    PAGES.name: (encode, Decoder[Any](FetchedPage)),
    OUTCOMES.name: (_json, lambda value: read_outcome(value).facts[0][2]),
    CHANGES.name: (_json, read_change),
    EVIDENCE.name: (encode, Decoder[Any](EvidencePack)),
    INTERESTS.name: (encode, Decoder[Any](Interests)),
    HARVEST.name: (_json, read_point),
    HARVEST_PARTS.name: (encode, Decoder[Any](HarvestPart)),
    FRESHNESS.name: (encode, Decoder[Any](FreshnessPart)),
    PREDICATES.name: (_json, read_definition),
    WATCHING.name: (_json, JsonDecoder[Any](Watch)),
    STANDING.name: (_json, read_standing),
    STEERING.name: (_json, read_steering),
    DEAD_LETTERS.name: (encode, Decoder[Any](DeadLetter)),
    LOG_POSITIONS.name: (encode, Decoder[Any](LogPosition)),
}


@dataclass(frozen=True)
class Form:
    """One form: where it is pinned and by which name, and how its example is written and read.

    ``plain`` reads it without types.
    """

    file: Path
    name: str
    example: Any
    encode: Encode
    decode: Decode
    plain: Decode = msgspec.msgpack.decode

    def __str__(self) -> str:
        return f"{self.file.stem}-{self.name}"


_HERE = Path(__file__).parent


def _name(example: Any) -> str:
    return type(example.facts[0][2] if isinstance(example, Pack) else example).__name__


def _forms() -> list[Form]:
    found = []
    for topic, examples in RECORDS.items():
        file = _HERE / "topics" / f"{topic}.txt"
        write, read = CODECS[topic]
        plain = msgspec.json.decode if write is _json else msgspec.msgpack.decode
        found += [Form(file, _name(example), example, write, read, plain) for example in examples]
    for table, rows in ROWS.items():
        file, codec = _HERE / "tables" / f"{table}.txt", Codec[Any](ROW_TYPES[table])
        found += [Form(file, _name(row), row, codec.encode, codec.decode) for row in rows]
    packed = msgspec.msgpack.encode
    marks = msgspec.msgpack.Decoder(Mark).decode
    metas = msgspec.msgpack.Decoder(TopicMeta).decode
    found.append(Form(_HERE / "tables" / "mark.txt", "Mark", MARK, packed, marks))
    found.append(Form(_HERE / "journal.txt", "TopicMeta", TOPIC, packed, metas))
    return found


#: All that are structs.
FORMS = _forms()
#: A record of the embedded log, which is none.
RECORD = Form(
    _HERE / "journal.txt",
    "record",
    Entry(offset=7, timestamp=1_700_000_000.5, key=b"key", value=b"value"),
    lambda entry: encode_record(entry.timestamp, entry.key, entry.value),
    lambda data: decode_record(7, data),
    plain=bytes,
)
