"""Word masks score as word sets do, whatever is learned in between."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.interest.features import BASE
from scentline.models.interest.masks import UNSEEN, Mask, WordMasks
from scentline.models.interest.weights import Weights
from scentline.models.ledger import Ledger
from tests.models.teaching import weigh

names = st.sampled_from([f"word{number}" for number in range(40)])
steps = st.one_of(
    st.tuples(st.just("count"), names, st.integers(0, 60), st.integers(0, 60)),
    st.tuples(st.just("base"), names, st.integers(1, 400), st.integers(0, 400)),
)


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
        assert united == pytest.approx(weights.content_log(parents))


def test_many_words_outgrow_the_first_vector() -> None:
    weights = Weights("p", Ledger())
    weigh(weights, {BASE: (1000, 100)})
    masks = WordMasks(weights.words)
    for number in range(3000):
        weigh(weights, {f"w:word{number}": (50, 40)})
    words = frozenset(f"word{number}" for number in range(0, 3000, 7))
    weights.bring_up()
    assert len(masks) in (0, 3000)
    assert masks.log([masks.mask(words).bits]) == pytest.approx(weights.content_log([words]))
    assert len(masks) == 3000
    assert masks.log([]) == 0.0
