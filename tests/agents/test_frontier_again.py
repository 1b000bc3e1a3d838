"""Pages that are visited again: whatever comes of it, in whatever order, all that is counted is as they stand.

A world is fetched, judged and told of as in a crawl. An order of a revisit says what was known when it was
given, and is answered later, perhaps when another one was given and answered meanwhile. What one partition
tells another comes in its order; what comes from several is mixed.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scentline.agents.browse.agent import UserRow
from scentline.agents.frontier.book import Book
from scentline.agents.frontier.changes import Changes
from scentline.agents.frontier.groups import Groups
from scentline.agents.frontier.keys import beside_of, page_key, parent_of, visit_key, visit_of
from scentline.agents.frontier.rows import OPEN, FrontierShard, PageRow
from scentline.agents.harvest.agent import read_outcome
from scentline.agents.operate.inspect.record import judged_of, read_change
from scentline.models.crowd.trace import Step
from scentline.models.recount import JudgedPage, recount
from scentline.models.url import host, identifier
from scentline.models.verdict import FAILED, Verdict
from scentline.streams.facts import Count, Judged, Linked, Rejudged, Relinked, Revisited
from scentline.streams.outbox import Message
from scentline.streams.published import Change, Outcome
from scentline.streams.records import Revisit
from scentline.streams.settings import RevisitSettings
from scentline.streams.topics import ACCESSES, CHANGES, EVIDENCE, OUTCOMES, SIGHTINGS, partition_of
from tests.agents.cells import add
from tests.agents.pipeline import (
    EVIDENCE_PARTITIONS,
    TIGHT,
    WIDE,
    Bounds,
    Crawl,
    Place,
    a_place,
    a_shard,
    access_of,
    links_of,
)
from tests.agents.scenarios import judged_of as children_of
from tests.agents.shards import emitted, take_in, write
from tests.models.webs import STEPS, URLS, VISITS
from tests.reference.counts import Counts, plain

POLICIES = ["linkage", "collaborative", "combined", "learned", "breadth-first"]
PARTITIONS, SEEDS = st.integers(1, 3), st.integers(0, 10_000)
#: Words of a moment, as dates are, and a target of navigation: they make no change.
PASSING, ASIDE = {"g", "h"}, URLS[0]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with a_place(tmp_path_factory.mktemp("place")) as opened:
        yield opened


class Order(NamedTuple):
    """The order of a page by its ``number``: of a revisit with what was known when it was given."""

    url: str
    number: int
    silent: bool
    revisit: Revisit | None = None


class Fetched(NamedTuple):
    """A page that came of an order, at a time."""

    order: Order
    page: JudgedPage
    time: float


#: What a revisit comes to that brings no page, and with what reason; one that is gone is looked at twice.
NO_PAGE = ("unchanged", "gone", "refused", "moved", "retry")


class World:
    """Fetchers, a judge, browse and frontier shards; ``outcomes`` and ``changes`` are what they wrote."""

    def __init__(self, place: Place, crawl: Crawl, random: Random) -> None:
        for rows in (place.pages, place.users):
            rows.clear()
        settings, self._browse = place.agent(crawl)
        revisit = Changes(1, 1), Groups(RevisitSettings())
        self._book = Book(
            settings.frontier, EVIDENCE_PARTITIONS, crawl.partitions, settings.fetch.redirects, revisit=revisit
        )
        partitions = range(crawl.partitions)
        self.shards: list[FrontierShard] = [a_shard(place.pages, partition) for partition in partitions]
        self._users = [place.users.shard(UserRow, ACCESSES, partition) for partition in partitions]
        self._random = random
        self._channels: dict[tuple[str, int], list[Any]] = defaultdict(list)
        self._versions: dict[str, list[JudgedPage]] = defaultdict(list)
        self._first: dict[str, Order] = {}
        self._orders: list[Order] = []
        self._fetched: list[Fetched | tuple[int, Revisited]] = []
        self._steps: dict[str, list[Step]] = defaultdict(list)
        self._known = {"p"}
        self._judged: list[Fetched] = []
        self._kept: list[Fetched] = []
        self._time = 0.0
        self.counts = Counts()
        self.outcomes: list[Outcome] = []
        self.changes: list[Change] = []

    def run(self, visits: Iterable[JudgedPage], steps: Iterable[Step]) -> None:
        """Have pages fetched and visited again, as long as there is a version of one to be found."""
        for page in visits:
            self._versions[page.url].append(page)
        for step in steps:
            self._steps[step.user].append(step)
        while acts := list(self._acts()):
            self._random.choice(acts)()
        for shard in self.shards:
            write(shard)

    def _acts(self) -> Iterator[Any]:
        """Yield what may happen next; what was told is heard the sooner, the more there is of it."""
        if any(self._versions.values()):
            yield self._order
        if self._orders:
            yield self._fetch
        if self._fetched:
            yield self._judge
        if any(self._steps.values()):
            yield self._visit
        if len(self._known) == 1 and self._judged:
            yield self._add_predicate
        if self._kept:
            yield self._rejudge
        for channel, facts in self._channels.items():
            if facts:
                yield lambda channel=channel: self._hear(*channel)

    def partition(self, url: str) -> int:
        """Return the partition of a URL's host."""
        return partition_of(host(url), len(self.shards))

    # orders and answers

    def _order(self) -> None:
        """Order a page that has another version: at first, sometimes twice, and again where it is judged."""
        url = self._random.choice([url for url, left in self._versions.items() if left])
        shard = self.shards[self.partition(url)]
        page, visit = self.page(url), visit_of(shard, url)
        if url not in self._first:
            self._first[url] = Order(url, 1, self._random.random() < 0.2)
            self._orders.append(self._first[url])
        elif visit is None or page is None:
            if self._random.random() < 0.1:
                self._orders.append(self._first[url])
        elif page.state == "judged":
            visit.orders, visit.lease = visit.orders + 1, self._time + 100.0
            shard.put(visit_key(url), visit)
            revisit = Revisit(
                visit.version, visit.visited, True, page.verdict or {},
                visit.content, visit.links, visit.partitions,
            )  # fmt: skip
            self._orders.append(Order(url, visit.orders, page.silent, revisit))
        elif page.state not in OPEN:
            self._versions[url].clear()

    def _fetch(self) -> None:
        """Answer an order; what comes of it may lie about for a while."""
        order = self._orders.pop(self._random.randrange(len(self._orders)))
        self._time += 1.0
        if order.revisit is not None and (not self._versions[order.url] or self._random.random() < 0.3):
            self._bring_none(order)
            return
        left = self._versions[order.url]
        version = left.pop(0) if left else JudgedPage(order.url, {"p": False, "q": False})
        self._fetched.append(Fetched(order, version, self._time))

    def _bring_none(self, order: Order) -> None:
        outcome = self._random.choice(NO_PAGE)
        target = self._random.choice(URLS) if outcome == "moved" else ""
        reason = f"it is {outcome}" if outcome in ("gone", "refused") else ""
        answer = Revisited(
            order.url, order.number, outcome, self._time, target=target, again=True, reason=reason
        )
        self._fetched.append((self.partition(order.url), answer))
        if self._random.random() < 0.5:
            self._orders.append(order)  # another fetcher has it too

    # the judge

    def _judge(self) -> None:
        found = self._fetched.pop(self._random.randrange(len(self._fetched)))
        if not isinstance(found, Fetched):
            self._channels["fetch", found[0]].append(found[1])
            return
        self._judged.append(found)
        verdict = {name: holds for name, holds in found.page.verdict.items() if name in self._known}
        self._tell(found, verdict)

    def _tell(self, found: Fetched, verdict: Verdict) -> None:
        order, page, time = found
        base = order.revisit
        content, links = content_of(page), digest_of(page)
        partitions = sorted({self.partition(link.url) for link in page.links})
        told = True
        if base is not None:
            told = (base.content, base.links, base.verdict) != (content, links, verdict)
            partitions = sorted({*partitions, *base.partitions}) if told else list(base.partitions)
        again = base is not None
        if told:
            self.outcomes.append(an_outcome(found, verdict, again=again))
            for partition in partitions:
                here = tuple(link for link in links_of(page) if self.partition(link.url) == partition)
                linked = Linked(
                    identifier(page.url), page.url, 0, verdict, page.words, here, tuple(partitions), time, True
                )
                self._channels["judge", partition].append(linked)
        judged = Judged(
            page.url, verdict, time, None, page.words, subject=page.subject,
            silent=order.silent, again=order.number if again else 0, changed=told and again, content=content,
            links=links, partitions=tuple(partitions), title=page.subject,
        )  # fmt: skip
        self._channels["judge", self.partition(page.url)].append(judged)

    def _add_predicate(self) -> None:
        """Have the judge know another predicate from now on, and judge by it what is kept, in its order."""
        self._known.add("q")
        self._kept = list(self._judged)

    def _rejudge(self) -> None:
        order, page, time = found = self._kept.pop(0)
        verdict = {name: holds for name, holds in page.verdict.items() if name == "q"}
        if not verdict:
            return
        self.outcomes.append(replace(an_outcome(found, verdict), later=True, words=(), links=()))
        rejudged = Rejudged(page.url, verdict, time, page.words, page.subject)
        self._channels["judge", self.partition(page.url)].append(rejudged)
        known = order.revisit.partitions if order.revisit is not None else ()
        for partition in {*known, *(self.partition(link.url) for link in page.links)}:
            self._channels["judge", partition].append(Relinked(identifier(page.url), verdict, time))

    # users and the frontier

    def _visit(self) -> None:
        user = self._random.choice([user for user, steps in self._steps.items() if steps])
        number = partition_of(user, len(self._users))
        messages = take_in(self._users[number], self._browse, access_of(self._steps[user].pop(0)))
        self._gather(f"browse {number}", messages)

    def _hear(self, source: str, partition: int) -> None:
        shard = self.shards[partition]
        messages = take_in(shard, self._book, self._channels[source, partition].pop(0))
        self._gather(f"frontier {partition}", messages)
        if self._random.random() < 0.2:
            write(shard)

    def _gather(self, source: str, messages: list[Message]) -> None:
        for partition, fact in emitted(messages, SIGHTINGS):
            self._channels[source, partition].append(fact)
        for _, fact in emitted(messages, EVIDENCE):
            if isinstance(fact, Count):
                add(self.counts, fact)
        for topic, _, _, value in messages:
            if topic == OUTCOMES.name:
                self.outcomes += [outcome for _, _, outcome in read_outcome(value or b"").facts]
            elif topic == CHANGES.name:
                self.changes.append(read_change(value or b""))

    # what there is in the end

    def page(self, url: str) -> PageRow | None:
        """Return the row of a URL."""
        row: Any = self.shards[self.partition(url)].get(page_key(url))
        assert row is None or isinstance(row, PageRow)
        return row

    def standing(self) -> list[JudgedPage]:
        """Return the pages as they stand by what was written of them."""
        return [
            JudgedPage(page.url, page.verdict, page.words, page.links, page.title, page.silent is True)
            for page in judged_of(self.outcomes).values()
        ]


