"""What the paper leaves open, weights as counts come, and counts of pages, their links and a log by policy."""

import math
from collections import Counter
from itertools import chain
from random import Random

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.lessons import JudgedPage, recount
from scentline.models.page import Link
from scentline.models.policy import factors, features
from scentline.models.policy.factors import SIGNERS, WORDS, LinkTable, kept, rank, sibling_log, signers
from scentline.models.policy.factors import signature as signed
from scentline.models.policy.features import (
    BASE,
    WORD,
    Base,
    Denominator,
    Feature,
    interest,
    link,
    ratio,
    region,
    significance,
    split,
    token,
    user,
    word,
)
from scentline.models.policy.weights import Evidence, Weights, contributions
from scentline.models.trace import Step, Trace, Visit, arrive, insert, sixths
from scentline.models.url import identifier
from tests.cases import each_case
from tests.models.teaching import paper_weights, significant_log, weigh, weighed
from tests.reference.counts import Counts, plain


@each_case("base", [Base(), Base(7, 0), Base(7, 7)])
def test_without_a_base_rate_every_factor_is_one(base: Base) -> None:
    table = LinkTable((5, 3), (5, 1))
    assert ratio(3, 3, base) == 1
    assert significance(3, 3, base) == 0
    assert weighed(base, WORD, {"snow": (3, 3)}).sum(WORD, ["snow"]) == 0
    assert (table.p(base), table.q(base)) == (1, 1)
    assert factors.locality_log(4, 2, table, base) == 0
    assert sibling_log(4, 2, base) == 0


def test_no_hit_counts_as_half_a_hit_but_is_no_evidence_and_what_was_never_seen_has_factor_one() -> None:
    base = Base(100, 20)
    assert ratio(25, 0, base) == pytest.approx(0.1), "5 hits are expected: .5 / 5"
    assert ratio(1, 0, base) == interest(0, 0) == ratio(0, 0, base) == 1
    assert significance(0, 0, base) == sibling_log(0, 0, base) == 0
    assert LinkTable().p(base) == LinkTable().q(base) == LinkTable((0, 0), (50, 0)).p(base) == 1
    assert LinkTable((0, 0), (50, 0)).q(base) == pytest.approx(0.5 / (50 * 0.2 * 0.8))
    assert LinkTable((50, 0), (50, 30)).p(base) == pytest.approx(0.5 / (100 * 0.2 * 0.2))


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_every_ratio_has_a_logarithm(pages: int, more: int, hits: int, total_hits: int) -> None:
    base = Base(pages + more, min(total_hits, pages + more))
    assert math.isfinite(math.log(ratio(pages, min(hits, pages), base)))
    weights = weighed(base, WORD, {"snow": (pages, min(hits, pages))}, "paper", t=0.0)
    assert np.isfinite(weights.words.weights).all()


@given(st.text(), st.booleans())
def test_feature_names_are_taken_apart_as_they_were_made(name: str, holds: bool) -> None:
    found = [split(feature(name)) for feature in (word, token, user, features.signature)]
    assert [each.kind for each in found] == ["word", "token", "user", "signature"]
    assert {each.name for each in found} == {name}
    assert split(link(name, holds)) == Feature("link", name, holds)
    assert split(region(name)) == Feature("region", name)
    assert split(BASE) == Feature("base")


@each_case("name", ["z:a", "word", "l:p:2", "l:p"])
def test_a_foreign_feature_name_is_an_error_that_shows_it(name: str) -> None:
    with pytest.raises(ValueError, match=f"feature '{name}': expected"):
        split(name)


def trained() -> Weights:
    weights = paper_weights()
    weigh(
        weights, {BASE: (100, 20), "w:snow": (25, 15), "w:sea": (30, 0), "w:the": (90, 19), "t:ski": (40, 16)}
    )
    weigh(weights, {"l:p:1": (50, 30), "l:p:0": (150, 12), "l:other:1": (50, 50)})
    return weights


def test_ratios_are_taken_anew_only_when_the_base_rate_moved_enough() -> None:
    weights = trained()
    before = weights.sum(WORD, ["snow"])
    assert before == pytest.approx(math.log(3))
    weigh(weights, {BASE: (101, 20)})
    assert weights.sum(WORD, ["snow"]) == before
    weigh(weights, {BASE: (110, 20)})
    assert weights.sum(WORD, ["snow"]) == pytest.approx(math.log(0.6 / (20 / 110)))
    weigh(weights, {"w:snow": (100, 20)})
    assert weights.sum(WORD, ["snow"]) == 0, "what is significant no more has no ratio"


