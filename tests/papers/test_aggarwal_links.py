"""Aggarwal 2004, section 3: every formula of the linkage based technique, worked by hand."""

import math

import pytest

from scentline.models.interest.factors import LinkTable, locality_log, sibling_log, token_log, union
from scentline.models.interest.features import BASE
from scentline.models.interest.linkage import Evidence, contributions
from scentline.models.interest.ratio import (
    Base,
    Denominator,
    RatioTable,
    Sample,
    WordMasks,
    interest,
    ratio,
    significance,
    significant_log,
)
from scentline.models.interest.weights import Weights
from scentline.models.ledger import Ledger
from scentline.models.url import tokens
from tests.cases import each_case
from tests.models.teaching import weigh

#: "the crawler has collected about 10000 URLs and a fraction of P(C) = 0.1 of them satisfy"
PAPER = Base(10_000, 1_000)

#: 100 pages judged, 20 of them hits: P(C) = .2.
SMALL = Base(100, 20)

#: f1 = 7 % and f3 = 4.5 % of 100,000 links, where 1 % and 9 % are expected.
LINKS = LinkTable(satisfying=(12_000, 7_000), failing=(88_000, 4_500))


# P(E) = 40/100, P(C and E) = 16/100: P(C|E) = .4 (1); .16 / (.2 * .4) = 2 (2); .4 / .2 = 2 (3). Favourable
# events are above 1, unfavourable ones below. (5): in the in-linking pages of 25 judged pages, 15 of them hits.
@each_case(("pages", "hits", "expected"), [(40, 16, 0.16 / (0.2 * 0.4)), (40, 8, 1), (40, 4, 0.5), (25, 15, 3)])
def test_equations_1_to_3_and_5_ratio_of_conditional_to_base_probability(
    pages: int, hits: int, expected: float
) -> None:
    assert ratio(pages, hits, SMALL) == pytest.approx(expected)


@each_case(
    ("pages", "hits", "denominator", "sample", "expected"),
    [
        # |.4 - .2| / sqrt(.2 * .8 / 20) = .2 / .0894, whatever the number of pages with the word.
        (40, 16, "paper", "hits", 2.2360679),
        (5, 2, "paper", "hits", 2.2360679),
        # / sqrt(.2 * .8 / 40); on 5 pages only / sqrt(.2 * .8 / 5).
        (40, 16, "binomial", "hits", 3.1622776),
        (5, 2, "binomial", "hits", 1.1180339),
        (5, 2, "binomial", "pages", 1.1180339),
        # (10): / sqrt(.2 * .8 / 100) = .2 / .04, whatever the number of pages that the user visited.
        (40, 16, "paper", "pages", 5),
        (5, 2, "paper", "pages", 5),
        # The absolute value.
        (25, 0, "binomial", "hits", 2.5),
        (25, 10, "binomial", "hits", 2.5),
    ],
)
def test_equations_6_and_10_significance(
    pages: int, hits: int, denominator: Denominator, sample: Sample, expected: float
) -> None:
    assert significance(pages, hits, SMALL, denominator, sample) == pytest.approx(expected)


def test_equation_7_threshold_is_included() -> None:
    # 6 hits on 12 pages where P(C) = 1/4: (1/2 - 1/4) / sqrt(1/4 * 3/4 / 12) = 2.
    base = Base(4, 1)
    exactly = significance(12, 6, base)
    assert exactly == pytest.approx(2)
    assert significant_log(12, 6, base, t=exactly) == pytest.approx(math.log(2))
    assert significant_log(12, 6, base, t=math.nextafter(exactly, 3)) == 0


@each_case(("denominator", "expected"), [("binomial", 2 * 3), ("paper", 2 * 2 * 3)])
def test_equations_4_and_7_each_significant_word_once_over_all_in_linking_pages(
    denominator: Denominator, expected: float
) -> None:
    # I = 2, S = 3.16; I = 3, S = 5; I = 2, S = 1.12 by its own pages, 2.24 by the paper's; I = 1.
    words = RatioTable(2.0, denominator)
    counts = {"slope": (40, 16), "snow": (25, 15), "rare": (5, 2), "the": (100, 20)}
    words.work_out(SMALL, counts.items())
    parents = [frozenset({"slope", "the"}), frozenset({"slope", "snow", "rare"}), frozenset({"snow", "other"})]
    assert union(parents) == {*counts, "other"}
    masks = WordMasks(words)
    assert math.exp(masks.log([masks.mask(parent).bits for parent in parents])) == pytest.approx(expected)


def test_url_tokens_are_split_at_dots_and_slashes_and_weighed_like_words() -> None:
    ratios = RatioTable(2.0, "binomial")
    ratios.work_out(SMALL, {"ski": (25, 15), "com": (40, 16)}.items())
    assert math.exp(token_log(tokens("http://www.ski.com/alps.html"), ratios)) == pytest.approx(3 * 2)
    assert token_log(tokens("http://www.skiing.org/alps.html"), ratios) == 0


def test_table_1_link_locality_is_p_to_the_m_times_q_to_the_rest() -> None:
    assert (LINKS.p(PAPER), LINKS.q(PAPER)) == pytest.approx((7, 0.5))
    # Five judged in-links, three of them satisfying: 7^3 * (1/2)^2 = 85.75.
    assert math.exp(locality_log(5, 3, LINKS, PAPER)) == pytest.approx(85.75)
    assert locality_log(0, 0, LINKS, PAPER) == 0


def test_nine_of_fifteen_siblings_where_one_and_a_half_are_expected_is_a_ratio_of_six() -> None:
    assert interest(9, 15 * PAPER.rate) == pytest.approx(9 / 1.5) == pytest.approx(6)
    assert math.exp(sibling_log(15, 9, PAPER)) == pytest.approx(6)
    assert math.exp(sibling_log(30, 1, PAPER)) == pytest.approx(1 / 3)


def test_priority_is_the_sum_of_the_logarithms() -> None:
    # I = 2, I = 3, p = 7 and q = 1/2 once each, 9 / 1.5; `tests.reference` has the crawl's with weights.
    weights = Weights("sports", Ledger())
    weigh(weights, {BASE: (10_000, 1_000), "w:snow": (400, 80), "t:ski": (100, 30)})
    weigh(weights, {"l:sports:1": LINKS.satisfying, "l:sports:0": LINKS.failing})
    evidence = Evidence((frozenset({"snow"}),), frozenset({"ski"}), k=2, m=1, v=15, s=9)
    found = {entry.feature: math.exp(entry.log) for entry in contributions(evidence, weights)}
    expected = {"w:snow": 2, "t:ski": 3, "l:sports:1": 7, "l:sports:0": 0.5, "siblings:sports": 6}
    assert found == pytest.approx(expected)
