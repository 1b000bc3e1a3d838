"""A message of a topic, any bytes: a record, or an error of one short line."""

from collections.abc import Callable
from typing import Any

from scentline.agents.judge.examiner import Examiner
from scentline.agents.judge.predicates import Predicates
from scentline.agents.judge.question import Work
from scentline.agents.observe.agent import Positions
from scentline.models.facts import AccessPack, EvidencePack, SightingPack
from scentline.models.published import read_outcome
from scentline.models.records import DeadLetter, Decoder, FetchOrder, Interests, LogPosition, RecordError
from scentline.streams.settings import Settings

_READER = Examiner(Work.of(Settings()))
_READ: tuple[Callable[[bytes], Any], ...] = (
    Decoder[AccessPack](AccessPack),
    Decoder[SightingPack](SightingPack),
    Decoder[EvidencePack](EvidencePack),
    Decoder[FetchOrder](FetchOrder),
    lambda value: _READER.read(_READER.decode(value)),
    Decoder[Interests](Interests),
    Decoder[DeadLetter](DeadLetter),
    Decoder[LogPosition](LogPosition),
    read_outcome,
)


def message(data: bytes) -> None:
    """Read a message as each record that there is; a definition of a predicate may be passed over."""
    for read in _READ:
        try:
            read(data)
        except RecordError as error:
            assert 0 < len(str(error)) < 500
            assert "\n" not in str(error)
            assert b"secret" not in data or "secret" not in str(error)
    Predicates().hear(data)
    Positions("reading").hear(b"log 1f", data)
