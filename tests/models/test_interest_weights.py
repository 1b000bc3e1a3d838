import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.interest.features import BASE
from scentline.models.interest.linkage import Contribution, Evidence, contributions
from scentline.models.interest.ratio import UNSEEN, Base, Denominator, Mask, WordMasks, significant_log
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
def test_without_drift_or_refreshed_weights_equal_the_formula(
    updates: list[tuple[str, tuple[int, int]]], test: Denominator
) -> None:
    weights = Weights("p", Ledger(), denominator=test, drift=0)
    drifting = Weights("p", weights.ledger, denominator=test)
    counts: dict[str, tuple[int, int]] = {}
    for feature, count in updates:
        weigh(weights, {feature: count})
        counts[feature] = count
        base = Base(*counts.get("", (0, 0)))
        assert weights.words.logs == expected(counts, "w:", base, test)
        assert weights.words.significant == set(weights.words.logs)
        assert weights.tokens.logs == expected(counts, "t:", base, test)
        drifting.learn([feature])
    drifting.refresh()
    assert drifting.words.logs == weights.words.logs


def trained() -> Weights:
    weights = Weights("p", Ledger())
    weigh(
        weights, {BASE: (100, 20), "w:snow": (25, 15), "w:sea": (30, 0), "w:the": (90, 19), "t:ski": (40, 16)}
    )
    weigh(weights, {"l:p:1": (50, 30), "l:p:0": (150, 12), "l:other:1": (50, 50)})
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


def test_contributions_name_counts_ratio_and_significance_largest_effect_first() -> None:
    found = {entry.feature: entry for entry in contributions(EVIDENCE, trained())}
    assert math.fsum(entry.log for entry in found.values()) == pytest.approx(
        math.log(3) + math.log(0.5 / 6) + math.log(2) + 2 * math.log(3.75) + math.log(0.375) + math.log(0.5)
    )
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


def test_a_candidate_without_evidence_has_no_contributions() -> None:
    assert contributions(Evidence(), trained()) == []


# words as masks

names = st.sampled_from([f"word{number}" for number in range(40)])
steps = st.one_of(
    st.tuples(st.just("count"), names, st.integers(0, 60), st.integers(0, 60)),
    st.tuples(st.just("base"), names, st.integers(1, 400), st.integers(0, 400)),
)


def summed(weights: Weights, parents: list[frozenset[str]]) -> float:
    """Return log I_c(C), equation (7)."""
    return math.fsum(weights.words.logs.get(name, 0.0) for name in frozenset().union(*parents))


@given(
    steps=st.lists(steps, max_size=40),
    parents=st.lists(st.frozensets(names, max_size=20), min_size=1, max_size=5),
)
def test_masks_score_like_sets_after_every_step(
    steps: list[tuple[str, str, int, int]], parents: list[frozenset[str]]
) -> None:
    weights = Weights("p", Ledger(), drift=0.02)
    masks = WordMasks(weights.words)
    known: list[Mask] = [UNSEEN] * len(parents)
    for kind, name, pages, hits in steps:
        if kind == "count":
            weigh(weights, {f"w:{name}": (pages, min(pages, hits))})
        else:
            weigh(weights, {BASE: (pages, min(pages, hits))})
        weights.bring_up()
        known = [masks.mask(words, mask) for words, mask in zip(parents, known, strict=True)]
        united = masks.log([mask.bits for mask in known])
        assert united == pytest.approx(summed(weights, parents))


def test_many_words_outgrow_the_first_vector() -> None:
    weights = Weights("p", Ledger())
    weigh(weights, {BASE: (1000, 100)})
    masks = WordMasks(weights.words)
    for number in range(3000):
        weigh(weights, {f"w:word{number}": (50, 40)})
    words = frozenset(f"word{number}" for number in range(0, 3000, 7))
    weights.bring_up()
    assert len(masks) in (0, 3000)
    assert masks.log([masks.mask(words).bits]) == pytest.approx(summed(weights, [words]))
    assert len(masks) == 3000
    assert masks.log([]) == 0.0
