"""Logs are followed: of a real Squid, and by a command that is killed while they are written and rotated."""

import json
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from bench.live.browsing import Visitor
from bench.live.squid import Squid, SquidError
from bench.live.watch import delays, visits
from scentline.agents.operate.record import accesses
from scentline.streams.topics import ACCESSES, DEAD_LETTERS
from scentline.streams.transport.database import JournalMissingError
from scentline.streams.transport.journal import Journal, UnknownTopicError
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import COMMAND, printed, running, wait_until
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


def test_pages_squid_saw_are_candidates(tmp_path: Path, web: SyntheticWeb, proxy: str, squid: Squid) -> None:
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


FOLLOW = ("feed", "access.log", "--follow", "--data", "data", "--json")


def lines(*numbers: int) -> bytes:
    return b"".join(
        b"1704700851.%06d 1 192.0.2.%d TCP_MISS/200 5 GET http://a.example/%d - HIER_DIRECT/- text/html\n"
        % (number, number % 250, number)
        for number in range(*numbers)
    )


def sent(data: Path) -> Counter[int]:
    try:
        with Journal.open(data / "journal", read_only=True) as journal:
            found = Counter(int(access.url.rpartition("/")[2]) for access in accesses(journal))
            packs = journal.read(ACCESSES.name, 0, 0, 1_000_000, 2**40)
            assert journal.end(DEAD_LETTERS.name, 0) == 0
    except (JournalMissingError, UnknownTopicError):
        return Counter()
    assert sum((pack.value or b"").count(b"http://a.example/") for pack in packs) == found.total()
    return found


@pytest.mark.slow
def test_no_line_is_lost_or_sent_twice_by_kills_and_rotation(tmp_path: Path) -> None:
    log, data = tmp_path / "access.log", tmp_path / "data"
    log.write_bytes(lines(20_000))
    with running(tmp_path, *FOLLOW) as process:  # killed while it catches up
        wait_until(lambda: sent(data).total() > 1_000, process)
        process.kill()
    with log.open("ab") as file:
        file.write(lines(20_000, 20_500))
    log.rename(tmp_path / "access.log.1")  # rotated while nobody followed
    log.write_bytes(lines(20_500, 21_000))
    with running(tmp_path, *FOLLOW) as process:
        wait_until(lambda: sent(data).total() == 21_000, process)
        log.rename(tmp_path / "access.log.0")  # rotated while it follows
        log.write_bytes(lines(21_000, 30_000))
        wait_until(lambda: sent(data).total() > 21_500, process)
        process.kill()
    shutil.copy(log, tmp_path / "access.log.copy")  # truncated while nobody follows
    os.truncate(log, 0)
    with log.open("ab") as file:
        file.write(lines(30_000, 30_100))
    with running(tmp_path, *FOLLOW) as process:
        wait_until(lambda: sent(data).total() >= 30_100, process)
        with log.open("ab") as file:
            file.write(lines(30_100, 30_101))
        wait_until(lambda: sent(data)[30_100] > 0, process)  # what would come twice has come
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130, err
    assert json.loads(out.splitlines()[-1])["malformed"] == 0
    assert sent(data) == Counter(range(30_101))