def test_with_the_papers_denominator_more_hits_alone_make_words_significant() -> None:
    weights = paper_weights("paper")
    weigh(weights, {BASE: (10, 2), "w:snow": (5, 2)})
    assert weights.sum(WORD, ["snow"]) == 0
    weigh(weights, {BASE: (1_000, 200)})
    assert weights.sum(WORD, ["snow"]) > 0


def test_contributions_name_counts_ratio_and_significance_largest_effect_first() -> None:
    parents = frozenset({"snow", "sea", "the", "new"}), frozenset({"snow"})
    evidence = Evidence(parents, frozenset({"ski", "org"}), k=3, m=2, v=10, s=1)
    found = {entry.feature: entry for entry in contributions(evidence, trained())}
    assert list(found) == ["l:p:1", "w:sea", "w:snow", "l:p:0", "t:ski", "siblings:p", "w:the"]
    deviation = 0.1 / math.sqrt(0.016)
    for name, *figures in (("w:snow", 25, 15, 3, 5), ("siblings:p", 10, 1, 0.5, deviation)):
        expected = *figures, math.log(figures[2])
        assert msgspec.structs.astuple(found[str(name)]) == (name, *map(pytest.approx, expected))
    assert (found["w:sea"].ratio, found["w:the"].log) == pytest.approx((0.5 / 6, 0))
    assert (found["l:p:1"].ratio, found["l:p:1"].log) == pytest.approx((3.75, 2 * math.log(3.75)))
    assert contributions(Evidence(), trained()) == []


# words of many pages

names = st.sampled_from([f"word{number}" for number in range(40)])
steps = st.tuples(st.one_of(st.just(BASE), names.map(WORD.__add__)), st.integers(0, 200), st.integers(0, 200))


@given(
    steps=st.lists(steps, max_size=40),
    pages=st.lists(st.lists(names, unique=True, max_size=20), max_size=5),
    denominator=st.sampled_from(["binomial", "paper"]),
)
def test_each_word_of_any_page_is_summed_once_whenever_it_was_met(
    steps: list[tuple[str, int, int]], pages: list[list[str]], denominator: Denominator
) -> None:
    weights, counts = paper_weights(denominator, drift=0.0), dict[str, tuple[int, int]]()
    groups = [np.array(weights.vocabulary.numbers(words), np.intp) for words in pages]
    for feature, most, hits in steps:
        counts[feature] = most, min(most, hits)
        weigh(weights, {feature: counts[feature]})
        base = Base(*counts.get(BASE, (0, 0)))
        cells = [counts.get(WORD + name, (0, 0)) for name in {*chain.from_iterable(pages)}]
        expected = sum(significant_log(*cell, base, denominator=denominator) for cell in cells)
        assert weights.words.of_any(groups) == pytest.approx(expected)


def test_many_words_outgrow_the_first_array_and_are_numbered_anew() -> None:
    weights, words = paper_weights(), [f"word{number}" for number in range(0, 3000, 7)]
    weigh(weights, {BASE: (1000, 100)} | {f"w:word{number}": (50, 40) for number in range(3000)})
    before = weights.sum(WORD, words)
    assert before == pytest.approx(len(words) * math.log(8))
    gone = weights.ledger.slots_of([f"w:word{number}" for number in range(3000) if number % 7])
    weights.learn(weights.vocabulary.forget(gone))
    weights.renumber(weights.vocabulary.compact(weights.beside))
    assert (len(weights.vocabulary), weights.sum(WORD, words)) == (len(words), before)


# counts of pages, their links and a log, as each policy has them


YES = {"p": True}
NO = {"p": False}
A, B, C = (f"http://example.org/{name}" for name in "abc")
MANY = [f"http://example.org/{number}" for number in range(10)]


def linkage(pages: list[JudgedPage], parents: int = 32) -> Counts:
    return plain(recount(pages, "linkage", None, parents))


def kinds(counts: Counts) -> set[str]:
    return {split(feature).kind for feature, *_ in counts.items()}


