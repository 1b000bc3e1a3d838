"""Predicates that are added, paused and removed between and during crawls: what is counted stays exact."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scentline.agents.operate.audit.audit import audit
from scentline.agents.operate.control.command import submit
from scentline.agents.operate.control.requests import AddPredicate, ChangePredicate
from scentline.agents.operate.control.spool import Spool
from scentline.agents.operate.inspect.record import judged_pages
from scentline.streams.published import Outcome
from scentline.streams.settings import Settings
from scentline.streams.transport.database import JournalMissingError
from scentline.streams.transport.journal import Journal, UnknownTopicError
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import last_line, printed, running, scentline, wait_until
from tests.agents.test_cli_crawl import pages_of as rows_of
from tests.patience import PATIENCE

WEB = (3, 6, 60, 4)  # seed, sites, pages a site, topics
SPORTS, MUSIC = 'category("Sports")', 'category("Music")'


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    with synthetic_server(*WEB) as server:
        yield server.url


@pytest.fixture(scope="module")
def web() -> SyntheticWeb:
    return SyntheticWeb(*WEB)


@pytest.fixture
def labels(web: SyntheticWeb, tmp_path: Path) -> Path:
    path = tmp_path / "labels.tsv"
    path.write_text("".join(f"{url}\t{category}\n" for url, category in web.labels()))
    return path


def settings_of(tmp_path: Path, policy: str = "learned") -> Settings:
    data = tmp_path / "scentline-data"
    return Settings.model_validate({"data": data, "frontier": {"policy": policy}})


def crawl(
    tmp_path: Path, proxy: str, web: SyntheticWeb, budget: int, policy: str = "learned"
) -> dict[str, dict[str, Any]]:
    """Crawl for sports up to a budget; return the figures of each predicate."""
    out = printed(
        tmp_path, "crawl", "--seed", next(iter(web.labels()))[0], "--labels", "labels.tsv",
        "--predicate", f"sports={SPORTS}", "--budget", str(budget), "--policy", policy, "--json",
        "--set", "streams.partitions=3", "--set", "frontier.explore=0.1",
        SCENTLINE_FETCH__PROXY=proxy, SCENTLINE_FETCH__DELAY_SECONDS="0",
    )  # fmt: skip
    found: dict[str, dict[str, Any]] = last_line(out)["predicates"]
    return found


def pages_of(data: Path) -> list[Outcome]:
    try:
        with Journal.open(data / "journal", read_only=True) as journal:
            return list(judged_pages(journal).values())
    except (JournalMissingError, UnknownTopicError):  # the crawl has just begun
        return []


@pytest.mark.usefixtures("labels")
@pytest.mark.parametrize("policy", ["learned", "combined"])
def test_a_predicate_that_came_later_counts_the_pages_that_are_kept_as_if_it_had_been_there(
    tmp_path: Path, proxy: str, web: SyntheticWeb, policy: str
) -> None:
    crawl(tmp_path, proxy, web, 40, policy)
    settings = settings_of(tmp_path, policy)
    submit(settings, AddPredicate("music", MUSIC, kept=True))
    submit(settings, AddPredicate("new", MUSIC))
    found = crawl(tmp_path, proxy, web, 80, policy)
    judged = pages_of(settings.data)
    categories = dict(web.labels())
    hits = sum(categories[page.url].startswith("Music") for page in judged)
    assert len(judged) == 80
    assert (found["music"]["judged"], found["music"]["hits"]) == (80, hits)
    assert found["new"]["judged"] == 40
    assert audit(settings).examples == []


@pytest.mark.usefixtures("labels")
def test_a_predicate_that_was_removed_judges_nothing_more_and_stays_removed(
    tmp_path: Path, proxy: str, web: SyntheticWeb
) -> None:
    crawl(tmp_path, proxy, web, 20)
    settings = settings_of(tmp_path)
    submit(settings, AddPredicate("music", MUSIC, share=2.0))
    submit(settings, ChangePredicate("sports", state="removed"))
    found = crawl(tmp_path, proxy, web, 50)
    assert set(found) == {"music"}
    assert found["music"]["judged"] == 30
    assert sum("sports" in page.verdict for page in pages_of(settings.data)) == 20
    assert audit(settings).examples == []


@pytest.mark.usefixtures("labels")
def test_a_paused_predicate_judges_every_page_and_has_none_fetched(
    tmp_path: Path, proxy: str, web: SyntheticWeb
) -> None:
    crawl(tmp_path, proxy, web, 10)
    settings = settings_of(tmp_path)
    submit(settings, AddPredicate("music", MUSIC))
    submit(settings, ChangePredicate("sports", state="paused"))
    found = crawl(tmp_path, proxy, web, 40)
    assert (found["sports"]["judged"], found["music"]["judged"]) == (40, 30)
    later = sorted(pages_of(settings.data), key=lambda page: page.time)[10:]
    assert {page.predicate for page in later} == {"music"}
    assert audit(settings).examples == []


@pytest.mark.usefixtures("labels")
def test_a_running_crawl_takes_up_what_it_is_asked_on_the_command_line(
    tmp_path: Path, proxy: str, web: SyntheticWeb
) -> None:
    urls = [url for url, _ in web.labels()]
    variables = {"SCENTLINE_FETCH__PROXY": proxy, "SCENTLINE_FETCH__DELAY_SECONDS": "0.5"}
    command = ("crawl", "--seed", urls[0], "--labels", "labels.tsv", "--predicate", f"sports={SPORTS}")
    data = tmp_path / "scentline-data"

    def of(name: str) -> int:
        return sum(name in page.verdict for page in pages_of(data))

    with running(tmp_path, *command, **variables) as process:
        wait_until(lambda: of("sports") > 3, process)
        assert printed(tmp_path, "predicate", "add", "music", MUSIC, "--kept") == "music is active\n"
        assert printed(tmp_path, "predicate", "share", "music", "4") == "music is active, with the share 4\n"
        assert printed(tmp_path, "predicate", "pause", "sports") == "sports is paused\n"
        wait_until(lambda: of("music") == of("sports") > 8, process)
        assert _listed(tmp_path) == {"music": ("active", 4.0), "sports": ("paused", 1.0)}
        assert printed(tmp_path, "predicate", "remove", "sports") == "sports is removed\n"
        assert printed(tmp_path, "seed", urls[-1]) == "1 seed added\n"
        _refused(tmp_path, "predicate", "add", "sports", MUSIC)
        _refused(tmp_path, "predicate", "pause", "missing")
        wait_until(lambda: of("music") > of("sports"), process)
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
    assert _listed(tmp_path) == {"music": ("active", 4.0), "sports": ("removed", 1.0)}
    assert Spool(data).names() == []
    assert {urls[0], urls[-1]} == {row.url for row in rows_of(data) if row.seed}
    assert of("music") == len(pages_of(data)) > of("sports")


def _listed(cwd: Path) -> dict[str, tuple[str, float]]:
    found: list[dict[str, Any]] = json.loads(printed(cwd, "predicate", "list", "--json"))
    return {each["name"]: (each["state"], each["share"]) for each in found}


def _refused(cwd: Path, *arguments: str) -> None:
    run: subprocess.CompletedProcess[str] = scentline(cwd, *arguments)
    assert run.returncode == 2
    assert "predicate" in run.stderr
    assert "Traceback" not in run.stderr
