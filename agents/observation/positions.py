"""How far each log was fed, as the topic `log-positions` has it."""

from streams.records import Decoder, LogPosition, encode
from streams.topics import LOG_POSITIONS
from streams.transport.reader import LogReader

_READ_AT_ONCE = 1_000

Message = tuple[str, int, bytes | None, bytes | None]


class Positions:
    """The positions of all logs; one counts for those settings only by which the log was read (``reading``)."""

    def __init__(self, log: LogReader, reading: str) -> None:
        self._reading = reading
        self._lines: dict[str, int] = {}
        decode = Decoder[LogPosition](LogPosition)
        offset = 0
        while found := log.read(LOG_POSITIONS.name, 0, offset, _READ_AT_ONCE):
            offset = found[-1].offset + 1
            for entry in found:
                if entry.key is None or entry.value is None:
                    continue
                position = decode(entry.value)
                self._lines[entry.key.decode()] = position.line if position.reading == reading else 0

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
