"""What orders candidates in the place of a policy: what is kept in memory is what the rows say."""

from collections import Counter
from collections.abc import Iterable
from operator import mul
from random import Random

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.agent import FrontierShard
from scentline.models.facts import Visited
from scentline.models.frontier.keys import ways_key
from scentline.models.ordering import Crawled, Rank
from scentline.models.page import Link
from scentline.models.papers.patterns import mine
from scentline.models.papers.ways import RANKINGS, Behaviour, score
from scentline.models.policy.estimates import PARTS, SitePatterns, ordering, sites
from scentline.models.policy.ordering import EVERY, GROWTH, HOT, TOLERANCE, Informed, Ordering, Ranks
from scentline.models.predicate import EVERY_PAGE
from scentline.models.settings import FrontierSettings
from scentline_lab.patterns.quality import Record, counted
from tests.agents.scenarios import NO, YES, Frontiers, linked
from tests.agents.shards import take_in, write
from tests.cases import each_case

WEBS = st.dictionaries(st.integers(0, 9), st.sets(st.integers(0, 9), max_size=5), min_size=1, max_size=10)


def url(number: int) -> str:
    return f"http://h.test/{number}"


class Telling:
    """Absorbs facts as the agent does: what is kept in memory first, then the rows."""

    def __init__(self, start: Frontiers, *informed: Informed) -> None:
        self.front = start(ordering="similarity")  # of the orderings the one that asks for words
        self.shard = self.front.shards[0]
        self.informed = informed

    def absorb(self, shard: FrontierShard, fact: object) -> None:
        for each in self.informed:
            each.absorb(shard, fact)
        self.front.agent.core.book.absorb(shard, fact)

    def hear(self, *facts: object) -> None:
        take_in(self.shard, self, *facts)
        write(self.shard)

    def values(self, found: Ordering, urls: Iterable[str], words: tuple[str, ...] = ()) -> list[float]:
        return [found.value(self.shard, self.front.page(url), words) for url in urls]


def an_ordering(patterns: SitePatterns | None = None, **settings: object) -> Ordering:
    found = ordering(FrontierSettings.model_validate(settings), patterns)
    assert found is not None
    return found


@given(st.sets(st.tuples(st.sampled_from(["a.org", "a.org:80", "a.orgs", "b.a.org"]), st.integers(0, 20))))
def test_each_site_that_users_were_on_is_found_once(frontier: Frontiers, visited: set[tuple[str, int]]) -> None:
    shard, patterns = frontier().shards[0], SitePatterns(visitors=32)
    for host, number in visited:
        patterns.absorb(shard, Visited(f"http://{host}/{number}", "ann", float(number)))
    write(shard)
    assert list(sites(shard)) == sorted({host for host, _ in visited}, key=lambda host: f"{host}\0")


def test_who_comes_from_another_site_comes_from_nowhere(frontier: Frontiers) -> None:
    found = []
    for referrer in (None, "http://b.org/1", "http://a.org/1"):
        shard, patterns = frontier().shards[0], SitePatterns(visitors=32)
        patterns.absorb(shard, Visited("http://a.org/2", "ann", 1.0, referrer))
        found.append(shard.get(ways_key("a.org", "http://a.org/2")))
    assert found[0] == found[1] != found[2]