def content_of(page: JudgedPage) -> bytes:
    return " ".join(sorted({"", *page.words} - PASSING)).encode() + b"."


def digest_of(page: JudgedPage) -> bytes:
    return " ".join(sorted({link.url for link in page.links} - {ASIDE})).encode() + b"."


def an_outcome(found: Fetched, verdict: Verdict, *, again: bool = False) -> Outcome:
    order, page, time = found
    return Outcome(
        url=page.url, time=time, title=page.subject, verdict=verdict, predicate="p", policy="", explored=False,
        probability=1.0, priority=0.0, expected=None, depth=0, words=page.words, links=tuple(links_of(page)),
        origin="pages/0@0", silent=order.silent or msgspec.UNSET,
        again=again,
    )  # fmt: skip


@pytest.mark.parametrize("policy", POLICIES)
@given(VISITS, STEPS, PARTITIONS, st.sampled_from([WIDE, TIGHT]), SEEDS)
def test_pages_that_are_visited_again_count_and_are_published_as_they_stand(
    place: Place,
    policy: str,
    visits: list[JudgedPage],
    steps: list[Step],
    partitions: int,
    bounds: Bounds,
    seed: int,
) -> None:
    world = World(place, Crawl(policy, partitions, bounds), Random(seed))
    world.run(visits, steps)
    expected = recount(world.standing(), policy, bounds.trace(steps), bounds.parents)
    assert world.counts == plain(expected)
    for url in judged_of(world.outcomes):
        told = [outcome for outcome in world.outcomes if outcome.url == url and not outcome.later]
        times = sorted({(outcome.time, outcome.left is not msgspec.UNSET) for outcome in told})
        reasons = [left for _, left in times]
        assert not any(earlier and later for earlier, later in pairwise(reasons)), "it leaves once"
        row = world.page(url)
        assert row is not None
        assert (row.state == "judged") == (not reasons[-1])


