"""A worker has garbage collected seldom, and not where it was before; the collector is as before at its end.

Large blocks of memory are given back.
"""

import asyncio
import gc
import platform
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from scentline.agents.crawl.engine import Engine
from scentline.agents.judge.markup import Markup, read
from scentline.agents.observe.observer import Observer
from scentline.streams.memory import YOUNG, YOUNG_OF_PAGES, collected_seldom, uncollected
from scentline.streams.settings import Settings
from tests.patience import PATIENCE


class Cycle:
    """Is freed by the collector alone."""

    def __init__(self) -> None:
        self.itself = self


def test_what_was_there_is_left_alone_and_the_rest_collected_seldom() -> None:
    before = gc.get_threshold()
    there = weakref.ref(Cycle())
    with collected_seldom():
        new = weakref.ref(Cycle())
        gc.collect()
        assert there() is not None
        assert new() is None
        assert gc.get_threshold() == (YOUNG, *before[1:])
    assert gc.get_threshold() == before
    gc.collect()
    assert there() is None


def test_a_crawl_collects_seldom_and_leaves_the_collector_as_it_was(tmp_path: Path) -> None:
    here = Settings.model_validate({"data": tmp_path / "data"})

    async def run() -> weakref.ref[Cycle]:
        async with asyncio.timeout(PATIENCE), Engine(here, Observer(here.observe, b"key")):
            assert gc.get_threshold()[0] == YOUNG
            return weakref.ref(Cycle())

    before = gc.get_threshold()
    left = asyncio.run(run())
    assert left() is not None, "closing its tables, Faust looked through the whole heap"
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
    gc.collect()
    assert left() is None


def test_of_the_pages_that_were_read_few_stay_in_memory() -> None:
    html = "<title>page</title>" + '<p>some <a href="/other">words</a>' * 30
    with collected_seldom(YOUNG_OF_PAGES):
        for _ in range(500):
            read(html, 100, "agent")
        kept = [each for each in gc.get_objects() if isinstance(each, Markup)]
    assert len(kept) < 100


def test_nothing_is_collected_while_modules_are_imported_and_they_are_left_out_afterwards() -> None:
    frozen = gc.get_freeze_count()
    try:
        with uncollected():
            assert not gc.isenabled()
            kept = [[number] for number in range(1000)]
        assert gc.isenabled()
        assert gc.get_freeze_count() >= frozen + len(kept)
    finally:
        gc.unfreeze()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of the C libraries glibc alone can be told")
def test_large_blocks_are_given_back_though_small_ones_lie_between() -> None:
    # The first round is what glibc would raise its bound by.
    code = (
        "import psutil; from scentline.streams import memory; memory.give_back_large_blocks(); small = []\n"
        "for _ in range(2):\n"
        "    large = [(b'x' * 1_500_000, small.append(b'y' * 2_000)) for _ in range(40)]\n"
        "    held, large = psutil.Process().memory_info().rss, None\n"
        "print(held - psutil.Process().memory_info().rss)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert int(run.stdout) > 50_000_000
