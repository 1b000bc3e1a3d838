"""``scentline dead-letters``: messages and log lines that could not be read, and why."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from scentline.agents.cli.app import app, examples
from scentline.agents.cli.options import (
    AsJsonLines,
    Assignments,
    BrokerAddress,
    ConfigFile,
    DataDirectory,
    Format,
    Out,
    Since,
    load_settings,
    time_since,
)
from scentline.agents.cli.output import Shape, print_rows

if TYPE_CHECKING:
    from scentline.streams.records import DeadLetter
    from scentline.streams.settings import Settings
    from scentline.streams.transport.partition import Entry

FIELDS = ("time", "topic", "partition", "offset", "reason", "value")
_BATCH = 1000
_SHOWN = 120  # characters of a letter's content in the table


@app.command(
    "dead-letters",
    epilog=examples(
        "dead-letters",
        "scentline dead-letters",
        "scentline dead-letters --data scentline-data --json",
        "scentline dead-letters --broker kafka://localhost:9092",
    ),
)
def dead_letters(
    data: DataDirectory = None,
    broker: BrokerAddress = None,
    file: ConfigFile = None,
    assignments: Assignments = None,
    form: Format = "table",
    as_json: AsJsonLines = False,
    out: Out = None,
    since: Since = None,
) -> None:
    """Print the messages and log lines that could not be read, each with its place and the reason.

    Only reads; a crawl may be running.
    """
    settings = load_settings(file, assignments, {"data": data, "broker": broker}).settings
    begin = time_since(since)
    letters = (letter for letter in _letters(_entries(settings)) if letter.time >= begin)
    shape = Shape(("time", "place", "reason", "content"), _cells, FIELDS, _fields)
    print_rows(letters, shape, "jsonl" if as_json else form, out)


def _entries(settings: "Settings") -> "Iterator[Entry]":
    """Yield what the topic holds, at a Kafka broker or in the embedded log."""
    from scentline.streams.topics import DEAD_LETTERS

    if settings.on_kafka:
        from scentline.streams.transport.kafka.admin import kept

        yield from kept(settings, DEAD_LETTERS.name, 0)
        return
    from scentline.streams.transport.journal import Journal

    with Journal.open(settings.data / "journal", read_only=True) as journal:
        if DEAD_LETTERS.name not in journal.topics():
            return
        offset = journal.start(DEAD_LETTERS.name, 0)
        while entries := journal.read(DEAD_LETTERS.name, 0, offset, _BATCH):
            yield from entries
            offset = entries[-1].offset + 1


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
