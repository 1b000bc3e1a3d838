"""What the learner is told equals a recount, in whatever order pages are judged and accesses come.

Some predicates come later: what they say of pages judged before counts as if it had been said then. Shards
that crash again and again tell everything once, labels included.
"""

from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scentline.agents.browse.agent import UserRow
from scentline.agents.frontier.keys import PAGE_PREFIX, beside_of, page_key, parent_of, totals_of
from scentline.agents.frontier.rows import Choice, PageRow
from scentline.models.crowd.trace import Step
from scentline.models.page import Link
from scentline.models.recount import FailedRequests, JudgedPage, recount
from scentline.models.url import identifier
from scentline.models.verdict import FAILED
from scentline.streams.facts import Judged, Label, Rejudged, Relinked
from scentline.streams.inbox import Shard
from scentline.streams.outbox import Message, Outbox
from scentline.streams.records import Pack
from scentline.streams.topics import ACCESSES, EVIDENCE, SIGHTINGS, partition_of
from tests.agents.cells import add
from tests.agents.pipeline import (
    EVIDENCE_PARTITIONS,
    TIME,
    WIDE,
    Bounds,
    Crawl,
    Pipeline,
    Place,
    Told,
    a_shard,
    access_of,
    links_of,
    sightings_of,
    told,
)
from tests.agents.scenarios import judged_of
from tests.agents.shards import DECODERS, write
from tests.cases import each_case
from tests.models.webs import FAILURES, SOME_SILENT
from tests.reference.counts import Counts, plain

POLICIES = ["linkage", "collaborative", "combined", "learned", "breadth-first", "random"]
Q = {"q": True}


def run(place: Place, policy: str, given: Told, failures: list[FailedRequests]) -> Pipeline:
    """Judge a part by p alone, then the rest by p and q, while q judges the first part too, some twice."""
    pipeline, random = Pipeline(place, given.crawl(policy)), Random(given.seed)
    pages, steps = given.pages, given.steps
    cut, pause = random.randint(0, len(pages)), random.randint(0, len(steps))
    first, rest = pages[:cut], pages[cut:] * random.randint(1, 2)
    before = [failed for failed in failures if failed.url in {page.url for page in first}]

    def by(name: str) -> list[JudgedPage]:
        return [replace(page, verdict={n: v for n, v in page.verdict.items() if n == name}) for page in first]

    pipeline.run(by("p"), steps[:pause], random, before)
    for page in by("q") * random.randint(1, 2):
        partitions = {pipeline.partition(link.url) for link in page.links}
        relinked = Relinked(identifier(page.url), page.verdict, TIME)
        rejudged = Rejudged(page.url, page.verdict, TIME, page.words, page.subject)
        said = [*((n, relinked) for n in partitions), (pipeline.partition(page.url), rejudged)]
        pipeline.tell(page.url, said)
    pipeline.run(rest, steps[pause:], random, [failed for failed in failures if failed not in before])
    return pipeline


@pytest.mark.parametrize("policy", POLICIES)
@given(told(SOME_SILENT), FAILURES)
def test_the_evidence_of_any_order_of_sightings_adds_up_to_the_recount(
    place: Place, policy: str, given: Told, failures: list[FailedRequests]
) -> None:
    pipeline = run(place, policy, given, failures)
    trace, parents = given.bounds.trace(given.steps), given.bounds.parents
    assert pipeline.counts == plain(recount(given.pages, policy, trace, parents, failures=failures))
    for shard in pipeline.shards:
        write(shard)
        rows = [row for _, row in shard.scan(PAGE_PREFIX) if isinstance(row, PageRow)]
        assert totals_of(shard).requests == sum(row.requests for row in rows)


@given(told(SOME_SILENT, WIDE))
def test_every_partition_ends_with_the_verdicts_that_scoring_in_it_needs(place: Place, given: Told) -> None:
    pipeline = run(place, "combined", given, [])
    verdicts = {page.url: page.verdict for page in given.pages}
    for page in given.pages:
        targets = {link.url: link.position for link in links_of(page) if link.url != page.url}
        expected = {
            identifier(url): (verdicts[url] | {FAILED: False}, position)
            for url, position in targets.items()
            if url in verdicts
        }
        for partition in {pipeline.partition(url) for url in targets}:
            assert judged_of(pipeline.shards[partition], page.url) == expected
            assert parent_of(pipeline.shards[partition], identifier(page.url)).verdict == page.verdict
    names = {identifier(url): verdict for url, verdict in verdicts.items()}
    for shard, row in pipeline.candidates():
        for other in row.together:
            found = beside_of(shard, other)
            assert (found.verdict, identifier(row.url) in found.pages) == (names.get(other), True)
    totals = [totals_of(shard).verdicts for shard in pipeline.shards]
    for name in ("p", "q"):
        assert sum(found.get(name, 0) for found in totals) == sum(name in page.verdict for page in given.pages)


