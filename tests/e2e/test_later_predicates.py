"""Predicates that are added, paused and removed between and during crawls: what is counted stays exact."""

import signal
from pathlib import Path
from typing import Any

import pytest

from scentline.agents.operate.control.command import submit
from scentline.agents.operate.control.requests import AddPredicate, ChangePredicate
from scentline.agents.operate.control.spool import Spool
from scentline.agents.operate.inspect.record import judged_pages
from scentline.streams.published import Outcome
from scentline.streams.settings import Settings
from scentline.streams.transport.database import JournalMissingError
from scentline.streams.transport.journal import Journal, UnknownTopicError
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import complaint, last_line, printed, running, wait_until
from tests.e2e.crawls import exact, options, write_labels
from tests.e2e.crawls import pages_of as rows_of
from tests.patience import PATIENCE

SPORTS, MUSIC = 'category("Sports")', 'category("Music")'


def command(cwd: Path, web: SyntheticWeb, proxy: str, **given: object) -> list[str]:
    """Return the command of a crawl for sports."""
    write_labels(cwd / "labels.tsv", web)
    settings = {"fetch.proxy": proxy, "streams.partitions": 3, **given}
    where = ("--seed", next(iter(web.labels()))[0], "--labels", "labels.tsv")
    return ["crawl", *where, "--predicate", f"sports={SPORTS}", *options(settings)]


def pages_of(cwd: Path) -> list[Outcome]:
    try:
        with Journal.open(cwd / "scentline-data" / "journal", read_only=True) as journal:
            return list(judged_pages(journal).values())
    except (JournalMissingError, UnknownTopicError):  # the crawl has just begun
        return []


@pytest.mark.parametrize("policy", ["learned", "combined"])
def test_predicates_that_come_pause_and_go_between_crawls_judge_what_they_should_and_counts_stay_exact(
    tmp_path: Path, web: SyntheticWeb, proxy: str, policy: str
) -> None:
    settings = Settings.model_validate({"data": tmp_path / "scentline-data", "frontier": {"policy": policy}})
    slow: dict[str, object] = {"frontier.policy": policy, "frontier.explore": 0.1, "fetch.delay_seconds": 0}

    def crawl(budget: int) -> dict[str, dict[str, Any]]:
        """Crawl up to a budget; return the figures of each predicate."""
        given = command(tmp_path, web, proxy, **slow)
        found = last_line(printed(tmp_path, *given, "--budget", str(budget), "--json"))
        exact(tmp_path, "--set", f"frontier.policy={policy}", judged=budget)
        predicates: dict[str, dict[str, Any]] = found["predicates"]
        return predicates

    crawl(30)
    submit(settings, AddPredicate("music", MUSIC, kept=True))
    submit(settings, AddPredicate("new", MUSIC, share=2.0))
    found, categories = crawl(60), dict(web.labels())
    hits = sum(categories[page.url].startswith("Music") for page in pages_of(tmp_path))
    assert (found["music"]["judged"], found["music"]["hits"]) == (60, hits), "as if it had been there"
    assert found["new"]["judged"] == 30
    submit(settings, ChangePredicate("sports", state="paused"))
    submit(settings, ChangePredicate("new", state="removed"))
    found = crawl(90)
    assert set(found) == {"sports", "music"}
    assert (found["sports"]["judged"], found["music"]["judged"]) == (90, 90), "one that is paused still judges"
    assert sum("new" in page.verdict for page in pages_of(tmp_path)) == 30
    later = sorted(pages_of(tmp_path), key=lambda page: page.time)[60:]
    assert {page.predicate for page in later} == {"music"}


def test_a_running_crawl_takes_up_what_it_is_asked_on_the_command_line(
    tmp_path: Path, web: SyntheticWeb, proxy: str
) -> None:
    urls = [url for url, _ in web.labels()]

    def of(name: str) -> int:
        return sum(name in page.verdict for page in pages_of(tmp_path))

    with running(tmp_path, *command(tmp_path, web, proxy, **{"fetch.delay_seconds": 0.5})) as process:
        wait_until(lambda: of("sports") > 3, process)
        assert printed(tmp_path, "predicate", "add", "music", MUSIC, "--kept") == "music is active\n"
        assert printed(tmp_path, "predicate", "pause", "sports") == "sports is paused\n"
        wait_until(lambda: of("music") == of("sports") > 8, process)
        assert printed(tmp_path, "predicate", "remove", "sports") == "sports is removed\n"
        assert printed(tmp_path, "seed", urls[-1]) == "1 seed added\n"
        assert "predicate sports was removed here" in complaint(tmp_path, "predicate", "pause", "sports")
        wait_until(lambda: of("music") > of("sports"), process)
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
    assert Spool(tmp_path / "scentline-data").names() == []
    assert {urls[0], urls[-1]} == {row.url for row in rows_of(tmp_path / "scentline-data") if row.seed}
    assert of("music") == len(pages_of(tmp_path)) > of("sports")
