"""What the frontier tells of choices and of users: labels, neighbours, and verdicts told between them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scentline.agents.frontier.keys import beside_of, page_key
from scentline.agents.frontier.rows import Choice, FrontierShard
from scentline.models.interest.factors import kept
from scentline.models.url import identifier
from scentline.streams.facts import Beside, EvidencePack, Judged, Label, Met, Seeded, Together, Visited
from scentline.streams.records import Decoder, Pack
from scentline.streams.topics import SIGHTINGS
from tests.agents.books import YES, a_book, labels, lease, page, url
from tests.agents.pipeline import a_shard
from tests.agents.shards import Disk, disk, emitted, take_in, write


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path) as opened:
        yield opened


# labels


def choose(shard: FrontierShard, url: str, explored: bool = False) -> None:
    """Order a fetch for the predicate p, as the agent does under the learned policy."""
    lease(shard, url)
    row = page(shard, url)
    row.choice = Choice("p", "learned", explored, 1.0, 0.0, 1.0)
    row.inputs = {"p": (1.0,), "q": (2.0,), "r": (3.0,)}


@pytest.mark.parametrize(("explored", "chosen"), [(False, "selected"), (True, "explored")])
def test_a_chosen_page_gives_each_predicate_that_judged_it_one_label(
    rows: Disk, explored: bool, chosen: str
) -> None:
    shard, book = a_shard(rows), a_book(policy="learned")
    take_in(shard, book, Visited(url(1), "u", 1.0))
    choose(shard, url(1), explored)
    verdict = {"p": True, "q": False, "new": True}
    messages = take_in(shard, book, Judged(url(1), verdict, 1.0), Judged(url(1), verdict, 2.0))
    assert labels(messages) == [Label("p", (1.0,), True, chosen), Label("q", (2.0,), False, "other")]
    assert page(shard, url(1)).inputs == {}


def test_seeds_and_pages_that_nobody_chose_give_no_label(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(policy="learned")
    take_in(shard, book, Seeded(url(1)), Visited(url(2), "u", 1.0))
    choose(shard, url(1))
    assert not labels(take_in(shard, book, *(Judged(url(n), YES, 1.0) for n in (1, 2, 3))))


def test_counts_have_the_same_origins_whether_or_not_there_is_a_label(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(policy="learned")
    take_in(shard, book, Visited(url(1), "u", 1.0))
    write(shard)

    def origins() -> dict[str, tuple[int, int]]:
        (message,) = take_in(shard, book, Judged(url(1), YES, 1.0))
        facts = Decoder[Pack[Any]](EvidencePack)(message[3] or b"").facts
        return {type(fact).__name__: (offset, index) for offset, index, fact in facts}

    without = origins()
    shard = a_shard(rows)  # as after a crash
    choose(shard, url(1))
    assert origins() == without | {"Label": (without["Count"][0], 0)}


# the crowd


def together(page: str, *others: str, times: int = 1) -> Together:
    return Together(page, tuple(Beside(identifier(other), 0, times, 6) for other in others))


def test_a_page_known_from_what_lies_beside_it_is_a_candidate(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(policy="combined")
    take_in(shard, book, together(url(1), url(2)), together(url(1), url(2), url(3)))
    assert page(shard, url(1)).together == {identifier(url(2)): [0, 2, 12], identifier(url(3)): [0, 1, 6]}
    assert page_key(url(1)) in book.touched[0]


def test_the_neighbours_kept_are_bounded_and_the_same_in_any_order(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(policy="combined", together=2)
    others = [url(number) for number in range(2, 12)]
    take_in(shard, book, *(together(url(1), other) for other in others))
    take_in(shard, book, *(together(url(0), other) for other in reversed(others)), together(url(0), *others))
    for number, times in ((1, 1), (0, 2)):
        expected = kept(map(identifier, others), identifier(url(number)), 2)
        assert page(shard, url(number)).together == {other: [0, times, 6 * times] for other in expected}
    for other in map(identifier, others):
        keepers = [name for name in map(identifier, (url(0), url(1))) if name in beside_of(shard, other).pages]
        assert keepers == [identifier(url(n)) for n in (0, 1) if other in page(shard, url(n)).together]


def test_a_verdict_is_told_once_to_each_partition_with_pages_beside(rows: Disk) -> None:
    shard, book = a_shard(rows, 0), a_book(3, policy="combined")
    beside = tuple(Beside(identifier(url(n)), n % 3, 1, 6) for n in range(2, 9))
    judged = Judged(url(1), YES, 1.0, words=tuple(f"w{n}" for n in range(100)))
    messages = take_in(shard, book, Together(url(1), beside[:5]), judged, judged, Together(url(1), beside))
    told = emitted(messages, SIGHTINGS)
    assert sorted(partition for partition, _ in told) == [1, 2]
    assert all(fact == Met(identifier(url(1)), YES, judged.words[:64]) for _, fact in told)


def test_candidates_beside_a_judged_page_are_scored_anew_nearest_first(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(policy="learned")
    for number in range(10, 60):
        take_in(shard, book, together(url(number), url(1), times=number))
    book.touched.clear()
    take_in(shard, book, Judged(url(1), YES, 1.0))
    assert book.touched[0] == {page_key(url(number)) for number in range(30, 60)}


def test_policies_that_count_no_crowd_tell_no_verdict_beside(rows: Disk) -> None:
    shard, book = a_shard(rows), a_book(3, policy="linkage")
    facts = Together(url(1), (Beside(identifier(url(2)), 1, 1, 6),)), Judged(url(1), YES, 1.0)
    assert not emitted(take_in(shard, book, *facts), SIGHTINGS)
