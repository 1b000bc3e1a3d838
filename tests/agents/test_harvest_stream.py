"""One stream a predicate: no point counts a page twice or goes back, whoever holds, loses or takes what.

A page counts as it was judged first, however often its outcome comes and whatever becomes of it.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from scentline.agents.harvest import HarvestAgent, HarvestStream, HarvestTableRow
from scentline.models.harvest import Harvest, merged
from scentline.models.published import Counted, HarvestPoint
from scentline.models.records import Pack, partition_of
from scentline.streams.inbox import Codec, Message, Shard
from scentline.streams.runtime import FencedError, Runtime
from scentline.streams.settings import HarvestSettings, Settings
from scentline.streams.topics import HARVEST, OUTCOMES, STANDING
from scentline.streams.transport.database import Entry, Record
from scentline_lab.simulation.core import Memory
from tests.agents.loopback import awaited
from tests.agents.shards import a_runtime

PARTITIONS, WORKERS = 3, 3
#: Named so that each partition has one at least.
PREDICATES = ("a", "b", "g", "i")
WINDOW, SECONDS, NOW = 5, 60.0, 110.0
#: What a worker that stands still is about to do.
APPEND = "append"
HARVESTED = HarvestSettings(interval_seconds=1e6, window_pages=WINDOW, window_seconds=SECONDS)

Table: TypeAlias = Shard[HarvestTableRow]
Gate: TypeAlias = asyncio.Future[None]


class Broker:
    """Topics in memory, with a broker's fence: who writes to a partition last took it over."""

    def __init__(self) -> None:
        self.parts: list[Entry] = []
        self.points: dict[int, list[HarvestPoint]] = {n: [] for n in range(PARTITIONS)}
        self.epochs, self.fences = [0] * PARTITIONS, [0] * PARTITIONS
        self.holders: dict[int, Table] = {}
        self.tables = [Memory() for _ in range(PARTITIONS)]
        self.gates: dict[Gate, str] = {}
        self.failures: list[BaseException] = []
        self._open = False
        self._more = asyncio.Event()

    async def pause(self, before: str = "") -> None:
        """Come to where a worker may be frozen: it goes on when the scheduler says so."""
        if not self._open:
            gate: Gate = asyncio.get_running_loop().create_future()
            self.gates[gate] = before
            try:
                await gate
            finally:
                del self.gates[gate]

    def let_go(self, but: Gate | None = None) -> None:
        for gate in self.gates:
            if gate is not but and not gate.done():
                gate.set_result(None)

    def open_gates(self) -> None:
        self._open = True
        self.let_go()

    # as a reader

    def partitions(self, topic: str) -> int:
        return PARTITIONS if topic in (OUTCOMES.name, HARVEST.name) else 1

    async def fetch(self, topic: str, partition: int, offset: int, limit: int) -> Sequence[Entry]:
        found = self.parts[offset : offset + limit]
        await self.pause()
        return found

    async def ends(self, topic: str) -> Mapping[int, int]:
        return {0: len(self.parts) if topic == STANDING.name else 0}

    async def wait(self, positions: Mapping[tuple[str, int], int]) -> Mapping[tuple[str, int], int]:
        while len(self.parts) <= positions[STANDING.name, 0]:
            self._more.clear()
            await self._more.wait()
        return {(STANDING.name, 0): len(self.parts)}

    def tell(self, messages: Sequence[Message]) -> None:
        for topic, partition, key, value in messages:
            assert (topic, partition) == (STANDING.name, 0)
            self.parts.append(Entry(len(self.parts), 0.0, key, value))
        self._more.set()


