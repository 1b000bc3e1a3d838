"""What a crawl has counted and learned without one: written group by group, as it is in a crawl."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

import msgspec

from scentline.agents.frontier.agent import FrontierShard
from scentline.agents.learn import LearnAgent, LearnRow, LearnShard, ModelRow, PriorRow
from scentline.agents.worker.connect import open_journal
from scentline.models.frontier.ledger import CountRows
from scentline.models.frontier.rows import FrontierRow
from scentline.models.ledger import Ledger
from scentline.models.page import FAILED, Verdict
from scentline.models.parts import Part
from scentline.models.policy.features import BASE
from scentline.models.published import PredicateDefinition
from scentline.models.records import Decoder, Interests
from scentline.streams.inbox import Codec, Shard
from scentline.streams.settings import Settings
from scentline.streams.topics import CONTROL, EVIDENCE, INTERESTS, SIGHTINGS
from scentline.streams.transport.journal import Journal
from tests.agents.cells import a_change, add
from tests.agents.shards import Disk, a_runtime, journal_of, put, write
from tests.reference.counts import Counts

EXPRESSIONS = {"ski": '"ice skiing" or category("Sports.Alpine")', "tea": '"tea"'}
PARTITIONS = 2
KINDS = ("p:", "a:", "c:", "h:", "k:", "x:", "u:", "w:", "t:", "s:")


class Learnt:
    """What frontiers have counted, in a table of two partitions, written group by group."""

    def __init__(self, journal: Journal) -> None:
        codec: Codec[FrontierRow] = Codec(FrontierRow)
        self.shards: list[FrontierShard] = [
            Shard(number, f"{SIGHTINGS.name}/{number}", store, codec, 1_000_000)
            for number, store in journal.table("frontier").items()
        ]
        ledger = Ledger()
        self._parts = [Part(ledger) for _ in self.shards]
        self._rows = [CountRows(shard, part) for shard, part in zip(self.shards, self._parts, strict=True)]
        for part in self._parts:
            part.begin()
        self._learned = journal.table("interests")
        self.counts = Counts()
        self.random = Random(3)
        for name, expression in EXPRESSIONS.items():
            definition = PredicateDefinition(name=name, expression=expression)
            journal.append(CONTROL.name, 0, name.encode(), msgspec.json.encode(definition), 0.0)

    def judge(self, pages: int) -> None:
        """Count pages of words, each page in a group of its own, in one partition after the other."""
        for number in range(pages):
            words = [f"{kind}{'tea' if self.random.random() < 0.2 else self._word()}" for kind in KINDS * 8]
            verdict = {name: self.random.random() < 0.3 for name in (*EXPRESSIONS, FAILED)}
            self.count([BASE, "l:ski:1", "r:tea", *dict.fromkeys(words)], verdict, number % PARTITIONS)

    def count(self, features: Sequence[str], verdict: Verdict, partition: int = 0) -> None:
        change = a_change(features, verdict)
        add(self.counts, change)
        shard = self.shards[partition]
        shard.begin(shard.mark.offset + 1)
        self._rows[partition].write(self._parts[partition].count([change]))
        write(shard)
        self._rows[partition].committed()

    def _word(self) -> str:
        return f"word{int(400 * self.random.random() ** 3)}"

    def put(self, key: bytes, row: PriorRow | ModelRow, partition: int = 0) -> None:
        put(self._learned[partition], {key: msgspec.msgpack.encode(row)})


@contextmanager
def a_crawl(data: Path, **frontier: str) -> Iterator[tuple[Settings, Journal, Learnt]]:
    settings = Settings.model_validate(
        {"data": data, "streams": {"partitions": PARTITIONS}, "frontier": frontier, "learn": {"semantic": ""}}
    )
    with open_journal(settings) as journal:
        yield settings, journal, Learnt(journal)


@contextmanager
def an_agent(data: Path, *predicates: str, semantic: str | None = None) -> Iterator[LearnAgent]:
    with a_runtime(Settings.model_validate({"data": data, "learn": {"semantic": semantic}})) as runtime:
        agent = LearnAgent(runtime)
        for name in predicates:
            agent.heard_predicate(name)
        yield agent


def a_shard(rows: Disk) -> LearnShard:
    return rows.shard(LearnRow, EVIDENCE)


def told(agent: LearnAgent) -> list[Interests]:
    journal = journal_of(agent.runtime)
    start = journal.end(INTERESTS.name, 0)
    asyncio.run(agent.publish())
    decode = Decoder[Interests](Interests)
    return [decode(entry.value or b"") for entry in journal.read(INTERESTS.name, 0, start, 10_000)]
