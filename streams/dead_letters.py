"""Dead letters: what could not be read, where it stood and why."""

from streams.outbox import Outbox
from streams.records import DeadLetter, encode
from streams.topics import DEAD_LETTERS

#: Bytes of an unreadable message that are kept.
LETTER_BYTES = 1000


def bury(
    outbox: Outbox, topic: str, partition: int, offset: int, value: bytes, reason: str, time: float
) -> None:
    """Gather a dead letter. A repeated one is recognised by its place, so repetition does no harm."""
    letter = DeadLetter(
        topic=topic,
        partition=partition,
        offset=offset,
        reason=reason,
        value=value[:LETTER_BYTES],
        time=time,
    )
    outbox.send(DEAD_LETTERS.name, 0, None, encode(letter))