@each_case(
    ("pages", "counts"),
    [
        # Each word of the in-linking pages counts once for the target.
        (
            [JudgedPage(A, NO, ("snow", "sea"), (Link(C),)), JudgedPage(B, YES, ("snow",), (Link(C),)),
             JudgedPage(C, YES, ("own",))],
            {"": (3, 2), "w:snow": (1, 1), "w:sea": (1, 1), "w:own": (0, 0), "l:p:1": (1, 1), "l:p:0": (1, 1),
             "t:a": (1, 0)},
        ),
        # A silent page counts as judged, and its words and links for others alone.
        (
            [JudgedPage(A, YES, ("snow",), (Link(B), Link(C))), JudgedPage(B, YES, (), (Link(C),), silent=True),
             JudgedPage(C, NO)],
            {"": (3, 2), "w:snow": (1, 0), "l:p:1": (2, 0), "t:b": (0, 0)},
        ),
        # Links to the page itself and to pages not judged do not count, others once.
        ([JudgedPage(A, YES, ("snow",), (Link(A), Link(B)))], {"l:p:1": (0, 0), "w:snow": (0, 0)}),
        ([JudgedPage(A, YES, links=(Link(B), Link(B))), JudgedPage(B, YES)], {"l:p:1": (1, 1)}),
        # The first page of a URL counts.
        ([JudgedPage(A, YES), JudgedPage(A, NO), JudgedPage(A, NO)], {"": (1, 1)}),
        # A page counts for the predicates that judged it alone.
        ([JudgedPage(A, YES, links=(Link(B),)), JudgedPage(B, {"q": True})], {"l:p:1": (0, 0), "": (1, 1)}),
    ],
)  # fmt: skip
def test_links_and_words_of_linking_pages(pages: list[JudgedPage], counts: dict[str, tuple[int, int]]) -> None:
    found = linkage(pages)
    assert {feature: found.get(feature, "p") for feature in counts} == counts


def test_only_kept_parents_contribute_words_but_every_link_counts() -> None:
    sources = MANY[:5]
    pages = [JudgedPage(url, NO, (f"word{url[-1]}",), (Link(C),)) for url in sources]
    counts = linkage([*pages, JudgedPage(C, YES)], parents=2)
    chosen = kept(map(identifier, sources), identifier(C), 2)
    for url in sources:
        assert counts.get(f"w:word{url[-1]}", "p") == ((1, 1) if identifier(url) in chosen else (0, 0))
    assert counts.get("l:p:0", "p") == (5, 5)
    learned = [JudgedPage(url, NO, (), (Link(C, (f"word{url[-1]}",)),)) for url in MANY]
    of_links = plain(recount([*learned, JudgedPage(C, YES)], "learned", None, 32))
    chosen = kept(map(identifier, MANY), identifier(C), 8)
    for url in MANY:
        assert of_links.get(f"a:word{url[-1]}", "p") == ((1, 1) if identifier(url) in chosen else (0, 0))


def test_users_signature_words_and_regions_of_a_page_count_under_its_verdict() -> None:
    trace = Trace([Step("ann", A, 1.0), Step("ann", B, 2.0), Step("bob", B, 3.0)])
    pages = [JudgedPage(A, YES, ("snow",)), JudgedPage(B, NO, ("sea",)), JudgedPage(C, NO)]
    counts = plain(recount(pages, "collaborative", trace, 32))
    expected = {"u:ann": (2, 1), "u:bob": (1, 0), "s:snow": (1, 0), "s:sea": (1, 1), "": (3, 1)}
    assert {name: counts.get(name, "p") for name in expected} == expected
    assert counts.get("r:p", "p") == (1, 0), "B lies near A, which satisfies; A lies near B, which does not"


def test_the_learned_policy_counts_own_words_and_words_in_and_around_kept_links() -> None:
    around = Link(B, ("ski", "area", "ski"), ("the", "alps"))
    other = Link(B, ("later",))
    pages = [JudgedPage(A, NO, ("snow",), (around, other)), JudgedPage(B, YES, ("own",))]
    counts = plain(recount(pages, "learned", Trace([Step("ann", B, 1.0), Step("ann", A, 2.0)]), 32))
    for feature in ("a:ski", "a:area", "c:the", "c:alps", "p:own", "l:p:0"):
        assert counts.get(feature, "p") == (1, 1), feature
    assert counts.get("p:snow", "p") == (1, 0)
    assert counts.get("a:later", "p") == (0, 0), "the first link to a page is the one that counts"
    assert counts.get("u:ann", "p") == (2, 1)
    assert counts.get("r:p", "p") == (1, 0), "the hit was visited near the other page, which is none"
    assert not kinds(counts) & {"word", "token", "signature"}


