"""Browse and frontier shards that talk to each other as in a crawl; what they count is added up.

What one tells another comes in its order; what comes from several is mixed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeAlias

import msgspec
from hypothesis import strategies as st

from scentline.agents.browse import BrowseAgent, UserRow
from scentline.agents.frontier.agent import FrontierShard
from scentline.models.facts import Access, Label, Linked, Missing, Page
from scentline.models.frontier.book import book_of
from scentline.models.frontier.keys import PAGE_PREFIX, page_key
from scentline.models.frontier.rows import FrontierRow, PageRow
from scentline.models.lessons import FailedRequests, JudgedPage
from scentline.models.page import Link
from scentline.models.records import Pack, partition_of
from scentline.models.trace import Step, Trace
from scentline.models.url import host, identifier
from scentline.streams.inbox import Message, Outbox, Shard
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES, EVIDENCE, SIGHTINGS, Topic
from tests.agents.cells import a_ledger
from tests.agents.scenarios import ended, seeded
from tests.agents.shards import DECODERS, Disk, a_runtime, disk, write
from tests.models.webs import STEPS
from tests.reference.counts import Counts, plain

#: A partition of a topic.
Part: TypeAlias = tuple[str, int]
EVIDENCE_PARTITIONS = 2
#: When every page was judged.
TIME = 1.0


class Bounds(NamedTuple):
    """How much is kept of a page's in-links, visitors and neighbours, and of a user's accesses."""

    parents: int = 32
    visitors: int = 32
    together: int = 64
    window: int = 64
    reach: int = 5

    def trace(self, steps: Iterable[Step]) -> Trace:
        return Trace(steps, reach=self.reach, users=self.visitors, others=self.together, window=self.window)


WIDE, TIGHT = Bounds(), Bounds(parents=2, visitors=2, together=2, window=4, reach=2)


class Crawl(NamedTuple):
    """What a pipeline runs under."""

    policy: str
    partitions: int = 1
    bounds: Bounds = WIDE
    revisit: float = 0.0

    def settings(self, data: Path) -> Settings:
        bounds = self.bounds._asdict()
        browse = {name: bounds.pop(name) for name in ("window", "reach")}
        frontier = {"policy": self.policy, "revisit": self.revisit, **bounds}
        streams = {"partitions": self.partitions}
        given = {"data": data, "streams": streams, "browse": browse, "frontier": frontier}
        return Settings.model_validate(given)


class Told(NamedTuple):
    """Pages and accesses, in an order that chance makes, and how many partitions keep how much of them."""

    pages: list[JudgedPage]
    steps: list[Step]
    partitions: int
    bounds: Bounds
    seed: int

    def crawl(self, policy: str, revisit: float = 0.0) -> Crawl:
        return Crawl(policy, self.partitions, self.bounds, revisit)


def told(pages: st.SearchStrategy[list[JudgedPage]], *bounds: Bounds) -> st.SearchStrategy[Told]:
    return st.builds(
        Told, pages, STEPS, st.integers(1, 3), st.sampled_from(bounds or (WIDE, TIGHT)), st.integers(0, 10_000)
    )


class Place:
    """Disks and browse agents that many pipelines use, one after the other: opening them takes long."""

    def __init__(self, directory: Path, resources: ExitStack) -> None:
        # Nothing is written to the last: the learner's shards only tell what they have had.
        names = ("pages", "users", "nothing")
        self.pages, self.users, self.nothing = (
            resources.enter_context(disk(directory / name)) for name in names
        )
        self._directory = directory
        self._resources = resources
        self._agents: dict[Crawl, tuple[Settings, BrowseAgent]] = {}

    def agent(self, crawl: Crawl) -> tuple[Settings, BrowseAgent]:
        if crawl not in self._agents:
            settings = crawl.settings(self._directory / f"crawl-{len(self._agents)}")
            runtime = self._resources.enter_context(a_runtime(settings))
            self._agents[crawl] = settings, BrowseAgent(runtime)
        return self._agents[crawl]


@contextmanager
def a_place(directory: Path) -> Iterator[Place]:
    with ExitStack() as resources:
        yield Place(directory, resources)


class Pipeline:
    """The shards of one crawl, empty at first, which read logs of messages, and count what they are told.

    Their open groups may be lost at any time, once sent or before: so many ``crashes`` there are.
    """

    def __init__(self, place: Place, crawl: Crawl, random: Random, crashes: int = 0) -> None:
        for rows in (place.pages, place.users):
            rows.clear()
        settings, self.browse = place.agent(crawl)
        topics = {EVIDENCE.name: EVIDENCE_PARTITIONS, SIGHTINGS.name: crawl.partitions}
        self.book = book_of(settings, lambda topic: topics.get(topic, 1))
        self.place, self.random, self.crashes = place, random, crashes
        self._ledger, self._counted = a_ledger(crawl.partitions)
        self.shards: list[FrontierShard] = [self._open(n) for n in range(crawl.partitions)]
        self.users = [self._open_users(n) for n in range(crawl.partitions)]
        learners = [place.nothing.shard(PageRow, EVIDENCE, n) for n in range(EVIDENCE_PARTITIONS)]
        self._learners: list[Shard[PageRow]] = learners
        self.parts = [(topic.name, n) for topic in (ACCESSES, SIGHTINGS) for n in range(crawl.partitions)]
        self.logs: dict[Part, list[Pack[Any]]] = {part: [] for part in self.parts}
        self._messages: Counter[str] = Counter()
        self.labels: Counter[Label] = Counter()

    # who tells of pages and accesses

    def tell(self, source: str, topic: Topic, partition: int, fact: Any) -> None:
        outbox = Outbox(source)
        outbox.begin(self._messages[source])
        self._messages[source] += 1
        outbox.emit(topic.name, partition, fact)
        messages = outbox.take()
        for _ in range(self.random.randint(1, 2) if self.crashes else 1):  # twice, as after a crash of its own
            self.send(messages)

    def sight(self, source: str, fact: Any, partition: int | None = None) -> None:
        """Write one sighting, to the partition of its URL where none is given."""
        self.tell(source, SIGHTINGS, self.partition(fact.url) if partition is None else partition, fact)

    def report(self, fact: JudgedPage | FailedRequests | Step) -> None:
        """Write what the judge says of a page, what became of requests for one, or an access."""
        if isinstance(fact, FailedRequests):
            self.fail(fact)
        elif isinstance(fact, JudgedPage):
            self.judge(fact)
        else:
            access = Access(fact.user, fact.url, fact.time, fact.referrer)
            self.tell("log/0", ACCESSES, partition_of(fact.user, len(self.users)), access)

    def judge(self, page: JudgedPage) -> None:
        links: dict[int, list[Link]] = defaultdict(list)
        for link in links_of(page):
            links[self.partition(link.url)].append(link)
        said, places = (identifier(page.url), page.url, 0, page.verdict, page.words), tuple(sorted(links))
        for place, found in links.items():
            self.sight("pages/0", Linked(*said, tuple(found), places, TIME), place)
        judged = Page(page.verdict, page.words, page.subject)
        self.sight("pages/0", ended(page.url, judged, TIME, silent=page.silent))

    def fail(self, failed: FailedRequests) -> None:
        """Order a page as often as its requests failed, and have it heard that they did."""
        part = (SIGHTINGS.name, self.partition(failed.url))
        self.sight("fetch/0", seeded(failed.url))
        for number in range(1, failed.requests + 1):
            while part in self.unread():
                self.read(part)
            row = self.page(failed.url)
            assert row is not None
            row.state, row.attempts = "leased", number
            self.shards[part[1]].put(page_key(failed.url), row)
            self.send(write(self.shards[part[1]]))
            result = Missing("gone" if failed.ended and number == failed.requests else "retry", "status")
            self.sight("fetch/0", ended(failed.url, result, TIME, number, silent=failed.silent, elapsed=0.1))

    # what shards do

    def run(
        self, pages: Sequence[JudgedPage], steps: Sequence[Step], failures: Sequence[FailedRequests] = ()
    ) -> None:
        """Take in pages and accesses, those of each user in their order, and all that they give rise to.

        Requests for a page that brought none come before it.
        """
        queues: dict[str, list[Any]] = defaultdict(list)
        for step in steps:
            queues[step.user].append(step)
        for failed in failures:
            queues[failed.url].append(failed)
        for page in pages:
            queues[page.url].append(page)
        while queues or self.settling():
            if (unread := self.unread()) and (not queues or self.random.random() < 0.7):
                self.step(self.random.choice(unread))
            elif queues:
                name = self.random.choice([*queues])
                self.report(queues[name].pop(0))
                if not queues[name]:
                    del queues[name]

    def settling(self) -> bool:
        """End all groups where nothing is left to be read; return whether there is something then."""
        if not self.unread():
            for part in self.parts:
                self.send(write(self.shard(part)))
        return bool(self.unread())

    def step(self, part: Part) -> None:
        """Read a message; the group of its shard may end, or be lost, with it."""
        self.read(part)
        what = self.random.random()
        if what < 0.3:
            self.send(write(self.shard(part)))
        elif what < 0.6 and self.crashes:
            self.crashes -= 1
            self.crash(part, sent=self.random.random() < 0.5)

    def unread(self) -> list[Part]:
        return [part for part in self.parts if self.shard(part).mark.offset + 1 < len(self.logs[part])]

    def read(self, part: Part) -> None:
        shard = self.shard(part)
        offset = shard.mark.offset + 1
        handler: Any = self.browse if part[0] == ACCESSES.name else self.book
        for fact in shard.accept(offset, self.logs[part][offset]):
            handler.absorb(shard, fact)

    def crash(self, part: Part, *, sent: bool) -> None:
        group = self.shard(part).close_group()
        if sent:
            self.send(group.emissions)
        name, partition = part
        if name == ACCESSES.name:
            self.users[partition] = self._open_users(partition)
        else:
            self._ledger.close(partition)
            self.shards[partition] = self._open(partition)

    def _open(self, partition: int) -> FrontierShard:
        shard = a_shard(self.place.pages, partition)
        self._ledger.open(shard)
        shard.closing = lambda: self._ledger.count(partition, self.book.evidence.take(shard))
        return shard

    @property
    def counts(self) -> Counts:
        return plain(self._counted.ledger)

    def send(self, messages: Iterable[Message]) -> None:
        """Write messages to the logs, and have the learner hear labels, each once."""
        for name, partition, _, value in messages:
            if name == EVIDENCE.name:
                learner = self._learners[partition]
                for fact in learner.accept(learner.mark.offset + 1, DECODERS[name](value or b"")):
                    self.labels[fact] += 1
            elif name in DECODERS:
                self.logs[name, partition].append(DECODERS[name](value or b""))

    # what there is

    def _open_users(self, partition: int) -> Shard[UserRow]:
        return self.place.users.shard(UserRow, ACCESSES, partition)

    def shard(self, part: Part) -> Shard[Any]:
        return self.users[part[1]] if part[0] == ACCESSES.name else self.shards[part[1]]

    def partition(self, url: str) -> int:
        return partition_of(host(url), len(self.shards))

    def page(self, url: str) -> PageRow | None:
        row: Any = self.shards[self.partition(url)].get(page_key(url))
        assert row is None or isinstance(row, PageRow)
        return row

    def candidates(self) -> Iterator[tuple[FrontierShard, PageRow]]:
        for shard in self.shards:
            for _, row in shard.scan(PAGE_PREFIX):
                if isinstance(row, PageRow) and row.verdict is None:
                    yield shard, row


def a_shard(rows: Disk, partition: int = 0) -> FrontierShard:
    return rows.shard(FrontierRow, SIGHTINGS, partition)


def links_of(page: JudgedPage) -> list[Link]:
    """Return a page's links as the judge finds them: one to each target, at the positions they have in it."""
    first: dict[str, Link] = {}
    for link in page.links:
        first.setdefault(link.url, link)
    return [msgspec.structs.replace(link, position=place) for place, link in enumerate(first.values())]
