"""Dead letters: what could not be read, where it stood and why."""

from typing import Literal

from streams.attempts import Place
from streams.outbox import Outbox
from streams.records import DeadLetter, RecordError, UnknownFactsError, UnknownVersionError, encode
from streams.topics import DEAD_LETTERS

#: Why a message is buried: it is no record, one of a version not known here, one with facts of a kind not known
#: here, no line of a log, a page on which a judge of categories failed or that took too long or too much, or
#: what raised, or ended its process, while it was taken in (`streams.quarantine`).
Why = Literal["unreadable", "version", "kind", "line", "judge", "page", "quarantine"]

#: Bytes of an unreadable message that are kept.
LETTER_BYTES = 1000


def bury(
    outbox: Outbox,
    place: Place,
    value: bytes,
    reason: str,
    why: Why,
    time: float,
    origin: tuple[int, int] | None = None,
) -> None:
    """Gather a dead letter. A repeated one is recognised by its place, so repetition does no harm."""
    letter = DeadLetter(
        topic=place.topic,
        partition=place.partition,
        offset=place.offset,
        reason=reason,
        value=value[:LETTER_BYTES],
        time=time,
        why=why,
        origin=origin,
    )
    outbox.send(DEAD_LETTERS.name, 0, None, encode(letter))


def why(error: RecordError) -> Why:
    """Return why a message that can't be read is buried."""
    if isinstance(error, UnknownFactsError):
        return "unreadable" if error.damaged else "kind"
    return "version" if isinstance(error, UnknownVersionError) else "unreadable"
