"""What people visit through a real Squid is a candidate while they browse."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from bench.live.browsing import Visitor
from bench.live.squid import Squid, SquidError
from bench.live.watch import delays, visits
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import COMMAND, environment, printed
from tests.patience import PATIENCE

WEB = (5, 3, 40, 3)  # seed, sites, pages a site, topics
ALL = 'all=not "unheard-of"'


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with synthetic_server(*WEB) as server:
        yield server.url


@pytest.fixture
def squid(web: str) -> Iterator[Squid]:
    try:
        running = Squid(web)
    except SquidError as error:
        if "not installed" in str(error):
            pytest.skip(str(error))
        raise
    with running:
        yield running


def test_pages_seen_through_a_squid_are_candidates_while_people_browse(
    tmp_path: Path, web: str, squid: Squid
) -> None:
    seeds = SyntheticWeb(*WEB).seeds(2)
    visitor = Visitor(squid.url, Random(1))
    asked = {url: time.time() for url in visitor.walk(seeds[0], 3)}
    with crawl(tmp_path, squid.log, web, seeds[1]) as process:
        try:
            delays(tmp_path / "data", asked, time.time, PATIENCE)
            squid.rotate()
            asked |= {url: time.time() for url in visitor.walk(seeds[1], 5)}
            delays(tmp_path / "data", asked, time.time, PATIENCE)
            squid.rotate()
            asked |= {url: time.time() for url in visitor.walk(next(iter(asked)), 4)}
            delays(tmp_path / "data", asked, time.time, PATIENCE)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
            visitor.close()
    assert process.returncode == 130, said
    # What was under way when it was stopped is absorbed by the next run, which has nothing else to do.
    options = ("--data", "data", "--seed", seeds[1], "--predicate", ALL, "--budget", "1")
    printed(tmp_path, "crawl", *options, "--set", f"fetch.proxy={web}")
    assert visits(tmp_path / "data", asked) == dict.fromkeys(asked, 1)
    report = json.loads(printed(tmp_path, "audit", "--data", "data", "--json"))
    assert (report["lost"], report["differences"], report["judged_twice"]) == (0, 0, 0)


def crawl(cwd: Path, log: Path, proxy: str, seed: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [
            *COMMAND, "crawl", "--data", "data", "--log", str(log), "--follow", "--seed", seed,
            "--predicate", ALL,
            "--set", f"fetch.proxy={proxy}", "--set", "fetch.delay_seconds=0.05",
        ],
        cwd=cwd, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
