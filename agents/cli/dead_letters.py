"""``scentline dead-letters``: what could not be read, where it stood and why."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agents.cli.app import CommandError, app, examples
from agents.cli.options import AsJson, Assignments, ConfigFile, DataDirectory, load_settings
from agents.cli.output import print_json, print_table

if TYPE_CHECKING:
    from streams.records import DeadLetter
    from streams.transport.journal import Journal

_BATCH = 1000
_SHOWN = 120  # characters of a letter's content in the table


@app.command(
    "dead-letters",
    epilog=examples(
        "dead-letters", "scentline dead-letters", "scentline dead-letters --data scentline-data --json"
    ),
)
def dead_letters(
    data: DataDirectory = None,
    file: ConfigFile = None,
    assignments: Assignments = None,
    as_json: AsJson = False,
) -> None:
    """Print the messages and log lines that could not be read, each with its place and the reason.

    A crawl may be running on the same directory: this only reads. With --json, one object a line.
    """
    from streams.logging import printable
    from streams.transport.journal import Journal

    settings = load_settings(file, assignments, {"data": data}).settings
    if not settings.broker.startswith("embedded:"):
        raise CommandError(
            "dead-letters reads the embedded log only; read the topic dead-letters at the broker"
        )
    with Journal.open(settings.data / "journal", read_only=True) as journal:
        letters = _letters(journal)
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


def _letters(journal: "Journal") -> "Iterator[DeadLetter]":
    """Yield the letters, oldest first; the repetitions that a restart leaves are passed over."""
    from streams.records import DeadLetter, Decoder, RecordError
    from streams.topics import DEAD_LETTERS

    name = DEAD_LETTERS.name
    if name not in journal.topics():
        return
    decode = Decoder[DeadLetter](DeadLetter)
    seen: set[tuple[str, int, int, str]] = set()
    offset = journal.start(name, 0)
    while entries := journal.read(name, 0, offset, _BATCH):
        for entry in entries:
            value = entry.value or b""
            try:
                letter = decode(value)
            except RecordError as error:
                letter = DeadLetter(
                    topic=name, partition=0, offset=entry.offset, reason=str(error), value=value,
                    time=entry.timestamp,
                )  # fmt: skip
            place = (letter.topic, letter.partition, letter.offset, letter.reason)
            if place not in seen:
                seen.add(place)
                yield letter
        offset = entries[-1].offset + 1


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
