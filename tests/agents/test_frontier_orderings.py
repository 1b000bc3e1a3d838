"""What orders candidates in the place of a policy: what is kept in memory is what the rows say."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec
import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.behaviour import SitePatterns, sites
from scentline.agents.frontier.estimates import PARTS, ordering
from scentline.agents.frontier.ordering import EVERY, GROWTH, HOT, TOLERANCE, Informed, Ranks
from scentline.agents.frontier.rows import FrontierRow, FrontierShard
from scentline.models.ordering.estimate import Crawled
from scentline.models.ordering.rank import Rank
from scentline.models.page import Link
from scentline.models.patterns.mine import mine
from scentline.models.patterns.ranking import RANKINGS, score
from scentline.models.predicate import EVERY_PAGE
from scentline.streams.crawl_settings import FrontierSettings
from scentline.streams.facts import Visited
from scentline.streams.settings import Settings
from scentline.streams.topics import SIGHTINGS
from scentline_lab.patterns.counts import BehaviourCounts
from tests.agents.books import NO, YES, a_book, linked, page
from tests.agents.shards import Disk, disk, take_in, write
from tests.cases import each_case

WEBS = st.dictionaries(st.integers(0, 9), st.sets(st.integers(0, 9), max_size=5), min_size=1, max_size=10)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disk]:
    with disk(tmp_path_factory.mktemp("rows")) as opened:
        yield opened


def a_shard(rows: Disk) -> FrontierShard:
    rows.clear()
    return rows.shard(FrontierRow, SIGHTINGS)


def url(number: int) -> str:
    return f"http://h.test/{number}"


class Telling:
    """Takes in sightings as the agent does: what is kept in memory first, then the rows."""

    def __init__(self, *informed: Informed) -> None:
        self.book = a_book(ordering="similarity")  # of the orderings the one that asks for words
        self.informed = informed

    def absorb(self, shard: FrontierShard, fact: object) -> None:
        for each in self.informed:
            each.absorb(shard, fact)
        self.book.absorb(shard, fact)


@given(st.sets(st.tuples(st.sampled_from(["a.org", "a.org:80", "a.orgs", "b.a.org"]), st.integers(0, 20))))
def test_each_site_that_users_were_seen_on_is_found_once(rows: Disk, visited: set[tuple[str, int]]) -> None:
    shard = a_shard(rows)
    patterns = SitePatterns(visitors=32)
    for host, number in visited:
        patterns.absorb(shard, Visited(f"http://{host}/{number}", "ann", float(number)))
    write(shard)
    assert list(sites(shard)) == sorted({host for host, _ in visited}, key=lambda host: f"{host}\0")


@given(WEBS, st.randoms(use_true_random=False))
def test_backlinks_and_ranks_are_those_of_the_links_known(
    rows: Disk, web: dict[int, set[int]], random: Random
) -> None:
    shard = a_shard(rows)
    ranks, backlink = Ranks(), ordering(FrontierSettings(ordering="backlink"), None)
    assert backlink is not None
    ranks.open(shard)
    order = [*web, *random.sample(sorted(web), len(web) // 2)]  # some are told of twice
    random.shuffle(order)
    for number in order:
        verdict = YES if number % 2 else NO
        fact = linked(url(number), map(url, sorted(web[number])), verdict)
        take_in(shard, Telling(ranks, backlink), fact)
    write(shard)
    links = [(one, other) for one, targets in web.items() for other in targets if one != other]
    known = {other for _, other in links}
    for number in known:
        assert backlink.value(shard, page(shard, url(number)), ()) == sum(to == number for _, to in links)
    told: Rank[int] = Rank(every=EVERY, growth=GROWTH, tolerance=TOLERANCE)
    for number in dict.fromkeys(order):
        list(told.crawled(Crawled(number, sorted(web[number] - {number}))))
    for number in known:
        assert ranks.value(shard, page(shard, url(number))) == pytest.approx(told.value(number))


def test_ranks_of_a_partition_that_was_taken_up_are_pageranks(rows: Disk) -> None:
    shard = a_shard(rows)
    web = {number: {number * number % 11, (number + 1) % 12, 0} - {number} for number in range(12)}
    teller = Telling()
    for number, targets in web.items():
        take_in(shard, teller, linked(url(number), map(url, sorted(targets)), YES))
    write(shard)
    ranks = Ranks()
    ranks.open(shard)
    expected = nx.pagerank(nx.DiGraph(web), alpha=0.9, tol=1e-9)
    for number in web:
        found = ranks.value(shard, page(shard, url(number)))
        assert found == pytest.approx(len(web) * expected[number], abs=0.01)
    ranks.close(shard)
    with pytest.raises(KeyError):
        ranks.value(shard, page(shard, url(0)))


def test_similarity_goes_by_the_words_of_url_and_links_and_by_how_rare_they_are(rows: Disk) -> None:
    shard = a_shard(rows)
    similar = ordering(FrontierSettings(ordering="similarity", query="Ski alps"), None)
    assert similar is not None
    similar.open(shard)
    teller = Telling(similar)
    names = ("ski", "alps", "ski-alps", "other")
    for number in range(3):  # all have the word "alps", one has "ski"
        words = ("alps", "ski") if number == 0 else ("alps",)
        targets = [f"http://h.test/{name}" for name in names]
        take_in(shard, teller, linked(url(number), targets if number == 0 else (), YES, words))
    value = {
        name: similar.value(shard, page(shard, f"http://h.test/{name}"), ("passed", "over")) for name in names
    }
    assert value["ski-alps"] > value["ski"] > value["alps"] > value["other"] == 0
    write(shard)
    again = ordering(FrontierSettings(ordering="similarity"), None)
    assert again is not None
    again.open(shard)
    known = {name: again.value(shard, page(shard, f"http://h.test/{name}"), ("ski", "alps")) for name in names}
    assert known == value


def test_location_prefers_few_slashes_and_what_is_wanted(rows: Disk) -> None:
    shard = a_shard(rows)
    addresses = ["http://a.com/home", "http://a.com/x", "http://a.org/home/x", "http://a.org/x/y"]
    take_in(shard, Telling(), linked(url(1), addresses, YES))
    found = ordering(FrontierSettings(ordering="location", wanted=(".com", "home")), None)
    assert found is not None
    assert [found.value(shard, page(shard, address), ()) for address in addresses] == [1, 0, -1, -2]


@given(WEBS, st.tuples(*[st.sampled_from((0.0, 0.001, 1.0, -2.0))] * 4))
def test_the_weighted_ordering_is_the_weighted_sum_of_the_others(
    rows: Disk, web: dict[int, set[int]], weights: tuple[float, float, float, float]
) -> None:
    shard = a_shard(rows)
    both = [
        ordering(FrontierSettings.model_validate({"ordering": name, "query": "ski", "weights": weights}), None)
        for name in ("weighted", *PARTS)
    ]
    weighted, *parts = [each for each in both if each is not None]
    for each in (weighted, *parts):
        each.open(shard)
    for number, targets in web.items():
        found = linked(url(number), map(url, sorted(targets)), YES, ("ski",) if number % 2 else ("sea",))
        take_in(shard, Telling(weighted, *parts), found)
    for target in {target for number, targets in web.items() for target in targets if target != number}:
        row = page(shard, url(target))
        values = [weight * part.value(shard, row, ()) for weight, part in zip(weights, parts, strict=True)]
        assert weighted.value(shard, row, ()) == pytest.approx(sum(values))


def test_hot_candidates_come_before_all_others_and_in_order(rows: Disk) -> None:
    shard = a_shard(rows)
    hot = ordering(FrontierSettings(ordering="backlink", query="Ski", hot=True), None)
    plain = ordering(FrontierSettings(ordering="backlink"), None)
    assert hot is not None
    assert plain is not None
    named, said, near, cold = (f"http://h.test/{name}" for name in ("skiing", "said", "near", "cold"))
    teller = Telling(hot)
    take_in(shard, teller, *(linked(url(number), [cold, named], NO) for number in range(3)))
    mention = linked(url(8), [], NO)
    take_in(shard, teller, msgspec.structs.replace(mention, links=(Link(said, anchor=("to", "ski")),)))
    take_in(shard, teller, linked(url(9), [near], YES))
    value = {address: hot.value(shard, page(shard, address), ()) for address in (named, said, near, cold)}
    assert value == {named: HOT + 3, said: HOT + 1, near: HOT + 1, cold: 3}
    assert plain.value(shard, page(shard, named), ()) == 3
    # A predicate's own words count where there is no query; that every page satisfies makes none hot.
    topical = ordering(FrontierSettings(ordering="backlink", hot=True), None)
    assert topical is not None
    assert topical.value(shard, page(shard, said), ("ski",)) == HOT + 1
    assert topical.value(shard, page(shard, said), ()) == 1
    take_in(shard, teller, linked(url(7), ["http://h.test/every"], {EVERY_PAGE: True}))
    assert topical.value(shard, page(shard, "http://h.test/every"), ()) == 1


VISITS = [
    Visited(f"http://h.test/{kind}/{number}", f"user{user}", 0.0, f"http://h.test/list/{number % 6}")
    for kind, users in (("topic", 9), ("list", 3), ("user", 1))
    for number in range(6)
    for user in range(users)
]


def told(counts: BehaviourCounts) -> BehaviourCounts:
    for visit in VISITS:
        counts.add(visit.user, visit.url, visit.referrer)
    return counts


def test_patterns_are_mined_of_the_rows_beside_the_stream(rows: Disk) -> None:
    async def run() -> SitePatterns:
        changed = asyncio.Event()
        patterns = SitePatterns(changed.set)
        mining = asyncio.create_task(patterns.run())
        teller = Telling(patterns)
        take_in(shard, teller, *VISITS, *VISITS[::3])
        assert (patterns.busy, patterns.starting) == (True, False)
        assert patterns.pattern_of("http://h.test/topic/new") is None
        write(shard)
        while patterns.busy:
            await changed.wait()
            changed.clear()
        mining.cancel()
        return patterns

    shard = a_shard(rows)
    found = asyncio.run(run())
    expected = mine(told(BehaviourCounts()).snapshot())
    for address in ("http://h.test/topic/new", "http://h.test/list/3", "http://h.test/print/3"):
        assert found.pattern_of(address) == expected.pattern_of(address)
    assert not found.unvisited("http://h.test/topic/new")
    assert found.unvisited("http://h.test/print/3") == expected.pattern_of("http://h.test/print/3").name
    assert found.unvisited("http://other.test/a") == "http://other.test/**"
    again = SitePatterns()
    again.open(shard)
    assert (again.busy, again.starting) == (True, True)
    again.mine_now(shard, "h.test")
    assert again.pattern_of("http://h.test/topic/new") == found.pattern_of("http://h.test/topic/new")
    again.close(shard)
    assert (again.busy, again.starting) == (False, False)


def test_patterns_order_by_each_ranking_and_unknown_sites_come_last(rows: Disk) -> None:
    shard = a_shard(rows)
    patterns = SitePatterns()
    fresh = ["http://h.test/topic/new", "http://h.test/else", "http://other.test/a"]
    take_in(shard, Telling(patterns), *VISITS, linked(url(1), fresh, YES))
    write(shard)
    patterns.mine_now(shard, "h.test")
    mined = mine(told(BehaviourCounts()).snapshot())

    def values(name: str) -> dict[str, float]:
        found = ordering(FrontierSettings.model_validate({"ordering": name}), patterns)
        assert found is not None
        known = [f"http://h.test/{kind}/1" for kind in ("topic", "list", "user")]
        return {address: found.value(shard, page(shard, address), ()) for address in [*known, *fresh]}

    for name, ranking in RANKINGS.items():
        found = values(name)
        assert found.pop("http://other.test/a") == -1.0
        assert found == {address: pytest.approx(score(ranking, mined.pattern_of(address))) for address in found}
    found = values("visits")
    assert found.pop("http://other.test/a") == 0
    visits = told(BehaviourCounts()).snapshot().visits
    for address, value in found.items():
        assert value == pytest.approx(mined.expected_visits(address, visits.get(address, 0)))
    assert found["http://h.test/topic/1"] > found["http://h.test/list/1"] > found["http://h.test/user/1"]


@pytest.mark.parametrize(
    ("frontier", "behaviour"),
    [
        ({}, False),
        ({"ordering": "pagerank"}, False),
        ({"ordering": "behaviour-fetch"}, True),
        ({"ordering": "average-referral"}, True),
        ({"ordering": "visits"}, True),
        ({"visited_patterns_only": True}, True),
    ],
)
def test_users_ways_are_kept_only_where_something_goes_by_them(
    frontier: dict[str, object], behaviour: bool, tmp_path: Path
) -> None:
    found = Settings.model_validate({"data": tmp_path, "frontier": frontier})
    assert found.behaviour is behaviour


@each_case("rule", ["learned", "random", "breadth-first", "pagerank", "behaviour-discovery"])
def test_settings_under_a_rule_have_that_rule(rule: str) -> None:
    assert FrontierSettings(policy="linkage", ordering="location").under(rule).rule == rule
