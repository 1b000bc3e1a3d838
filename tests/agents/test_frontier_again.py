"""Pages that are visited again: whatever comes of it, in whatever order, all that is counted is as they stand.

A world is fetched, judged and told of as in a crawl. An order of a revisit says what was known when it was
given, and is answered later, perhaps when another one was given and answered meanwhile.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from msgspec.structs import replace

from scentline.agents.operate.record import judged_of, read_change
from scentline.models.facts import Fetched, Linked, Missing, Moved, Page, Same
from scentline.models.frontier.keys import beside_of, parent_of, visit_key, visit_of
from scentline.models.frontier.rows import OPEN
from scentline.models.lessons import JudgedPage, recount
from scentline.models.page import FAILED, Verdict
from scentline.models.published import Change, Outcome, read_outcome
from scentline.models.records import Revisit, Visit
from scentline.models.trace import Step
from scentline.models.url import identifier
from scentline.streams.inbox import Message
from scentline.streams.topics import CHANGES, OUTCOMES
from tests.agents.cells import an_outcome
from tests.agents.forms import rejudged, relinked
from tests.agents.pipeline import Pipeline, Place, Told, links_of, told
from tests.agents.scenarios import Result, ended
from tests.agents.scenarios import judged_of as children_of
from tests.models.webs import URLS, VISITS
from tests.reference.counts import plain

#: Words of a moment, as dates are, and a target of navigation: they make no change.
PASSING, ASIDE = {"g", "h"}, URLS[0]
#: What a revisit comes to that brings no page, and with what reason; one that is gone is looked at twice.
NO_PAGE = (Same(), Missing("gone", "it is gone"), Missing("refused", "it is refused"), Missing("retry", ""))


class Order(NamedTuple):
    """The order of a page by its ``number``: of a revisit with what was known when it was given."""

    url: str
    number: int
    silent: bool
    revisit: Revisit | None = None


class Came(NamedTuple):
    """A page that came of an order, at a time."""

    order: Order
    page: JudgedPage
    time: float


class World(Pipeline):
    """Fetchers, a judge, browse and frontier shards; ``outcomes`` and ``changes`` are what they wrote.

    Pages are fetched and visited again, as long as there is a version of one to be found.
    """

    def __init__(self, place: Place, policy: str, given: Told) -> None:
        super().__init__(place, given.crawl(policy, revisit=0.5), Random(given.seed))
        self._versions: dict[str, list[JudgedPage]] = defaultdict(list)
        self._steps: dict[str, list[Step]] = defaultdict(list)
        for page in given.pages:
            self._versions[page.url].append(page)
        for step in given.steps:
            self._steps[step.user].append(step)
        self._first: dict[str, Order] = {}
        self._orders: list[Order] = []
        self._fetched: list[Came | Fetched] = []
        self._known = {"p"}
        self._judged: list[Came] = []
        self._kept: list[Came] = []
        self._time = 0.0
        self.outcomes: list[Outcome] = []
        self.changes: list[Change] = []
        while (acts := list(self._acts())) or self.settling():
            if acts:
                self.random.choice(acts)()

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
        for part in self.unread():
            yield lambda part=part: self.step(part)

    def _visit(self) -> None:
        self.report(self.random.choice([steps for steps in self._steps.values() if steps]).pop(0))

    def send(self, messages: Iterable[Message]) -> None:
        super().send(found := [*messages])
        for topic, _, _, value in found:
            if topic == OUTCOMES.name:
                self.outcomes += [outcome for _, _, outcome in read_outcome(value or b"").facts]
            elif topic == CHANGES.name:
                self.changes.append(read_change(value or b""))

    # orders and answers

    def _order(self) -> None:
        """Order a page that has another version: at first, sometimes twice, and again where it is judged."""
        url = self.random.choice([url for url, left in self._versions.items() if left])
        shard = self.shards[self.partition(url)]
        page, visit = self.page(url), visit_of(shard, url)
        if url not in self._first:
            self._first[url] = Order(url, 1, self.random.random() < 0.2)
            self._orders.append(self._first[url])
        elif visit is None or page is None:
            if self.random.random() < 0.1:
                self._orders.append(self._first[url])
        elif page.state == "judged":
            visit.orders, visit.lease = visit.orders + 1, self._time + 100.0
            shard.put(visit_key(url), visit)
            known = visit.content, visit.links, visit.partitions
            revisit = Revisit(visit.version, visit.visited, True, page.verdict or {}, *known)
            self._orders.append(Order(url, visit.orders, page.silent, revisit))
        elif page.state not in OPEN:
            self._versions[url].clear()

    def _fetch(self) -> None:
        """Answer an order; what comes of it may lie about for a while."""
        order = self._orders.pop(self.random.randrange(len(self._orders)))
        self._time += 1.0
        left = self._versions[order.url]
        if order.revisit is not None and (not left or self.random.random() < 0.3):
            results: list[Result] = [*NO_PAGE, Moved(self.random.choice(URLS))]
            result = self.random.choice(results)
            self._fetched.append(ended(order.url, result, self._time, order.number, "again"))
            if self.random.random() < 0.5:
                self._orders.append(order)  # another fetcher has it too
            return
        version = left.pop(0) if left else JudgedPage(order.url, {"p": False, "q": False})
        self._fetched.append(Came(order, version, self._time))

    # the judge

    def _judge(self) -> None:
        found = self._fetched.pop(self.random.randrange(len(self._fetched)))
        if isinstance(found, Fetched):
            self.sight("fetch/0", found)
        else:
            self._judged.append(found)
            self._say(found, {name: holds for name, holds in found.page.verdict.items() if name in self._known})

    def _say(self, found: Came, verdict: Verdict) -> None:
        order, page, time = found
        base, again = order.revisit, order.revisit is not None
        # What makes no change is no part of the digests of content and links.
        content = " ".join(sorted({"", *page.words} - PASSING)).encode() + b"."
        links = " ".join(sorted({link.url for link in page.links} - {ASIDE})).encode() + b"."
        partitions = sorted({self.partition(link.url) for link in page.links})
        news = True
        if base is not None:
            news = (base.content, base.links, base.verdict) != (content, links, verdict)
            partitions = sorted({*partitions, *base.partitions}) if news else list(base.partitions)
        if news:
            self.outcomes.append(outcome_of(found, verdict, again=again))
            for partition in partitions:
                here = tuple(link for link in links_of(page) if self.partition(link.url) == partition)
                said = verdict, page.words, here, tuple(partitions), time
                fact = Linked(identifier(page.url), page.url, 0, *said, visit="again")
                self.sight("pages/0", fact, partition)
        judged = Page(
            verdict, page.words, page.subject, changed=news and again, content=content, links=links,
            partitions=tuple(partitions), title=page.subject,
        )  # fmt: skip
        visit: Visit = "again" if again else "first"
        self.sight("pages/0", ended(page.url, judged, time, order.number, visit, silent=order.silent))

    def _add_predicate(self) -> None:
        """Have the judge know another predicate from now on, and judge by it what is kept, in its order."""
        self._known.add("q")
        self._kept = list(self._judged)

    def _rejudge(self) -> None:
        order, page, time = found = self._kept.pop(0)
        verdict = {name: holds for name, holds in page.verdict.items() if name == "q"}
        if not verdict:
            return
        self.outcomes.append(replace(outcome_of(found, verdict, later=True, words=()), links=()))
        known = order.revisit.partitions if order.revisit is not None else ()
        self.sight("pages/0", rejudged(page.url, verdict, time, page.words, page.subject))
        for partition in {*known, *(self.partition(link.url) for link in page.links)}:
            self.sight("pages/0", relinked(page.url, verdict, time), partition)

    def standing(self) -> dict[str, JudgedPage]:
        return {
            page.url: JudgedPage(
                page.url, page.verdict, page.words, page.links, page.title, page.silent is True
            )
            for page in judged_of(self.outcomes).values()
        }


def outcome_of(found: Came, verdict: Verdict, **said: Any) -> Outcome:
    order, page, time = found
    silent = order.silent or msgspec.UNSET
    told = {"time": time, "title": page.subject, "words": page.words, "silent": silent}
    return an_outcome(page.url, verdict, links_of(page), **told | said)


@pytest.mark.parametrize("policy", ["linkage", "collaborative", "combined", "learned", "breadth-first"])
@given(told(VISITS))
def test_pages_visited_again_count_and_are_told_as_they_stand(place: Place, policy: str, given: Told) -> None:
    world = World(place, policy, given)
    trace, parents = given.bounds.trace(given.steps), given.bounds.parents
    assert world.counts == plain(recount(world.standing().values(), policy, trace, parents))
    for url in world.standing():
        said = [outcome for outcome in world.outcomes if outcome.url == url and not outcome.later]
        left = [left for _, left in sorted({(one.time, one.left is not msgspec.UNSET) for one in said})]
        assert not any(earlier and later for earlier, later in pairwise(left)), "it leaves once"
        row = world.page(url)
        assert row is not None
        assert (row.state == "judged") == (not left[-1])


@given(told(VISITS))
def test_every_row_is_that_of_the_pages_as_they_stand(place: Place, given: Told) -> None:
    world = World(place, "combined", given)
    pages = world.standing()
    names = {identifier(url): page.verdict for url, page in pages.items()}
    rows = {url: row for url in URLS if (row := world.page(url)) is not None}
    for url in URLS:
        row = rows.get(url)
        linking = [page for page in pages.values() if url in {link.url for link in page.links} - {page.url}]
        links: dict[str, list[int]] = {}
        for name, holds in (each for page in linking for each in page.verdict.items()):
            pages_of, hits = links.get(name, (0, 0))
            links[name] = [pages_of + 1, hits + holds]
        assert (row.verdict if row else None) == (pages[url].verdict if url in pages else None)
        assert {name: cell for name, cell in row.links.items() if cell[0]} == links if row else not linking
        for other in row.together if row else ():
            assert beside_of(world.shards[world.partition(url)], other).verdict == names.get(other)
        if row is not None:
            assert len(row.parents) == min(given.bounds.parents, len(linking))
    for page in pages.values():
        targets = {link.url for link in page.links} - {page.url}
        kept = [url for url in targets if url in pages and identifier(page.url) in rows[url].parents]
        children = {identifier(url): pages[url].verdict | {FAILED: False} for url in kept}
        for shard in (world.shards[partition] for partition in {world.partition(url) for url in targets}):
            found = parent_of(shard, identifier(page.url))
            assert (found.verdict, found.words) == (page.verdict, frozenset(page.words))
            known = children_of(shard, page.url)
            assert {target: known[target][0] for target in children} == children


@given(told(VISITS))
def test_the_changes_that_are_published_come_to_what_holds_in_the_end(place: Place, given: Told) -> None:
    every = [replace(page, verdict={"p": False, "q": False} | page.verdict) for page in given.pages]
    world = World(place, "linkage", given._replace(pages=every))
    told: dict[tuple[str, str], str] = {}
    for change in world.changes:
        held = told.get((change.url, change.predicate), "left") in ("appeared", "changed")
        assert held == (change.kind != "appeared"), "what appears did not hold, and what changes or goes did"
        told[change.url, change.predicate] = change.kind
    assert {key for key, kind in told.items() if kind in ("appeared", "changed")} == {
        (page.url, name) for page in world.standing().values() for name, holds in page.verdict.items() if holds
    }
    assert len({(change.origin, change.predicate) for change in world.changes}) == len(world.changes)
