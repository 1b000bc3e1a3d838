"""Scenarios of the frontier: facts go in; rows, orders and facts come out.

`Frontiers` starts a `Scenario`: a frontier agent on real tables, on a clock that the test turns. Facts are
absorbed in the partition of what they change, and each `hear` ends a group, as in a crawl.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, get_args

import msgspec

from scentline.agents.frontier.agent import FrontierAgent, FrontierShard
from scentline.agents.worker.connect import open_journal
from scentline.models.facts import Early, Fetched, Found, Kind, Label, Linked, Missing, Moved, Page, Same
from scentline.models.frontier.flights import SLOW_SECONDS
from scentline.models.frontier.keys import (
    PARENT_PREFIX,
    children_of,
    host_key,
    host_of,
    hub_key,
    hub_of,
    page_key,
    totals_of,
    visit_key,
    visit_of,
)
from scentline.models.frontier.linking import ParentRow, identifiers_in
from scentline.models.frontier.rows import Choice, FrontierRow, HostRow, HubRow, PageRow, TotalsRow, VisitRow
from scentline.models.page import FAILED, Link, Verdict
from scentline.models.policy.features import BASE, token
from scentline.models.published import Change, Outcome, PredicateDefinition
from scentline.models.records import Decoder, FetchOrder, HostAnswer, Visit, partition_of
from scentline.models.url import host, identifier
from scentline.streams.inbox import Message
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings
from scentline.streams.topics import CHANGES, EVIDENCE, FETCHES, OUTCOMES, RENDERS, SIGHTINGS, Topic
from scentline.streams.transport.embedded import JournalBus, create_app
from tests.agents.cells import a_cells, teach
from tests.agents.shards import disk, emitted, raised, take_in, write
from tests.reference.counts import Counts, plain

NOW = 1_000_000.0
DAY = 86_400.0
ELSEWHERE = "http://elsewhere.org/"
YES: Verdict = {"p": True}
NO: Verdict = {"p": False}
#: What a page's request is counted under beside its verdict, and a request without one.
CAME: Verdict = {FAILED: False}
GONE: Verdict = {FAILED: True}

Result = Page | Moved | Missing | Same | Early
#: What may come of a visit, as the figures count it.
CAME_OF: dict[str, Result] = {
    "changed": Page({}, changed=True), "unchanged": Same(), "early": Early(60.0), "moved": Moved(ELSEWHERE),
    "for now": Moved(ELSEWHERE, permanent=False), **{kind: Missing(kind, "why") for kind in get_args(Kind)},
}  # fmt: skip

_decode_order = Decoder[FetchOrder](FetchOrder)


class Frontiers:
    """Starts scenarios, one after the other, on tables that are emptied for each; opening them takes long."""

    def __init__(self, directory: Path, resources: ExitStack) -> None:
        self._directory, self._resources = directory, resources
        self.tables = resources.enter_context(disk(directory / "tables"))
        self._buses: dict[int, JournalBus] = {}

    def __call__(self, **changed: Any) -> "Scenario":
        """Start with empty tables. Settings are of the frontier, or a section's where they are dictionaries."""
        self.tables.clear()
        return self.again(changed)

    def again(self, changed: dict[str, Any], *, taken_up: bool = True) -> "Scenario":
        """Start on the tables as they are."""
        given: dict[str, Any] = {"frontier": {"policy": "linkage", "explore": 0.0}}
        given |= {"fetch": {"delay_seconds": 0.0}, "learn": {"semantic": ""}, "streams": {"partitions": 1}}
        for name, value in changed.items():
            section = name if isinstance(value, dict) else "frontier"
            given[section] = given.get(section, {}) | (value if isinstance(value, dict) else {name: value})
        partitions = given["streams"]["partitions"]
        settings = Settings.model_validate({"data": self._directory / f"data-{partitions}", **given})
        if partitions not in self._buses:
            journal = self._resources.enter_context(open_journal(settings))
            self._buses[partitions] = JournalBus(journal, lambda: NOW)
        runtime = Runtime(create_app(settings), settings, self._buses[partitions], raised)
        return Scenario(self, runtime, changed, taken_up=taken_up)


