"""Predicates that come later: no page is missed or told of before its first verdict, whoever judges when."""

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import isawaitable
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st
from zstandard import ZstdCompressor

from scentline.agents.judge.agent import Rejudge
from scentline.agents.judge.duplicates import DuplicateRow, later_row
from scentline.agents.operate.record import entries, judged_pages, outcomes
from scentline.models.facts import Fetched, Page, SightingPack
from scentline.models.published import PredicateDefinition
from scentline.models.records import NOT_MODIFIED, Decoder, FetchedPage, Revisit, Version, encode, partition_of
from scentline.models.revisit.content import content_of, links_digest
from scentline.models.url import host
from scentline.streams.inbox import Message, Outbox, Shard
from scentline.streams.metrics import Reading
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings
from scentline.streams.topics import PAGES, SIGHTINGS
from scentline.streams.transport.embedded import JournalBus
from scentline.streams.transport.journal import Journal
from tests.agents.forms import rejudged, relinked
from tests.agents.judging import examine, hearing, judge_of
from tests.agents.loopback import awaited
from tests.agents.shards import Disk, a_runtime, disk, emitted
from tests.agents.test_keep import fetched

FIRST = PredicateDefinition(name="any", expression='not "unheard-of"')
TEA = PredicateDefinition(name="tea", expression='"tea"', kept=True)
STEPS = (
    "page", "again", "visit", "revisit", "absorb", "hear", "look", "commit", "crash", "send", "freeze", "thaw",
)  # fmt: skip


async def room() -> None:
    """There always is."""


class Partition:
    """One partition of `pages`, and whoever owns it: a judge that may end at any moment, and be late to end."""

    def __init__(self, runtime: Runtime, rows: Disk) -> None:
        assert isinstance(runtime.bus, JournalBus)
        self.journal: Journal = runtime.bus.journal
        self.pages, self.late = 0, list[Message]()
        self._runtime, self._rows = runtime, rows
        self.inbox: Any = None
        self.open()

    def open(self) -> None:
        """Come into the partition with what the disk has, and without having heard of what came later."""
        self.predicates = hearing(FIRST)
        if self.inbox is None:
            judge = judge_of(self._runtime, self.predicates)
            self.inbox, self._judge = judge.inbox, judge
            self.inbox._generation = self._runtime.app.consumer_generation_id
        self._judge.predicates = self.predicates
        self.shard: Shard[Any] = self._rows.shard(DuplicateRow, PAGES)
        self.inbox.shards[0] = self.shard
        self._judge.opened(self.shard)
        self.rejudge = Rejudge(self._judge, room)

    def hear(self, definition: PredicateDefinition = TEA) -> None:
        self.predicates.hear(msgspec.json.encode(definition))

    def page(
        self, number: int | None = None, body: bytes = b"tea", revisit: Revisit | None = None
    ) -> FetchedPage:
        """Have a page fetched: a new one, or that with the number anew."""
        page = fetched(self.pages if number is None else number, time=float(self.pages))
        page.order = msgspec.structs.replace(page.order, revisit=revisit)
        page.body = ZstdCompressor().compress(body)
        self.append(encode(page))
        return page

    def revisit(self, body: bytes) -> None:
        """Have page 0 fetched to be judged again, by who knows it with the words "tea", as it was at first."""
        content, links = content_of("", ["tea"], b"tea"), links_digest(())
        known = Revisit(None, 0.0, again=True, verdict={"any": True}, content=content, links=links)
        self.page(0, body, revisit=known)

    def append(self, value: bytes) -> None:
        self.pages += 1
        self.journal.append(PAGES.name, 0, None, value, 1.0)

    def absorb(self) -> bool:
        offset = self.shard.mark.offset + 1
        found = self.journal.read(PAGES.name, 0, offset, 1)
        for entry in found:
            value = entry.value or b""
            examine(self._judge, value)
            for arrival in self.shard.accept(offset, self.inbox._read(self.shard, offset, value)):
                self._judge.absorb(self.shard, arrival)
        return bool(found)

    def left(self) -> bool:
        return any(self._judge.due())

    async def do(self, step: str) -> None:
        steps: dict[str, Callable[[], Any]] = {
            "page": self.page, "again": lambda: self.page(0), "visit": lambda: self.revisit(b"tea"),
            "revisit": lambda: self.revisit(b"tea and cake"), "absorb": self.absorb, "hear": self.hear,
            "look": self.rejudge.look, "commit": lambda: self.inbox.commit(self.shard), "crash": self.open,
            "send": self.send, "freeze": self.freeze, "thaw": self.thaw,
        }  # fmt: skip
        done = steps[step]()
        if isawaitable(done):
            await done

    def send(self) -> None:
        self._send(self.shard.take())
        self.open()

    def freeze(self) -> None:
        """Have what is just being sent come when another has the partition."""
        self.late += self.shard.take()
        self.open()

    def thaw(self) -> None:
        self._send(self.late)
        self.late = []

    def _send(self, messages: list[Message]) -> None:
        self.journal.append_all(messages, 1.0)

    async def finish(self) -> None:
        self.hear()
        while self.absorb() or self.left():
            await self.rejudge.look()
        await self.inbox.commit(self.shard)


@contextmanager
def a_partition(partitions: int = 1) -> Iterator[Partition]:
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory)
        streams = {"partitions": partitions, "group_seconds": 60.0}
        given = {"data": data, "streams": streams, "frontier": {"revisit": 0.5}}
        with a_runtime(Settings.model_validate(given)) as runtime, disk(data) as rows:
            yield Partition(runtime, rows)


