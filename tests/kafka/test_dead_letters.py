"""``scentline dead-letters`` on a real broker."""

import json
from pathlib import Path

from scentline.agents.operate.topics import create
from scentline.streams.records import DeadLetter, encode
from scentline.streams.transport.kafka.admin import kept
from tests.agents.commands import complaint, printed
from tests.kafka.test_lag import drop, send
from tests.kafka.test_topics import settings


def letter(offset: int, reason: str = "is no access") -> bytes:
    return encode(
        DeadLetter(topic="accesses", partition=2, offset=offset, reason=reason, value=b"\xff\x1b", time=0.0)
    )


def test_letters_are_printed_oldest_first_and_a_repeated_one_once(empty_kafka: str, tmp_path: Path) -> None:
    create(settings(empty_kafka))
    send(empty_kafka, "dead-letters", 0, [letter(7), letter(8), letter(7), b"no letter"])
    lines = printed(tmp_path, "dead-letters", "--broker", empty_kafka, "--json").splitlines()
    places = [(found["topic"], found["offset"]) for found in map(json.loads, lines)]
    assert places == [("accesses", 7), ("accesses", 8), ("dead-letters", 3)]
    table = printed(tmp_path, "dead-letters", "--broker", empty_kafka)
    assert table.splitlines()[1] == "1970-01-01T00:00:00+00:00\taccesses/2@7\tis no access\t\\xff\\x1b"


def test_a_topic_without_letters_prints_none(empty_kafka: str, tmp_path: Path) -> None:
    create(settings(empty_kafka))
    assert printed(tmp_path, "dead-letters", "--broker", empty_kafka, "--json") == ""


def test_a_topic_that_is_missing_is_named(empty_kafka: str, tmp_path: Path) -> None:
    said = complaint(tmp_path, "dead-letters", "--broker", empty_kafka)
    assert said.endswith("has no topic dead-letters: make it with scentline topics create")


def test_what_is_kept_no_more_is_passed_over(empty_kafka: str) -> None:
    create(settings(empty_kafka))
    send(empty_kafka, "dead-letters", 0, [letter(number) for number in range(5)])
    drop(empty_kafka, "dead-letters", 0, 3)
    assert [entry.offset for entry in kept(settings(empty_kafka), "dead-letters", 0)] == [3, 4]