class Way:
    """A worker's bus."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._epochs: dict[int, int] = {}
        self.partitions = broker.partitions
        self.fetch, self.ends, self.wait = broker.fetch, broker.ends, broker.wait

    async def send_all(self, entries: Sequence[Message]) -> None:
        await self._broker.pause()
        self._broker.tell(entries)
        await self._broker.pause()

    async def take_over(self, topic: str, partition: int) -> None:
        assert topic == HARVEST.name
        await self._broker.pause()
        self._broker.epochs[partition] += 1
        self._epochs[partition] = self._broker.epochs[partition]
        await self._broker.pause()

    def release(self, topic: str, partition: int) -> None:
        self._epochs.pop(partition, None)

    async def append_batch(self, topic: str, partition: int, records: Sequence[Record]) -> int:
        broker, epoch = self._broker, self._epochs.get(partition)
        await broker.pause(APPEND)
        if epoch is None or epoch < broker.fences[partition]:
            raise FencedError("another writer has it")
        broker.fences[partition] = epoch
        points = [msgspec.json.decode(value or b"", type=HarvestPoint) for _, value in records]
        broker.points[partition] += points
        await broker.pause()
        return len(broker.points[partition]) - len(points)


class Worker:
    """A worker with its stream; it is the stream's inbox too."""

    def __init__(self, agent: HarvestAgent, broker: Broker) -> None:
        self._broker = broker
        self.topic = OUTCOMES
        self.shards: dict[int, Table] = {}
        way: Any = Way(broker)
        inbox: Any = self
        known = agent.inbox.runtime
        runtime = Runtime(known.app, known.settings, way, broker.failures.append, lambda: NOW)
        self.stream = HarvestStream(runtime, inbox)
        self._tasks = [asyncio.create_task(self.stream.run())]

    def owns(self, shard: Table) -> bool:
        return self._broker.holders.get(shard.partition) is shard

    def take(self, partition: int) -> None:
        self.lose(partition)
        store = Memory()
        store.put(dict(self._broker.tables[partition].scan(b"")))
        shard: Table = Shard(partition, f"{OUTCOMES.name}/{partition}", store, Codec(HarvestTableRow), 100)
        self.shards[partition] = self._broker.holders[partition] = shard

    def lose(self, partition: int) -> None:
        if self.shards.pop(partition, None) is not None:
            self.stream.lost(partition)

    def tell(self) -> None:
        if len(self._tasks) == 1 or self._tasks[-1].done():
            self._tasks[1:] = [asyncio.create_task(self.stream.tell())]

    async def told(self) -> None:
        await asyncio.gather(*self._tasks[1:])

    async def die(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class World:
    """Workers that share the partitions out again and again, and what each partition has to count."""

    def __init__(self, agent: HarvestAgent, random: Random, pages: list[Counted]) -> None:
        self._agent = agent
        self._random = random
        self.broker = Broker()
        self.logs: dict[int, list[Counted]] = {n: [] for n in range(PARTITIONS)}
        for page in pages:
            self.logs[partition_of(page.url, PARTITIONS)].append(page)
        self.workers = [Worker(agent, self.broker) for _ in range(WORKERS)]
        self._unaware: list[tuple[Worker, int]] = []
        for partition in range(PARTITIONS):
            self._random.choice(self.workers).take(partition)

    # what may happen

    def count(self, partition: int, *, commit: bool) -> bool:
        shard: Table = self.broker.holders[partition]
        offset = shard.mark.offset + 1
        more = offset < len(self.logs[partition])
        if more:
            for fact in shard.accept(offset, Pack(facts=[(0, 0, self.logs[partition][offset])])):
                self._agent.absorb(shard, fact)
        if commit:
            group = shard.close_group()
            stores: tuple[Any, ...] = (self.broker.tables[partition], shard.store)
            for store in stores:
                store.put(group.rows)
            shard.landed()
        return more

    def go_on(self) -> None:
        """Let a worker that stands still go on; some stand still for long, and don't know what they lost."""
        gates = [gate for gate in self.broker.gates if not gate.done()]
        if gates:
            (gates[-1] if self._random.random() < 0.8 else self._random.choice(gates)).set_result(None)

    def move(self) -> None:
        partition = self._random.randrange(PARTITIONS)
        self._unaware += [(worker, partition) for worker in self.workers if partition in worker.shards]
        self._give(partition)

    def _give(self, partition: int) -> None:
        to = self._random.choice(self.workers)
        self._unaware = [each for each in self._unaware if each != (to, partition)]
        to.take(partition)

    def hear(self) -> None:
        if self._unaware:
            worker, partition = self._unaware.pop(self._random.randrange(len(self._unaware)))
            worker.lose(partition)

    async def kill(self) -> None:
        number = self._random.randrange(WORKERS)
        dead, self.workers[number] = self.workers[number], Worker(self._agent, self.broker)
        await dead.die()
        self._unaware = [(worker, partition) for worker, partition in self._unaware if worker is not dead]
        for partition, shard in list(self.broker.holders.items()):
            if dead.shards.get(partition) is shard:
                self._give(partition)

    async def run(self, steps: int) -> None:
        may: list[Callable[[], object]] = [
            lambda: self.count(self._random.randrange(PARTITIONS), commit=self._random.random() < 0.6),
            lambda: self._random.choice(self.workers).tell(), self.go_on, self.move, self.hear,
        ]  # fmt: skip
        for _ in range(steps):
            if self._random.random() < 0.03:
                await self.kill()
            else:
                self._random.choices(may, (4, 5, 10, 2, 1))[0]()
            await breath()
        await self._rest()

    async def _rest(self) -> None:
        while self._unaware:
            self.hear()
        self.broker.open_gates()
        for partition in range(PARTITIONS):
            while self.count(partition, commit=True):
                pass
        for worker in self.workers * 3:
            await worker.told()
            worker.tell()
            await worker.told()
            await breath()
        for worker in self.workers:
            await worker.die()

    # what should be

    def recount(self, predicate: str, covers: Mapping[int, int]) -> Harvest:
        states = []
        for partition, offset in sorted(covers.items()):
            state, seen = Harvest(WINDOW, SECONDS), set()
            for page in self.logs[partition][: offset + 1]:
                if page.url not in seen and page.again is not True:
                    seen.add(page.url)
                    if predicate in page.verdict:
                        state.add(page.verdict[predicate], page.time, page.policy, page.explored)
            states.append(state)
        return merged(states)


async def breath() -> None:
    for _ in range(4):
        await asyncio.sleep(0)


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HarvestAgent]:
    """Give the agent that counts, on whichever shard; the workers' streams tell of it."""
    with a_runtime(Settings(data=tmp_path_factory.mktemp("agent"), harvest=HARVESTED)) as runtime:
        yield HarvestAgent(runtime)


