"""Sightings and rows of the frontier, for tests of its bookkeeping."""

from collections.abc import Iterable
from typing import Any

from scentline.agents.frontier.agent import FrontierAgent
from scentline.agents.frontier.book import Book
from scentline.agents.frontier.changes import Changes
from scentline.agents.frontier.groups import Groups
from scentline.agents.frontier.hosts import host_of
from scentline.agents.frontier.keys import children_of, host_key, page_key, parent_key
from scentline.agents.frontier.rows import FrontierShard, PageRow, ParentRow, identifiers_in
from scentline.models.page import Link
from scentline.models.url import identifier
from scentline.models.verdict import FAILED, Verdict
from scentline.streams.crawl_settings import FrontierSettings, NewsSettings, Policy
from scentline.streams.facts import Count, Label, Linked
from scentline.streams.outbox import Message
from scentline.streams.settings import RevisitSettings
from scentline.streams.topics import EVIDENCE
from tests.agents.cells import add
from tests.agents.shards import emitted
from tests.reference.counts import Counts

YES: Verdict = {"p": True}
NO: Verdict = {"p": False}
#: What a page's request is counted under beside its verdict, and a request without one.
CAME: Verdict = {FAILED: False}
GONE: Verdict = {FAILED: True}


def a_book(
    partitions: int = 1,
    policy: Policy = "linkage",
    news: NewsSettings | None = None,
    revisits: bool = False,
    **changed: Any,
) -> Book:
    revisit = (Changes(1, 1), Groups(RevisitSettings())) if revisits else None
    return Book(FrontierSettings(policy=policy, **changed), 1, partitions, 5, news, revisit)


def page(shard: FrontierShard, url: str) -> PageRow:
    row = shard.get(page_key(url))
    assert isinstance(row, PageRow)
    return row


def parent(shard: FrontierShard, url: str) -> ParentRow:
    row = shard.get(parent_key(identifier(url)))
    assert isinstance(row, ParentRow)
    return row


def links_of(row: ParentRow) -> dict[bytes, tuple[int, str]]:
    """Return the position of each target's link, and what it says."""
    return dict(zip(identifiers_in(row.targets), zip(row.positions, row.said, strict=True), strict=True))


def judged_of(shard: FrontierShard, url: str) -> dict[bytes, tuple[Verdict, int]]:
    """Return the verdicts on a linking page's targets, and the positions of the links."""
    row = children_of(shard, identifier(url))
    found = zip(row.judged.items(), row.positions, strict=True)
    return {target: (verdict, position) for (target, verdict), position in found}


def url(number: int) -> str:
    return f"http://h{number % 4}.org/{number}"


def linked(
    source: str, targets: Iterable[str], verdict: Verdict, words: Iterable[str] = (), depth: int = 0
) -> Linked:
    links = tuple(Link(target, ("anchor", f"to{place}"), (), place) for place, target in enumerate(targets))
    return Linked(identifier(source), source, depth, verdict, tuple(words), links, (0,))


def counted(messages: Iterable[Message]) -> Counts:
    counts = Counts()
    for _, fact in emitted(messages, EVIDENCE):
        if isinstance(fact, Count):
            add(counts, fact)
    return counts


def labels(messages: Iterable[Message]) -> list[Label]:
    return [fact for _, fact in emitted(messages, EVIDENCE) if isinstance(fact, Label)]


def lease(shard: FrontierShard, url: str, attempt: int = 1) -> None:
    """Order a fetch, as the agent does."""
    row = page(shard, url)
    row.state, row.attempts, row.lease = "leased", attempt, 100.0
    shard.put(page_key(url), row)


def fail(agent: FrontierAgent, shard: FrontierShard, name: str, *failure: Any, **why: Any) -> None:
    """Have a host fail, as `HostState.failed` takes it in."""
    row = host_of(shard, name)
    row.state.failed(*failure, **why)
    shard.put(host_key(name), row)
    agent.candidates.clocks.told(name, lambda state: state.failed(*failure, **why))
