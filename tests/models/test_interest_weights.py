import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.interest.features import BASE
from scentline.models.interest.linkage import Contribution, Evidence, contributions, score
from scentline.models.interest.ratio import Base, Denominator, composite_log, significant_log
from scentline.models.interest.weights import Weights
from scentline.models.ledger import Ledger
from tests.models.teaching import weigh

COUNTS = st.integers(0, 60).flatmap(lambda pages: st.tuples(st.just(pages), st.integers(0, pages)))
UPDATES = st.lists(st.tuples(st.sampled_from(["", "w:a", "w:b", "w:c", "t:a", "t:b"]), COUNTS), max_size=20)


def expected(counts: dict[str, tuple[int, int]], kind: str, base: Base, test: Denominator) -> dict[str, float]:
    logs = {
        name[2:]: significant_log(*count, base, denominator=test)
        for name, count in counts.items()
        if name.startswith(kind)
    }
    return {name: log for name, log in logs.items() if log}


@given(UPDATES, st.sampled_from(["binomial", "paper"]))
def test_without_drift_weights_equal_the_formula_after_every_update(
    updates: list[tuple[str, tuple[int, int]]], test: Denominator
) -> None:
    weights = Weights("p", Ledger(), denominator=test, drift=0)
    counts: dict[str, tuple[int, int]] = {}
    for feature, count in updates:
        weigh(weights, {feature: count})
        counts[feature] = count
        base = Base(*counts.get("", (0, 0)))
        assert weights.words.logs == expected(counts, "w:", base, test)
        assert weights.words.significant == set(weights.words.logs)
        assert weights.tokens.logs == expected(counts, "t:", base, test)


@given(UPDATES, st.sampled_from(["binomial", "paper"]))
def test_refresh_makes_weights_exact(updates: list[tuple[str, tuple[int, int]]], test: Denominator) -> None:
    weights = Weights("p", Ledger(), denominator=test)
    counts = dict(updates)
    for feature, count in updates:
        weigh(weights, {feature: count})
    weights.refresh()
    base = Base(*counts.get("", (0, 0)))
    assert weights.words.logs == expected(counts, "w:", base, test)


def trained() -> Weights:
    weights = Weights("p", Ledger())
    weigh(weights, {BASE: (100, 20)})
    weigh(weights, {"w:snow": (25, 15)})
    weigh(weights, {"w:sea": (30, 0)})
    weigh(weights, {"w:the": (90, 19)})
    weigh(weights, {"t:ski": (40, 16)})
    weigh(weights, {"l:p:1": (50, 30)})
    weigh(weights, {"l:p:0": (150, 12)})
    weigh(weights, {"l:other:1": (50, 50)})
    return weights


def test_ratios_are_taken_anew_only_when_the_base_rate_moved_enough() -> None:
    weights = trained()
    before = weights.words.logs["snow"]
    weigh(weights, {BASE: (101, 20)})
    assert weights.words.logs["snow"] == before
    weigh(weights, {BASE: (110, 20)})
    assert weights.words.logs["snow"] == pytest.approx(math.log(0.6 / (20 / 110)))


def test_with_the_papers_denominator_more_hits_alone_make_words_significant() -> None:
    weights = Weights("p", Ledger(), denominator="paper")
    weigh(weights, {BASE: (10, 2)})
    weigh(weights, {"w:snow": (5, 2)})
    assert "snow" not in weights.words.significant
    weigh(weights, {BASE: (1_000, 200)})
    assert "snow" in weights.words.significant


def test_a_forgotten_feature_weighs_nothing() -> None:
    weights = trained()
    weigh(weights, {"w:snow": (0, 0)})
    assert weights.content_log([frozenset({"snow"})]) == 0


@given(st.lists(st.frozensets(st.sampled_from(["snow", "sea", "the", "new"])), max_size=4))
def test_content_is_the_composite_of_the_distinct_words(parents: list[frozenset[str]]) -> None:
    weights = trained()
    whole = weights.content_log(parents)
    counts = {"snow": (25, 15), "sea": (30, 0), "the": (90, 19)}
    present = [counts[word] for word in frozenset().union(*parents) if word in counts]
    assert whole == composite_log(present, weights.base)


EVIDENCE = Evidence(
    (frozenset({"snow", "sea", "the", "new"}), frozenset({"snow"})),
    frozenset({"ski", "org"}),
    k=3,
    m=2,
    v=10,
    s=1,
)


def plain(entry: Contribution) -> tuple[object, ...]:
    return msgspec.structs.astuple(entry)


def test_contributions_add_up_to_the_score() -> None:
    weights = trained()
    found = contributions(EVIDENCE, weights)
    assert math.fsum(entry.log for entry in found) == pytest.approx(score(EVIDENCE, weights).total)


def test_contributions_name_counts_ratio_and_significance_largest_effect_first() -> None:
    found = {entry.feature: entry for entry in contributions(EVIDENCE, trained())}
    assert list(found) == ["l:p:1", "w:sea", "w:snow", "l:p:0", "t:ski", "siblings:p", "w:the"]
    assert plain(found["w:snow"]) == ("w:snow", 25, 15, *map(pytest.approx, (3, 5, math.log(3))))
    assert found["w:sea"].ratio == pytest.approx(0.5 / 6)
    assert found["w:the"].log == 0
    assert found["l:p:1"].ratio == pytest.approx((30 / 200) / 0.04)
    assert found["l:p:1"].log == pytest.approx(2 * math.log(3.75))
    deviation = 0.1 / math.sqrt(0.016)
    assert plain(found["siblings:p"]) == (
        "siblings:p",
        10,
        1,
        *map(pytest.approx, (0.5, deviation, math.log(0.5))),
    )


def test_a_candidate_without_evidence_has_no_contributions_and_priority_zero() -> None:
    assert contributions(Evidence(), trained()) == []
    assert score(Evidence(), trained()).total == 0
