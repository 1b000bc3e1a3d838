"""The frontier's bookkeeping: what each sighting changes, and that its evidence equals a recount."""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.frontier.book import Book, FrontierShard, totals_of
from agents.frontier.rows import FrontierRow, HostRow, PageRow, ParentRow, host_key, page_key, parent_key
from models.counts import Counts
from models.evaluate.recount import JudgedPage, recount
from models.page import Link
from models.url import host, identifier
from models.verdict import Verdict
from streams.outbox import Message
from streams.records import Failed, Inherited, Judged, Linked, Near, Pack, Redirected, Seeded, Visited
from streams.settings import FrontierSettings
from streams.topics import EVIDENCE, SIGHTINGS, partition_of
from tests.agents.shards import Disk, disk, emitted, take_in, write

YES: Verdict = {"p": True}
NO: Verdict = {"p": False}


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path) as opened:
        yield opened


def a_shard(rows: Disk, partition: int = 0) -> FrontierShard:
    return rows.shard(FrontierRow, SIGHTINGS, partition)


def a_book(partitions: int = 1, **changed: Any) -> Book:
    return Book(FrontierSettings(**changed), 1, partitions)


def page(shard: FrontierShard, url: str) -> PageRow:
    row = shard.get(page_key(url))
    assert isinstance(row, PageRow)
    return row


def parent(shard: FrontierShard, url: str) -> ParentRow:
    row = shard.get(parent_key(identifier(url)))
    assert isinstance(row, ParentRow)
    return row


def url(number: int) -> str:
    return f"http://h{number % 4}.org/{number}"


def linked(
    source: str, targets: Iterable[str], verdict: Verdict, words: Iterable[str] = (), depth: int = 0
) -> Linked:
    links = tuple(Link(target, ("anchor", f"to{place}"), (), place) for place, target in enumerate(targets))
    return Linked(identifier(source), source, depth, verdict, tuple(words), links, (0,))


def counted(messages: Iterable[Message]) -> Counts:
    counts = Counts()
    for _, fact in emitted(messages, EVIDENCE):
        counts.add(fact.features, fact.verdict, fact.times)
    return counts


def lease(shard: FrontierShard, url: str, attempt: int = 1) -> None:
    """Order a fetch, as the agent does."""
    row = page(shard, url)
    row.state, row.attempts, row.lease = "leased", attempt, 100.0
    shard.put(page_key(url), row)


# discovery


def test_urls_are_discovered_once_and_numbered(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, Seeded(url(1)), Seeded(url(2)), Seeded(url(1)), Visited(url(2), "u", 1.0))
    assert [page(shard, url(n)).discovered for n in (1, 2)] == [0, 1]
    assert totals_of(shard).discovered == 2
    assert book.touched[0] == {page_key(url(1)), page_key(url(2))}


def test_a_seed_has_depth_0_a_visited_page_1_and_a_linked_one_more_than_its_source(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, Seeded(url(1)), Visited(url(2), "u", 1.0), linked(url(9), [url(3)], NO, depth=3))
    assert [page(shard, url(n)).depth for n in (1, 2, 3)] == [0, 1, 4]
    assert [page(shard, url(n)).seed for n in (1, 2, 3)] == [True, False, False]


