"""Browse and frontier shards that talk to each other as in a crawl; what they tell the learner is added up."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec

from scentline.agents.browse.agent import BrowseAgent, UserRow
from scentline.agents.frontier.book import Book
from scentline.agents.frontier.keys import PAGE_PREFIX, page_key
from scentline.agents.frontier.rows import FrontierRow, FrontierShard, PageRow
from scentline.models.crowd.trace import Step, Trace
from scentline.models.page import Link
from scentline.models.recount import FailedRequests, JudgedPage
from scentline.models.url import host, identifier
from scentline.models.verdict import Verdict
from scentline.streams.facts import Access, Count, Failed, Judged, Label, Linked, Rejudged, Relinked, Seeded
from scentline.streams.inbox import Shard
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES, EVIDENCE, SIGHTINGS, partition_of
from tests.agents.cells import add
from tests.agents.shards import Disk, a_runtime, disk, emitted, take_in, write
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

    def settings(self, data: Path, policy: str, partitions: int) -> Settings:
        """Return the settings of a crawl with these bounds."""
        kept = {"parents": self.parents, "visitors": self.visitors, "together": self.together}
        return Settings.model_validate({
            "data": data,
            "streams": {"partitions": partitions},
            "browse": {"window": self.window, "reach": self.reach},
            "frontier": {"policy": policy, **kept},
        })  # fmt: skip

    def trace(self, steps: Iterable[Step]) -> Trace:
        """Return a log that is bounded so."""
        return Trace(steps, reach=self.reach, users=self.visitors, others=self.together, window=self.window)


WIDE, TIGHT = Bounds(), Bounds(parents=2, visitors=2, together=2, window=4, reach=2)


class Crawl(NamedTuple):
    """What a pipeline runs under."""

    policy: str
    partitions: int = 1
    bounds: Bounds = WIDE


class Place:
    """Disks and browse agents that many pipelines use, one after the other: opening them takes long."""

    def __init__(self, directory: Path, resources: ExitStack) -> None:
        self.pages = resources.enter_context(disk(directory / "pages"))
        self.users = resources.enter_context(disk(directory / "users"))
        #: What nothing is written to: shards that only tell what they have had.
        self.nothing = resources.enter_context(disk(directory / "nothing"))
        self._directory = directory
        self._resources = resources
        self._agents: dict[Crawl, tuple[Settings, BrowseAgent]] = {}

    def agent(self, crawl: Crawl) -> tuple[Settings, BrowseAgent]:
        """Return a crawl's settings and browse agent."""
        if crawl not in self._agents:
            data = self._directory / f"crawl-{len(self._agents)}"
            settings = crawl.bounds.settings(data, crawl.policy, crawl.partitions)
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
        self.book = Book(settings.frontier, EVIDENCE_PARTITIONS, crawl.partitions, settings.fetch.redirects)
        partitions = range(crawl.partitions)
        self.shards: list[FrontierShard] = [a_shard(place.pages, partition) for partition in partitions]
        self.users: list[Shard[UserRow]] = [place.users.shard(UserRow, ACCESSES, n) for n in partitions]
        self.counts = Counts()
        self.labels: list[Label] = []
        self.waiting: list[tuple[int, Any]] = []

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
        queues += [
            [step for step in steps if step.user == user] for user in {step.user: None for step in steps}
        ]
        while queues or self.waiting:
            if self.waiting and (not queues or random.random() < 0.7):
                self.absorb(*self.waiting.pop(random.randrange(len(self.waiting))), ends=random.random() < 0.2)
                continue
            queue = random.choice(queues)
            self.report(queue.pop(0))
            queues = [queue for queue in queues if queue]

    def report(self, fact: JudgedPage | FailedRequests | Step) -> None:
        """Have what the judge says of a page, or what the browse agent says of an access, wait."""
        if isinstance(fact, FailedRequests):
            self.fail(fact)
        elif isinstance(fact, JudgedPage):
            self.waiting += sightings_of(fact, len(self.shards))
        else:
            shard = self.users[partition_of(fact.user, len(self.users))]
            self.waiting += emitted(take_in(shard, self.browse, access_of(fact)), SIGHTINGS)

    def fail(self, failed: FailedRequests) -> None:
        """Order a page as often as its requests failed, and take in that they did."""
        partition = partition_of(host(failed.url), len(self.shards))
        shard = self.shards[partition]
        self.absorb(partition, Seeded(failed.url))
        for number in range(1, failed.requests + 1):
            key = page_key(failed.url)
            row = shard.get(key)
            assert isinstance(row, PageRow)
            row.state, row.attempts = "leased", number
            shard.put(key, row)
            kind = "gone" if failed.ended and number == failed.requests else "retry"
            answer = Failed(failed.url, number, kind, "status", TIME, elapsed=0.1, silent=failed.silent)
            self.absorb(partition, answer)

    def absorb(self, partition: int, fact: Any, *, ends: bool = False) -> None:
        """Absorb a sighting; its shard's group ``ends`` with it."""
        shard = self.shards[partition]
        messages = take_in(shard, self.book, fact)
        self.waiting += emitted(messages, SIGHTINGS)
        for _, evidence in emitted(messages, EVIDENCE):
            self.learn(evidence)
        if ends:
            write(shard)

    def learn(self, evidence: Count | Label) -> None:
        """Add up what the learner is told."""
        if isinstance(evidence, Label):
            self.labels.append(evidence)
        else:
            add(self.counts, evidence)

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


def later_sightings_of(
    page: JudgedPage, verdict: Verdict, partitions: int, time: float = TIME
) -> list[tuple[int, Relinked | Rejudged]]:
    """Return what is said of a page that was judged when predicates that came later judge it."""
    places = {partition_of(host(link.url), partitions) for link in page.links}
    found: list[tuple[int, Relinked | Rejudged]] = [
        (place, Relinked(identifier(page.url), verdict, time)) for place in sorted(places)
    ]
    rejudged = Rejudged(page.url, verdict, time, page.words, page.subject)
    return [*found, (partition_of(host(page.url), partitions), rejudged)]
