"""A commit group that takes its time, as on a busy machine, does not end a crawl before it began."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import last_line, printed

WEB = (5, 2, 20, 2)  # seed, sites, pages a site, topics


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    with synthetic_server(*WEB) as server:
        yield server.url


def test_a_crawl_whose_seed_waits_to_be_committed_is_not_finished(tmp_path: Path, proxy: str) -> None:
    out = printed(
        tmp_path, "crawl", "--seed", SyntheticWeb(*WEB).seeds(1)[0], "--predicate", 'any=not "unheard-of"',
        "--budget", "3", "--json", "--set", f"fetch.proxy={proxy}", "--set", "fetch.delay_seconds=0",
        "--set", "streams.group_seconds=0.3",
    )  # fmt: skip
    assert last_line(out)["fetched"] == 3
