"""``scentline changes`` on a real broker."""

import json
from pathlib import Path

import msgspec

from scentline.agents.operate.topics import create
from tests.agents.commands import complaint, printed, running
from tests.agents.test_changes import a_change
from tests.kafka.test_lag import drop, send
from tests.kafka.test_topics import settings
from tests.patience import PATIENCE


def change(number: int, kind: str = "appeared") -> bytes:
    return msgspec.json.encode(a_change(number, kind=kind))


def urls(printed: str) -> list[str]:
    return [json.loads(line)["url"][-1] for line in printed.splitlines()]


def test_changes_of_all_partitions_are_told_by_their_times_each_once(empty_kafka: str, tmp_path: Path) -> None:
    create(settings(empty_kafka))
    send(empty_kafka, "changes", 0, [change(1), change(4), b"rubbish", change(1)])
    send(empty_kafka, "changes", 1, [change(2), change(3)])
    told = printed(tmp_path, "changes", "--broker", empty_kafka, "--format", "jsonl")
    assert urls(told) == ["1", "2", "3", "4"]


def test_changes_are_followed_from_what_is_kept_still(empty_kafka: str, tmp_path: Path) -> None:
    create(settings(empty_kafka))
    send(empty_kafka, "changes", 0, [change(1), change(2)])
    drop(empty_kafka, "changes", 0, 1)
    with running(tmp_path, "changes", "--broker", empty_kafka, "--format", "jsonl", "--follow") as process:
        assert process.stdout is not None
        assert urls(process.stdout.readline()) == ["2"]
        for number, partition in ((3, 1), (4, 0)):
            send(empty_kafka, "changes", partition, [change(number)])
            assert urls(process.stdout.readline()) == [str(number)]
        process.terminate()
        assert process.wait(PATIENCE) == 0


def test_a_crawl_that_tells_nothing_and_a_topic_that_is_missing_are_said(
    empty_kafka: str, tmp_path: Path
) -> None:
    asked = ("changes", "--broker", empty_kafka)
    assert "has no topic changes: make it with scentline topics create" in complaint(tmp_path, *asked)
    create(settings(empty_kafka))
    assert "only a crawl that visits pages again" in complaint(tmp_path, *asked)
    assert len(printed(tmp_path, *asked, "--set", "frontier.revisit=0.5").splitlines()) == 1, "the head alone"