def a_page(number: int, verdict: dict[str, bool], time: int, *, explored: bool, again: bool = False) -> Counted:
    return Counted(
        url=f"http://a.org/{number}", time=float(time), title="", verdict=verdict, policy="linkage",
        explored=explored, origin="pages/0@1", again=again or msgspec.UNSET,
    )  # fmt: skip


VERDICTS = st.dictionaries(st.sampled_from(PREDICATES), st.booleans(), max_size=4)
AGAIN = st.integers(0, 5).map(lambda number: number == 0)
PAGES = st.lists(
    st.builds(a_page, st.integers(0, 50), VERDICTS, st.integers(0, 100), explored=st.booleans(), again=AGAIN),
    min_size=20,
    max_size=60,
)


@settings(phases=[Phase.generate])
@given(pages=PAGES, steps=st.integers(100, 500), seed=st.integers(0, 10_000))
@awaited
async def test_each_page_counts_once(agent: HarvestAgent, pages: list[Counted], steps: int, seed: int) -> None:
    world = World(agent, Random(seed), pages)
    await world.run(steps)
    assert world.broker.failures == []
    points = [point for partition in range(PARTITIONS) for point in world.broker.points[partition]]
    last: dict[str, HarvestPoint] = {}
    for point in points:
        before = last.get(point.predicate)
        if before is not None:
            assert before.pages <= point.pages
            behind = {n for n, offset in before.covers.items() if point.covers.get(n, -1) < offset}
            assert not behind, (before, point)
        last[point.predicate] = point
        expected = world.recount(point.predicate, point.covers)
        assert (point.pages, point.hits, point.policies) == (expected.pages, expected.hits, expected.policies)
        assert (point.harvest_rate, point.lift) == (expected.rate, expected.lift)
        assert point.rate_by_pages == expected.rate_by_pages
        assert point.rate_by_time == expected.rate_by_time(NOW)
    told = {name: (point.pages, point.hits, point.rate_by_pages) for name, point in last.items()}
    ends = {number: len(log) - 1 for number, log in world.logs.items()}
    wholes = {name: world.recount(name, ends) for name in PREDICATES}
    assert told == {
        name: (whole.pages, whole.hits, whole.rate_by_pages) for name, whole in wholes.items() if whole.pages
    }


assert {partition_of(name, PARTITIONS) for name in PREDICATES} == set(range(PARTITIONS))


@awaited
async def test_a_worker_that_was_frozen_before_it_wrote_a_point_writes_it_no_more(agent: HarvestAgent) -> None:
    world = World(agent, Random(0), [])
    broker, partition = world.broker, partition_of("a", PARTITIONS)
    world.logs[partition] = [a_page(number, {"a": True}, number, explored=False) for number in range(2)]
    frozen, other = world.workers[:2]
    frozen.take(partition)
    world.count(partition, commit=True)
    while APPEND not in broker.gates.values():
        frozen.tell()
        broker.let_go()
        await breath()
    [writing] = [gate for gate, what in broker.gates.items() if what == APPEND]
    other.take(partition)
    world.count(partition, commit=True)
    while not broker.points[partition]:
        other.tell()
        broker.let_go(but=writing)
        await breath()
    broker.open_gates()
    await frozen.told()
    assert [point.pages for point in broker.points[partition]] == [2]


@awaited
async def test_who_lost_a_partition_and_does_not_know_it_yet_writes_no_point(agent: HarvestAgent) -> None:
    world, partition = World(agent, Random(0), []), partition_of("a", PARTITIONS)
    world.logs[partition] = [a_page(0, {"a": True}, 0, explored=False)]
    unaware, owner = world.workers[:2]
    unaware.take(partition)
    world.count(partition, commit=True)
    owner.take(partition)
    world.broker.open_gates()
    for worker, pages in ((unaware, []), (owner, [1])):
        for _ in range(5):
            worker.tell()
            await worker.told()
            await breath()
        assert [point.pages for point in world.broker.points[partition]] == pages
