"""``scentline dead-letters``: messages and log lines that could not be read, and why."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agents.cli.app import app, examples
from agents.cli.options import AsJson, Assignments, BrokerAddress, ConfigFile, DataDirectory, load_settings
from agents.cli.output import print_json, print_table

if TYPE_CHECKING:
    from streams.records import DeadLetter
    from streams.settings import Settings
    from streams.transport.layout import Entry

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
    as_json: AsJson = False,
) -> None:
    """Print the messages and log lines that could not be read, each with its place and the reason.

    Only reads; a crawl may be running. With --json, prints one object per line.
    """
    from streams.logging import printable

    settings = load_settings(file, assignments, {"data": data, "broker": broker}).settings
    letters = _letters(_entries(settings))
    if as_json:
        for letter in letters:
            print_json(_fields(letter))
        return
    print_table(
        ("time", "place", "reason", "content"),
        (
            (
                datetime.fromtimestamp(letter.time, UTC).isoformat(timespec="seconds"),
                f"{letter.topic}/{letter.partition}@{letter.offset}",
                letter.reason,
                printable(_text(letter.value), _SHOWN),
            )
            for letter in letters
        ),
    )


def _entries(settings: "Settings") -> "Iterator[Entry]":
    """Yield what the topic holds, at a Kafka broker or in the embedded log."""
    from streams.topics import DEAD_LETTERS

    if settings.on_kafka:
        from streams.transport.kafka.admin import kept

        yield from kept(settings, DEAD_LETTERS.name, 0)
        return
    from streams.transport.journal import Journal

    with Journal.open(settings.data / "journal", read_only=True) as journal:
        if DEAD_LETTERS.name not in journal.topics():
            return
        offset = journal.start(DEAD_LETTERS.name, 0)
        while entries := journal.read(DEAD_LETTERS.name, 0, offset, _BATCH):
            yield from entries
            offset = entries[-1].offset + 1


def _letters(entries: "Iterable[Entry]") -> "Iterator[DeadLetter]":
    """Yield the letters, oldest first, without the repetitions that a restart leaves."""
    from streams.records import DeadLetter, Decoder, RecordError
    from streams.topics import DEAD_LETTERS

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


def _fields(letter: "DeadLetter") -> dict[str, object]:
    return {
        "time": letter.time,
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "reason": letter.reason,
        "value": _text(letter.value),
    }


def _text(value: bytes) -> str:
    return value.decode(errors="backslashreplace")