def test_the_shortest_way_counts_whatever_the_order(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(
        shard,
        book,
        linked(url(8), [url(1)], NO, depth=5),
        linked(url(9), [url(1)], NO, depth=2),
        linked(url(7), [url(1)], NO, depth=7),
    )
    assert page(shard, url(1)).depth == 3
    take_in(shard, book, Visited(url(1), "u", 1.0))
    assert page(shard, url(1)).depth == 1
    take_in(shard, book, Seeded(url(1)), linked(url(6), [url(1)], NO, depth=7))
    assert page(shard, url(1)).depth == 0


def test_visits_are_all_counted_and_visitors_kept_within_a_bound_that_forgets_none_first(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(visitors=3)
    users = ["u5", "u1", "u4", "u1", "u2", "u3"]
    take_in(shard, book, *(Visited(url(1), user, float(time)) for time, user in enumerate(users)))
    assert page(shard, url(1)).visits == 6
    assert page(shard, url(1)).visitors == ["u1", "u2", "u3"]


# links


def test_linked_pages_are_candidates_with_their_in_links_by_verdict(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, linked(url(1), [url(3)], {"p": True, "q": False}), linked(url(2), [url(3)], NO))
    row = page(shard, url(3))
    assert row.state == "candidate"
    assert row.links == {"p": [2, 1], "q": [1, 0]}
    assert sorted(row.parents) == sorted([identifier(url(1)), identifier(url(2))])
    assert row.anchors == ["anchor", "to0"]
    assert page_key(url(3)) in book.touched[0]


def test_a_page_that_links_to_itself_says_nothing_of_itself(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, linked(url(1), [url(1), url(2)], YES, ["w"]))
    assert shard.get(page_key(url(1))) is None
    assert parent(shard, url(1)).targets == [(identifier(url(2)), 1)]


def test_a_page_whose_links_come_twice_counts_once(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    first = take_in(shard, book, linked(url(1), [url(2)], YES, ["w"]), Judged(url(2), YES, 1.0))
    again = take_in(shard, book, linked(url(1), [url(2), url(3)], NO, ["v"]))
    assert counted(first).get("w:w", "p") == (1, 1)
    assert not again
    assert page(shard, url(2)).links == {"p": [1, 1]}
    assert shard.get(page_key(url(3))) is None


def test_the_in_links_kept_are_bounded_and_those_counted_are_not(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(parents=2)
    take_in(shard, book, *(linked(url(n), [url(99)], YES) for n in range(10)))
    assert len(page(shard, url(99)).parents) == 2
    assert page(shard, url(99)).links == {"p": [10, 10]}


# verdicts


def test_a_page_judged_twice_counts_once(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    messages = take_in(shard, book, Seeded(url(1)), Judged(url(1), YES, 1.0), Judged(url(1), NO, 2.0))
    assert counted(messages).get("", "p") == (1, 1)
    assert page(shard, url(1)).verdict == YES
    assert totals_of(shard).judged == 1
    assert shard.get(host_key(host(url(1)))) == HostRow(1)
    assert len(book.ended) == 2


def test_a_page_that_is_judged_again_after_it_was_ordered_again_counts_once(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, Seeded(url(1)), Judged(url(1), YES, 1.0))
    lease(shard, url(1))
    assert not emitted(take_in(shard, book, Judged(url(1), NO, 2.0)), EVIDENCE)
    assert totals_of(shard).judged == 1


def test_a_page_judged_after_it_was_given_up_leaves_the_totals_adding_up(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(attempts=1)
    take_in(shard, book, Seeded(url(1)))
    lease(shard, url(1))
    take_in(shard, book, Failed(url(1), 1, "retry", "timeout", 1.0))
    take_in(shard, book, Judged(url(1), YES, 2.0))
    totals = totals_of(shard)
    assert (totals.discovered, totals.judged, totals.failed) == (1, 1, 0)


def test_a_judged_page_is_registered_with_each_page_that_links_to_it(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, linked(url(1), [url(3)], YES), Judged(url(3), NO, 1.0))
    take_in(shard, book, linked(url(2), [url(3)], YES))
    child = {identifier(url(3)): NO}
    assert parent(shard, url(1)).children == child
    assert parent(shard, url(2)).children == child


def test_other_partitions_hear_of_a_judged_sibling_once_before_or_after_the_links(rows: Disk) -> None:
    shard, other, book = a_shard(rows, 0), a_shard(rows, 2), a_book(3)
    fact = linked(url(1), [url(3)], YES)
    fact = Linked(fact.page, fact.url, 0, YES, (), fact.links, partitions=(0, 2))
    messages = take_in(shard, book, fact, Judged(url(3), NO, 1.0), Judged(url(3), NO, 1.0))
    near = Near(identifier(url(1)), identifier(url(3)), NO)
    assert emitted(messages, SIGHTINGS) == [(2, near)]
    take_in(other, book, near, near, linked(url(1), [url(4)], YES))
    assert parent(other, url(1)).children == {identifier(url(3)): NO}
    assert parent(other, url(1)).linked


def test_candidates_linked_near_a_judged_page_are_scored_anew(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    targets = [url(n) for n in range(10, 30)]
    take_in(shard, book, linked(url(1), targets, YES))
    book.touched.clear()
    take_in(shard, book, Judged(targets[10], YES, 1.0))
    assert book.touched[0] == {page_key(target) for target in (*targets[6:10], *targets[11:15])}


# fetches that brought no page


def test_a_failed_fetch_is_tried_again_later_and_later_and_then_given_up(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(attempts=3, retry_seconds=10.0)
    take_in(shard, book, Seeded(url(1)))
    for attempt, waited in ((1, 10.0), (2, 20.0)):
        lease(shard, url(1), attempt)
        take_in(shard, book, Failed(url(1), attempt, "retry", "timeout", 1000.0))
        row = page(shard, url(1))
        assert (row.state, row.not_before, row.reason) == ("candidate", 1000.0 + waited, "timeout")
    lease(shard, url(1), 3)
    take_in(shard, book, Failed(url(1), 3, "retry", "timeout", 1000.0))
    assert page(shard, url(1)).state == "given up"
    assert totals_of(shard).given_up == 1
    assert totals_of(shard).failed == 1


def test_a_host_may_ask_for_a_longer_wait(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(retry_seconds=10.0)
    take_in(shard, book, Seeded(url(1)))
    lease(shard, url(1))
    take_in(shard, book, Failed(url(1), 1, "retry", "busy", 1000.0, retry_after=500.0, overloaded=True))
    assert page(shard, url(1)).not_before == 1500.0


@pytest.mark.parametrize("kind", ["gone", "refused"])
def test_what_is_gone_or_refused_is_not_asked_for_again(rows: Disk, kind: str) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, Seeded(url(1)))
    lease(shard, url(1))
    take_in(shard, book, Failed(url(1), 1, kind, "why", 1.0))
    assert page(shard, url(1)).state == kind
    assert getattr(totals_of(shard), kind) == 1


def test_an_answer_to_an_order_that_was_taken_back_changes_nothing(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, Seeded(url(1)))
    lease(shard, url(1), attempt=2)
    messages = take_in(shard, book, Failed(url(1), 1, "gone", "late", 1.0), Redirected(url(1), 1, url(2), 1.0))
    assert not messages
    assert page(shard, url(1)).state == "leased"
    assert not book.ended, "the second attempt is still waited for"


def test_a_redirect_hands_depth_and_priorities_on(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book()
    take_in(shard, book, linked(url(9), [url(1)], YES, depth=2))
    page(shard, url(1)).priorities = {"p": 4.0}
    lease(shard, url(1))
    messages = take_in(shard, book, Redirected(url(1), 1, url(2), 1.0))
    ((partition, heir),) = emitted(messages, SIGHTINGS)
    assert (partition, heir) == (0, Inherited(url(2), 3, {"p": 4.0}))
    assert page(shard, url(1)).state == "moved"
    take_in(shard, book, heir, Inherited(url(2), 5, {"p": 3.0, "q": 1.0}))
    row = page(shard, url(2))
    assert (row.depth, row.inherited) == (3, {"p": 4.0, "q": 1.0})


# evidence


class Pipeline:
    """Several shards of one book; facts go to the partitions of their hosts, evidence is added up."""

    def __init__(self, rows: Disk, partitions: int, parents: int) -> None:
        self.shards = [a_shard(rows, partition) for partition in range(partitions)]
        self.book = Book(FrontierSettings(parents=parents), 2, partitions)
        self.counts = Counts()
        self.waiting: list[tuple[int, Any]] = []

    def report(self, judged: JudgedPage) -> None:
        """Queue what the judge says of a page."""
        by_partition: dict[int, list[Link]] = {}
        for position, target in enumerate(judged.links):
            by_partition.setdefault(self._partition(target), []).append(Link(target, (), (), position))
        for partition, links in by_partition.items():
            fact = Linked(
                page=identifier(judged.url),
                url=judged.url,
                depth=0,
                verdict=judged.verdict,
                words=tuple(judged.words),
                links=tuple(links),
                partitions=tuple(sorted(by_partition)),
            )
            self.waiting.append((partition, fact))
        self.waiting.append((self._partition(judged.url), Judged(judged.url, judged.verdict, 1.0)))

    def run(self, random: Random, ends: float = 0.3) -> None:
        """Absorb what waits in any order, ending groups now and then."""
        while self.waiting:
            partition, fact = self.waiting.pop(random.randrange(len(self.waiting)))
            shard = self.shards[partition]
            messages = take_in(shard, self.book, fact)
            self.counts.merge(counted(messages))
            self.waiting += emitted(messages, SIGHTINGS)
            if random.random() < ends:
                write(shard)

    def _partition(self, url: str) -> int:
        return partition_of(host(url), len(self.shards))


def judged_pages() -> st.SearchStrategy[list[JudgedPage]]:
    numbers = st.integers(0, 7)
    verdicts = st.dictionaries(st.sampled_from("pq"), st.booleans(), min_size=1)
    words = st.frozensets(st.sampled_from(["ski", "alps", "snow", "sea", "sun"]), max_size=4)
    links = st.lists(numbers.map(url), unique=True, max_size=6).map(tuple)
    pages = st.builds(JudgedPage, numbers.map(url), verdicts, words, links)
    return st.lists(pages, unique_by=lambda page: page.url, max_size=8)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    pages=judged_pages(),
    partitions=st.sampled_from([1, 3]),
    parents=st.sampled_from([1, 2, 32]),
    twice=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_the_evidence_of_any_order_of_sightings_adds_up_to_the_recount(
    pages: list[JudgedPage], partitions: int, parents: int, twice: bool, seed: int
) -> None:
    with tempfile.TemporaryDirectory() as directory, disk(Path(directory)) as rows:
        pipeline = Pipeline(rows, partitions, parents)
        for reported in (*pages, *pages) if twice else pages:
            pipeline.report(reported)
        pipeline.run(Random(seed))
    assert pipeline.counts == recount(pages, parents)


@settings(derandomize=True, deadline=None, max_examples=25)
@given(pages=judged_pages(), partitions=st.sampled_from([1, 3]), seed=st.integers(0, 10_000))
def test_every_partition_ends_with_the_verdicts_of_all_judged_targets_of_a_linking_page(
    pages: list[JudgedPage], partitions: int, seed: int
) -> None:
    verdicts = {judged.url: judged.verdict for judged in pages}
    with tempfile.TemporaryDirectory() as directory, disk(Path(directory)) as rows:
        pipeline = Pipeline(rows, partitions, parents=32)
        for judged in pages:
            pipeline.report(judged)
        pipeline.run(Random(seed))
        for judged in pages:
            targets = set(judged.links) - {judged.url}
            expected = {identifier(target): verdicts[target] for target in targets & verdicts.keys()}
            for partition in {partition_of(host(target), partitions) for target in targets}:
                assert parent(pipeline.shards[partition], judged.url).children == expected


def test_a_message_absorbed_again_after_a_crash_gives_the_same_bytes(rows: Disk) -> None:
    pages = [
        JudgedPage(url(n), {"p": n % 2 == 0, "q": n % 3 == 0}, frozenset(f"w{n * k % 7}" for k in range(5)),
                   tuple(url(n * k % 11) for k in range(1, 6)))
        for n in range(1, 11)
    ]  # fmt: skip
    pipeline = Pipeline(rows, 1, parents=2)
    for judged in pages:
        pipeline.report(judged)
    facts = [fact for _, fact in pipeline.waiting]
    Random(5).shuffle(facts)
    emissions = 0
    for offset in range(0, len(facts), 3):
        message: Pack[Any] = Pack(
            source="pages/0", facts=[(n, 0, fact) for n, fact in enumerate(facts)][offset : offset + 3]
        )
        first, second = a_shard(rows), a_shard(rows)
        for shard in (first, second):
            for fact in shard.accept(offset, message):
                pipeline.book.absorb(shard, fact)
        sent, sent_again = write(first), second.close_group().emissions
        assert sent == sent_again
        emissions += len(sent)
    assert emissions
