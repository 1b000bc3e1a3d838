"""Messages that no agent wrote, on every topic of a running crawl: it goes on, and its counts are exact."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from scentline.streams.topics import DEAD_LETTERS
from scentline_lab.synthetic.serve import synthetic_server
from tests.agents.commands import printed
from tests.kafka.test_crawl import WEB, arguments, counts
from tests.rubbish.strangers import NUMBER, SECONDS, during


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    with synthetic_server(*WEB) as server:
        yield server.url


def test_a_crawl_that_strangers_write_to_counts_as_one_alone(tmp_path: Path, proxy: str) -> None:
    options = arguments(tmp_path, proxy)
    alone = counts(tmp_path, *options, "--data", "alone")
    among = counts(tmp_path, *options, "--data", "among", first=during(NUMBER), seconds=SECONDS)
    assert among == alone
    audit = json.loads(printed(tmp_path, "audit", "--data", "among", "--json"))
    assert audit | {"quarantined": 0} == json.loads(printed(tmp_path, "audit", "--data", "alone", "--json"))
    letters = printed(tmp_path, "dead-letters", "--data", "among", "--json").splitlines()
    assert DEAD_LETTERS.most is not None
    assert min(NUMBER, DEAD_LETTERS.most) / 4 < len(letters) <= DEAD_LETTERS.most
