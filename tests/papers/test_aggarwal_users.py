"""Aggarwal 2004, section 3.1: every formula of learning from users, worked by hand."""

import math

import pytest

from scentline.models.crowd.evidence import affinity_log, crowd_table, inside, region, region_log
from scentline.models.crowd.trace import Step, Trace
from scentline.models.interest.features import BASE
from scentline.models.interest.linkage import Contribution, CrowdEvidence, crowd_contributions
from scentline.models.interest.ratio import Base, Denominator, RatioTable, ratio
from scentline.models.interest.weights import Weights
from scentline.models.ledger import Ledger
from tests.models.teaching import weigh

#: "only 0.1% of the pages on the web correspond to this particular predicate"
MALLS = Base(100_000, 100)

#: 100 pages judged, 20 of them hits: P(U) = .2.
SMALL = Base(100, 20)


def users(base: Base, counts: dict[str, tuple[int, int]], denominator: Denominator = "binomial") -> RatioTable:
    table = crowd_table(2.0, denominator)
    table.work_out(base, counts.items())
    return table


def explained(
    evidence: CrowdEvidence, counts: dict[str, tuple[int, int]], denominator: Denominator
) -> dict[str, Contribution]:
    weights = Weights("p", Ledger(), denominator=denominator)
    weigh(weights, counts)
    return {entry.feature: entry for entry in crowd_contributions(evidence, weights)}


def test_equations_8_and_9_a_cumulative_ratio_is_the_product_over_the_visitors() -> None:
    # A user visited 50 judged pages, 5 of them on online malls: .1 / .001.
    assert ratio(50, 5, MALLS) == pytest.approx(100)
    # (40, 16): .4 / .2 = 2; (25, 15): .6 / .2 = 3; (50, 2): .04 / .2 = 1/5. Each is significant.
    table = users(SMALL, {"ann": (40, 16), "bob": (25, 15), "cy": (50, 2)})
    assert math.exp(affinity_log(("ann", "bob"), table)) == pytest.approx(6)
    assert math.exp(affinity_log(("ann", "bob", "cy"), table)) == pytest.approx(6 / 5)


def test_only_users_of_two_standard_deviations_enter() -> None:
    counts = {"ann": (40, 16), "dee": (5, 2), "eve": (4, 1)}
    # dee: 1.118 deviations by her own 5 pages, but 5 by all 100; eve: (.25 - .2) / .04 = 1.25 by all.
    assert math.exp(affinity_log(counts, users(SMALL, counts))) == pytest.approx(2)
    assert math.exp(affinity_log(counts, users(SMALL, counts, "paper"))) == pytest.approx(2 * 2)
    assert affinity_log(("zoe",), users(SMALL, counts)) == affinity_log((), users(SMALL, counts)) == 0


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
    for within, cell in ((True, (0, 0)), (False, (100, 20)), (None, (40, 16)), (True, (1, 0))):
        assert region_log(within, cell, SMALL) == 0
    assert region_log(True, (5, 0), Base(7, 0)) == 0


def test_equation_14_composite_ratio_is_the_product_of_the_three() -> None:
    counts = {BASE: (100, 20), "u:ann": (40, 16), "u:cy": (50, 2), "s:snow": (25, 15), "r:p": (40, 16)}
    evidence = CrowdEvidence(("ann", "cy"), frozenset({"snow", "new"}), within=True)
    found = explained(evidence, counts, "binomial")
    added = {name: math.exp(entry.log) for name, entry in found.items() if entry.log}
    assert added == pytest.approx({"u:ann": 2, "u:cy": 1 / 5, "s:snow": 3, "r:p": 2})
    assert not any(entry.log for entry in explained(CrowdEvidence(), counts, "binomial").values())
