"""Aggarwal 2004, section 3: every formula of the techniques by linkage and by users, worked by hand."""

import math
from collections.abc import Iterable, Mapping

import numpy as np
import pytest

from scentline.models.policy import factors
from scentline.models.policy import features as module
from scentline.models.policy.factors import inside, locality_log, region, region_log, sibling_log, union
from scentline.models.policy.features import (
    BASE,
    TOKEN,
    USER,
    WORD,
    Base,
    Denominator,
    Sample,
    ratio,
    significance,
)
from scentline.models.policy.weights import Contribution, CrowdEvidence, crowd_contributions
from scentline.models.trace import Step, Trace
from scentline.models.url import tokens
from tests.cases import each_case
from tests.models.teaching import paper_weights, weigh, weighed

#: "the crawler has collected about 10000 URLs and a fraction of P(C) = 0.1 of them satisfy"
PAPER = Base(10_000, 1_000)

#: 100 pages judged, 20 of them hits: P(C) = .2.
SMALL = Base(100, 20)

#: f1 = 7 % and f3 = 4.5 % of 100,000 links, where 1 % and 9 % are expected.
LINKS = factors.LinkTable(satisfying=(12_000, 7_000), failing=(88_000, 4_500))


# P(E) = 40/100, P(C and E) = 16/100: P(C|E) = .4 (1); .16 / (.2 * .4) = 2 (2); .4 / .2 = 2 (3). Favourable
# events are above 1, unfavourable ones below. (5): in the in-linking pages of 25 judged pages, 15 of them hits.
@each_case(("pages", "hits", "expected"), [(40, 16, 0.16 / (0.2 * 0.4)), (40, 8, 1), (40, 4, 0.5), (25, 15, 3)])
def test_equations_1_to_3_and_5_ratio_of_two_probabilities(pages: int, hits: int, expected: float) -> None:
    assert ratio(pages, hits, SMALL) == pytest.approx(expected)


@each_case(("pages", "hits", "denominator", "sample", "expected"))
def test_equations_6_10(
    pages: int, hits: int, denominator: Denominator, sample: Sample, expected: float
) -> None:
    assert significance(pages, hits, SMALL, denominator, sample) == pytest.approx(expected)


def test_equation_7_threshold_is_included() -> None:
    # 6 hits on 12 pages where P(C) = 1/4: (1/2 - 1/4) / sqrt(1/4 * 3/4 / 12) = 2.
    base = Base(4, 1)
    exactly = significance(12, 6, base)
    assert exactly == pytest.approx(2)
    for t, expected in ((exactly, math.log(2)), (math.nextafter(exactly, 3), 0)):
        assert weighed(base, WORD, {"snow": (12, 6)}, t=t).sum(WORD, ["snow"]) == pytest.approx(expected)


@each_case(("denominator", "expected"), [("binomial", 2 * 3), ("paper", 2 * 2 * 3)])
def test_equations_4_and_7_each_significant_word_counts_once(denominator: Denominator, expected: float) -> None:
    # I = 2, S = 3.16; I = 3, S = 5; I = 2, S = 1.12 by its own pages, 2.24 by the paper's; I = 1.
    counts = {"slope": (40, 16), "snow": (25, 15), "rare": (5, 2), "the": (100, 20)}
    parents = [frozenset({"slope", "the"}), frozenset({"slope", "snow", "rare"}), frozenset({"snow", "other"})]
    assert union(parents) == {*counts, "other"}
    weights = weighed(SMALL, WORD, counts, denominator)
    groups = [np.array(weights.vocabulary.numbers(parent), np.intp) for parent in parents]
    assert math.exp(weights.words.of_any(groups)) == pytest.approx(expected)


def test_url_tokens_are_split_at_dots_and_slashes_and_weighed_like_words() -> None:
    weights = weighed(SMALL, TOKEN, {"ski": (25, 15), "com": (40, 16)})
    assert math.exp(weights.sum(TOKEN, tokens("http://www.ski.com/alps.html"))) == pytest.approx(3 * 2)
    assert weights.sum(TOKEN, tokens("http://www.skiing.org/alps.html")) == 0


def test_table_1_link_locality_is_p_to_the_m_times_q_to_the_rest() -> None:
    assert (LINKS.p(PAPER), LINKS.q(PAPER)) == pytest.approx((7, 0.5))
    # Five judged in-links, three of them satisfying: 7^3 * (1/2)^2 = 85.75.
    assert math.exp(locality_log(5, 3, LINKS, PAPER)) == pytest.approx(85.75)
    assert locality_log(0, 0, LINKS, PAPER) == 0


def test_nine_of_fifteen_siblings_where_one_and_a_half_are_expected_is_a_ratio_of_six() -> None:
    assert module.interest(9, 15 * PAPER.rate) == pytest.approx(9 / 1.5) == pytest.approx(6)
    assert math.exp(sibling_log(30, 1, PAPER)) == pytest.approx(1 / 3)


#: "only 0.1% of the pages on the web correspond to this particular predicate"
MALLS = Base(100_000, 100)


def affinity_log(
    visitors: Iterable[str], base: Base, counts: Mapping[str, tuple[int, int]],
    denominator: Denominator = "binomial",
) -> float:  # fmt: skip
    return weighed(base, USER, counts, denominator).sum(USER, visitors)


