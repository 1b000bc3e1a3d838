"""The meaning of words: pieces, tables, and what the learned policy makes of it.

The encoder is held by the table that comes with the program, which is made again to the last byte.
"""

import math
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
    Meaning,
    SemanticTable,
    SemanticTableError,
    Sense,
    pack,
    page_subject,
    subject,
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
    assert (page_subject(url, said) if isinstance(said, str) else subject(url, said)) == found


@given(st.text(max_size=300), st.lists(st.text(max_size=60), max_size=60).map(" ".join))
def test_a_subject_is_short_whatever_the_page_says(segment: str, title: str) -> None:
    found = page_subject(f"http://a.example/{segment}", title)
    assert len(found.split()) <= MOST_WORDS
    assert len(found) < 1_000, "the name of a feature that an import takes"
    assert found.encode().decode() == found


def inputs(meaning: Meaning, text: str, rate: float = 0.2) -> list[float]:
    found: list[float] = meaning.inputs([Sense(meaning.table.vector(text))], rate)[0].tolist()
    return found


def test_before_the_first_page_the_predicates_words_speak_then_pages_like_those_that_satisfied() -> None:
    _, near, wanted = inputs(Meaning(table(), ["snow"]), "ski")
    assert (near, wanted > 4 * 0.9) == (0, True)
    assert inputs(Meaning(table()), "ski")[2] == 0
    assert inputs(Meaning(table(), ["snow"]), "unheard of") == [0, 0, 0]
    meaning = Meaning(table())
    for text, holds in (("ski", True), ("army", False), ("snow", True), ("war", False)):
        meaning.learn(meaning.table.vector(text), holds)
    alike, unlike = inputs(meaning, "sled"), inputs(meaning, "war army")
    assert min(alike[:2]) > 0 > max(unlike[:2])


TEXTS = st.sampled_from(["ski", "snow", "sled", "war", "army", "ski war", "snow army"])


@given(st.lists(st.tuples(TEXTS, st.booleans(), st.booleans()), max_size=150), TEXTS, st.floats(0.01, 0.9))
def test_the_average_is_that_taken_anew(verdicts: list[tuple[str, bool, bool]], text: str, rate: float) -> None:
    meaning = Meaning(table())
    kept, other_kept = (Sense(meaning.table.vector(name)) for name in (text, "sled"))
    weight = hits = 0.0
    for other, holds, looked_at in verdicts:
        vector = meaning.table.vector(other)
        meaning.learn(vector, holds)
        k = math.exp(min((float(vector.dot(kept.vector)) - 0.5) / 0.08, 5.0))
        weight, hits = weight + k, hits + k * holds
        if looked_at:
            meaning.inputs([kept], rate)
    found = meaning.inputs([other_kept, kept], rate)[1].tolist()
    assert found == pytest.approx(inputs(meaning, text, rate))
    assert found[1] == pytest.approx(max(-4, min(4, math.log((hits + rate) / (weight + 1) / rate))))
    assert all(-4 <= value <= 4 for value in found)
