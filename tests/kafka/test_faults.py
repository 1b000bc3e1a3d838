"""The short form of the fault suite: two workers that play every role, on real pages with a real log."""

from pathlib import Path
from random import Random

import pytest

from bench.faults.cluster import Cluster
from bench.faults.crawl import wikispeedia
from bench.faults.faults import FAULTS
from bench.faults.suite import run
from deploy.kafka.jars import MissingProgramError
from tests.shared import shared

LAYOUT = {"one": ("all",), "two": ("all",)}
#: What is fetched while faults are waited for says no more of them, and takes as long to recount.
PACED = {"fetch.delay_seconds": 1}
#: One of each kind that a worker meets; `make faults` has them all.
SHORT = ("kill frontier", "freeze learn", "poison")


def test_nothing_is_lost_and_nothing_counted_twice_by_faults(tmp_path: Path) -> None:
    crawl = wikispeedia(shared("wikispeedia/pages.warc.gz").parent, tmp_path / "access.log", 1000)
    try:
        with Cluster(tmp_path, crawl, LAYOUT, partitions=2, more=PACED) as cluster:
            faults = ((name, FAULTS[name]) for name in SHORT)
            results = list(run(cluster, faults, Random(7), lambda _: None))
    except MissingProgramError as error:
        pytest.skip(str(error))
    assert [result.fault for result in results] == list(SHORT)
    assert [result.checked.examples for result in results] == [()] * len(SHORT)
    assert all(result.checked.exact for result in results)
    assert results[-1].checked.lines == 1000