PAGE = JudgedPage("http://a.org/1", {"p": True}, ("snow",))


@each_case(("url", "time"), [(PAGE.url, TIME + 1), ("http://a.org/2", TIME)])
def test_what_is_said_of_a_page_that_was_never_judged_so_is_passed_over(
    place: Place, url: str, time: float
) -> None:
    pipeline = Pipeline(place, Crawl("linkage"))
    pipeline.run([PAGE], [], Random(1))
    pipeline.absorb(0, Rejudged(url, Q, time, ("snow",)))
    pipeline.absorb(0, Relinked(identifier(url), Q, time))
    rows = [pipeline.page(PAGE.url), pipeline.page("http://a.org/2")]
    assert [row and row.verdict for row in rows] == [PAGE.verdict, None]
    assert pipeline.counts == plain(recount([PAGE], "linkage", None, 32))


@each_case("policy", ["combined", "learned"])
def test_the_evidence_of_a_log_and_pages_beyond_every_bound_adds_up(place: Place, policy: str) -> None:
    random = Random(3)
    urls = [f"http://h{number % 7}.org/{number}" for number in range(40)]
    names = [f"word{number}" for number in range(200)]
    steps = [
        Step(f"user{random.randrange(20)}", random.choice(urls), float(time), random.choice([None, *urls]))
        for time in range(400)
    ]

    def a_page(url: str) -> JudgedPage:
        links = tuple(Link(target, (random.choice(names),)) for target in random.sample(urls, 30))
        return JudgedPage(url, {"p": random.random() < 0.3}, tuple(random.sample(names, 90)), links)

    pages, bounds = [a_page(url) for url in urls], Bounds(parents=16, visitors=6, together=20)
    pipeline = Pipeline(place, Crawl(policy, 3, bounds))
    pipeline.run(pages, steps, random)
    assert pipeline.counts == plain(recount(pages, policy, bounds.trace(steps), bounds.parents))


# crashes

#: A partition of a topic.
Part: TypeAlias = tuple[str, int]
INPUTS = (0.5, 1.0)


