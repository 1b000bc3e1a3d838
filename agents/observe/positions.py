"""How far each log was fed, as the topic `log-positions` has it."""

from scentline.streams.broadcast import Broadcast
from scentline.streams.logging import EventLog
from scentline.streams.records import Decoder, LogPosition, RecordError, encode
from scentline.streams.topics import LOG_POSITIONS
from scentline.streams.transport.publisher import LogReader

log = EventLog("observe")

Message = tuple[str, int, bytes | None, bytes | None]


class Positions:
    """The positions of all logs; one counts for those settings only by which the log was read (``reading``)."""

    def __init__(self, reading: str) -> None:
        self._reading = reading
        self._lines: dict[str, int] = {}
        self._decode = Decoder[LogPosition](LogPosition)

    def hear(self, key: bytes | None, value: bytes | None) -> None:
        """Take in a message of the topic."""
        if key is not None and value is not None:
            try:
                position = self._decode(value)
            except RecordError as error:
                log.warning("skipped a log's position that can't be read", reason=str(error))
                return
            self._lines[key.decode(errors="replace")] = (
                position.line if position.reading == self._reading else 0
            )

    def line(self, fingerprint: str) -> int:
        """Return the number of the last line of a log that was fed, 0 where none was."""
        return self._lines.get(fingerprint, 0)

    def passed(self, fingerprint: str, line: int) -> list[Message]:
        """Note that a log was fed up to a line; return the message that says so, if that is news."""
        if line <= self.line(fingerprint):
            return []
        self._lines[fingerprint] = line
        return [
            (LOG_POSITIONS.name, 0, fingerprint.encode(), encode(LogPosition(line=line, reading=self._reading)))
        ]


async def read_positions(reader: LogReader, reading: str) -> Positions:
    """Return the positions of all logs as they are now."""
    positions = Positions(reading)

    def fail(error: BaseException) -> None:
        raise error

    broadcast = Broadcast(reader, LOG_POSITIONS.name, positions.hear, fail)
    await broadcast.start()
    await broadcast.stop()
    return positions
