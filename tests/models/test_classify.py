"""The classifier of texts: what it learns, how good it says it is, and which files it can be read from."""

from random import Random

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from river.naive_bayes import MultinomialNB

from scentline.models import classifier as module
from scentline.models.classifier import KIND, MOST_WORDS, Classifier, Example, Trained, held_out, pack, unpack
from scentline.models.sealed import Sealed, digest
from tests.cases import each_case

WORDS = st.lists(st.sampled_from([f"word{number}" for number in range(12)]), min_size=1, max_size=8)
EXAMPLES = st.lists(st.builds(Example, WORDS, st.sampled_from(["A", "A.B", "C"])), min_size=2, max_size=20)


def trained(examples: list[Example]) -> Classifier:
    classifier = Classifier()
    for example in examples:
        classifier.learn(example.words, example.category)
    return classifier


@given(EXAMPLES, st.lists(WORDS, max_size=5), st.integers(0, 100))
def test_it_tells_what_river_finds_most_probable_read_from_its_bytes_too_and_every_example_is_held_out_once(
    examples: list[Example], asked: list[list[str]], seed: int
) -> None:
    model = MultinomialNB(alpha=0.1)
    for example in examples:
        model.learn_one(dict.fromkeys(example.words, 1), example.category)
    classifier, holdout = trained(examples), held_out(examples, Random(seed))
    assert sum(found.examples for found in holdout.categories.values()) == len(examples)
    assert all(0 <= found.right <= min(found.told, found.examples) for found in holdout.categories.values())
    assert 0 <= holdout.accuracy <= 1
    again, figures = unpack(pack(classifier, holdout, "a test"))
    assert figures == holdout
    for words in asked:
        known = {word: 1 for word in words if word in model.feature_counts}
        told = classifier.category(words)
        assert again.category(words) == told
        likely = model.joint_log_likelihood(known) if known else {None: 0.0}
        assert likely[told] == pytest.approx(max(likely.values()))


def test_only_the_first_distinct_words_count() -> None:
    names = [f"{chr(97 + number % 26)}x{number}" for number in range(MOST_WORDS + 10)]
    assert module.distinct_words(" ".join([*names, *names])) == tuple(names[:MOST_WORDS])
    assert len(trained([Example(names, "A")]).counts()) == MOST_WORDS


def test_what_can_be_told_apart_is_told_rightly_and_a_single_example_is_not() -> None:
    examples = [Example(("snow", f"a{number}"), "Ski") for number in range(6)]
    examples += [Example(("cup", f"b{number}"), "Tea") for number in range(6)]
    assert held_out(examples, Random(1)).accuracy == 1.0
    holdout = held_out([*examples, Example(("golf",), "Golf")], Random(1))
    assert holdout.categories["Golf"].recall == 0.0
    assert holdout.categories["Golf"].precision is None
    assert holdout.accuracy == pytest.approx(12 / 13)


def packed(
    body: bytes, name: str = KIND.name, version: int = KIND.version, checksum: bytes | None = None
) -> bytes:
    stored = Sealed(name, version, "a test", checksum or digest(body), body)
    return zstandard.ZstdCompressor().compress(msgspec.msgpack.encode(stored))


def of(categories: object, counts: object) -> bytes:
    holdout = {"folds": 5, "categories": {}}
    return packed(msgspec.msgpack.encode({"categories": categories, "counts": counts, "holdout": holdout}))


GOOD = trained([Example(("snow",), "Ski"), Example(("cup",), "Tea")])
BODY = msgspec.msgpack.encode(Trained(GOOD.categories, GOOD.counts(), held_out([], Random(1))))


@each_case(
    ("data", "why"),
    [
        (b"", "expected what"),
        (b"neither", "expected Zstandard"),
        (zstandard.ZstdCompressor().compress(b"\x93\x01"), "expected what"),
        (packed(BODY, name="scentline state"), "it says it is 'scentline state'"),
        (packed(BODY, version=2), "version 2"),
        (packed(BODY, checksum=b"x" * 32), "damaged"),
        (packed(b"\x80"), "missing required field"),
        (of({}, {}), "0 categories"),
        (of({"A..B": 1}, {}), "separated by single dots"),
        (of({"A": 0}, {}), "0 examples"),
        (of({"A": 1}, {"snow": {"B": 1}}), "there is no category 'B'"),
        (of({"A": 1}, {"snow": {"A": 2}}), "2 examples, expected 1 to 1"),
        (of({"A": 1}, {"x" * 41: {"A": 1}}), "a word of 41 characters"),
        (of({"A": 1.5}, {}), "Expected `int`"),
        (zstandard.ZstdCompressor().compress(b"\0" * 300_000_000), "decompresses to more than"),
    ],
)
def test_bytes_that_are_no_classifier_are_refused_with_the_reason(data: bytes, why: str) -> None:
    with pytest.raises(module.ClassifierError, match=why):
        unpack(data)
