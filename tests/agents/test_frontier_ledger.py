"""A frontier knows what the learners told, and its own verdicts since, each once: whatever is lost."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from scentline.agents.frontier.ledger import MOST_OWN, FrontierLedger, OwnCount
from scentline.agents.learn.rows import BLOCK, LearnRow
from scentline.agents.learn.store import FeatureStore, LearnShard
from scentline.agents.learn.telling import Telling
from scentline.models.interest.features import BASE
from scentline.models.ledger import Ledger, Slots
from scentline.streams.facts import Count
from scentline.streams.outbox import Message
from scentline.streams.records import Decoder, Interests, Pack
from scentline.streams.topics import EVIDENCE
from tests.agents.cells import a_change, a_count, add, cells_of
from tests.agents.shards import Disk, write
from tests.reference.counts import Counts

WORKERS = 3


class Learns:
    """A scorer that keeps what it learns."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.cells: dict[str, dict[str, tuple[int, int]]] = {}

    def learn(self, slots: Slots) -> None:
        cells = self.ledger.take(slots)
        for place, name in enumerate(cells.names):
            counts = zip(cells.predicates, cells.pages[:, place], cells.hits[:, place], strict=True)
            self.cells[str(name)] = {name: (int(pages), int(hits)) for name, pages, hits in counts if pages}

    def forget(self, slots: Slots, names: Sequence[str]) -> None:
        assert len(slots) == len(names)
        for name in names:
            self.cells.pop(name, None)

    def known(self) -> dict[str, dict[str, tuple[int, int]]]:
        return {name: cells for name, cells in self.cells.items() if cells}


def a_ledger(limit: int = 10_000) -> tuple[FrontierLedger, Learns]:
    learns: Any = Learns()
    return FrontierLedger(limit, learns), learns


class Crawl:
    """Frontiers and one learner: the former write to ``evidence``, the latter to ``topic``.

    Each frontier reads what is told as far as it likes.
    """

    def __init__(self, rows: Disk) -> None:
        self._rows = rows
        self.evidence: list[tuple[str, tuple[int, int], Count]] = []
        self.topic: list[Message] = []
        self.frontiers = [a_ledger() for _ in range(WORKERS)]
        self.read = [0] * WORKERS
        self.offsets = [0] * WORKERS
        self.start_learner()

    def start_learner(self) -> None:
        """Start one where the rows end: what the one before had not written comes again."""
        self.shard: LearnShard = self._rows.shard(LearnRow, EVIDENCE)
        self.store = FeatureStore(self.shard, 10_000)
        self.telling = Telling(self.shard, self.store)

    def judge(self, worker: int, facts: Sequence[Count], *, told_first: bool) -> None:
        """Have a frontier count facts: they are in ``evidence`` before its group is safe."""
        self.offsets[worker] += 1
        source, counts = f"sightings/{worker}", own(self.offsets[worker], *facts)
        self.evidence += [(source, count.origin, fact) for count, fact in zip(counts, facts, strict=True)]
        if told_first:
            self.learn(len(self.evidence))
            self.commit()
            self.tell()
            self.hear(worker)
        self.frontiers[worker][0].count(source, counts)

    def learn(self, most: int) -> None:
        """Have the learner take in some evidence, a message a fact."""
        start = self.shard.mark.offset + 1
        for offset, (source, origin, fact) in enumerate(self.evidence[start : start + most], start):
            pack: Pack[Count] = Pack(source=source, facts=[(*origin, fact)])
            for each in self.shard.accept(offset, pack):
                self.store.add(each)

    def commit(self, *, killed: bool = False) -> None:
        """Have the learner end its group; ``killed``, it dies when that is told and not written yet."""
        if killed:
            self.shard.close_group()
            self.tell()
            self.start_learner()
        else:
            write(self.shard)
            self.store.committed()

    def tell(self, features: int | None = None) -> None:
        """Have the learner tell what changed, of so many features at most."""
        self.topic += self.telling.messages(features)[0]

    def hear(self, worker: int, most: int = 1000) -> None:
        """Have a frontier read some of what was told."""
        found = self.topic[self.read[worker] : self.read[worker] + most]
        self.read[worker] += len(found)
        hear(self.frontiers[worker], found)

    def expected(self) -> dict[str, dict[str, tuple[int, int]]]:
        """Return all that was judged."""
        counts = Counts()
        for _, _, fact in self.evidence:
            add(counts, fact)
        return cells_of(counts)


def compacted(topic: Sequence[Message]) -> list[Message]:
    """Return what a compacted topic keeps of what was told."""
    last = {key: place for place, (_, _, key, _) in enumerate(topic)}
    return [message for place, message in enumerate(topic) if last[message[2]] == place]


def messages_of(topic: Sequence[Message]) -> list[Interests]:
    decode = Decoder[Interests](Interests)
    return [decode(value) for _, _, _, value in topic if value is not None]


def hear(reading: tuple[FrontierLedger, Learns], messages: Sequence[Message]) -> Learns:
    """Have a frontier read what was told; return what it knows then."""
    for told in messages_of(messages):
        reading[0].hear(told)
    return reading[1]


