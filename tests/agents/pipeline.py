"""Browse and frontier shards that talk to each other as in a crawl; what they tell the learner is added up.

What one tells another comes in its order, as do the judge's words on a page; what comes from several is mixed.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st

from scentline.agents.browse.agent import BrowseAgent, UserRow
from scentline.agents.frontier.book import book_of
from scentline.agents.frontier.keys import PAGE_PREFIX, page_key
from scentline.agents.frontier.rows import FrontierRow, FrontierShard, PageRow
from scentline.models.crowd.trace import Step, Trace
from scentline.models.page import Link
from scentline.models.recount import FailedRequests, JudgedPage
from scentline.models.url import host, identifier
from scentline.streams.facts import Access, Count, Failed, Judged, Linked, Seeded
from scentline.streams.inbox import Shard
from scentline.streams.outbox import Message
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES, EVIDENCE, SIGHTINGS, partition_of
from tests.agents.cells import add
from tests.agents.shards import Disk, a_runtime, disk, emitted, take_in, write
from tests.models.webs import STEPS
from tests.reference.counts import Counts

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
        """Return a log that is bounded so."""
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
        # Nothing is written to the last: its shards only tell what they have had.
        names = ("pages", "users", "nothing")
        self.pages, self.users, self.nothing = (
            resources.enter_context(disk(directory / name)) for name in names
        )
        self._directory = directory
        self._resources = resources
        self._agents: dict[Crawl, tuple[Settings, BrowseAgent]] = {}

    def agent(self, crawl: Crawl) -> tuple[Settings, BrowseAgent]:
        """Return a crawl's settings and browse agent."""
        if crawl not in self._agents:
            settings = crawl.settings(self._directory / f"crawl-{len(self._agents)}")
            runtime = self._resources.enter_context(a_runtime(settings))
            self._agents[crawl] = settings, BrowseAgent(runtime)
        return self._agents[crawl]


@contextmanager
def a_place(directory: Path) -> Iterator[Place]:
    """Give a place for pipelines in a directory."""
    with ExitStack() as resources:
        yield Place(directory, resources)


