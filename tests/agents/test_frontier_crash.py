"""Browse and frontier shards that crash again and again tell the learner everything once, labels included."""

from collections import Counter
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.browse.agent import BrowseAgent, UserRow
from scentline.agents.frontier.book import Book
from scentline.agents.frontier.keys import page_key
from scentline.agents.frontier.rows import Choice, FrontierRow, PageRow
from scentline.models.crowd.trace import Step
from scentline.models.recount import JudgedPage, recount
from scentline.models.url import host
from scentline.streams.facts import AccessPack, EvidencePack, Judged, Label, SightingPack
from scentline.streams.inbox import Shard
from scentline.streams.outbox import Message, Outbox
from scentline.streams.records import Decoder, Pack
from scentline.streams.topics import ACCESSES, EVIDENCE, SIGHTINGS, partition_of
from tests.agents.cells import add
from tests.agents.pipeline import (
    EVIDENCE_PARTITIONS,
    TIGHT,
    WIDE,
    Bounds,
    Crawl,
    Place,
    a_place,
    access_of,
    sightings_of,
)
from tests.agents.shards import write
from tests.models.webs import SOME_SILENT, STEPS
from tests.reference.counts import Counts, plain

#: A partition of a topic.
Part: TypeAlias = tuple[str, int]
INPUTS = (0.5, 1.0)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with a_place(tmp_path_factory.mktemp("place")) as opened:
        yield opened


