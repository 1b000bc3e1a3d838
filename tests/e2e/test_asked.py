"""Whole crawls, as servers saw them."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import last_line, printed
from tests.e2e.crawls import ANY, each, exact, options, synthetic, write_labels
from tests.webs.watched import check, crawled


@pytest.mark.slow
def test_no_host_is_asked_before_its_time_by_a_crawl_that_is_killed(tmp_path: Path) -> None:
    check(crawled(tmp_path, ("--data", "data"), Random(1)))


def test_of_as_many_requests_fewer_fail_than_in_the_order_of_links(tmp_path: Path) -> None:
    web = SyntheticWeb(1, 8, 100, 4, dead=0.3)  # pages that satisfy are left to the end
    write_labels(tmp_path / "labels.tsv", web)
    found: dict[str, Any] = {}
    with synthetic(web) as served:
        for policy in ("learned", "breadth-first"):
            found[policy] = last_line(printed(
                tmp_path, "crawl", *each("--seed", web.seeds(2)), "--labels", "labels.tsv", "--data", policy,
                "--predicate", 'sports=category("Sports")', "--requests", "240", "--json",
                *options({"fetch.proxy": served.origin, "fetch.delay_seconds": 0, "frontier.policy": policy}),
            ))  # fmt: skip
            exact(tmp_path, "--data", policy, judged=found[policy]["fetched"])
    assert {each["requests"] for each in found.values()} == {240}
    assert found["learned"]["fetched"] > found["breadth-first"]["fetched"]


def test_a_crawl_whose_seed_waits_for_a_commit_goes_on(tmp_path: Path, web: SyntheticWeb, proxy: str) -> None:
    given = {"fetch.proxy": proxy, "fetch.delay_seconds": 0, "streams.group_seconds": 0.3}
    command = ("crawl", "--seed", web.seeds(1)[0], "--predicate", ANY, "--budget", "3", "--json")
    assert last_line(printed(tmp_path, *command, *options(given)))["fetched"] == 3