def told(journal: Journal) -> list[Any]:
    """Return the facts of `sightings` as the frontier takes them in: each origin once."""
    last: dict[str, tuple[int, int]] = {}
    found = []
    for entry in entries(journal, SIGHTINGS.name, 0):
        pack = Decoder[SightingPack](SightingPack)(entry.value or b"")
        for offset, index, fact in pack.facts:
            if not pack.source or (offset, index) > last.get(pack.source, (-1, -1)):
                found.append(fact)
                if pack.source:
                    last[pack.source] = (offset, index)
    return found


def counted(facts: list[Any]) -> dict[str, dict[str, bool]]:
    """Return the verdict on each page, as the frontier adds up what it is told."""
    verdicts: dict[str, dict[str, bool]] = {}
    times: dict[str, float] = {}
    for fact in facts:
        page = fact.result if isinstance(fact, Fetched) else None
        if isinstance(page, Page) and fact.visit == "kept":
            if times.get(fact.url) == fact.time:
                verdicts[fact.url] = page.verdict | verdicts[fact.url]
            continue
        newer = page is not None and (fact.url not in verdicts or fact.time > times[fact.url])
        if isinstance(page, Page) and newer and (page.changed or fact.url not in verdicts):
            verdicts[fact.url], times[fact.url] = dict(page.verdict), fact.time
    return verdicts


def left(partition: Partition) -> float:
    partition.rejudge.measure(reading := Reading())
    return sum(sample.value for family in reading.families() for sample in family.samples)


@given(st.lists(st.sampled_from(STEPS), max_size=40))
@example(["absorb", "hear", "look", "commit", "crash", "page", "absorb"])  # the next one has not heard of it
@example(["absorb", "freeze", "hear", "look", "commit", "thaw"])  # the owner before is late
@example(["absorb", "freeze", "hear", "look", "commit", "look", "commit", "thaw"])
def test_every_page_is_judged_by_a_later_predicate_whoever_judges_and_whenever(steps: list[str]) -> None:
    with a_partition() as partition:

        async def work() -> None:
            for step in ["page", *steps, "thaw"]:
                await partition.do(step)
            await partition.finish()

        asyncio.run(work())
        both = {"any": True, "tea": True}
        urls = {page.url for page in outcomes(partition.journal)}
        assert counted(told(partition.journal)) == dict.fromkeys(urls, both)
        recounted = judged_pages(partition.journal)
        assert {url: page.verdict for url, page in recounted.items()} == dict.fromkeys(urls, both)


def test_what_a_later_predicate_says_names_the_first_verdict_and_those_that_the_page_links_to() -> None:
    with a_partition() as partition:
        tea = partition.page(body=b'<title>Tea</title><a href="/cup">cup</a>')
        snow = partition.page(body=b"<p>Snow")
        partition.page(body=b'<meta name="robots" content="noindex">tea')
        partition.append(b"no page")
        partition.append(encode(msgspec.structs.replace(snow, status=NOT_MODIFIED, body=b"")))
        revisit = msgspec.structs.replace(tea.order, revisit=Revisit(Version('"7"'), 1.0))
        partition.append(encode(msgspec.structs.replace(tea, order=revisit)))
        while partition.absorb():
            pass
        asyncio.run(partition.finish())
        assert left(partition) == 0
        row = later_row(partition.shard, "tea")
        assert row is not None
        assert (row.at, row.end) == (6, 6)
        assert [fact for fact in told(partition.journal) if getattr(fact, "visit", "") == "kept"] == [
            relinked(tea.order.url, {"tea": True}, 0.0, tea.order.depth),
            rejudged(tea.order.url, {"tea": True}, 0.0, ("tea", "cup"), "0 tea"),
            rejudged(snow.order.url, {"tea": False}, 1.0, ("snow",), "1"),
        ]
        later = [found for found in outcomes(partition.journal) if found.later]
        assert [(found.url, found.verdict, found.origin) for found in later] == [
            (tea.order.url, {"tea": True}, "pages/0@0"),
            (snow.order.url, {"tea": False}, "pages/0@1"),
        ]


def test_all_who_know_a_page_that_was_judged_again_hear_what_a_later_predicate_says() -> None:
    with a_partition(4) as partition:
        page = partition.page(body=b'<p>tea <a href="http://b.org/">')
        (linked,) = {partition_of("b.org", 4)}
        known = Revisit(again=True, partitions=(linked, (linked + 2) % 4))
        page.order, page.items = msgspec.structs.replace(page.order, revisit=known), ("Tea",)
        partition.hear(msgspec.structs.replace(TEA, expression='item("Tea")'))
        outbox, own = Outbox(""), partition_of(host(page.order.url), 4)
        asyncio.run(partition.rejudge.judge(outbox, "tea", 0, 0, encode(page)))
        *linking, last = emitted(outbox.take(), SIGHTINGS)
    assert linking == [
        (place, relinked(page.order.url, {"tea": True}, page.time, page.order.depth))
        for place in sorted(known.partitions)
    ]
    assert last == (own, rejudged(page.order.url, {"tea": True}, page.time, ("tea",), "0"))


@awaited
async def test_it_is_told_how_many_pages_are_left() -> None:
    with a_partition() as partition:
        for _ in range(7):
            partition.page()
            partition.absorb()
        partition.hear()
        seen = []
        while partition.left():
            await partition.rejudge.look()
            seen.append(left(partition))
        assert seen == [7, 2, 0]


def test_a_predicate_is_not_judged_by_where_it_is_removed_or_kept_pages_are_of_no_concern_to_it() -> None:
    with a_partition() as partition:
        partition.page()
        partition.absorb()
        partition.hear(msgspec.structs.replace(TEA, kept=False))
        assert not partition.left()
        partition.hear(TEA)
        assert partition.left()
        partition.hear(msgspec.structs.replace(TEA, state="removed"))
        assert not partition.left()