@contextmanager
def frontiers(directory: Path) -> Iterator[Frontiers]:
    """Give what starts scenarios, in a directory."""
    with ExitStack() as resources:
        yield Frontiers(directory, resources)


class Scenario:
    """A frontier agent with its shards, on a clock that the test turns; ``orders`` are all that it gave."""

    def __init__(self, start: Frontiers, runtime: Runtime, changed: dict[str, Any], *, taken_up: bool) -> None:
        self._start, self._changed = start, changed
        self.now = NOW
        self.orders: list[FetchOrder] = []
        #: The pages that the last facts had scored anew.
        self.touched: set[bytes] = set()
        runtime.clock = lambda: self.now
        self.runtime = runtime
        self.agent = agent = FrontierAgent(runtime)
        agent.inbox.commit_soon = lambda shard: None  # type: ignore[method-assign]  # there is no event loop
        self.follow("p")
        self.shards: list[FrontierShard] = []
        for partition in range(runtime.bus.partitions(SIGHTINGS.name)):
            agent.inbox.shards[partition] = shard = start.tables.shard(FrontierRow, SIGHTINGS, partition)
            self.shards.append(shard)
            agent.opened(shard)
        if taken_up:
            self.take_up()

    # what happens around it

    def follow(self, *predicates: str) -> None:
        """Define predicates."""
        for predicate in predicates:
            self.agent.heard_predicate(PredicateDefinition(name=predicate, expression='"ski"'))

    def like(self, *, predicate: str = "p", **hits: int) -> None:
        """Teach how many of a hundred pages with a token in their URL satisfy a predicate, where ten do."""
        counts = {token(name): {predicate: (1_000, 10 * number)} for name, number in hits.items()}
        teach(self.agent.core.candidates.scorer, a_cells({BASE: {predicate: (10_000, 1_000)}} | counts))
        self.agent.core.candidates.learned()

    def restart(self, *, taken_up: bool = True, **changed: Any) -> "Scenario":
        """Return another process on the tables as they were last written, at the same time."""
        given = self._changed | {
            name: self._changed.get(name, {}) | value if isinstance(value, dict) else value
            for name, value in changed.items()
        }
        again = self._start.again(given, taken_up=False)
        again.now = self.now
        if taken_up:
            again.take_up()
        return again

    def take_up(self) -> None:
        """Take up all that shards were opened with."""
        while self.agent.core.candidates.opening:
            self.agent.core.candidates.take_up(self.now)
        self.commit()

    # facts in

    def hear(self, *facts: Any, at: int | None = None) -> list[Message]:
        """Absorb facts as a group; return what it sends. ``at`` is their partition, where it is not plain."""
        return self.absorb(*facts, at=at) + self.commit()

    def absorb(self, *facts: Any, at: int | None = None) -> list[Message]:
        """Absorb facts, of which nothing is written yet."""
        messages: list[Message] = []
        for shard in self.shards:
            own = [fact for fact in facts if (self.partition_of(fact) if at is None else at) == shard.partition]
            messages += take_in(shard, self.agent, *own) if own else []
        return messages

    def commit(self) -> list[Message]:
        """End the groups of all shards; return what they send besides."""
        messages: list[Message] = []
        self.touched = set().union(*self.agent.core.book.touched.values())
        for shard in self.shards:
            messages += write(shard)
            self.agent.committed(shard)
        return messages

    def deliver(self, messages: Iterable[Message]) -> list[Message]:
        """Absorb the sightings among messages, where they were sent."""
        found = emitted(messages, SIGHTINGS)
        return [message for partition, fact in found for message in self.hear(fact, at=partition)]

    def partition_of(self, fact: Any) -> int:
        """Return the partition of what a fact changes: of links' targets, and else of its URL."""
        if len(self.shards) == 1:
            return 0
        url = fact.links[0].url if isinstance(fact, Linked) else fact.url
        return partition_of(host(url), len(self.shards))

    # orders, and how fetches end

    def order(self, after: float = 0.0, *, looks: bool = False) -> list[FetchOrder]:
        """Let time pass; return what is ordered then. Where there is nothing, it ``looks`` for more."""
        self.now += after
        self.agent.core.keep_time(self.now)
        if not self.agent.core.selection.choose(self.now) and looks:
            self.agent.core.look_for_more()
        ordered = orders_in(self.commit())
        self.orders += ordered
        return ordered

    def ordered(self, after: float = 0.0) -> list[str]:
        """Let time pass; return the URLs of what is ordered then."""
        return [order.url for order in self.order(after)]

    def exhaust(self) -> list[str]:
        """Return the URLs that are ordered, in their order, until there are no more; nothing is answered."""
        return [url for found in iter(lambda: self.ordered(after=SLOW_SECONDS), []) for url in found]

    def choose(self, predicate: str = "p") -> str | None:
        """Order the next page for a predicate, whatever windows and turns allow, in a group that stays open."""
        picked = self.agent.core.candidates.pick(predicate, self.now)
        if picked is None:
            return None
        shard, row, explored, probability = picked
        choice = Choice(predicate, self.agent.core.settings.policy, explored, probability, 0.0, self.now)
        self.agent.core.leases.order(shard, row, choice, self.now)
        return row.url

    def choices(self, predicate: str = "p") -> list[str]:
        """Order pages for a predicate until there is none to choose."""
        return list(iter(lambda: self.choose(predicate) or "", ""))

    def sweep(self, steps: int = 1_000) -> int:
        """Sweep a round; return its steps."""
        return next(step for step in range(1, steps) if self.agent.core.candidates.sweep.step(self.now))

    def answer(self, order: FetchOrder, came: str = "unchanged", **said: Any) -> list[Message]:
        """Answer an order: a new page by a verdict that it satisfies, a revisit by one of `CAME_OF`."""
        result: Result | Verdict = CAME_OF[came]
        if order.visit == "first":
            result = said.pop("verdict", YES)
        elif came == "changed" and order.visit == "again":
            result = Page(YES, content=str(self.now).encode(), changed=True)
        return self.hear(ended(order.url, result, self.now, order.order, order.visit, **said))

    def crawl(self, rounds: int, after: float, outcome: Callable[[FetchOrder], str] | None = None) -> None:
        """Let time pass in rounds, and have each order answered at once."""
        for _ in range(rounds):
            for order in self.order(after):
                self.answer(order, outcome(order) if outcome is not None else "unchanged")

    def lease(self, url: str, attempt: int = 1, **changed: Any) -> None:
        """Have a page be as its order leaves it, with what is ``changed`` besides."""
        row = self.page(url)
        row.state, row.attempts, row.lease = "leased", attempt, self.now + 100.0
        for name, value in changed.items():
            setattr(row, name, value)
        self._put(url, page_key(url), row)

    def lease_visit(self, url: str) -> int:
        """Have the row of a hub or judged page be as the order of a visit leaves it; return its number."""
        hub = hub_of(self.shard(url), url)
        row = hub or self.visit(url)
        row.orders, row.lease = row.orders + 1, self.now + 100.0
        self._put(url, hub_key(url) if hub else visit_key(url), row)
        return row.orders

    def host_fails(self, name: str, *failure: Any, **why: Any) -> None:
        """Have a host fail, as the end of a fetch does: in its row, and for its clock."""
        row = self.host(name)
        row.state.failed(*failure, **why)
        self._put(f"http://{name}/", host_key(name), row)
        self.agent.core.candidates.clocks.told(name, lambda state: state.failed(*failure, **why))

    def _put(self, url: str, key: bytes, row: FrontierRow) -> None:
        shard = self.shard(url)
        shard.put(key, row)
        write(shard)

    # what there is

    @property
    def flying(self) -> set[str]:
        return set(self.agent.core.candidates.flights)

    def queued(self, predicate: str = "p") -> set[str]:
        return set(self.agent.core.candidates.queues[predicate])

    def shard(self, url: str) -> FrontierShard:
        return self.shards[partition_of(host(url), len(self.shards))]

    def known(self, url: str) -> bool:
        return self.shard(url).get(page_key(url)) is not None

    def page(self, url: str) -> PageRow:
        row = self.shard(url).get(page_key(url))
        assert isinstance(row, PageRow)
        return row

    def state(self, url: str) -> str:
        return self.page(url).state

    def visit(self, url: str) -> VisitRow:
        row = visit_of(self.shard(url), url)
        assert row is not None
        return row

    def hub(self, url: str) -> HubRow:
        row = hub_of(self.shard(url), url)
        assert row is not None
        return row

    def host(self, name: str) -> HostRow:
        return host_of(self.shard(f"http://{name}/"), name)

    def parent(self, url: str, at: int = 0) -> ParentRow:
        row = self.shards[at].get(PARENT_PREFIX + identifier(url))
        assert isinstance(row, ParentRow)
        return row

    def children(self, url: str, at: int = 0) -> dict[bytes, tuple[Verdict, int]]:
        return judged_of(self.shards[at], url)

    def counts(self) -> Counts:
        """Return what is counted."""
        return plain(self.agent.core.candidates.scorer.ledger)

    def totals(self, at: int = 0) -> TotalsRow:
        return totals_of(self.shards[at])


