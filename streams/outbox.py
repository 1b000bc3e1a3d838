"""Emissions on their way: facts gathered for each partition of each topic, written as packs.

Every fact carries its origin, (offset of the message it was made from, index among that message's facts).
A repeated emission has the same origin, so its receiver, who remembers the last origin of each source, drops
it. That holds because a source reads its messages in order and gathers in the order it reads.
"""

from collections.abc import Iterator
from typing import Any

from scentline.models.records import Pack, encode

#: Facts in one message at most: enough to spread a message's fixed cost, few enough to be taken in at once.
PACK_FACTS = 200
#: Bytes of one message at most, where it has more than one fact; the largest fact is that of a page's links.
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
        self._plain_begun = 0

    def begin(self, offset: int) -> None:
        """Say that what follows is made from the source's message at ``offset``."""
        self._offset = offset
        self._index = 0
        self._plain_begun = len(self._plain)

    def emit(self, topic: str, partition: int, fact: Any) -> None:
        """Gather one fact for a partition."""
        self._facts.setdefault((topic, partition), []).append((self._offset, self._index, fact))
        self._index += 1

    def skip(self, facts: int = 1) -> None:
        """Pass over facts that there may be another time: those that follow keep their origins."""
        self._index += facts

    def undo(self) -> None:
        """Forget what was gathered since `begin`."""
        del self._plain[self._plain_begun :]
        for place, facts in list(self._facts.items()):
            while facts and facts[-1][0] == self._offset:
                facts.pop()
            if not facts:
                del self._facts[place]

    def clear(self) -> None:
        """Forget all that was gathered."""
        self._facts, self._plain = {}, []

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> None:
        """Gather one whole message: one whose repetition does no harm."""
        self._plain.append((topic, partition, key, value))

    def __bool__(self) -> bool:
        return bool(self._facts or self._plain)

    def take(self) -> list[Message]:
        """Return everything gathered as messages, and forget it."""
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
