"""The meaning of words: pieces, tables, and what the learned policy makes of it.

The encoder is held by the table that comes with the program, which is made again to the last byte.
"""

import math
from collections import Counter
from hashlib import sha256

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models import semantic as module
from scentline.models.semantic import (
    MOST_WORDS,
    NAME,
    VERSION,
    Meanings,
    SemanticTable,
    SemanticTableError,
    last_words,
    pack,
    page_subject,
    subjects,
    unpack,
)
from tests.cases import each_case

PIECES = {piece: number for number, piece in enumerate(["a", "b", "ab", "##a", "##b", "##ba", "!", "日", "-"])}


def table() -> SemanticTable:
    vectors = {"ski": (9, 1), "snow": (8, 2), "sled": (9, 0), "war": (0, 9), "army": (1, 8), "##s": (0, 0)}
    rows = np.array(list(vectors.values()), np.int8)
    return SemanticTable(list(vectors), rows, np.full(len(rows), 0.5, np.float32))


@each_case(("text", "found"))
def test_text_is_cut_into_the_longest_pieces(text: str, found: list[str]) -> None:
    names = list(PIECES)
    assert [names[number] for number in module.piece_numbers(text, PIECES)] == found


@given(st.text(max_size=40) | st.lists(st.sampled_from(["ski", "wars", "snow"])).map(" ".join))
def test_the_vector_of_any_text_has_length_one_or_none(text: str) -> None:
    words = table()
    vector = words.vector(text)
    assert float(np.square(vector).sum()) == pytest.approx(1.0 if vector.any() else 0.0)
    assert words.vector(text) is vector


@given(st.integers(0, len(pack(table())) - 1), st.integers(1, 255))
def test_a_table_comes_back_from_its_bytes_and_from_no_others(place: int, by: int) -> None:
    data = pack(table())
    again = unpack(data)
    assert again.pieces == table().pieces
    assert again.vector("snow army").tolist() == table().vector("snow army").tolist()
    assert pack(again) == data
    damaged = bytearray(data)
    damaged[place] ^= by
    for other in (bytes(damaged), data[:place], data.replace(VERSION, b"2\n", 1)):
        with pytest.raises(SemanticTableError):
            unpack(other)


@each_case(
    ("changed", "complaint"),
    [
        ({"scales": b""}, "0 bytes of scales, expected 24"),
        ({"scales": np.full(6, np.nan, "<f4").tobytes()}, "not a positive number"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(changed: dict[str, object], complaint: str) -> None:
    begin = len(NAME + VERSION) + 32
    body = msgspec.msgpack.encode(msgspec.msgpack.decode(pack(table())[begin:]) | changed)
    with pytest.raises(SemanticTableError, match=complaint):
        unpack(NAME + VERSION + sha256(body).digest() + body)


@each_case(("url", "said", "found"))
def test_a_subject_is_the_last_segment_anchors_or_title(url: str, said: list[str] | str, found: str) -> None:
    (known,) = [page_subject(url, said)] if isinstance(said, str) else subjects([last_words(url)], [said])
    assert known == found


@given(st.text(max_size=300), st.lists(st.text(max_size=60), max_size=60).map(" ".join))
def test_a_subject_is_short_whatever_the_page_says(segment: str, title: str) -> None:
    found = page_subject(f"http://a.example/{segment}", title)
    assert len(found.split()) <= MOST_WORDS
    assert len(found) < 1_000, "the name of a feature that an import takes"
    assert found.encode().decode() == found


def meanings(*topic: str) -> Meanings:
    made = Meanings(table())
    made.add("p", topic)
    return made


def inputs(meanings: Meanings, text: str, rate: float = 0.2) -> list[float]:
    found: list[float] = meanings.inputs([(f"http://a.org/{text}", text)], {"p": rate})[0, 0].tolist()
    return found


def test_before_the_first_page_the_predicates_words_speak_then_pages_like_those_that_satisfied() -> None:
    _, near, wanted = inputs(meanings("snow"), "ski")
    assert (near, wanted > 4 * 0.9) == (0, True)
    assert inputs(meanings(), "ski")[2] == 0
    assert inputs(meanings("snow"), "unheard of") == [0, 0, 0]
    found = meanings()
    for text, hits in (("ski", 1), ("army", 0), ("snow", 1), ("war", 0)):
        found.hear(text, {"p": (1, hits)})
    alike, unlike = inputs(found, "sled"), inputs(found, "war army")
    assert min(alike[:2]) > 0 > max(unlike[:2])


TEXTS = st.sampled_from(["ski", "snow", "sled", "war", "army", "ski war", "snow army"])
TWO = st.tuples(st.booleans(), st.booleans())
VERDICTS = st.lists(st.tuples(TEXTS, TWO, st.booleans()), max_size=150)


@given(VERDICTS, TEXTS, st.floats(0.01, 0.9))
def test_the_averages_are_those_taken_anew(
    verdicts: list[tuple[str, tuple[bool, bool], bool]], text: str, rate: float
) -> None:
    """Of two predicates, whatever is looked at in between; a third one, which came late, has seen nothing."""
    names, rates = ("p", "q"), {"p": rate, "q": 0.2, "late": 0.2, "none": 0.2}
    found, counts = meanings(), Counter[tuple[str, str, bool]]()
    found.add("q")
    vector, kernels = found.table.vector(text), list[float]()
    for other, holds, looked_at in verdicts:
        for name, each in zip(names, holds, strict=True):
            counts.update([(other, name, False), *([(other, name, True)] if each else [])])
        found.hear(other, {name: (counts[other, name, False], counts[other, name, True]) for name in names})
        kernels.append(math.exp(min((float(found.table.vector(other).dot(vector)) - 0.5) / 0.08, 5.0)))
        if looked_at:
            found.inputs([("http://a.org/2", other), ("http://a.org/1", text)], rates)
    found.add("late")
    again = found.inputs([("http://a.org/2", "sled"), ("http://a.org/1", text)], rates)
    anew = found.inputs([("http://a.org/3", "sled"), ("http://a.org/4", text)], rates)
    assert again == pytest.approx(anew)
    assert not again[3].any()
    assert again[2, 1, 1] == pytest.approx(0)
    for row, (place, name) in zip(again, enumerate(names), strict=False):
        hits = math.fsum(k for k, (_, holds, _) in zip(kernels, verdicts, strict=True) if holds[place])
        average = math.log((hits + rates[name]) / (math.fsum(kernels) + 1) / rates[name])
        assert row[1, 1] == pytest.approx(max(-4, min(4, average)))
    assert (np.abs(again) <= 4).all()


def test_a_subject_that_is_withdrawn_stays_learned_and_one_that_grows_teaches_what_is_new() -> None:
    heard, by_hand = meanings(), meanings()
    told: list[tuple[tuple[int, int], list[bool]]] = [
        ((3, 1), [True, False, False]), ((3, 1), []), ((5, 3), [True, True]), ((0, 0), []), ((1, 0), [False]),
    ]  # fmt: skip
    for turn, (counts, verdicts) in enumerate(told):
        heard.hear("ski", {"p": counts})
        for number, holds in enumerate(verdicts):
            # Under names that differ in white space alone, and mean the same.
            by_hand.hear(f"ski{' ' * (10 * turn + number)}", {"p": (1, int(holds))})
        assert inputs(heard, "sled", 0.3) == pytest.approx(inputs(by_hand, "sled", 0.3))