@given(VISITS, STEPS, PARTITIONS, SEEDS)
def test_every_row_is_that_of_the_pages_as_they_stand(
    place: Place, visits: list[JudgedPage], steps: list[Step], partitions: int, seed: int
) -> None:
    world = World(place, Crawl("combined", partitions), Random(seed))
    world.run(visits, steps)
    pages = {page.url: page for page in world.standing()}
    for url in URLS:
        row = world.page(url)
        linking = [page for page in pages.values() if url in {link.url for link in page.links} - {page.url}]
        verdicts = [list(page.verdict.items()) for page in linking]
        links = {name: [0, 0] for found in verdicts for name, _ in found}
        for name, holds in [each for found in verdicts for each in found]:
            links[name][0] += 1
            links[name][1] += holds
        assert (row.verdict if row else None) == (pages[url].verdict if url in pages else None)
        assert {name: cell for name, cell in row.links.items() if cell[0]} == links if row else not links
    for page in pages.values():
        check_linking(world, page, pages)
    for shard in world.shards:
        for url in URLS:
            page_row = shard.get(page_key(url))
            for other in page_row.together if isinstance(page_row, PageRow) else ():
                named = next((page for page in pages.values() if identifier(page.url) == other), None)
                assert beside_of(shard, other).verdict == (named.verdict if named else None)