def seeded(url: str) -> Found:
    """Return a URL to start from."""
    return Found(url, seed=True)


def listed(url: str) -> Found:
    """Return a URL that a sitemap of its host names."""
    return Found(url, 1, level=1)


def ended(
    url: str,
    result: Result | Verdict,
    time: float = NOW,
    order: int = 1,
    visit: Visit = "first",
    *,
    silent: bool = False,
    rendering: Any = None,
    **said: Any,
) -> Fetched:
    """Return the end of a fetch: a result, or a page's verdict; ``said`` are fields of it, or the host's."""
    found: Result = Page(result) if isinstance(result, dict) else result
    told = {name: said.pop(name) for name in HostAnswer.__struct_fields__ if name in said}
    found = msgspec.structs.replace(found, **said)
    return Fetched(url, order, visit, time, HostAnswer(**told), found, silent, rendering)


def linked(
    source: str, targets: Iterable[str], verdict: Verdict = YES, words: Iterable[str] = (), **said: Any
) -> Linked:
    """Return what is said of a judged page's links, which have words of their own."""
    links = tuple(Link(target, ("anchor", f"to{place}"), (), place) for place, target in enumerate(targets))
    given: dict[str, Any] = {"depth": 0, "links": links, "partitions": (0,)} | said
    return Linked(identifier(source), source, verdict=verdict, words=tuple(words), **given)


