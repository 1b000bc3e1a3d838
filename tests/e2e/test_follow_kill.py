"""Following a log with the command, killed with SIGKILL while the log is written to, rotated and truncated."""

import asyncio
import json
import os
import shutil
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from scentline.agents.crawl.run import run_crawl
from scentline.agents.observe.observer import Observer
from scentline.agents.operate.audit.audit import audit
from scentline.agents.operate.inspect.record import accesses
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES, DEAD_LETTERS
from scentline.streams.transport.database import JournalMissingError
from scentline.streams.transport.journal import Journal, UnknownTopicError
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import running, wait_until
from tests.patience import PATIENCE

FOLLOW = ("feed", "access.log", "--follow", "--data", "data", "--json")


def lines(*numbers: int) -> bytes:
    return b"".join(
        b"1704700851.%06d 1 192.0.2.%d TCP_MISS/200 5 GET http://a.example/%d - HIER_DIRECT/- text/html\n"
        % (number, number % 250, number)
        for number in range(*numbers)
    )


def sent(data: Path) -> Counter[int]:
    """Return how often the access of each line was sent."""
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
        wait_until(lambda: sent(data).total() == 30_100, process)
        time.sleep(1.0)  # for what might come twice
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130, err
    assert json.loads(out.splitlines()[-1])["malformed"] == 0
    assert sent(data) == Counter(range(30_100))


def test_a_crawl_learns_from_a_log_that_it_follows_until_its_budget_is_spent(tmp_path: Path) -> None:
    size = (7, 6, 40, 4)  # seed, sites, pages a site, topics
    written = list(SyntheticWeb(*size).access_log(users=5, accesses=300))
    log = tmp_path / "access.log"
    log.write_text("")

    async def crawl(settings: Settings) -> int:
        observer = Observer(settings.observe, b"key")

        async def write() -> None:
            for line in written:
                with log.open("a") as file:
                    file.write(f"{line}\n")
                await asyncio.sleep(0)

        async with asyncio.timeout(PATIENCE):
            running = run_crawl(settings, observer, [], [str(log)], lambda *_: None, follow=True)
            (status, interrupted), _ = await asyncio.gather(running, write())
        assert not interrupted
        return status.fetched

    with synthetic_server(*size) as server:
        settings = Settings.model_validate(
            {
                "data": tmp_path / "data",
                "fetch": {"proxy": server.url, "delay_seconds": 0.0},
                "frontier": {"budget": 30},
                "predicates": {"music": '"music"'},
            }
        )
        assert asyncio.run(crawl(settings)) >= 30
    report = audit(settings)
    assert (report.differences, report.lost, report.judged_twice) == (0, 0, 0)
