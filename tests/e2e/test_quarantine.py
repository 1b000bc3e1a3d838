"""Faults of the program, in every role at once: each costs what it was about, and every count stays exact."""

import signal
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scentline.agents.browse import BrowseAgent
from scentline.agents.fetch.agent import FetchAgent
from scentline.agents.frontier.agent import FrontierAgent
from scentline.agents.harvest import HarvestAgent
from scentline.agents.judge.agent import JudgeAgent
from scentline.agents.learn import LearnAgent
from scentline.agents.observe.observer import Observer
from scentline.agents.operate.audit import AuditReport, audit
from scentline.models.facts import Access, Label, Linked, Page
from scentline.models.policy.learned import LearnedScorer
from scentline.models.records import DeadLetter, Decoder, FetchOrder
from scentline.streams.attempts import Place
from scentline.streams.settings import Settings
from scentline.streams.stateful import Handler
from scentline.streams.topics import ACCESSES, DEAD_LETTERS, EVIDENCE, FETCHES, OUTCOMES, PAGES, SIGHTINGS
from scentline.streams.transport.journal import Journal
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import environment
from tests.e2e.crawls import ANY, crawl, options, write_log
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow

BUDGET = 80
#: One fact in so many, chosen by what it holds, is one that the program can't take in.
RARE = 12


def cursed(fact: object) -> bool:
    return zlib.crc32(repr(fact).encode()) % RARE == 0


def fail_after(monkeypatch: pytest.MonkeyPatch, agent: type[Any], *kinds: type) -> None:
    """Have an agent raise for some facts, when it has changed its rows and told others."""
    absorb: Callable[[Any, Any, Any], None] = agent.absorb

    def absorbs_most(self: Handler[Any], shard: Any, fact: Any) -> None:
        absorb(self, shard, fact)
        # By the agent, too: what one of them can't take in never comes to the next.
        about = (agent.__name__, getattr(fact, "url", fact))
        if (not kinds or isinstance(getattr(fact, "result", fact), kinds)) and cursed(about):
            raise ValueError("a fault of the program")

    monkeypatch.setattr(agent, "absorb", absorbs_most)


def audited(settings: Settings) -> AuditReport:
    report = audit(settings)
    assert report.clean, report.examples
    return report


def crawled(settings: Settings, web: SyntheticWeb, log: Path) -> AuditReport:
    crawl(settings, web.seeds(3), [str(log)])
    report = audited(settings)
    assert report.judged > BUDGET / 2
    return report


def letters(data: Path) -> list[DeadLetter]:
    decode = Decoder[DeadLetter](DeadLetter)
    with Journal.open(data / "journal", read_only=True) as journal:
        return [decode(entry.value or b"") for entry in journal.read(DEAD_LETTERS.name, 0, 0, 100_000)]


@pytest.fixture
def settings(tmp_path: Path, proxy: str) -> Settings:
    return Settings.model_validate({
        "data": tmp_path / "data",
        "predicates": {"any": 'not "unheard-of"', "some": '"of" or "and"'},
        "streams": {"partitions": 2},
        "fetch": {"proxy": proxy, "delay_seconds": 0.0},
        "frontier": {"budget": BUDGET, "policy": "combined", "lease_seconds": 3.0},
    })  # fmt: skip


def under(settings: Settings, policy: str) -> Settings:
    return settings.model_copy(update={"frontier": settings.frontier.model_copy(update={"policy": policy})})


@pytest.fixture
def log(tmp_path: Path, web: SyntheticWeb) -> Path:
    return write_log(tmp_path / "access.log", web, users=10, accesses=150)


@pytest.mark.parametrize("policy", ["combined", "learned"])
def test_faults_in_every_role_cost_what_they_are_about_and_the_audit_is_clean(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, web: SyntheticWeb, log: Path, policy: str
) -> None:
    fail_after(monkeypatch, BrowseAgent)
    fail_after(monkeypatch, JudgeAgent)
    fail_after(monkeypatch, HarvestAgent)
    fail_after(monkeypatch, LearnAgent, Label)
    fail_after(monkeypatch, FrontierAgent, Page, Linked)
    report = crawled(under(settings, policy), web, log)
    buried = [letter for letter in letters(settings.data) if letter.why == "quarantine"]
    topics = {letter.topic for letter in buried}
    labels = {EVIDENCE.name} if policy == "learned" else set()
    assert topics == {ACCESSES.name, PAGES.name, OUTCOMES.name, SIGHTINGS.name} | labels
    places = {(each.topic, each.partition, each.offset, each.origin) for each in buried}
    assert (report.quarantined, report.uncounted) == (len(places), 0)


def test_faults_of_fetch_and_of_the_scorer_cost_a_page_and_a_place(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, web: SyntheticWeb, log: Path
) -> None:
    carried_out, priorities = FetchAgent._carried_out, LearnedScorer.priorities

    async def carries_out_most(self: FetchAgent, place: Place, order: FetchOrder) -> Any:
        if cursed((order.url, order.order)):
            raise ValueError("a fault of the program")
        return await carried_out(self, place, order)

    def scores_most(self: LearnedScorer, shard: Any, rows: Any, predicates: Any) -> Any:
        if any(cursed(row.url) for row in rows):
            raise ZeroDivisionError
        return priorities(self, shard, rows, predicates)

    monkeypatch.setattr(FetchAgent, "_carried_out", carries_out_most)
    monkeypatch.setattr(LearnedScorer, "priorities", scores_most)
    crawled(under(settings, "learned"), web, log)
    malformed = {log.name}  # the log has a few such lines
    assert {letter.topic for letter in letters(settings.data)} - malformed == {FETCHES.name}


#: A crawl whose browse role dies of one page, as by a fault in C code.
DEADLY = """
import os, signal, sys
from scentline.agents.browse import BrowseAgent
from scentline.agents.cli import main
absorb = BrowseAgent.absorb
def dies(self, shard, fact):
    if f"{fact.user} {fact.time}" == sys.argv[1]:
        os.kill(os.getpid(), signal.SIGKILL)
    absorb(self, shard, fact)
BrowseAgent.absorb = dies
main(sys.argv[2:])
"""


def test_a_message_that_kills_its_process_is_buried_at_the_fourth_start(proxy: str, log: Path) -> None:
    data = log.parent / "data"
    visited = Observer(Settings().observe, b"key").observe(log.read_bytes().splitlines()[40])
    assert isinstance(visited, Access)
    given = {"fetch.proxy": proxy, "fetch.delay_seconds": 0, "frontier.lease_seconds": 3}
    command = [
        sys.executable, "-c", DEADLY, f"{visited.user} {visited.time}", "crawl", "--budget", "20",
        "--log", str(log), "--data", str(data), "--predicate", ANY, *options(given),
    ]  # fmt: skip
    for start in range(1, 5):
        run = subprocess.run(
            command, cwd=log.parent, env=environment(), capture_output=True, text=True, check=False,
            timeout=PATIENCE,
        )  # fmt: skip
        assert run.returncode == (-signal.SIGKILL if start < 4 else 0), run.stderr
    assert "3 processes ended while it was taken in" in run.stderr
    assert audited(Settings(data=data)).quarantined == 1