class Crashing(Pipeline):
    """Shards that read logs of messages, whose open groups may be lost at any time, once sent or before."""

    def __init__(self, place: Place, crawl: Crawl) -> None:
        super().__init__(place, crawl)
        self.parts = [(name, n) for name in (ACCESSES.name, SIGHTINGS.name) for n in range(crawl.partitions)]
        evidence = [(EVIDENCE.name, n) for n in range(EVIDENCE_PARTITIONS)]
        self.logs: dict[Part, list[Pack[Any]]] = {part: [] for part in [*self.parts, *evidence]}
        self.expected: list[Label] = []
        self._answered: set[str] = set()

    def shard(self, part: Part) -> Shard[Any]:
        return self.users[part[1]] if part[0] == ACCESSES.name else self.shards[part[1]]

    def send(self, messages: Iterable[Message]) -> None:
        for name, partition, _, value in messages:
            self.logs[name, partition].append(DECODERS[name](value or b""))

    def publish(self, facts: Iterable[JudgedPage | Step]) -> None:
        """Write what judge and observers say, the last of it twice, as after a crash of theirs."""
        judge, log = Outbox("pages/0"), Outbox("log/0")
        messages: list[Message] = []
        for offset, fact in enumerate(facts):
            source = judge if isinstance(fact, JudgedPage) else log
            source.begin(offset)
            if isinstance(fact, Step):
                source.emit(ACCESSES.name, partition_of(fact.user, len(self.users)), access_of(fact))
            else:
                for partition, sighting in sightings_of(fact, len(self.shards)):
                    source.emit(SIGHTINGS.name, partition, sighting)
            messages = source.take()
            self.send(messages)
        self.send(messages)

    # what a shard does

    def unread(self) -> list[Part]:
        return [part for part in self.parts if self.shard(part).mark.offset + 1 < len(self.logs[part])]

    def read(self, part: Part) -> None:
        shard = self.shard(part)
        offset = shard.mark.offset + 1
        for fact in shard.accept(offset, self.logs[part][offset]):
            (self.browse if part[0] == ACCESSES.name else self.book).absorb(shard, fact)
            if isinstance(fact, Judged):
                self._answered.add(fact.url)

    def crash(self, part: Part, *, sent: bool) -> None:
        group = self.shard(part).close_group()
        if sent:
            self.send(group.emissions)
        name, n = part
        if name == ACCESSES.name:
            self.users[n] = self.place.users.shard(UserRow, ACCESSES, n)
        else:
            self.shards[n] = a_shard(self.place.pages, n)

    def choose(self, page: JudgedPage, choice: Choice, *, late: bool) -> None:
        """Order the fetch of a page, if it is a candidate, as the agent does.

        Not where a verdict was absorbed that a crash undid, but for ``late`` choices: only a page that was
        chosen before, by an order that is past its time, can be chosen then.
        """
        row, shard = self.page(page.url), self.shards[self.partition(page.url)]
        if (page.url in self._answered and not late) or row is None or row.state != "candidate":
            return
        row.state, row.attempts, row.choice = "leased", row.attempts + 1, choice
        row.inputs = {"p": INPUTS, "q": INPUTS}
        shard.put(page_key(page.url), row)
        self.send(write(shard))
        for predicate, holds in page.verdict.items() if not page.silent else ():
            chosen = "explored" if choice.explored else "selected"
            chosen = chosen if predicate == choice.predicate else "other"
            self.expected.append(Label(predicate, INPUTS, holds, chosen))

    def end(self, pages: list[JudgedPage], random: Random, *, late: bool) -> None:
        """Absorb all there is, with crashes in between."""
        crashes = 30
        while parts := self.unread():
            part = random.choice(parts)
            self.read(part)
            what = random.random()
            if what < 0.3:
                self.send(write(self.shard(part)))
            elif what < 0.6 and crashes:
                crashes -= 1
                self.crash(part, sent=random.random() < 0.5)
            elif what < 0.8 and pages:
                choice = Choice(random.choice("pq"), "learned", random.random() < 0.5, 1.0, 0.0, 1.0)
                self.choose(random.choice(pages), choice, late=late)
            if not self.unread():
                for each in self.parts:
                    self.send(write(self.shard(each)))

    def learned(self) -> tuple[Counts, Counter[Label]]:
        """Return what the learner is told, each fact once."""
        counts, labels = Counts(), Counter[Label]()
        for partition in range(EVIDENCE_PARTITIONS):
            learner: Shard[PageRow] = self.place.nothing.shard(PageRow, EVIDENCE, partition)
            for offset, pack in enumerate(self.logs[EVIDENCE.name, partition]):
                for fact in learner.accept(offset, pack):
                    if isinstance(fact, Label):
                        labels[fact] += 1
                    else:
                        add(counts, fact)
        return counts, labels


def mixed(pages: list[JudgedPage], steps: list[Step], random: Random) -> list[JudgedPage | Step]:
    """Return pages and accesses in any order that is that of the log for the accesses."""
    places = sorted(random.sample(range(len(pages) + len(steps)), len(steps)))
    facts: list[JudgedPage | Step] = random.sample(pages, len(pages))
    for place, step in zip(places, steps, strict=True):
        facts.insert(place, step)
    return facts


@pytest.mark.parametrize("policy", ["linkage", "combined", "learned"])
@given(told(SOME_SILENT), st.booleans())
def test_crashes_at_any_step_change_no_count_and_no_label(
    place: Place, policy: str, given: Told, late: bool
) -> None:
    random, crashing = Random(given.seed), Crashing(place, given.crawl(policy))
    crashing.publish(mixed(given.pages, given.steps, random))
    crashing.end(given.pages, random, late=late)
    counts, labels = crashing.learned()
    trace, parents = given.bounds.trace(given.steps), given.bounds.parents
    assert counts == plain(recount(given.pages, policy, trace, parents))
    expected = Counter(crashing.expected)
    assert labels == expected or (late and not labels - expected)
