from random import Random

from hypothesis import given
from hypothesis import strategies as st

from scentline.models.verdict import Verdict
from tests.reference.counts import Counts

FEATURES = st.lists(st.sampled_from(["", "w:a", "w:b", "t:a", "l:p:1"]), unique=True)
VERDICTS = st.dictionaries(st.sampled_from(["p", "q"]), st.booleans())
FACTS = st.lists(st.tuples(FEATURES, VERDICTS, st.integers(-3, 3)), max_size=12)

Facts = list[tuple[list[str], Verdict, int]]


def counted(facts: Facts) -> Counts:
    counts = Counts()
    for features, verdict, times in facts:
        counts.add(features, verdict, times)
    return counts


@given(FACTS, st.randoms(use_true_random=False))
def test_order_is_of_no_account(facts: Facts, random: Random) -> None:
    shuffled = list(facts)
    random.shuffle(shuffled)
    assert counted(shuffled) == counted(facts)


@given(FACTS)
def test_what_is_taken_back_leaves_nothing(facts: Facts) -> None:
    counts = counted(facts)
    for features, verdict, times in facts:
        counts.add(features, verdict, -times)
    assert counts == Counts()
    assert len(counts) == 0
    assert list(counts.items()) == []


@given(FACTS, FACTS)
def test_merging_equals_counting_all(first: Facts, second: Facts) -> None:
    merged = counted(first)
    merged.merge(counted(second))
    assert merged == counted(first + second)
    merged.merge(counted(second), times=-1)
    assert merged == counted(first)


@given(FACTS)
def test_counts_equal_a_plain_sum(facts: Facts) -> None:
    counts = counted(facts)
    for feature in ("", "w:a", "w:b", "t:a", "l:p:1"):
        for predicate in ("p", "q"):
            seen = [
                (times, times if verdict[predicate] else 0)
                for features, verdict, times in facts
                if feature in features and predicate in verdict
            ]
            pages = sum(times for times, _ in seen)
            assert counts.get(feature, predicate) == (pages, sum(hits for _, hits in seen))


def test_merging_with_itself_doubles() -> None:
    counts = counted([(["w:a"], {"p": True}, 2)])
    counts.merge(counts)
    assert counts.get("w:a", "p") == (4, 4)
    counts.merge(counts, times=-1)
    assert counts == Counts()


def test_counts_differ_from_other_things() -> None:
    assert Counts() != {}
    assert repr(counted([(["w:a"], {"p": True}, 1)])) == "Counts(1 features)"
