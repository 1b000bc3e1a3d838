"""Absorbing one inbox message: its facts change rows, but for what can't be read or has to be quarantined."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from scentline.streams.attempts import Place, bury, why
from scentline.streams.inbox import Shard
from scentline.streams.records import Pack, RecordError, UnknownFactsError, encode
from scentline.streams.runtime import Runtime
from scentline.streams.topics import Topic

Row = TypeVar("Row")


class Handler(Generic[Row]):
    """What a stateful agent does with facts. Each method is synchronous and touches its shard only."""

    def opened(self, shard: Shard[Row]) -> None:
        """A partition became ours and its rows are recovered."""

    def closed(self, shard: Shard[Row]) -> None:
        """A partition is no longer ours; what was kept of it in memory must go."""

    def absorb(self, shard: Shard[Row], fact: Any) -> None:
        """Change rows and emit, as a function of the rows and the fact alone."""
        raise NotImplementedError

    def committed(self, shard: Shard[Row]) -> None:
        """A group of the shard is safe."""

    def restored(self, shard: Shard[Row]) -> None:
        """The open group was taken back, and its messages come again; what was kept of it in memory must go."""

    def refused(self, shard: Shard[Row], value: bytes) -> None:
        """A message, or a fact of it, was quarantined: whoever waits for an answer must be given one."""


WHOLE = -1  #: The number that stands for all facts of a message.
#: Origins left free where a quarantined fact would have emitted, more than any fact does: what follows it has
#: the same origins should the fact be absorbed another time.
LEFT_FREE = 1_000_000


class Absorber(Generic[Row]):
    """Absorbs the facts of messages of ``topic``, as ``decode`` reads them.

    What is quarantined of the open group is noted in the shard, and buried again when the group is absorbed
    again.
    """

    def __init__(
        self, runtime: Runtime, topic: Topic, decode: Callable[[bytes], Pack[Any]], handler: Handler[Row]
    ) -> None:
        self._runtime = runtime
        self._topic = topic
        self._decode = decode
        self._handler = handler

    def place(self, shard: Shard[Row], offset: int) -> Place:
        """Return where a message of the shard stands."""
        return Place(self._topic.name, shard.partition, offset)

    def absorb(self, shard: Shard[Row], event: Any) -> bool:
        """Absorb a message; False says that a fact of it is quarantined, and the group must be taken back."""
        offset, value = event.message.offset, event.value or b""
        if shard.fresh(offset):
            pack = self._read(shard, offset, value)
            for number, fact in enumerate(shard.accept(offset, pack)):
                if shard.quarantined and (offset, number) in shard.quarantined:
                    alone: Pack[Any] = Pack(source=pack.source, facts=[(*shard.origin, fact)])
                    self._bury(shard, number, encode(alone), value)
                elif not self._absorb(shard, offset, number, fact):
                    return False
        shard.absorbed(event, len(value))
        return True

    def bury_whole(self, shard: Shard[Row], event: Any, reason: str) -> None:
        """Absorb a message that is quarantined whole."""
        shard.quarantined[event.message.offset, WHOLE] = reason
        self.absorb(shard, event)

    def _absorb(self, shard: Shard[Row], offset: int, number: int, fact: Any) -> bool:
        try:
            self._handler.absorb(shard, fact)
        except Exception as error:
            self._quarantine(shard, offset, number, error)
            return False
        return True

    def _read(self, shard: Shard[Row], offset: int, value: bytes) -> Pack[Any]:
        """Return the facts of a message that are known; what can't be read of it goes to the dead letters."""
        nothing: Pack[Any] = Pack(facts=[])
        if (offset, WHOLE) not in shard.quarantined:
            try:
                pack = self._decode(value)
                shard.check_source(pack)
                return pack
            except UnknownFactsError as error:
                self._bury_unread(shard, offset, error.unknown, error)
                return error.known
            except RecordError as error:
                self._bury_unread(shard, offset, value, error)
                return nothing
            except Exception as error:
                self._quarantine(shard, offset, WHOLE, error)
        shard.begin(offset)
        self._bury(shard, WHOLE, value, value)
        return nothing

    def _quarantine(self, shard: Shard[Row], offset: int, number: int, error: Exception) -> None:
        shard.quarantined[offset, number] = self._runtime.quarantine(self.place(shard, offset), error)

    def _bury(self, shard: Shard[Row], number: int, letter: bytes, value: bytes) -> None:
        """Bury what is quarantined of the message that is being absorbed."""
        offset = shard.mark.offset
        shard.mark.quarantined += 1
        bury(
            shard.outbox, self.place(shard, offset), letter, shard.quarantined[offset, number], "quarantine",
            self._runtime.clock(), None if number == WHOLE else shard.origin,
        )  # fmt: skip
        shard.outbox.skip(LEFT_FREE)
        self._handler.refused(shard, value)

    def _bury_unread(self, shard: Shard[Row], offset: int, value: bytes, error: RecordError) -> None:
        shard.begin(offset)
        self._runtime.bury(shard.outbox, self.place(shard, offset), value, str(error), why(error))