def check_linking(world: World, page: JudgedPage, pages: dict[str, JudgedPage]) -> None:
    """Assert that each partition with links of a page knows its verdict and words, and those of its targets."""
    targets = [link.url for link in links_of(page) if link.url != page.url]
    for shard in world.shards:
        if any(world.partition(url) == shard.partition for url in targets):
            row = parent_of(shard, identifier(page.url))
            assert (row.verdict, row.words) == (page.verdict, frozenset(page.words))
            found = {target: verdict for target, (verdict, _) in children_of(shard, page.url).items()}
            assert found == {
                identifier(url): pages[url].verdict | {FAILED: False} for url in targets if url in pages
            }


@given(VISITS, STEPS, PARTITIONS, SEEDS)
def test_the_changes_that_are_published_come_to_what_holds_in_the_end(
    place: Place, visits: list[JudgedPage], steps: list[Step], partitions: int, seed: int
) -> None:
    world = World(place, Crawl("linkage", partitions), Random(seed))
    world.run([replace(page, verdict={"p": False, "q": False} | page.verdict) for page in visits], steps)
    told: dict[tuple[str, str], str] = {}
    for change in world.changes:
        held = told.get((change.url, change.predicate), "left") in ("appeared", "changed")
        assert held == (change.kind != "appeared"), "what appears did not hold, and what changes or goes did"
        told[change.url, change.predicate] = change.kind
    assert {key for key, kind in told.items() if kind in ("appeared", "changed")} == {
        (page.url, name) for page in world.standing() for name, holds in page.verdict.items() if holds
    }
    assert len({(change.origin, change.predicate) for change in world.changes}) == len(world.changes)
