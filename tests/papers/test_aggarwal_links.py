"""Aggarwal 2004, section 3: every formula of the linkage based technique, worked by hand."""

import math

import pytest

from scentline.models.interest.factors import (
    LinkTable,
    content_log,
    locality_log,
    sibling_log,
    token_log,
    union,
)
from scentline.models.interest.features import BASE
from scentline.models.interest.linkage import Evidence, score
from scentline.models.interest.ratio import Base, RatioTable, composite_log, interest, ratio, significance
from scentline.models.interest.weights import Weights
from scentline.models.ledger import Ledger
from scentline.models.url import tokens
from tests.models.teaching import weigh

#: "the crawler has collected about 10000 URLs and a fraction of P(C) = 0.1 of them satisfy"
PAPER = Base(10_000, 1_000)

#: 100 pages judged, 20 of them hits: P(C) = .2.
SMALL = Base(100, 20)


def test_equations_1_to_3_ratio_of_conditional_to_base_probability() -> None:
    # P(E) = 40/100, P(C and E) = 16/100: P(C|E) = .4 (1); .16 / (.2 * .4) = 2 (2); .4 / .2 = 2 (3).
    assert ratio(40, 16, SMALL) == pytest.approx(0.16 / (0.2 * 0.4)) == pytest.approx(2)


def test_favourable_events_are_above_one_and_unfavourable_between_zero_and_one() -> None:
    assert ratio(40, 16, SMALL) > 1
    assert 0 < ratio(40, 4, SMALL) < 1
    assert ratio(40, 8, SMALL) == pytest.approx(1)


def test_equation_4_composite_ratio_is_the_product() -> None:
    # Ratios 2 and .5, and 4; significance left aside (t = 0): 2 * .5 * 4 = 4.
    assert math.exp(composite_log([(40, 16), (40, 4), (10, 8)], SMALL, t=0)) == pytest.approx(4)


def test_equation_5_interest_of_a_word() -> None:
    # The word stood in the in-linking pages of 25 judged pages, 15 of them hits:
    # P(C and Q) / (P(C) P(Q)) = .15 / (.2 * .25) = 3.
    assert ratio(25, 15, SMALL) == pytest.approx(3)


def test_equation_6_significance_with_the_papers_denominator() -> None:
    # |.4 - .2| / sqrt(.2 * .8 / 20) = .2 / .0894 = 2.236, whatever the number of pages with the word.
    assert significance(40, 16, SMALL, "paper") == pytest.approx(2.2360679)
    assert significance(5, 2, SMALL, "paper") == pytest.approx(2.2360679)


def test_equation_6_significance_with_the_binomial_denominator() -> None:
    # |.4 - .2| / sqrt(.2 * .8 / 40) = 3.162; on 5 pages only / sqrt(.2 * .8 / 5) = 1.118.
    assert significance(40, 16, SMALL) == pytest.approx(3.1622776)
    assert significance(5, 2, SMALL) == pytest.approx(1.1180339)


def test_equation_6_takes_the_absolute_value() -> None:
    assert significance(25, 0, SMALL) == pytest.approx(2.5)
    assert significance(25, 10, SMALL) == pytest.approx(2.5)


def test_equation_7_only_significant_words_enter() -> None:
    # (40, 16): I = 2, S = 3.16; (5, 2): I = 2, S = 1.12 (left out); (25, 15): I = 3, S = 5.
    words = [(40, 16), (5, 2), (25, 15)]
    assert math.exp(composite_log(words, SMALL)) == pytest.approx(6)
    assert math.exp(composite_log(words, SMALL, denominator="paper")) == pytest.approx(12)


def test_equation_7_threshold_is_included() -> None:
    # 6 hits on 12 pages where P(C) = 1/4: (1/2 - 1/4) / sqrt(1/4 * 3/4 / 12) = 2.
    base = Base(4, 1)
    assert significance(12, 6, base) == pytest.approx(2)
    exactly = significance(12, 6, base)
    assert composite_log([(12, 6)], base, t=exactly) == pytest.approx(math.log(2))
    assert composite_log([(12, 6)], base, t=math.nextafter(exactly, 3)) == 0