@each_case(("policy", "expected"))
def test_a_policy_counts_its_own_kinds_of_features_alone(policy: str, expected: str) -> None:
    link = Link(B, ("ski",), ("alps",), heading=("winter",))
    pages = [JudgedPage(f"{A}/skiing", YES, ("snow",), (link,)), JudgedPage(B, YES, ("sea",))]
    trace = Trace([Step("ann", pages[0].url, 1.0), Step("ann", B, 2.0)])
    assert kinds(plain(recount(pages, policy, trace, 32))) == {*expected.split(",")}


VISITS = st.builds(
    Visit, st.integers(0, 6).map(float), st.sampled_from(["http://a/", "http://b/", "http://c/"])
)
URLS = [f"http://h.org/{name}" for name in "abcd"]
NEAR = st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(st.integers(0, 3), st.integers(0, 9)))


@given(st.lists(VISITS, max_size=40), st.integers(1, 8))
def test_the_window_is_the_latest_distinct_visits_in_order(visits: list[Visit], limit: int) -> None:
    window, latest = list[Visit](), list[Visit]()
    for number, each in enumerate(visits, start=1):
        before = list(window)
        place = insert(window, each, limit)
        assert (place is None) == (each in before)
        assert place is None or place == (window.index(each) if each in window else -1)
        latest = sorted(set(visits[:number]), key=lambda v: (v.time, v.url))[-limit:]
        assert window == latest
    insert(window, Visit(9.0, "http://a/"), limit // 2 + 1)  # a smaller limit shortens it
    assert window == sorted({*latest, Visit(9.0, "http://a/")})[-(limit // 2 + 1) :]


def brute_force(window: list[Visit], reach: int) -> Counter[tuple[frozenset[str], str]]:
    found: Counter[tuple[frozenset[str], str]] = Counter()
    for one in range(len(window)):
        for two in range(one + 1, min(len(window), one + reach + 1)):
            if window[one].url != window[two].url:
                pair = frozenset((window[one].url, window[two].url))
                found[pair, "times"] += 1
                found[pair, "sixths"] += sixths(two - one)
    return +found


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(URLS)), max_size=12), st.integers(1, 5))
def test_accesses_in_any_order_give_the_pairs_of_a_window(visits: list[tuple[int, str]], reach: int) -> None:
    window: list[Visit] = []
    found: Counter[tuple[frozenset[str], str]] = Counter()
    for time, url in visits:
        for pair in arrive(window, Visit(float(time), url), None, limit=100, reach=reach) or ():
            found[frozenset((pair.url, pair.other)), "times"] += pair.times
            found[frozenset((pair.url, pair.other)), "sixths"] += pair.sixths
    assert {key: value for key, value in found.items() if value} == brute_force(window, reach)


@given(NEAR, st.frozensets(st.sampled_from("abcdefgh")), st.integers(1, 4), st.randoms(use_true_random=False))
def test_signers_are_the_judged_pages_of_lowest_rank_in_whatever_order_they_came(
    near: dict[str, tuple[int, int]], judged: frozenset[str], bound: int, random: Random
) -> None:
    names = {url: bytes([random.randrange(256), ord(url)]) for url in sorted(judged)}
    page_id = bytes([random.randrange(256), 0])
    found = signers(near, names, page_id, bound)
    together = {names[url] for url, (times, _) in near.items() if times and url in judged}
    assert len(found) == min(bound, len(together))
    assert set(found) <= together
    left = together - set(found)
    if found and left:
        assert max(rank(name, page_id) for name in found) < min(rank(name, page_id) for name in left)
    shuffled = list(names.items())
    random.shuffle(shuffled)
    assert signers(near, dict(shuffled), page_id, bound) == found


def test_a_signature_has_the_first_words_of_each_page_alone_and_few_pages_sign() -> None:
    words = [str(number) for number in range(100)]
    assert signed([words, ["new"]]) == {*words[:WORDS], "new"}
    assert signed([]) == frozenset()
    assert len(signers(dict.fromkeys(words, (1, 0)), {url: url.encode() for url in words}, b"")) == SIGNERS
