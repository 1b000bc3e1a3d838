"""What the paper leaves open: no hits, no base rate, no evidence; and weights as counts come."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.interest.factors import (
    LinkTable,
    locality_log,
    sibling_log,
)
from scentline.models.interest.features import (
    BASE,
    WORD,
    Feature,
    link,
    region,
    signature,
    split,
    token,
    user,
    word,
)
from scentline.models.interest.linkage import Evidence, contributions
from scentline.models.interest.ratio import (
    Base,
    interest,
    ratio,
    significance,
    significant_log,
)
from scentline.models.interest.weights import UNSEEN, Mask, Weights, WordMasks
from scentline.models.ledger import Ledger
from tests.cases import each_case
from tests.models.teaching import weigh


@each_case("base", [Base(), Base(7, 0), Base(7, 7)])
def test_without_a_base_rate_every_factor_is_one(base: Base) -> None:
    table = LinkTable((5, 3), (5, 1))
    assert ratio(3, 3, base) == 1
    assert significance(3, 3, base) == 0
    assert significant_log(3, 3, base) == 0
    assert (table.p(base), table.q(base)) == (1, 1)
    assert locality_log(4, 2, table, base) == 0
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
    assert math.isfinite(significant_log(pages, min(hits, pages), base, denominator="paper"))


@given(st.text(), st.booleans())
def test_feature_names_are_taken_apart_as_they_were_made(name: str, holds: bool) -> None:
    found = [split(feature(name)) for feature in (word, token, user, signature)]
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
    weights = Weights("p", Ledger())
    weigh(
        weights, {BASE: (100, 20), "w:snow": (25, 15), "w:sea": (30, 0), "w:the": (90, 19), "t:ski": (40, 16)}
    )
    weigh(weights, {"l:p:1": (50, 30), "l:p:0": (150, 12), "l:other:1": (50, 50)})
    return weights


def test_ratios_are_taken_anew_only_when_the_base_rate_moved_enough() -> None:
    weights = trained()
    before = weights.logs[WORD]["snow"]
    weigh(weights, {BASE: (101, 20)})
    assert weights.logs[WORD]["snow"] == before
    weigh(weights, {BASE: (110, 20)})
    assert weights.logs[WORD]["snow"] == pytest.approx(math.log(0.6 / (20 / 110)))
    weigh(weights, {"w:snow": (100, 20)})
    assert "snow" not in weights.logs[WORD], "what is significant no more has no ratio"


def test_with_the_papers_denominator_more_hits_alone_make_words_significant() -> None:
    weights = Weights("p", Ledger(), denominator="paper")
    weigh(weights, {BASE: (10, 2)})
    weigh(weights, {"w:snow": (5, 2)})
    assert "snow" not in weights.logs[WORD]
    weigh(weights, {BASE: (1_000, 200)})
    assert "snow" in weights.logs[WORD]


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


# words as masks

names = st.sampled_from([f"word{number}" for number in range(40)])
steps = st.one_of(
    st.tuples(st.just("count"), names, st.integers(0, 60), st.integers(0, 60)),
    st.tuples(st.just("base"), names, st.integers(1, 400), st.integers(0, 400)),
)


def summed(weights: Weights, *parents: frozenset[str]) -> float:
    """Return log I_c(C), equation (7)."""
    return math.fsum(weights.logs[WORD].get(name, 0.0) for name in frozenset().union(*parents))


@given(
    steps=st.lists(steps, max_size=40),
    parents=st.lists(st.frozensets(names, max_size=20), min_size=1, max_size=5),
)
def test_masks_score_like_sets_after_every_step(
    steps: list[tuple[str, str, int, int]], parents: list[frozenset[str]]
) -> None:
    weights = Weights("p", Ledger(), drift=0.02)
    masks = WordMasks(weights)
    known: list[Mask] = [UNSEEN] * len(parents)
    for kind, name, pages, hits in steps:
        if kind == "count":
            weigh(weights, {f"w:{name}": (pages, min(pages, hits))})
        else:
            weigh(weights, {BASE: (pages, min(pages, hits))})
        weights.bring_up()
        known = [masks.mask(words, mask) for words, mask in zip(parents, known, strict=True)]
        united = masks.log([mask.bits for mask in known])
        assert united == pytest.approx(summed(weights, *parents))


def test_many_words_outgrow_the_first_vector() -> None:
    weights = Weights("p", Ledger())
    weigh(weights, {BASE: (1000, 100)})
    masks = WordMasks(weights)
    for number in range(3000):
        weigh(weights, {f"w:word{number}": (50, 40)})
    words = frozenset(f"word{number}" for number in range(0, 3000, 7))
    weights.bring_up()
    assert len(masks) in (0, 3000)
    assert masks.log([masks.mask(words).bits]) == pytest.approx(summed(weights, words))
    assert len(masks) == 3000
    assert masks.log([]) == 0.0