def sent(messages: Iterable[Message]) -> list[Any]:
    return [fact for _, fact in emitted(messages, SIGHTINGS)]


def labels(messages: Iterable[Message]) -> list[Label]:
    return [fact for _, fact in emitted(messages, EVIDENCE) if isinstance(fact, Label)]


def values_of(messages: Iterable[Message], topic: Topic) -> Iterator[bytes]:
    return (value or b"" for name, _, _, value in messages if name == topic.name)


def orders_in(messages: Iterable[Message]) -> list[FetchOrder]:
    found = [*messages]
    return [_decode_order(value) for topic in (FETCHES, RENDERS) for value in values_of(found, topic)]


def changes(messages: Iterable[Message]) -> list[Change]:
    return [msgspec.json.decode(value, type=Change) for value in values_of(messages, CHANGES)]


def outcomes(messages: Iterable[Message]) -> list[Outcome]:
    return [msgspec.json.decode(value, type=Outcome) for value in values_of(messages, OUTCOMES)]


def links_of(row: ParentRow) -> dict[bytes, tuple[int, str]]:
    """Return the position of each target's link, and what it says."""
    return dict(zip(identifiers_in(row.targets), zip(row.positions, row.said, strict=True), strict=True))


def judged_of(shard: FrontierShard, url: str) -> dict[bytes, tuple[Verdict, int]]:
    """Return the verdicts on a linking page's targets in a shard, and the positions of the links."""
    row = children_of(shard, identifier(url))
    found = zip(row.judged.items(), row.positions, strict=True)
    return {target: (verdict, position) for (target, verdict), position in found}


def urls(count: int, hosts: int = 1) -> list[str]:
    """Return pages of some hosts in turn."""
    return [f"http://h{number % hosts}.org/{number}" for number in range(count)]