@given(WEBS, st.randoms(use_true_random=False))
def test_backlinks_and_ranks_of_a_web(frontier: Frontiers, web: dict[int, set[int]], random: Random) -> None:
    ranks, backlink = Ranks(), an_ordering(ordering="backlink")
    teller = Telling(frontier, ranks, backlink)
    ranks.open(teller.shard)
    order = [*web, *random.sample(sorted(web), len(web) // 2)]  # some are told of twice
    random.shuffle(order)
    for number in order:
        teller.hear(linked(url(number), map(url, sorted(web[number])), YES if number % 2 else NO))
    links = Counter(other for one, targets in web.items() for other in targets if one != other)
    told: Rank[int] = Rank(every=EVERY, growth=GROWTH, tolerance=TOLERANCE)
    for number in dict.fromkeys(order):
        list(told.crawled(Crawled(number, sorted(web[number] - {number}))))
    assert teller.values(backlink, map(url, links)) == [*links.values()]
    expected = [told.value(number) for number in links]
    assert teller.values(ranks, map(url, links)) == pytest.approx(expected)


def test_ranks_of_a_partition_that_was_taken_up_are_pageranks(frontier: Frontiers) -> None:
    web = {number: {number * number % 11, (number + 1) % 12, 0} - {number} for number in range(12)}
    teller, ranks = Telling(frontier), Ranks()
    teller.hear(*(linked(url(number), map(url, sorted(targets))) for number, targets in web.items()))
    ranks.open(teller.shard)
    expected = nx.pagerank(nx.DiGraph(web), alpha=0.9, tol=1e-9)
    ranked = [len(web) * expected[number] for number in web]
    assert teller.values(ranks, map(url, web)) == pytest.approx(ranked, abs=0.01)
    ranks.close(teller.shard)
    with pytest.raises(KeyError):
        teller.values(ranks, [url(0)])


def test_similarity_goes_by_the_words_of_url_and_links_and_by_how_rare_they_are(frontier: Frontiers) -> None:
    similar = an_ordering(ordering="similarity", query="Ski alps")
    teller = Telling(frontier, similar)
    similar.open(teller.shard)
    targets = [f"http://h.test/{name}" for name in ("ski", "alps", "ski-alps", "other")]
    for number in range(3):  # all have the word "alps", one has "ski"
        words = ("alps", "ski") if number == 0 else ("alps",)
        teller.hear(linked(url(number), targets if number == 0 else (), YES, words))
    ski, alps, both, other = values = teller.values(similar, targets, ("passed", "over"))
    assert both > ski > alps > other == 0
    again = an_ordering(ordering="similarity")
    again.open(teller.shard)
    assert teller.values(again, targets, ("ski", "alps")) == values


def test_location_prefers_few_slashes_and_what_is_wanted(frontier: Frontiers) -> None:
    addresses = ["http://a.com/home", "http://a.com/x", "http://a.org/home/x", "http://a.org/x/y"]
    teller = Telling(frontier)
    teller.hear(linked(url(1), addresses))
    found = an_ordering(ordering="location", wanted=(".com", "home"))
    assert teller.values(found, addresses) == [1, 0, -1, -2]


@given(WEBS, st.tuples(*[st.sampled_from((0.0, 0.001, 1.0, -2.0))] * 4))
def test_the_weighted_ordering_is_the_weighted_sum_of_the_others(
    frontier: Frontiers, web: dict[int, set[int]], weights: tuple[float, float, float, float]
) -> None:
    weighted, *parts = both = [
        an_ordering(ordering=name, query="ski", weights=weights) for name in ("weighted", *PARTS)
    ]
    teller = Telling(frontier, *both)
    for each in both:
        each.open(teller.shard)
    for number, targets in web.items():
        teller.hear(linked(url(number), map(url, sorted(targets)), YES, ("ski",) if number % 2 else ("sea",)))
    linked_to = {url(target) for number, found in web.items() for target in found if target != number}
    columns = zip(*(teller.values(part, linked_to) for part in parts), strict=True)
    sums = [sum(map(mul, weights, column)) for column in columns]
    assert teller.values(weighted, linked_to) == pytest.approx(sums)


def test_hot_candidates_come_before_all_others_and_in_order(frontier: Frontiers) -> None:
    hot = an_ordering(ordering="backlink", query="Ski", hot=True)
    plain, topical = an_ordering(ordering="backlink"), an_ordering(ordering="backlink", hot=True)
    named, said, near, cold = (f"http://h.test/{name}" for name in ("skiing", "said", "near", "cold"))
    teller = Telling(frontier, hot)
    teller.hear(*(linked(url(number), [cold, named], NO) for number in range(3)))
    teller.hear(linked(url(8), [], NO, links=(Link(said, anchor=("to", "ski")),)), linked(url(9), [near]))
    assert teller.values(hot, (named, said, near, cold)) == [HOT + 3, HOT + 1, HOT + 1, 3]
    assert teller.values(plain, [named]) == [3]
    # A predicate's own words count where there is no query; that every page satisfies makes none hot.
    teller.hear(linked(url(7), ["http://h.test/every"], {EVERY_PAGE: True}))
    assert teller.values(topical, [said], ("ski",)) == [HOT + 1]
    assert teller.values(topical, [said, "http://h.test/every"]) == [1, 1]


VISITS = [
    Visited(f"http://h.test/{kind}/{number}", f"user{user}", 0.0, f"http://h.test/list/{number % 6}")
    for kind, users in (("topic", 9), ("list", 3), ("user", 1))
    for number in range(6)
    for user in range(users)
]


def told() -> Behaviour:
    return counted(Record(visit.user, visit.url, visit.referrer) for visit in VISITS)


def mined(patterns: SitePatterns) -> SitePatterns:
    for site in patterns.due:
        for behaviour in filter(None, patterns.read(site)):
            patterns.mined(site, mine(behaviour))
    return patterns


def test_patterns_are_mined_of_the_rows_beside_the_stream(frontier: Frontiers) -> None:
    teller = Telling(frontier, patterns := SitePatterns())
    teller.hear(*VISITS, *VISITS[::3])
    assert (patterns.due, patterns.starting) == (["h.test"], False)
    assert patterns.pattern_of("http://h.test/topic/new") is None
    shard, found = teller.shard, mined(patterns)
    assert not found.due
    expected = mine(told())
    for address in ("http://h.test/topic/new", "http://h.test/list/3", "http://h.test/print/3"):
        assert found.pattern_of(address) == expected.pattern_of(address)
    assert not found.unvisited("http://h.test/topic/new")
    assert found.unvisited("http://h.test/print/3") == expected.pattern_of("http://h.test/print/3").name
    assert found.unvisited("http://other.test/a") == "http://other.test/**"
    again = SitePatterns()
    again.open(shard)
    assert (again.due, again.starting) == (["h.test"], True)
    mined(again)
    assert again.pattern_of("http://h.test/topic/new") == found.pattern_of("http://h.test/topic/new")
    again.open(shard)
    again.close(shard)
    assert (again.due, again.starting) == ([], False)


def test_patterns_order_by_each_ranking_and_unknown_sites_come_last(frontier: Frontiers) -> None:
    patterns = SitePatterns()
    known = [f"http://h.test/{kind}/1" for kind in ("topic", "list", "user")]
    fresh = ["http://h.test/topic/new", "http://h.test/else", "http://other.test/a"]
    within = [*known, *fresh[:2]]
    teller = Telling(frontier, patterns)
    teller.hear(*VISITS, linked(url(1), fresh))
    patterns.mine_now(teller.shard, "h.test")
    mined = mine(told())
    for name, ranking in RANKINGS.items():
        *found, other = teller.values(an_ordering(patterns, ordering=name), [*known, *fresh])
        assert found == pytest.approx([score(ranking, mined.pattern_of(address)) for address in within])
        assert other == -1.0
    *found, other = teller.values(an_ordering(patterns, ordering="visits"), [*known, *fresh])
    visits = told().visits
    expected = [mined.expected_visits(address, visits.get(address, 0)) for address in within]
    assert found == pytest.approx(expected)
    assert other == 0
    assert found[0] > found[1] > found[2]


def test_candidates_are_chosen_in_the_order_and_never_where_no_visits_match(frontier: Frontiers) -> None:
    front = frontier(ordering="backlink")
    targets = [f"http://a.test/{number}" for number in range(3)]
    front.hear(*(linked(url(number), targets[number:]) for number in range(3)))
    assert front.choices() == targets[::-1]
    front = frontier(ordering="behaviour-fetch", visited_patterns_only=True)
    front.hear(*VISITS, linked(url(1), [f"http://h.test/{kind}/new" for kind in ("print", "topic", "list")]))
    assert front.agent.core.patterns is not None
    front.agent.core.patterns.mine_now(front.shards[0], "h.test")
    front.sweep()
    new = [page for page in front.agent.core.candidates.queues["p"].best(99) if page.endswith("new")]
    assert new == [f"http://h.test/{kind}/new" for kind in ("list", "topic")]


BEHAVIOUR = [{"ordering": name} for name in ("behaviour-fetch", "average-referral", "visits")]


@each_case("section", [{}, {"ordering": "pagerank"}, *BEHAVIOUR, {"visited_patterns_only": True}])
def test_users_ways_are_kept_only_where_they_are_used(frontier: Frontiers, section: dict[str, object]) -> None:
    kept = frontier(**section).agent.core.patterns is not None
    assert kept == (section in BEHAVIOUR or "visited_patterns_only" in section)


@each_case("rule", ["learned", "random", "breadth-first", "pagerank", "behaviour-discovery"])
def test_settings_under_a_rule_have_that_rule(rule: str) -> None:
    assert FrontierSettings(policy="linkage", ordering="location").under(rule).rule == rule
