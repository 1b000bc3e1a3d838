"""The rows of hubs: what revisits bring, and that they teach nothing."""

from collections.abc import Iterator
from email.utils import formatdate
from math import inf
from pathlib import Path
from typing import Any

import pytest

from scentline.agents.frontier.book import Book
from scentline.agents.frontier.hubs import DAY, published
from scentline.agents.frontier.keys import hub_key, hub_of, news_of, page_key
from scentline.agents.frontier.rows import Found, FrontierRow, FrontierShard, HubRow
from scentline.models.url import host
from scentline.streams.crawl_settings import NewsSettings
from scentline.streams.facts import Brought, Hub, Judged, Redirected, Relisted, Revisited
from scentline.streams.records import Version
from scentline.streams.topics import EVIDENCE, SIGHTINGS, partition_of
from tests.agents.books import YES, a_book, lease, linked, page
from tests.agents.shards import Disk, disk, emitted, take_in
from tests.cases import each_case

HUB = "http://h0.org/"
OTHER = "http://h1.org/news/1"
NEWS = [f"{HUB}news/{number}" for number in range(3)]
RATE = 1 / 3600


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path / "data") as found:
        yield found


@pytest.fixture
def shard(rows: Disk) -> FrontierShard:
    return rows.shard(FrontierRow, SIGHTINGS, 0)


def the_book(partitions: int = 1) -> Book:
    return a_book(
        partitions, mode="instant", retry_seconds=10.0, news=NewsSettings(prefixes_given=("h0.org/news/",))
    )


def the_hub(shard: FrontierShard, url: str = HUB) -> HubRow:
    row = hub_of(shard, url)
    assert row is not None
    return row


def ordered(shard: FrontierShard) -> int:
    """Order a revisit, as the agent does; return its number."""
    row = the_hub(shard)
    row.orders, row.lease = row.orders + 1, 1e12
    shard.put(hub_key(HUB), row)
    return row.orders


def visit(book: Book, shard: FrontierShard, time: float, outcome: str = "changed", **told: Any) -> None:
    take_in(shard, book, Revisited(HUB, ordered(shard), outcome, time, **told))


@pytest.fixture
def book(shard: FrontierShard) -> Book:
    book = the_book()
    take_in(shard, book, Hub(HUB, RATE, inf), Judged(HUB, YES, 100.0, version=Version('"1"')))
    return book


def test_a_hub_is_a_seed_and_its_first_verdict_is_a_visit(book: Book, shard: FrontierShard) -> None:
    row = the_hub(shard)
    assert (page(shard, HUB).depth, page(shard, HUB).state) == (0, "judged")
    assert (row.visited, row.visits, row.version, row.rate.seen_seconds) == (100.0, 1, Version('"1"'), 0.0)


def test_a_page_that_was_judged_before_it_is_a_hub_was_visited_then(shard: FrontierShard) -> None:
    book = the_book()
    take_in(shard, book, Judged(HUB, YES, 100.0), Hub(HUB, RATE, inf))
    assert (the_hub(shard).visited, the_hub(shard).visits) == (100.0, 1)


def test_links_of_a_revisit_are_new_once_and_teach_nothing(book: Book, shard: FrontierShard) -> None:
    take_in(shard, book, linked("http://h0.org/about", [NEWS[0]], YES))
    links = dict(page(shard, NEWS[0]).links)
    messages = take_in(shard, book, Relisted(HUB, 0, tuple(NEWS), 200.0, 100.0))
    messages += take_in(shard, book, Relisted(HUB, 0, tuple(NEWS), 300.0, 200.0))
    assert the_hub(shard).brought == the_hub(shard).links == 2
    assert emitted(messages, EVIDENCE) == []
    assert page(shard, NEWS[0]).links == links
    assert page(shard, NEWS[0]).found is None
    new = page(shard, NEWS[1])
    assert (new.links, new.parents, new.depth, new.found) == ({}, [], 1, Found(HUB, 200.0, 100.0))


def test_at_the_first_visit_of_all_no_link_is_new_since_another(book: Book, shard: FrontierShard) -> None:
    take_in(shard, book, Relisted(HUB, 0, tuple(NEWS), 200.0, 0.0))
    assert page(shard, NEWS[0]).found is None


def test_new_links_of_another_partition_are_told_to_the_hubs(rows: Disk) -> None:
    partitions = 7
    home, away = (partition_of(host(url), partitions) for url in (HUB, OTHER))
    assert home != away
    book = the_book(partitions)
    shard = rows.shard(FrontierRow, SIGHTINGS, away)
    told = emitted(take_in(shard, book, Relisted(HUB, 0, (OTHER,), 200.0, 100.0)), SIGHTINGS)
    assert told == [(home, Brought(HUB, 1))]
    at_home = rows.shard(FrontierRow, SIGHTINGS, home)
    take_in(at_home, book, Hub(HUB, RATE, inf), Brought(HUB, 1))
    assert the_hub(at_home).brought == 1


