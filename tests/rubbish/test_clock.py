"""A clock that goes back, by an hour or by a year, between two runs or within one."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import last_line, printed
from tests.rubbish.measured import Ended, run

WEB = (5, 4, 60, 4)  # seed, sites, pages a site, topics

#: Sets the clock back by so many seconds once it was asked so many times.
BACK = """\
import itertools, time
real, asked = time.time, itertools.count()
time.time = lambda: real() - ({seconds} if next(asked) > {calls} else 0)
"""


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    with synthetic_server(*WEB) as server:
        yield server.url


def crawl(cwd: Path, proxy: str, budget: int, first: str) -> Ended:
    web = SyntheticWeb(*WEB)
    seeds = [word for seed in web.seeds(2) for word in ("--seed", seed)]
    return run(
        cwd, "crawl", *seeds, "--predicate", 'any=not "unheard-of"', "--budget", str(budget), "--json",
        "--set", f"fetch.proxy={proxy}", "--set", "fetch.delay_seconds=0.01", first=first, seconds=60,
    )  # fmt: skip


@pytest.mark.parametrize("seconds", [3_600, 31_536_000])
def test_a_clock_that_goes_back_within_a_crawl_holds_nothing_up(
    tmp_path: Path, proxy: str, seconds: int
) -> None:
    ended = crawl(tmp_path, proxy, 60, BACK.format(seconds=seconds, calls=2_000))
    assert ended.status == 0, ended.err
    check(tmp_path, ended, 60)


def test_a_clock_that_went_back_between_two_runs_holds_nothing_up(tmp_path: Path, proxy: str) -> None:
    check(tmp_path, crawl(tmp_path, proxy, 30, ""), 30)
    check(tmp_path, crawl(tmp_path, proxy, 60, BACK.format(seconds=86_400, calls=0)), 60)


def check(cwd: Path, ended: Ended, budget: int) -> None:
    assert ended.status == 0, ended.err
    assert last_line(ended.out)["fetched"] == budget
    report = json.loads(printed(cwd, "audit", "--json"))
    assert (report["judged"], report["judged_twice"], report["lost"], report["differences"]) == (
        budget,
        0,
        0,
        0,
    )
