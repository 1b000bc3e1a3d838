"""What is read of texts: words, dates, sketches, categories, and what words mean."""

import sys
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from random import Random
from unicodedata import category, combining, normalize

import msgspec
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st
from river.naive_bayes import MultinomialNB

from scentline.models import classifier as module
from scentline.models.classifier import KIND, MOST_WORDS, Classifier, Example, Trained, held_out, pack, unpack
from scentline.models.dates import seconds_of
from scentline.models.duplicates import BAND, SLOTS, bands, likeness, sketch
from scentline.models.sealed import Sealed, digest
from scentline.models.words import MAX_DIGITS, MAX_LENGTH, WORD, folded, stream_safe, words
from tests.cases import each_case


@each_case(("text", "expected"))
def test_words_are_folded_runs_of_letters_and_digits(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_marks_in_a_row_beyond_thirty_are_left_out_and_every_sign_that_is_put_in_order_is_cut() -> None:
    assert folded("a" + "\u0301" * 31 + "b") == "á" + "\u0301" * 29 + "b"
    assert words("e" + "\u0315\u0300" * 500_000 + " next") == [folded("e" + "\u0315\u0300" * 500_000), "next"]
    marks = [sign for sign in map(chr, range(0x300, 0x1F000)) if category(sign).startswith("M")]
    assert len(marks) > 2000
    assert [sign for sign in marks if len(stream_safe("a" + sign * 100)) != 31] == []
    signs = map(chr, range(sys.maxunicode + 1))
    moved = [sign for sign in signs if combining(sign) or combining(normalize("NFD", sign)[0])]
    assert len(moved) > 900
    assert [sign for sign in moved if len(stream_safe(sign * 100)) != 30] == []


@given(st.lists(st.text(min_size=1, max_size=30), max_size=40))
def test_long_text_gives_the_words_of_its_lines(lines: list[str]) -> None:
    # Text is taken in pieces that end at a space: joined by spaces, no word may be lost or made.
    assert words(" ".join(lines)) == [word for line in lines for word in words(line)]


SOME = "aB1_ \n-\u2013\xe9\xad\u0301\u0315\u0e01\u65e5\u0130\ufb01\U000110ba"


@given(st.text(SOME, max_size=200) | st.text() | st.text("aİ \u0301\u0315\u0344\u0345\u0f73!", max_size=400))
@example("a" * 40 + "\xe9" + "b" * 16 + "\xe9 " + "c" * 17 + "\xe9 d")
@example("a" + "\u0344" * 40)
@example("İ ΐ ǰ ᾳ \u0345")
def test_words_are_those_that_the_expression_finds_in_all_and_folding_twice_is_once(text: str) -> None:
    found = words(text)
    assert found == [run for run in WORD.findall(folded(text)) if is_one(run)]
    assert words(" ".join(found)) == found
    assert folded(folded(text)) == folded(text)


def is_one(run: str) -> bool:
    if run.isdigit():
        return 0 < len(run) <= MAX_DIGITS
    return 0 < len(run) <= MAX_LENGTH and not (len(run) == 1 and run.isascii())


# dates of sitemaps and feeds

ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(1971, 1, 1), datetime(9998, 1, 1), timezones=ZONES)


@given(MOMENTS)
def test_a_moment_comes_back_of_either_form(moment: datetime) -> None:
    assert seconds_of(moment.isoformat(timespec="seconds")) == moment.replace(microsecond=0).timestamp()
    assert seconds_of(f"\n {format_datetime(moment)} ") == moment.replace(microsecond=0).timestamp()


@each_case(("text", "seconds"))
def test_the_forms_that_sites_write_are_read(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@each_case("text", ["1" * 10_000_000])
def test_what_is_no_date_is_none(text: str) -> None:
    assert seconds_of(text) is None


# sketches


def a_text(changed: int, length: int = 2000) -> str:
    return " ".join(f"other{n:06}" if n < changed else f"words{n:06}" for n in range(length))


def sketched(text: str, least: int = 50) -> bytes:
    found = sketch(text, least)
    assert found is not None
    return found


@each_case("changed", [0, 20, 100, 200, 500, 2000])
def test_a_likeness_is_the_overlap_of_the_shingles(changed: int) -> None:
    first, second = sketched(a_text(0)), sketched(a_text(changed))
    # A shingle is there for each of the words but the last two, and ends in the third.
    kept = 2000 - 2 - changed
    overlap = max(0, kept) / (2 * (2000 - 2) - max(0, kept))
    assert likeness(first, second) == pytest.approx(overlap, abs=0.08)
    assert likeness(second, first) == likeness(first, second)


def test_a_sketch_is_found_by_eight_bands_of_its_own() -> None:
    first, second = sketched(a_text(0)), sketched(a_text(2000))
    assert len(first) == 4 * SLOTS
    assert [len(key) for key in bands(first)] == [9] * (SLOTS // BAND)
    assert not set(bands(first)) & set(bands(second))


@each_case("text")
def test_scripts_without_spaces_have_shingles_too(text: str) -> None:
    half = len(text) // 2
    found, changed = sketched(text, 20), sketched(text[:half] + text[:half][::-1], 20)
    assert 0.1 < likeness(found, changed) < 0.9


def test_a_sketch_is_the_same_on_every_machine_and_in_every_case() -> None:
    assert sketched(a_text(0, 100))[:16].hex() == "b2787730f2fa6e7be0dc4621a5aa3e12"
    assert sketched(a_text(0, 100).upper()) == sketched(a_text(0, 100))


# the classifier: what it learns, how good it says it is, and which files it can be read from


WORDS = st.lists(st.sampled_from([f"word{number}" for number in range(12)]), min_size=1, max_size=8)
EXAMPLES = st.lists(st.builds(Example, WORDS, st.sampled_from(["A", "A.B", "C"])), min_size=2, max_size=20)


def trained(examples: list[Example]) -> Classifier:
    classifier = Classifier()
    for one in examples:
        classifier.learn(one.words, one.category)
    return classifier


@given(EXAMPLES, st.lists(WORDS, max_size=5), st.integers(0, 100))
def test_it_tells_what_river_finds_most_probable_read_from_its_bytes_too_and_every_example_is_held_out_once(
    examples: list[Example], asked: list[list[str]], seed: int
) -> None:
    model = MultinomialNB(alpha=0.1)
    for one in examples:
        model.learn_one(dict.fromkeys(one.words, 1), one.category)
    classifier, holdout = trained(examples), held_out(examples, Random(seed))
    assert sum(found.examples for found in holdout.categories.values()) == len(examples)
    assert all(0 <= found.right <= min(found.told, found.examples) for found in holdout.categories.values())
    assert 0 <= holdout.accuracy <= 1
    again, figures = unpack(pack(classifier, holdout, "a test"))
    assert figures == holdout
    for some in asked:
        known = {word: 1 for word in some if word in model.feature_counts}
        told = classifier.category(some)
        assert again.category(some) == told
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