def test_equation_7_counts_each_word_once_over_all_in_linking_pages() -> None:
    words = RatioTable(2.0, "binomial")
    words.work_out(SMALL, {"slope": (40, 16), "snow": (25, 15), "the": (100, 20)}.items())
    parents = [frozenset({"slope", "the"}), frozenset({"slope", "snow"}), frozenset({"snow", "other"})]
    assert union(parents) == {"slope", "the", "snow", "other"}
    assert math.exp(content_log(parents, words)) == pytest.approx(2 * 3)


def test_url_tokens_are_split_at_dots_and_slashes_and_weighed_like_words() -> None:
    ratios = RatioTable(2.0, "binomial")
    ratios.work_out(SMALL, {"ski": (25, 15), "com": (40, 16)}.items())
    assert math.exp(token_log(tokens("http://www.ski.com/alps.html"), ratios)) == pytest.approx(3 * 2)
    assert token_log(tokens("http://www.skiing.org/alps.html"), ratios) == 0


def test_table_1_seven_percent_where_one_is_expected_is_a_ratio_of_seven() -> None:
    # f1 = 7 %: of 100,000 links 7,000 lead from a satisfying page to another.
    table = LinkTable(satisfying=(12_000, 7_000), failing=(88_000, 5_000))
    assert table.fractions() == pytest.approx((0.07, 0.05, 0.05, 0.83))
    assert table.p(PAPER) == pytest.approx(7)


def test_table_1_ratio_of_pages_that_do_not_satisfy() -> None:
    # f3 = 4.5 % of the links, expected .1 * .9 = 9 %: q = 1/2.
    table = LinkTable(satisfying=(12_000, 7_000), failing=(88_000, 4_500))
    assert table.q(PAPER) == pytest.approx(0.5)


def test_link_locality_is_p_to_the_m_times_q_to_the_rest() -> None:
    # Five judged in-links, three of them satisfying: 7^3 * (1/2)^2 = 85.75.
    table = LinkTable(satisfying=(12_000, 7_000), failing=(88_000, 4_500))
    assert math.exp(locality_log(5, 3, table, PAPER)) == pytest.approx(85.75)
    assert locality_log(0, 0, table, PAPER) == 0


def test_nine_of_fifteen_siblings_where_one_and_a_half_are_expected_is_a_ratio_of_six() -> None:
    assert interest(9, 15 * PAPER.rate) == pytest.approx(9 / 1.5) == pytest.approx(6)
    assert math.exp(sibling_log(15, 9, PAPER)) == pytest.approx(6)


def test_fewer_satisfying_siblings_than_expected_speak_against_the_candidate() -> None:
    assert math.exp(sibling_log(30, 1, PAPER)) == pytest.approx(1 / 3)


def test_priority_is_the_weighted_sum_of_the_logarithms() -> None:
    weights = Weights("sports", Ledger())
    weigh(weights, {BASE: (10_000, 1_000)})
    weigh(weights, {"w:snow": (400, 80)})  # I = 2
    weigh(weights, {"t:ski": (100, 30)})  # I = 3
    weigh(weights, {"l:sports:1": (12_000, 7_000)})  # p = 7
    weigh(weights, {"l:sports:0": (88_000, 4_500)})  # q = 1/2
    evidence = Evidence((frozenset({"snow"}),), frozenset({"ski"}), k=2, m=1, v=15, s=9)
    found = score(evidence, weights)
    logs = (found.content, found.tokens, found.links, found.siblings)
    assert [math.exp(log) for log in logs] == pytest.approx([2, 3, 3.5, 6])
    assert math.exp(found.total) == pytest.approx(2 * 3 * 3.5 * 6)
    weighted = score(evidence, weights, (1.0, 2.0, 0.0, 0.5))
    assert math.exp(weighted.total) == pytest.approx(2 * 3**2 * math.sqrt(6))
