"""Frontiers that count their own partitions, and hear of the others' blocks, know every count once.

Whatever is lost: groups before they are written, partitions that move; and words of an earlier owner come late.
"""

from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from scentline.agents.frontier.agent import FrontierShard, block_message
from scentline.models.frontier.keys import BLOCK_PREFIX, SEGMENT_PREFIX, totals_of
from scentline.models.frontier.ledger import CountRows
from scentline.models.frontier.rows import CountsRow, FrontierRow
from scentline.models.ledger import Change, Ledger
from scentline.models.parts import BLOCK, Part, blocks_in
from scentline.models.policy.features import BASE, always_kept
from scentline.models.records import Decoder, Interests
from scentline.streams.inbox import Codec, Message, Shard
from scentline.streams.topics import INTERESTS
from scentline_lab.simulation.core import Memory
from tests.agents.cells import a_change, a_ledger, add, taken_back
from tests.patience import more
from tests.reference.counts import Counts, plain

EVERYTHING = 1_000_000
CODEC: Codec[FrontierRow] = Codec(FrontierRow)
_decode = Decoder[Interests](Interests)


def a_shard(rows: Memory, partition: int = 0) -> FrontierShard:
    return Shard(partition, f"sightings/{partition}", rows, CODEC, 1000)


class Worker:
    """A process: its ledger, its shards, and how far it has heard what was told."""

    def __init__(self, partitions: int, counted: int) -> None:
        self.ledger, self.learns = a_ledger(partitions, counted)
        self.shards: dict[int, FrontierShard] = {}
        #: Of each shard what its open group counts, and the messages that it has.
        self.open: dict[int, list[Change]] = {}
        self.heard = 0

    def own(self, partition: int, rows: Memory) -> None:
        shard = self.shards[partition] = a_shard(rows, partition)
        self.open[partition] = []
        self.ledger.open(shard)
        shard.closing = lambda: self.ledger.count(partition, self.taken(partition))

    def taken(self, partition: int) -> list[Change]:
        changes, self.open[partition] = self.open[partition], []
        return changes

    def lose(self, partition: int) -> None:
        del self.shards[partition], self.open[partition]
        self.ledger.close(partition)


class Crawl:
    """Workers that own partitions, each of which reads a log of changes; what they tell goes to one topic."""

    def __init__(self, partitions: int, workers: int, counted: int = EVERYTHING) -> None:
        self.counted = counted
        self.logs: list[list[list[Change]]] = [[] for _ in range(partitions)]
        self.rows = [Memory() for _ in range(partitions)]
        self.topic: list[Message | None] = []
        self.late: list[Message] = []
        self.workers = [Worker(partitions, counted) for _ in range(workers)]
        self.owners = [partition % workers for partition in range(partitions)]
        for partition, owner in enumerate(self.owners):
            self.workers[owner].own(partition, self.rows[partition])

    def owner(self, partition: int) -> Worker:
        return self.workers[self.owners[partition]]

    def absorb(self, partition: int, most: int) -> None:
        worker = self.owner(partition)
        shard, log = worker.shards[partition], self.logs[partition]
        for offset in range(shard.mark.offset + 1, len(log))[:most]:
            shard.begin(offset)
            worker.open[partition] += log[offset]

    def commit(self, partition: int) -> None:
        worker = self.owner(partition)
        shard = worker.shards[partition]
        self.rows[partition].put(shard.close_group().rows)
        shard.landed()
        worker.ledger.committed(partition)

    def undo(self, partition: int) -> None:
        worker = self.owner(partition)
        worker.shards[partition].roll_back()
        worker.open[partition] = []

    def move(self, partition: int, to: int, *, closed: bool) -> None:
        """Give a partition to a worker; the open group is lost, ``closed`` or not."""
        worker = self.owner(partition)
        if closed:
            worker.shards[partition].close_group()
        worker.lose(partition)
        self.owners[partition] = to
        self.workers[to].own(partition, self.rows[partition])

    def kill(self, number: int) -> None:
        """Have a process in a worker's place, which hears all that was told."""
        worker = self.workers[number] = Worker(len(self.owners), self.counted)
        self.hear(number, len(self.topic))
        for partition, owner in enumerate(self.owners):
            if owner == number:
                worker.own(partition, self.rows[partition])

    def tell(self, number: int, most: int, *, late: bool = False) -> bool:
        """Have a worker tell, or be stopped in the middle of it: its words come late. Return whether it did."""
        blocks, _ = self.workers[number].ledger.tell(most)
        (self.late if late else self.topic).extend(map(block_message, blocks))
        return bool(blocks)

    def come_late(self) -> None:
        self.topic += self.late
        self.late = []

    def hear(self, number: int, most: int) -> None:
        """Have a worker hear what was told, as far as it has been compacted away."""
        worker = self.workers[number]
        heard = self.topic[worker.heard :][:most]
        worker.heard += len(heard)
        for message in filter(None, heard):
            worker.ledger.hear(told(message))

    def compact(self) -> None:
        last = {message[2]: place for place, message in enumerate(self.topic) if message is not None}
        self.topic = [
            message if message is not None and last[message[2]] == place else None
            for place, message in enumerate(self.topic)
        ]

    def settle(self) -> None:
        self.come_late()
        for partition in [*range(len(self.logs))] * 2:  # what the last one had others forget, too
            self.absorb(partition, EVERYTHING)
            self.commit(partition)
        numbers = range(len(self.workers))
        while sum(self.tell(number, EVERYTHING) for number in numbers):
            for number in numbers:
                self.hear(number, EVERYTHING)

    def written(self) -> tuple[list[Part], Counts]:
        ledger = Ledger()
        parts = [Part(ledger) for _ in self.rows]
        for part, rows in zip(parts, self.rows, strict=True):
            CountRows(a_shard(rows), part)
        return parts, plain(ledger)

    @property
    def forgotten(self) -> int:
        return sum(totals_of(a_shard(rows)).forgotten for rows in self.rows)

    def expected(self) -> Counts:
        counts = Counts()
        for log in self.logs:
            for message in log:
                for change in message:
                    add(counts, change)
        return counts


