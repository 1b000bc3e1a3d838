"""The figures of `make bench`, of crawls that did not take place."""

from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from bench.crawl import report, results
from bench.crawl.crawlers import COMMON, RARE
from bench.crawl.measure import Resumed, Run

#: Hits of ten pages, the first of which was served after two seconds, one a second.
RUN = Run(
    pages=10,
    seconds=20.0,
    cpu=15.0,
    memory=100_000_000,
    start=2.0,
    end=4.0,
    curve=[(0.0, 0), *((2.0 + page, page + 1) for page in range(10))],
    hits={COMMON: [9, 2, 1], RARE: [5]},
    records=30,
    puts=400,
)
NAMES = (
    report.SCRAPY, report.SQLITE, report.CRAWLEE, report.BREADTH, report.LEARNED, report.ONE_COMMON,
    report.ONE_RARE,
)  # fmt: skip


def test_hits_count_for_the_cpu_time_until_so_many_were_served() -> None:
    assert RUN.cpu_at(5) == 6.0
    assert RUN.hits_a_second(COMMON, 2) == pytest.approx(2 / 3)
    assert RUN.hits_a_second(RARE, 1) == pytest.approx(1 / 6)
    assert RUN.hits_a_second(COMMON, 4) == pytest.approx(3 / 15)


def test_a_crawl_that_finds_nothing_is_passed_by_any_other() -> None:
    nothing = replace(RUN, hits={COMMON: [], RARE: []})
    runs = {name: [nothing if name in (report.SCRAPY, report.SQLITE) else RUN] for name in NAMES}
    found = {aim.name: aim.value for aim in report.aims(runs)}
    assert found[f"{RARE} hits a CPU second: times Scrapy's"] == inf


def test_figures_are_multiples_of_scrapys_and_compared_with_the_run_before(tmp_path: Path) -> None:
    runs = {name: [RUN] for name in NAMES}
    found = {aim.name: aim for aim in report.aims(runs)}
    assert found["CPU a page, learned: times Scrapy's"].value == 1.0
    assert not found["CPU a page, learned: times Scrapy's"].met
    assert found["log records a page, learned"].met
    assert not results.before(tmp_path, "whole")
    path = results.keep(tmp_path, "whole", runs, {"Scrapy": Resumed(1, 2, 3, 4, 5, 6)}, list(found.values()))
    assert path.with_suffix(".png").stat().st_size
    before = results.before(tmp_path, "whole")
    assert before == {name: aim.value for name, aim in found.items()}
    assert not results.before(tmp_path, "quick")
    halved = {name: 2 * value for name, value in before.items()}
    assert report.aimed(list(found.values()), halved).count("0.50") >= len(found)
    assert len(report.table(runs).splitlines()) == 9