def explained(
    evidence: CrowdEvidence, counts: dict[str, tuple[int, int]], denominator: Denominator
) -> dict[str, Contribution]:
    weights = paper_weights(denominator)
    weigh(weights, counts)
    return {entry.feature: entry for entry in crowd_contributions(evidence, weights)}


def test_equations_8_and_9_a_cumulative_ratio_is_the_product_over_the_visitors() -> None:
    # A user visited 50 judged pages, 5 of them on online malls: .1 / .001.
    assert ratio(50, 5, MALLS) == pytest.approx(100)
    # (40, 16): .4 / .2 = 2; (25, 15): .6 / .2 = 3; (50, 2): .04 / .2 = 1/5. Each is significant.
    counts = {"ann": (40, 16), "bob": (25, 15), "cy": (50, 2)}
    assert math.exp(affinity_log(("ann", "bob"), SMALL, counts)) == pytest.approx(6)
    assert math.exp(affinity_log(("ann", "bob", "cy"), SMALL, counts)) == pytest.approx(6 / 5)


def test_only_users_of_two_standard_deviations_enter() -> None:
    counts = {"ann": (40, 16), "dee": (5, 2), "eve": (4, 1)}
    # dee: 1.118 deviations by her own 5 pages, but 5 by all 100; eve: (.25 - .2) / .04 = 1.25 by all.
    assert math.exp(affinity_log(counts, SMALL, counts)) == pytest.approx(2)
    assert math.exp(affinity_log(counts, SMALL, counts, "paper")) == pytest.approx(2 * 2)
    assert affinity_log(("zoe",), SMALL, counts) == affinity_log((), SMALL, counts) == 0


def test_what_explains_a_priority_shows_the_test_that_decides() -> None:
    counts = {BASE: (100, 20), "u:ann": (40, 16), "u:flo": (20, 6), "u:eve": (4, 1), "s:snow": (20, 6)}
    evidence = CrowdEvidence(("ann", "flo", "eve"), frozenset({"snow"}))
    found = explained(evidence, counts, "paper")
    # Over N: |.4 - .2| / .04 = 5; |.3 - .2| / .04 = 2.5; |.25 - .2| / .04 = 1.25.
    shown = {name: (entry.significance, entry.log) for name, entry in found.items()}
    assert shown["u:ann"] == pytest.approx((5, math.log(2)))
    assert shown["u:flo"] == shown["s:snow"] == pytest.approx((2.5, math.log(1.5)))
    assert shown["u:eve"] == pytest.approx((1.25, 0))
    # Over n(E): / sqrt(.16 / 40) = 3.162; / sqrt(.16 / 20) = 1.118, which is below t.
    found = explained(evidence, counts, "binomial")
    assert (found["u:ann"].significance, found["u:flo"].significance) == pytest.approx((3.1622776, 1.1180339))
    assert found["u:flo"].log == found["s:snow"].log == 0


def test_equation_11_region_is_the_n_accesses_before_and_after_by_the_same_user() -> None:
    # ann: a b c d e; bob: x y, between hers in time. n = 2.
    steps = [Step("ann", page, 10.0 * place) for place, page in enumerate("abcde")]
    steps += [Step("bob", page, 21.0 + place) for place, page in enumerate("xy")]
    near = Trace(steps, reach=2).together
    assert [set(region(near[page])) for page in "cax"] == [{"a", "b", "d", "e"}, {"b", "c"}, {"y"}]
    # Known to satisfy: a and x. TL(U) = {b, c} united with {y}.
    assert {page for page in near if inside(near[page], {"a", "x"})} == {"b", "c", "y"}
    # Another access of ann to a, after e: now it is near d and e as well, and its own accesses do not count.
    near = Trace([*steps, Step("ann", "a", 50.0)], reach=2).together
    assert {page for page in near if inside(near[page], {"a", "x"})} == {"b", "c", "d", "e", "y"}


def test_equations_12_and_13_regions_inside_and_outside() -> None:
    # 40 of the judged pages lie in TL(U), 16 of them hits: f1 = .4; of the 60 others 4: f2 = .0667. Of 25 pages
    # 5 hits are expected, and no hit counts as half a hit: .5 / 5.
    regions = ((True, (40, 16), 0.4 / 0.2), (False, (40, 16), 4 / 60 / 0.2), (True, (25, 0), 0.1))
    for within, cell, expected in regions:
        assert math.exp(region_log(within, cell, SMALL)) == pytest.approx(expected)
    # Nothing judged inside or outside, no access, no hit in the region or at all.
    for place, cell in ((True, (0, 0)), (False, (100, 20)), (None, (40, 16)), (True, (1, 0))):
        assert region_log(place, cell, SMALL) == 0
    assert region_log(True, (5, 0), Base(7, 0)) == 0


def test_equation_14_composite_ratio_is_the_product_of_the_three() -> None:
    counts = {BASE: (100, 20), "u:ann": (40, 16), "u:cy": (50, 2), "s:snow": (25, 15), "r:p": (40, 16)}
    evidence = CrowdEvidence(("ann", "cy"), frozenset({"snow", "new"}), within=True)
    found = explained(evidence, counts, "binomial")
    added = {name: math.exp(entry.log) for name, entry in found.items() if entry.log}
    assert added == pytest.approx({"u:ann": 2, "u:cy": 1 / 5, "s:snow": 3, "r:p": 2})
    assert not any(entry.log for entry in explained(CrowdEvidence(), counts, "binomial").values())
