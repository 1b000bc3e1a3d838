"""What people visit through a real Squid is a candidate while they browse."""

import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from bench.live.browsing import Visitor
from bench.live.squid import Squid, SquidError
from bench.live.watch import delays, visits
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import COMMAND, printed, running
from tests.e2e.crawls import ANY, exact, options
from tests.patience import PATIENCE


@pytest.fixture
def squid(proxy: str) -> Iterator[Squid]:
    try:
        started = Squid(proxy)
    except SquidError as error:
        if "not installed" in str(error):
            pytest.skip(str(error))
        raise
    with started:
        yield started


def test_pages_seen_through_a_squid_are_candidates_while_people_browse(
    tmp_path: Path, web: SyntheticWeb, proxy: str, squid: Squid
) -> None:
    seeds, data = web.seeds(2), tmp_path / "scentline-data"
    visitor = Visitor(squid.url, Random(1))
    given = options({"fetch.proxy": proxy, "fetch.delay_seconds": 0.05})
    command = ("crawl", "--seed", seeds[1], "--predicate", ANY, *given)
    asked = {url: time.time() for url in visitor.walk(seeds[0], 3)}
    with closing(visitor), running(
        tmp_path, *command, "--log", str(squid.log), "--follow", program=COMMAND
    ) as process:  # fmt: skip
        for start, pages in ((seeds[1], 5), (next(iter(asked)), 4)):
            delays(data, asked, time.time, PATIENCE)
            squid.rotate()
            asked |= {url: time.time() for url in visitor.walk(start, pages)}
        delays(data, asked, time.time, PATIENCE)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, said
    # What was under way when it was stopped is absorbed by the next run, which has nothing else to do.
    printed(tmp_path, *command, "--budget", "1")
    assert visits(data, asked) == dict.fromkeys(asked, 1)
    exact(tmp_path)