def test_the_rate_is_learned_from_visits(book: Book, shard: FrontierShard) -> None:
    take_in(shard, book, Relisted(HUB, 0, tuple(NEWS), 200.0, 100.0))
    visit(book, shard, 200.0, version=Version('"2"'))
    row = the_hub(shard)
    assert (row.visited, row.brought, row.lease, row.version) == (200.0, 0, 0.0, Version('"2"'))
    assert row.rate.seen_links == pytest.approx(3, rel=1e-3)
    before = row.rate.mean
    visit(book, shard, 3800.0, "unchanged")
    assert the_hub(shard).rate.mean < before
    assert the_hub(shard).version == Version('"2"')


def test_an_answer_that_is_not_waited_for_is_passed_over(book: Book, shard: FrontierShard) -> None:
    number = ordered(shard)
    for order in (number - 1, number + 1):
        take_in(shard, book, Revisited(HUB, order, "changed", 200.0))
    assert the_hub(shard).visited == 100.0
    assert book.ended[1:] == []
    take_in(shard, book, Revisited(HUB, number, "unchanged", 300.0), Revisited(HUB, number, "unchanged", 400.0))
    assert the_hub(shard).visited == 300.0
    assert len(book.ended[1:]) == 1


def test_failures_make_the_wait_longer_up_to_a_day(book: Book, shard: FrontierShard) -> None:
    waits = []
    for _ in range(20):
        visit(book, shard, 200.0, "retry")
        waits.append(the_hub(shard).not_before - 200.0)
    assert waits[:3] == [20.0, 40.0, 80.0]
    assert waits[-1] == DAY
    visit(book, shard, 200.0, "retry", wait=50_000.0)
    assert the_hub(shard).not_before - 200.0 == DAY
    visit(book, shard, 300.0, "unchanged")
    assert (the_hub(shard).failures, the_hub(shard).not_before) == (0, 0.0)


def test_a_visit_that_came_too_early_is_no_failure(book: Book, shard: FrontierShard) -> None:
    visit(book, shard, 200.0, "early", wait=5.0)
    row = the_hub(shard)
    assert (row.not_before, row.failures, row.visited) == (205.0, 0, 100.0)


def test_where_a_hub_moved_for_good_is_a_hub(book: Book, shard: FrontierShard) -> None:
    messages = take_in(shard, book, Revisited(HUB, ordered(shard), "moved", 200.0, target=OTHER))
    ((_, told),) = emitted(messages, SIGHTINGS)
    assert (told.url, told.until, the_hub(shard).moved) == (OTHER, inf, OTHER)


def test_a_hub_that_redirects_when_it_is_first_fetched_has_moved(shard: FrontierShard) -> None:
    book = the_book()
    take_in(shard, book, Hub(HUB, RATE, 500.0))
    lease(shard, HUB)
    messages = take_in(shard, book, Redirected(HUB, 1, OTHER, 200.0))
    assert Hub(OTHER, RATE, 500.0) in [fact for _, fact in emitted(messages, SIGHTINGS)]
    messages = take_in(shard, book, Hub(HUB, RATE, 900.0))
    assert [fact for _, fact in emitted(messages, SIGHTINGS)] == [Hub(OTHER, RATE, 900.0)]
    assert take_in(shard, book, Hub(HUB, RATE, 900.0)) == []


def test_a_page_that_is_a_hub_once_more_keeps_what_was_learned(book: Book, shard: FrontierShard) -> None:
    visit(book, shard, 200.0, "unchanged")
    learned = the_hub(shard).rate
    take_in(shard, book, Hub(HUB, 5.0, inf))
    assert the_hub(shard).rate == learned


def test_the_delay_of_new_news_is_counted_once(book: Book, shard: FrontierShard) -> None:
    take_in(shard, book, Relisted(HUB, 0, (NEWS[0], f"{HUB}about"), 200.0, 100.0))
    judged = [Judged(url, YES, 210.0) for url in (NEWS[0], f"{HUB}about")]
    take_in(shard, book, *judged, *judged)
    assert (news_of(shard).pages, news_of(shard).delay) == (1, 110.0)
    assert sum(news_of(shard).delays) == 1
    assert book.hubs.delays == [(NEWS[0], 110.0)]


@each_case(
    ("modified", "time"),
    [
        (formatdate(150.0, usegmt=True), 150.0),
        (formatdate(50.0, usegmt=True), 50.0),
        (formatdate(201.0, usegmt=True), 100.0),  # made for the request, or changed since
        ("yesterday", 100.0),
        ("Thu, 01 Jan 99999 00:00:00 GMT", 100.0),
        ("", 100.0),
        (None, 100.0),
    ],
)
def test_a_page_was_published_when_it_says_or_else_when_the_hub_had_it_not(
    modified: str | None, time: float
) -> None:
    assert published(Found(HUB, 200.0, 100.0), Version('"1"', modified)) == time


def test_without_the_mode_a_verdict_looks_for_no_hub(shard: FrontierShard) -> None:
    book = a_book()
    take_in(shard, book, Hub(HUB, RATE, inf), Judged(HUB, YES, 100.0))
    assert the_hub(shard).visited == 0.0
    assert shard.get(page_key(HUB)) is not None