def own(number: int, *facts: Count) -> list[OwnCount]:
    """Return what a message with these facts counts."""
    return [OwnCount(0, (number, place), a_change(fact)) for place, fact in enumerate(facts)]


@pytest.mark.parametrize("seed", range(16))
def test_each_frontier_knows_every_count_once_whatever_is_lost_on_the_way(rows: Disk, seed: int) -> None:
    random = Random(seed)
    names = [f"w:{number}" for number in range(40)]
    crawl = Crawl(rows)
    for _ in range(120):
        step = random.random()
        worker = random.randrange(WORKERS)
        if step < 0.4:
            facts = [
                a_count((BASE, *random.sample(names, 5)), {"p": random.random() < 0.3, "q": False})
                for _ in range(random.randint(1, 3))
            ]
            crawl.judge(worker, facts, told_first=random.random() < 0.2)
        elif step < 0.6:
            crawl.learn(random.randint(1, 6))
        elif step < 0.75:
            crawl.commit(killed=random.random() < 0.2)
        elif step < 0.85:
            crawl.tell(random.choice([None, 3, 10]))
        elif step < 0.88:
            crawl.start_learner()  # it was killed in the middle of a group
        elif step < 0.9:
            crawl.frontiers[worker], crawl.read[worker] = a_ledger(), 0  # so was a frontier
        else:
            crawl.hear(worker, random.randint(1, 4))
    crawl.learn(10_000)
    crawl.commit()
    crawl.tell()
    assert hear(a_ledger(), compacted(crawl.topic)).known() == crawl.expected()
    for worker, (_, learns) in enumerate(crawl.frontiers):
        crawl.hear(worker)
        assert learns.known() == crawl.expected()


def test_beyond_the_limit_the_rarest_are_forgotten_and_the_few_are_kept() -> None:
    ledger, learns = a_ledger(limit=10)
    for number in range(30):
        ledger.count("sightings/0", own(number, a_count((BASE, "w:often", f"w:{number}"), {"p": True})))
    assert {BASE, "w:often"} < learns.known().keys()
    assert len(learns.known()) <= 10


def test_of_a_learner_that_tells_nothing_no_more_than_so_many_counts_wait() -> None:
    ledger, _ = a_ledger()
    fact = a_count(("w:a",), {"p": True})
    for number in range(3):
        ledger.count("sightings/0", own(number, *[fact] * (MOST_OWN // 2)))
    assert len(ledger._own[0]) == MOST_OWN


def test_what_a_topic_keeps_of_what_was_told_is_bounded_however_long_a_crawl_is(rows: Disk) -> None:
    crawl = Crawl(rows)
    names = tuple(f"w:{number}" for number in range(100))
    for number in range(300):
        crawl.judge(0, [a_count(names, {"p": number % 2 == 0})], told_first=True)
    assert len(crawl.topic) > 300
    assert len(compacted(crawl.topic)) < 70


def test_a_learner_that_begins_tells_all_it_has_in_rounds_and_how_many_were_judged_in_each(rows: Disk) -> None:
    names = [f"w:{number}" for number in range(5 * BLOCK)]
    crawl = Crawl(rows)
    crawl.judge(0, [a_count((BASE, *names), {"p": True})], told_first=True)
    reading, topic = a_ledger(), crawl.topic
    hear(reading, topic)
    crawl.start_learner()
    crawl.topic, rounds = [], 0
    while crawl.telling.waiting or not rounds:
        # What is judged while it tells what it has takes nothing out of the topic that was not told again.
        crawl.judge(1, [a_count((BASE, "w:0", f"w:new{rounds}"), {"p": False})], told_first=False)
        crawl.learn(1)
        crawl.commit()
        messages, told = crawl.telling.messages(BLOCK)
        crawl.topic += messages
        assert told <= 2 * BLOCK
        rounds += 1
        assert hear(reading, messages).cells[BASE] == crawl.expected()[BASE]
        if rounds in (1, 3):
            known = hear(a_ledger(), compacted([*topic, *crawl.topic])).known()
            assert all(known[name] == {"p": (1, 1)} for name in names[1:])
    assert rounds > 4
    starting = hear(a_ledger(), compacted([*topic, *crawl.topic]))
    assert reading[1].known() == starting.known() == crawl.expected()


@pytest.mark.parametrize("most", [3, 50])
def test_no_change_is_told_later_than_all_that_changed_can_be_told_once(rows: Disk, most: int) -> None:
    names = [f"w:{number}" for number in range(400)]
    crawl, random = Crawl(rows), Random(most)
    crawl.judge(0, [a_count((BASE, *names), {"p": True})], told_first=True)
    late = dict.fromkeys(names, 0)
    for _ in range(600):
        changed = random.sample(names, 20)
        crawl.judge(0, [a_count((BASE, *changed), {"p": True})], told_first=False)
        crawl.learn(1)
        crawl.commit()
        told = {name for message in messages_of(crawl.telling.messages(most)[0]) for name in message.names}
        late = {name: 0 if name in told else late[name] + (late[name] > 0 or name in changed) for name in names}
        assert max(late.values()) <= len(names) // (most - 1) + 1
