"""Whole crawls of webs at random, and among messages of strangers."""

import json
from pathlib import Path

import pytest

from scentline.streams.topics import DEAD_LETTERS
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import printed
from tests.e2e.crawls import synthetic
from tests.kafka.test_crawl import WEB, arguments, counts
from tests.rubbish.crawling import SEEDS, crawl_at_random
from tests.rubbish.strangers import NUMBER, SECONDS, during


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_crawl_among_rubbish_ends_with_every_good_page_and_exact_counts(tmp_path: Path, seed: int) -> None:
    crawl_at_random(seed, tmp_path)


def test_a_crawl_that_strangers_write_to_counts_as_one_alone(tmp_path: Path) -> None:
    with synthetic(SyntheticWeb(*WEB)) as served:
        options = arguments(tmp_path, served.origin)
        alone = counts(tmp_path, *options, "--data", "alone")
        among = counts(tmp_path, *options, "--data", "among", first=during(NUMBER), seconds=SECONDS)
    assert among == alone
    audit = json.loads(printed(tmp_path, "audit", "--data", "among", "--json"))
    assert audit | {"quarantined": 0} == json.loads(printed(tmp_path, "audit", "--data", "alone", "--json"))
    letters = printed(tmp_path, "dead-letters", "--data", "among", "--json").splitlines()
    assert DEAD_LETTERS.most is not None
    assert min(NUMBER, DEAD_LETTERS.most) / 4 < len(letters) <= DEAD_LETTERS.most
