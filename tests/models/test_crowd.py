from random import Random

from hypothesis import given
from hypothesis import strategies as st

from scentline.models.crowd.collaborative import features_of_crowd
from scentline.models.crowd.evidence import SIGNERS, WORDS, inside, signature, signers
from scentline.models.crowd.trace import Step, Trace
from scentline.models.interest.factors import rank
from scentline.models.interest.features import split

NEAR = st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(st.integers(0, 3), st.integers(0, 9)))


def test_a_judged_page_counts_under_visitors_signature_words_and_regions() -> None:
    found = features_of_crowd(("ann", "bob"), {"snow"}, ["p"])
    assert found == {"u:ann", "u:bob", "s:snow", "r:p"}
    assert {split(name).kind for name in found} == {"user", "signature", "region"}


def test_a_user_and_a_word_of_one_name_are_two_features() -> None:
    assert len(features_of_crowd(["snow"], ["snow"], ["snow"])) == 3


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


def test_a_signature_has_the_first_words_of_each_page_alone() -> None:
    words = [str(number) for number in range(100)]
    assert signature([words, ["new"]]) == {*words[:WORDS], "new"}
    assert signature([]) == frozenset()


def test_signers_are_bounded_by_default() -> None:
    near = {str(number): (1, 0) for number in range(100)}
    assert len(signers(near, {url: url.encode() for url in near}, b"")) == SIGNERS


def test_a_referrer_alone_is_no_temporal_locality() -> None:
    near = Trace([Step("ann", "a", 1.0, referrer="b")]).together["a"]
    assert not inside(near, {"b"})
    assert signers(near, {"b": b"b"}, b"a") == []


def test_a_page_is_in_no_region_of_its_own() -> None:
    trace = Trace([Step("ann", page, float(time)) for time, page in enumerate("aab")])
    assert not inside(trace.together["a"], {"a"})
    assert inside(trace.together["b"], {"a"})
