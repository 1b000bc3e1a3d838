"""``scentline dead-letters``: messages and log lines that could not be read, and why."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from scentline.agents.cli.options import Given, Since, command, time_since
from scentline.agents.cli.output import Shape

if TYPE_CHECKING:
    from scentline.streams.records import DeadLetter
    from scentline.streams.transport.partition import Entry

FIELDS = ("time", "topic", "partition", "offset", "reason", "value")
_BATCH = 1000
_SHOWN = 120  # characters of a letter's content in the table


@command(
    "dead-letters",
    "scentline dead-letters",
    "scentline dead-letters --data scentline-data --json",
    "scentline dead-letters --broker kafka://localhost:9092",
    takes=("data", "broker", "lines"),
)
def dead_letters(given: Given, since: Since = None) -> None:
    """Print the messages and log lines that could not be read, each with its place and the reason.

    Only reads; a crawl may be running.
    """
    from scentline.agents.operate.inspect.record import kept_entries
    from scentline.streams.topics import DEAD_LETTERS

    settings = given.settings()
    begin = time_since(since)
    letters = (letter for letter in _letters(kept_entries(settings, DEAD_LETTERS.name)) if letter.time >= begin)
    shape = Shape(("time", "place", "reason", "content"), _cells, FIELDS, _fields)
    given.print_rows(letters, shape)


def _letters(entries: "Iterable[Entry]") -> "Iterator[DeadLetter]":
    """Yield the letters, oldest first, without the repetitions that a restart leaves."""
    from scentline.streams.records import DeadLetter, Decoder, RecordError
    from scentline.streams.topics import DEAD_LETTERS

    decode = Decoder[DeadLetter](DeadLetter)
    seen: set[tuple[str, int, int, str]] = set()
    for entry in entries:
        value = entry.value or b""
        try:
            letter = decode(value)
        except RecordError as error:
            letter = DeadLetter(
                topic=DEAD_LETTERS.name, partition=0, offset=entry.offset, reason=str(error), value=value,
                time=entry.timestamp,
            )  # fmt: skip
        place = (letter.topic, letter.partition, letter.offset, letter.reason)
        if place not in seen:
            seen.add(place)
            yield letter


def _cells(letter: "DeadLetter") -> tuple[str, ...]:
    from scentline.streams.logging import printable

    return (
        datetime.fromtimestamp(letter.time, UTC).isoformat(timespec="seconds"),
        f"{letter.topic}/{letter.partition}@{letter.offset}",
        letter.reason,
        printable(_text(letter.value), _SHOWN),
    )


def _fields(letter: "DeadLetter") -> dict[str, object]:
    return {name: getattr(letter, name) for name in FIELDS} | {"value": _text(letter.value)}


def _text(value: bytes) -> str:
    return value.decode(errors="backslashreplace")