def told(message: Message) -> Interests:
    topic, _, _, value = message
    assert topic == INTERESTS.name
    return _decode(value or b"")


NAMES = [BASE, "l:p:1", *(f"w:{number}" for number in range(12))]
CHANGES = st.builds(
    a_change,
    st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=5),
    st.dictionaries(st.sampled_from("pq"), st.booleans(), min_size=1),
    st.integers(1, 3),
)


class Act(NamedTuple):
    """Something that happens: what, to which partition, by which worker, how much of it."""

    what: str
    partition: int
    worker: int
    most: int
    changes: list[Change]


def acts(partitions: int, workers: int) -> SearchStrategy[list[Act]]:
    whats = [
        "judge", "judge", "judge", "take back", "absorb", "absorb", "commit", "commit", "undo", "move", "lose",
        "kill", "tell", "tell", "stop telling", "come late", "hear", "hear", "compact",
    ]  # fmt: skip
    return st.lists(
        st.builds(
            Act,
            st.sampled_from(whats),
            st.integers(0, partitions - 1),
            st.integers(0, workers - 1),
            st.integers(1, 40),
            st.lists(CHANGES, min_size=1, max_size=2),
        ),
        max_size=40,
    )


def happen(crawl: Crawl, act: Act) -> None:
    log = crawl.logs[act.partition]
    match act.what:
        case "judge":
            log.append(act.changes)
        case "take back":
            # Whatever was counted, once: its partition judged it before.
            back = [change for message in log for change in message if min(change.times) > 0]
            known = {id(change.features) for message in log for change in message if min(change.times) < 0}
            for change in [change for change in back if id(change.features) not in known][:1]:
                log.append([taken_back(change)])
        case "absorb":
            crawl.absorb(act.partition, act.most)
        case "commit":
            crawl.commit(act.partition)
        case "undo":
            crawl.undo(act.partition)
        case "move" | "lose":
            crawl.move(act.partition, act.worker, closed=act.what == "lose")
        case "kill":
            crawl.kill(act.worker)
        case "tell" | "stop telling":
            crawl.tell(act.worker, act.most, late=act.what == "stop telling")
        case "come late":
            crawl.come_late()
        case "hear":
            crawl.hear(act.worker, act.most)
        case _:
            crawl.compact()


@pytest.mark.parametrize(("block", "counted"), [(2, EVERYTHING), (BLOCK, EVERYTHING), (2, 8)])
@more(4)
@given(st.data())
def test_each_count_is_known_once_whatever_is_lost(block: int, counted: int, data: st.DataObject) -> None:
    partitions, workers = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scentline.models.parts.BLOCK", block)
        patch.setattr("scentline.models.frontier.ledger.BLOCK", block)
        crawl = Crawl(partitions, workers, counted)
        for act in data.draw(acts(partitions, workers)):
            happen(crawl, act)
        crawl.settle()
        parts, written = crawl.written()
        check(crawl, written)
        for number, worker in enumerate(crawl.workers):
            if worker.shards:
                worker.learns.check(written)
                crawl.kill(number)
                crawl.workers[number].learns.check(written)
        if len(set(crawl.owners)) > 1:
            crawl.compact()
            blocks = sum(max(1, blocks_in(part.size)) for part in parts)
            assert sum(message is not None for message in crawl.topic) <= blocks
            ledger, learns = a_ledger(partitions)
            for message in filter(None, crawl.topic):
                ledger.hear(told(message))
            learns.check(written)


def check(crawl: Crawl, written: Counts) -> None:
    """Assert that all that was judged is in the rows: where some is forgotten, no more than that."""
    expected = crawl.expected()
    if not crawl.forgotten:
        assert written == expected
        return
    for name, predicate, pages, hits in written.items():
        most_pages, most_hits = expected.get(name, predicate)
        assert 0 <= pages <= most_pages and 0 <= hits <= min(pages, most_hits)
    few = [[each for each in counts.items() if always_kept(each[0])] for counts in (written, expected)]
    assert sorted(few[0]) == sorted(few[1])


@pytest.mark.parametrize("seed", range(2))
def test_counts_stay_exact_in_bounded_rows_however_long_a_crawl_is(seed: int) -> None:
    random = Random(seed)
    names = [f"w:{number}" for number in range(3 * BLOCK)]
    crawl, written = Crawl(1, 1), 0
    for number in range(300):
        some = random.sample(names, random.choice([1, 30, 200]))
        change = a_change(some, {"p": random.random() < 0.3, "q": False})
        crawl.logs[0].append([change, change, taken_back(change)][: random.choice([1, 3])])
        crawl.absorb(0, EVERYTHING)
        crawl.commit(0)
        written += len(some)
        if number % 50 == 49:
            crawl.kill(0)
    crawl.workers[0].learns.check(crawl.expected())
    features = crawl.workers[0].ledger.features
    assert features == len({name for name, *_ in crawl.expected().items()} | {BASE})
    prefixes = (BLOCK_PREFIX, SEGMENT_PREFIX)
    kept = [CODEC.decode(raw) for prefix in prefixes for _, raw in crawl.rows[0].scan(prefix)]
    entries = sum(len(row.names) for row in kept if isinstance(row, CountsRow))
    assert entries <= 5 * features + 200 < written