class Pipeline:
    """The shards of one crawl, empty at first; what they are told comes in any order."""

    def __init__(self, place: Place, crawl: Crawl) -> None:
        for rows in (place.pages, place.users):
            rows.clear()
        settings, self.browse = place.agent(crawl)
        topics = {EVIDENCE.name: EVIDENCE_PARTITIONS, SIGHTINGS.name: crawl.partitions}
        self.book = book_of(settings, lambda topic: topics.get(topic, 1))
        self.place, partitions = place, range(crawl.partitions)
        self.shards: list[FrontierShard] = [a_shard(place.pages, partition) for partition in partitions]
        self.users: list[Shard[UserRow]] = [place.users.shard(UserRow, ACCESSES, n) for n in partitions]
        self.counts = Counts()
        #: By who told them, and the partition that is told: sightings that were not heard yet.
        self.channels: dict[tuple[str, int], list[Any]] = {}

    def run(
        self,
        pages: Sequence[JudgedPage],
        steps: Sequence[Step],
        random: Random,
        failures: Sequence[FailedRequests] = (),
    ) -> None:
        """Take in pages and accesses, those of each user in their order, and all that they give rise to.

        Requests for a page that brought none come before it.
        """
        before = {failed.url: failed for failed in failures}
        queues: list[list[Any]] = [[*filter(None, [before.pop(page.url, None)]), page] for page in pages]
        queues += [[failed] for failed in before.values()]
        users = dict.fromkeys(step.user for step in steps)
        queues += [[step for step in steps if step.user == user] for user in users]
        while queues or self.channels:
            if self.channels and (not queues or random.random() < 0.7):
                self.hear(*random.choice([*self.channels]), ends=random.random() < 0.2)
                continue
            queue = random.choice(queues)
            self.report(queue.pop(0))
            queues = [queue for queue in queues if queue]

    def report(self, fact: JudgedPage | FailedRequests | Step) -> None:
        """Have what the judge says of a page, or what the browse agent says of an access, wait."""
        if isinstance(fact, FailedRequests):
            self.fail(fact)
        elif isinstance(fact, JudgedPage):
            self.tell(fact.url, sightings_of(fact, len(self.shards)))
        else:
            partition = partition_of(fact.user, len(self.users))
            messages = take_in(self.users[partition], self.browse, access_of(fact))
            self.tell(f"browse/{partition}", emitted(messages, SIGHTINGS))

    def tell(self, source: str, sightings: Iterable[tuple[int, Any]]) -> None:
        """Have what one says of pages wait to be heard."""
        for partition, fact in sightings:
            self.channels.setdefault((source, partition), []).append(fact)

    def hear(self, source: str, partition: int, *, ends: bool = False) -> list[Message]:
        """Absorb the next of what one told a partition."""
        channel = self.channels[source, partition]
        fact = channel.pop(0)
        if not channel:
            del self.channels[source, partition]
        return self.absorb(partition, fact, ends=ends)

    def fail(self, failed: FailedRequests) -> None:
        """Order a page as often as its requests failed, and take in that they did."""
        partition = self.partition(failed.url)
        self.absorb(partition, Seeded(failed.url))
        for number in range(1, failed.requests + 1):
            row = self.page(failed.url)
            assert row is not None
            row.state, row.attempts = "leased", number
            self.shards[partition].put(page_key(failed.url), row)
            kind = "gone" if failed.ended and number == failed.requests else "retry"
            answer = Failed(failed.url, number, kind, "status", TIME, elapsed=0.1, silent=failed.silent)
            self.absorb(partition, answer)

    def absorb(self, partition: int, fact: Any, *, ends: bool = False) -> list[Message]:
        """Absorb a sighting; its shard's group ``ends`` with it. Return what it gives rise to."""
        shard = self.shards[partition]
        messages = take_in(shard, self.book, fact)
        self.tell(f"frontier/{partition}", emitted(messages, SIGHTINGS))
        for _, count in emitted(messages, EVIDENCE):
            if isinstance(count, Count):
                add(self.counts, count)
        if ends:
            write(shard)
        return messages

    def partition(self, url: str) -> int:
        """Return the partition of a URL's host."""
        return partition_of(host(url), len(self.shards))

    def page(self, url: str) -> PageRow | None:
        """Return the row of a URL."""
        row: Any = self.shards[self.partition(url)].get(page_key(url))
        assert row is None or isinstance(row, PageRow)
        return row

    def candidates(self) -> Iterator[tuple[FrontierShard, PageRow]]:
        """Yield the pages that are known and not judged."""
        for shard in self.shards:
            write(shard)
            for _, row in shard.scan(PAGE_PREFIX):
                if isinstance(row, PageRow) and row.verdict is None:
                    yield shard, row


def a_shard(rows: Disk, partition: int = 0) -> FrontierShard:
    """Open a shard of the frontier."""
    return rows.shard(FrontierRow, SIGHTINGS, partition)


def access_of(step: Step) -> Access:
    """Return a step as it comes on `accesses`."""
    return Access(step.user, step.url, step.time, step.referrer)


def links_of(page: JudgedPage) -> list[Link]:
    """Return a page's links as the judge finds them: one to each target, at the positions they have in it."""
    first: dict[str, Link] = {}
    for link in page.links:
        first.setdefault(link.url, link)
    return [msgspec.structs.replace(link, position=place) for place, link in enumerate(first.values())]


def sightings_of(page: JudgedPage, partitions: int) -> list[tuple[int, Linked | Judged]]:
    """Return what the judge says of a page, each with its partition."""
    by_partition: dict[int, list[Link]] = {}
    for link in links_of(page):
        by_partition.setdefault(partition_of(host(link.url), partitions), []).append(link)
    places = tuple(sorted(by_partition))
    found: list[tuple[int, Linked | Judged]] = [
        (place, Linked(identifier(page.url), page.url, 0, page.verdict, page.words, tuple(links), places, TIME))
        for place, links in by_partition.items()
    ]
    judged = Judged(page.url, page.verdict, TIME, None, page.words, subject=page.subject, silent=page.silent)
    return [*found, (partition_of(host(page.url), partitions), judged)]
