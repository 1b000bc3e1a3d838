"""On Kafka too a crawl that is killed again and again asks no host before its time."""

from pathlib import Path
from random import Random

from tests.agents.commands import printed
from tests.webs.watched import check, crawled


def test_no_host_is_asked_before_its_time_by_a_crawl_that_is_killed(tmp_path: Path, empty_kafka: str) -> None:
    printed(tmp_path, "topics", "create", "--partitions", "2", "--broker", empty_kafka)
    options = ("--data", "data", "--broker", empty_kafka, "--set", "kafka.session_seconds=3")
    watched = crawled(
        tmp_path, (*options, "--set", "kafka.heartbeat_seconds=0.5", "--set", "observe.user_key=k"), Random(2)
    )
    check(watched)