class Crashing:
    """Shards that read logs of messages, whose open groups may be lost at any time, once sent or before."""

    def __init__(self, place: Place, crawl: Crawl) -> None:
        for rows in (place.pages, place.users):
            rows.clear()
        settings, browse = place.agent(crawl)
        self._place = place
        self._handlers: dict[str, BrowseAgent | Book] = {
            ACCESSES.name: browse,
            SIGHTINGS.name: Book(
                settings.frontier, EVIDENCE_PARTITIONS, crawl.partitions, settings.fetch.redirects
            ),
        }
        self._decoders: dict[str, Decoder[Pack[Any]]] = {
            ACCESSES.name: Decoder[Pack[Any]](AccessPack),
            SIGHTINGS.name: Decoder[Pack[Any]](SightingPack),
            EVIDENCE.name: Decoder[Pack[Any]](EvidencePack),
        }
        self._partitions = crawl.partitions
        parts = [(name, n) for name in self._handlers for n in range(crawl.partitions)]
        self.logs: dict[Part, list[Pack[Any]]] = {part: [] for part in parts}
        self.logs.update({(EVIDENCE.name, n): [] for n in range(EVIDENCE_PARTITIONS)})
        self.shards: dict[Part, Shard[Any]] = {part: self._open(part) for part in parts}
        self.expected: list[Label] = []
        self._answered: set[str] = set()

    def _open(self, part: Part) -> Shard[Any]:
        name, partition = part
        if name == ACCESSES.name:
            return self._place.users.shard(UserRow, ACCESSES, partition)
        return self._place.pages.shard(FrontierRow, SIGHTINGS, partition)

    def send(self, messages: Iterable[Message]) -> None:
        for name, partition, _, value in messages:
            self.logs[name, partition].append(self._decoders[name](value or b""))

    # sources

    def publish(self, facts: Iterable[JudgedPage | Step]) -> None:
        """Write what judge and observers say, the last of it twice, as after a crash of theirs."""
        judge, log = Outbox("pages/0"), Outbox("log/0")
        messages: list[Message] = []
        for offset, fact in enumerate(facts):
            source = judge if isinstance(fact, JudgedPage) else log
            source.begin(offset)
            if isinstance(fact, Step):
                source.emit(ACCESSES.name, partition_of(fact.user, self._partitions), access_of(fact))
            else:
                for partition, sighting in sightings_of(fact, self._partitions):
                    source.emit(SIGHTINGS.name, partition, sighting)
            messages = source.take()
            self.send(messages)
        self.send(messages)

    # what a shard does

    def waiting(self) -> list[Part]:
        return [part for part, shard in self.shards.items() if shard.mark.offset + 1 < len(self.logs[part])]

    def absorb(self, part: Part) -> None:
        shard = self.shards[part]
        offset = shard.mark.offset + 1
        for fact in shard.accept(offset, self.logs[part][offset]):
            self._handlers[part[0]].absorb(shard, fact)
            if isinstance(fact, Judged):
                self._answered.add(fact.url)

    def commit(self, part: Part) -> None:
        self.send(write(self.shards[part]))

    def crash(self, part: Part, *, sent: bool) -> None:
        group = self.shards[part].close_group()
        if sent:
            self.send(group.emissions)
        self.shards[part] = self._open(part)

    def choose(self, page: JudgedPage, choice: Choice, *, late: bool) -> None:
        """Order the fetch of a page, if it is a candidate, as the agent does.

        Not where a verdict was absorbed that a crash undid, but for ``late`` choices: only a page that was
        chosen before, by an order that is past its time, can be chosen then.
        """
        if page.url in self._answered and not late:
            return
        part = SIGHTINGS.name, partition_of(host(page.url), self._partitions)
        row = self.shards[part].get(page_key(page.url))
        if not isinstance(row, PageRow) or row.state != "candidate":
            return
        row.state, row.attempts, row.choice = "leased", row.attempts + 1, choice
        row.inputs = {"p": INPUTS, "q": INPUTS}
        self.shards[part].put(page_key(page.url), row)
        self.commit(part)
        for predicate, holds in page.verdict.items() if not page.silent else ():
            chosen = "explored" if choice.explored else "selected"
            chosen = chosen if predicate == choice.predicate else "other"
            self.expected.append(Label(predicate, INPUTS, holds, chosen))

    def run(self, pages: list[JudgedPage], random: Random, *, late: bool) -> None:
        """Absorb all there is, with crashes in between."""
        crashes = 30
        while parts := self.waiting():
            part = random.choice(parts)
            self.absorb(part)
            what = random.random()
            if what < 0.3:
                self.commit(part)
            elif what < 0.6 and crashes:
                crashes -= 1
                self.crash(part, sent=random.random() < 0.5)
            elif what < 0.8 and pages:
                choice = Choice(random.choice("pq"), "learned", random.random() < 0.5, 1.0, 0.0, 1.0)
                self.choose(random.choice(pages), choice, late=late)
            if not self.waiting():
                for each in self.shards:
                    self.commit(each)

    def learned(self) -> tuple[Counts, list[Label]]:
        """Return what the learner is told, each fact once."""
        counts, labels = Counts(), []
        for partition in range(EVIDENCE_PARTITIONS):
            learner: Shard[PageRow] = self._place.nothing.shard(PageRow, EVIDENCE, partition)
            for offset, pack in enumerate(self.logs[EVIDENCE.name, partition]):
                for fact in learner.accept(offset, pack):
                    if isinstance(fact, Label):
                        labels.append(fact)
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
@given(
    SOME_SILENT, STEPS, st.integers(1, 3), st.sampled_from([WIDE, TIGHT]), st.booleans(), st.integers(0, 10_000)
)
def test_crashes_at_any_step_change_no_count_and_no_label(
    place: Place,
    policy: str,
    pages: list[JudgedPage],
    steps: list[Step],
    partitions: int,
    bounds: Bounds,
    late: bool,
    seed: int,
) -> None:
    random = Random(seed)
    crashing = Crashing(place, Crawl(policy, partitions, bounds))
    facts = mixed(pages, steps, random)
    crashing.publish(facts)
    crashing.run(pages, random, late=late)
    counts, labels = crashing.learned()
    assert counts == plain(recount(pages, policy, bounds.trace(steps), bounds.parents))
    if late:
        assert not Counter(labels) - Counter(crashing.expected)
    else:
        assert Counter(labels) == Counter(crashing.expected)
