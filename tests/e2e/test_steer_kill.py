"""A crawl that is steered while it runs, and killed: what was asked holds after it, and no count changes."""

import time
from pathlib import Path

from scentline.agents.operate.control.command import known_steering, submit
from scentline.agents.operate.control.requests import Budget, Delay, Exclude, Include, Pause, Request, Resume
from scentline.models.url import host
from scentline.streams.published import Limit
from scentline.streams.records import Decoder, FetchOrder
from scentline.streams.settings import Settings
from scentline.streams.topics import FETCHES, OUTCOMES
from scentline.streams.transport.journal import Journal
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import forked
from tests.e2e.test_kill import LOOK_SECONDS, WEB, Crawl, check
from tests.patience import PATIENCE

SETTING, STEERED, MORE = 400, 60, 75


def hosts_ordered(data: Path, after: int) -> list[str]:
    """Return the hosts of the orders that followed the first ones."""
    decode = Decoder[FetchOrder](FetchOrder)
    with Journal.open(data / "journal", read_only=True) as journal:
        entries = journal.read(FETCHES.name, 0, after, 1_000)
    return [host(decode(entry.value or b"").url) for entry in entries]


def test_what_was_asked_of_a_crawl_holds_after_it_was_killed(tmp_path: Path) -> None:
    site = host(next(iter(SyntheticWeb(*WEB).seeds(1))))
    with synthetic_server(*WEB) as server:
        options = ("--set", "streams.partitions=1", "--set", "fetch.delay_seconds=0.02")
        crawl = Crawl(tmp_path, server.url, "learned", SETTING, options)
        settings = Settings(data=crawl.data)

        def ask(*requests: Request) -> int:
            """Have requests carried out; return how many orders there were when the last one was."""
            for request in requests:
                assert submit(settings, request)
            return crawl.written(FETCHES.name)

        with forked(tmp_path, *crawl.words(*crawl.arguments)) as run:
            deadline = time.monotonic() + PATIENCE
            while crawl.written(OUTCOMES.name) < 10:
                assert run.process.is_alive() and time.monotonic() < deadline, "it judges nothing"
                time.sleep(LOOK_SECONDS)
            paused = ask(Budget(pages=STEERED), Exclude(f"http://{site}/"), Pause(), Resume(), Pause())
            assert ask(Delay("a.test", 2.0)) == paused
            run.process.kill()
        with forked(tmp_path, *crawl.words(*crawl.arguments)) as run:
            assert ask(Delay("a.test", 0.0)) == paused
            while not (run.err.exists() and "; paused" in run.err.read_text()):
                assert run.process.is_alive() and time.monotonic() < deadline, (
                    "it does not say that it is paused"
                )
                time.sleep(LOOK_SECONDS)
            assert crawl.written(FETCHES.name) == paused
            ask(Resume())
            run.process.join(PATIENCE)
        crawl.budget = STEERED
        check(crawl)
        assert site not in hosts_ordered(crawl.data, paused)
        [exclusion, limit] = sorted(known_steering(settings).in_force, key=lambda each: isinstance(each, Limit))
        assert isinstance(limit, Limit)
        assert (limit.most, limit.setting) == (STEERED, SETTING)
        before = ask(Include(exclusion.name), Budget(pages=MORE))
        assert crawl.finish()["fetched"] == MORE
        assert site in hosts_ordered(crawl.data, before)
        crawl.budget = MORE
        check(crawl)
