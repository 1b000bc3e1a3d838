"""Whole crawls over webs at random; `make fuzz` has as many seeds as there is time for."""

from pathlib import Path

import pytest

from tests.rubbish.crawling import crawl


@pytest.mark.parametrize("seed", range(4))
def test_a_crawl_among_rubbish_ends_with_every_good_page_and_exact_counts(tmp_path: Path, seed: int) -> None:
    crawl(seed, tmp_path)
