"""Messages that no agent wrote, on every topic of a running crawl: it goes on, and its counts are exact."""

import json
from pathlib import Path

from scentline.streams.topics import DEAD_LETTERS
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import printed
from tests.e2e.crawls import synthetic
from tests.kafka.test_crawl import WEB, arguments, counts
from tests.rubbish.strangers import NUMBER, SECONDS, during


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
