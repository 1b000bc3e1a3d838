"""What the paper leaves open: no hits, no base rate, no evidence."""

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.interest.factors import (
    LinkTable,
    correction,
    joined,
    kept,
    locality_log,
    rank,
    sibling_log,
    union,
)
from scentline.models.interest.features import BASE, Feature, link, region, signature, split, token, user, word
from scentline.models.interest.ratio import Base, interest, ratio, significance, significant_log
from tests.cases import each_case

BLIND = [Base(), Base(7, 0), Base(7, 7)]


@each_case("base", BLIND)
def test_without_a_base_rate_every_factor_is_one(base: Base) -> None:
    table = LinkTable((5, 3), (5, 1))
    assert ratio(3, 3, base) == 1
    assert significance(3, 3, base) == 0
    assert significant_log(3, 3, base) == 0
    assert (table.p(base), table.q(base)) == (1, 1)
    assert locality_log(4, 2, table, base) == 0
    assert sibling_log(4, 2, base) == 0


def test_no_hit_counts_as_half_a_hit_but_is_never_evidence_for_a_page() -> None:
    base = Base(100, 20)
    assert ratio(25, 0, base) == pytest.approx(0.1), "5 hits are expected: .5 / 5"
    assert ratio(1, 0, base) == interest(0, 0) == ratio(0, 0, base) == 1
    assert significance(0, 0, base) == sibling_log(0, 0, base) == 0


def test_link_kinds_never_seen_have_factor_one_and_those_without_hits_half_a_hit() -> None:
    base = Base(100, 20)
    assert LinkTable().p(base) == LinkTable().q(base) == 1
    no_satisfying_source = LinkTable((0, 0), (50, 0))
    assert no_satisfying_source.p(base) == 1
    assert no_satisfying_source.q(base) == pytest.approx(0.5 / (50 * 0.2 * 0.8))
    assert LinkTable((50, 0), (50, 30)).p(base) == pytest.approx(0.5 / (100 * 0.2 * 0.2))


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_every_ratio_has_a_logarithm(pages: int, more: int, hits: int, total_hits: int) -> None:
    base = Base(pages + more, min(total_hits, pages + more))
    assert math.isfinite(math.log(ratio(pages, min(hits, pages), base)))
    assert math.isfinite(significant_log(pages, min(hits, pages), base, denominator="paper"))


@given(st.text(), st.booleans())
def test_feature_names_are_taken_apart_as_they_were_made(name: str, holds: bool) -> None:
    assert split(word(name)) == Feature("word", name)
    assert split(token(name)) == Feature("token", name)
    assert split(link(name, holds)) == Feature("link", name, holds)
    assert split(user(name)) == Feature("user", name)
    assert split(signature(name)) == Feature("signature", name)
    assert split(region(name)) == Feature("region", name)
    assert split(BASE) == Feature("base")


@each_case("name", ["z:a", "word", "l:p:2", "l:p"])
def test_a_foreign_feature_name_is_an_error_that_shows_it(name: str) -> None:
    with pytest.raises(ValueError, match=f"feature '{name}': expected"):
        split(name)


IDENTIFIERS = st.lists(st.binary(min_size=12, max_size=12), unique=True, max_size=8)


@given(IDENTIFIERS, st.binary(min_size=12, max_size=12), st.integers(1, 5), st.randoms(use_true_random=False))
def test_kept_parents_do_not_depend_on_order(
    parents: list[bytes],
    child: bytes,
    bound: int,
    random: Random,
) -> None:
    shuffled = list(parents)
    random.shuffle(shuffled)
    found = kept(shuffled, child, bound)
    assert found == kept(parents, child, bound)
    assert len(found) == min(bound, len(parents))
    left = [rank(parent, child) for parent in set(parents) - set(found)]
    assert all(rank(parent, child) < other for parent in found for other in left)


@given(
    st.lists(st.binary(min_size=1, max_size=2), max_size=12, unique=True),
    st.binary(min_size=1, max_size=2),
    st.integers(1, 8),
)
def test_one_parent_after_the_other_joins_to_what_is_kept_of_all(
    parents: list[bytes], child: bytes, bound: int
) -> None:
    found: list[bytes] = []
    for parent in parents:
        found = joined(found, parent, child, bound)
    assert [rank(one, child) for one in found] == [rank(one, child) for one in kept(parents, child, bound)]


SETS = st.lists(st.frozensets(st.sampled_from("abcdef")), max_size=4)


@given(SETS, SETS)
def test_a_correction_is_the_difference_of_the_words(
    before: list[frozenset[str]], after: list[frozenset[str]]
) -> None:
    old, new = frozenset(map(word, union(before))), frozenset(map(word, union(after)))
    assert correction(before, after) == (new - old, old - new)
