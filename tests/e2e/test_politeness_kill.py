"""A crawl that is killed again and again asks no host before its time."""

from pathlib import Path
from random import Random

import pytest

from tests.webs.watched import check, crawled

pytestmark = pytest.mark.slow


def test_no_host_is_asked_before_its_time_by_a_crawl_that_is_killed(tmp_path: Path) -> None:
    watched, kills = crawled(tmp_path, ("--data", "data"), Random(1))
    assert kills > 3
    check(watched)
