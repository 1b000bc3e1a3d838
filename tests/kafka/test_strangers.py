"""Messages that no agent wrote, on every topic of a crawl on a real broker."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from scentline_lab.synthetic.serve import synthetic_server
from tests.agents.commands import printed
from tests.kafka.test_crawl import PARTITIONS, WEB, arguments, counts
from tests.rubbish.strangers import NUMBER, SECONDS, during


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    with synthetic_server(*WEB) as server:
        yield server.url


def test_a_crawl_on_kafka_that_strangers_write_to_counts_as_one_alone(
    tmp_path: Path, proxy: str, empty_kafka: str
) -> None:
    options = arguments(tmp_path, proxy)
    alone = counts(tmp_path, *options, "--data", "alone")
    printed(tmp_path, "topics", "create", "--partitions", str(PARTITIONS), "--broker", empty_kafka)
    broker = ("--data", "kafka", "--broker", empty_kafka)
    assert counts(tmp_path, *options, *broker, first=during(NUMBER), seconds=SECONDS) == alone
    printed(tmp_path, "snapshot", "--broker", empty_kafka, "--data", "snapshot")
    audits = {
        name: json.loads(printed(tmp_path, "audit", "--data", name, "--json")) for name in ("alone", "snapshot")
    }
    assert audits["snapshot"] | {"quarantined": 0} == audits["alone"]
