"""The meaning of words: pieces, tables, the encoder behind them, and what the learned policy makes of it."""

import math
from collections.abc import Callable, Sequence
from hashlib import sha256

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.learner.semantic import MOST_WORDS, Meaning, Sense, page_subject, subject
from scentline.models.semantic.table import (
    MOST_LETTERS,
    NAME,
    VERSION,
    SemanticTable,
    SemanticTableError,
    pack,
    piece_numbers,
    unpack,
)
from scentline_lab.semantic.encoder import Bert, batches, distilled
from tests.cases import each_case
from tests.models.encoders import SHAPE, tensors

PIECES = {piece: number for number, piece in enumerate(["a", "b", "ab", "##a", "##b", "##ba", "!", "日", "-"])}


def table() -> SemanticTable:
    """Return a table in which winter sports are alike, and wars."""
    vectors = {"ski": (9, 1), "snow": (8, 2), "sled": (9, 0), "war": (0, 9), "army": (1, 8), "##s": (0, 0)}
    rows = np.array(list(vectors.values()), np.int8)
    return SemanticTable(list(vectors), rows, np.full(len(rows), 0.5, np.float32))


# pieces


@each_case(
    ("text", "found"),
    [
        ("abba", ["ab", "##ba"]),
        ("A-b!", ["a", "-", "b", "!"]),
        ("Äb", ["ab"]),
        ("日日", ["日", "日"]),
        ("a\u0000b", ["ab"]),
        ("a\u00a0b\tab", ["a", "b", "ab"]),
        ("ac b", ["b"]),
        ("", []),
        ("ab" * MOST_LETTERS, []),
    ],
)
def test_text_is_cut_into_the_longest_pieces(text: str, found: list[str]) -> None:
    names = list(PIECES)
    assert [names[number] for number in piece_numbers(text, PIECES)] == found


# tables


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
        ({"size": 3}, "12 bytes of vectors, expected 18"),
        ({"size": 0}, "0 numbers in a vector, expected 1 to 1024"),
        ({"size": 10**12}, "numbers in a vector"),
        ({"pieces": []}, "0 pieces"),
        ({"pieces": ["ski"] * 6}, "occurs twice"),
        ({"scales": b""}, "0 bytes of scales, expected 24"),
        ({"scales": np.full(6, np.nan, "<f4").tobytes()}, "not a positive number"),
        ({"vectors": "text"}, "Expected `bytes`"),
        ({"more": 1}, "unknown field"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused(changed: dict[str, object], complaint: str) -> None:
    begin = len(NAME + VERSION) + 32
    body = msgspec.msgpack.encode(msgspec.msgpack.decode(pack(table())[begin:]) | changed)
    with pytest.raises(SemanticTableError, match=complaint):
        unpack(NAME + VERSION + sha256(body).digest() + body)


# the encoder


Rows = npt.NDArray[np.float64]


def plainly(numbers: Sequence[int], found: dict[str, npt.NDArray[np.float32]]) -> Rows:
    """Return what an encoder says of one text, a step after the other."""

    def dense(name: str, rows: Rows) -> Rows:
        return np.array([found[f"{name}.weight"] @ row + found[f"{name}.bias"] for row in rows], float)

    def normal(name: str, rows: Rows) -> Rows:
        scaled = [(row - row.mean()) / math.sqrt(row.var() + SHAPE.epsilon) for row in rows]
        return np.array(scaled * found[f"{name}.weight"] + found[f"{name}.bias"], np.float64)

    word, place, kind = (
        found[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
    )
    rows = normal(
        "embeddings.LayerNorm", np.array([word[n] + place[at] + kind[0] for at, n in enumerate(numbers)])
    )
    width = SHAPE.hidden // SHAPE.heads
    for layer in range(SHAPE.layers):
        at = f"encoder.layer.{layer}."
        q, k, v = (dense(f"{at}attention.self.{part}", rows) for part in ("query", "key", "value"))
        mixed = np.zeros_like(rows)
        for part in (slice(head, head + width) for head in range(0, SHAPE.hidden, width)):
            for row, query in enumerate(q):
                scores = [math.exp(query[part] @ key[part] / math.sqrt(width)) for key in k]
                mixed[row, part] = sum(s * value[part] for s, value in zip(scores, v, strict=True)) / sum(
                    scores
                )
        rows = normal(f"{at}attention.output.LayerNorm", rows + dense(f"{at}attention.output.dense", mixed))
        inner = dense(f"{at}intermediate.dense", rows)
        inner *= np.array([[(1 + math.erf(x / math.sqrt(2))) / 2 for x in row] for row in inner])
        rows = normal(f"{at}output.LayerNorm", rows + dense(f"{at}output.dense", inner))
    mean: Rows = rows.mean(axis=0)
    return mean


def test_the_encoder_does_what_plain_loops_do() -> None:
    found = tensors()
    texts = [[1, 5, 2], [1, 9, 2], [3, 3, 3]]
    encoded = Bert(SHAPE, found).encode(np.array(texts))
    for row, text in zip(encoded, texts, strict=True):
        assert row == pytest.approx(plainly(text, found), abs=2e-5)


# building


def test_a_table_keeps_the_likeness_of_weighted_vectors() -> None:
    rng = np.random.default_rng(1)
    vocabulary = ["[PAD]", "[CLS]", "[SEP]", *(f"w{n}" for n in range(50)), "[", "]"]
    found = rng.normal(size=(52, 16)).astype(np.float64)
    words = distilled(vocabulary, found, size=16)
    assert words.pieces == (*(f"w{n}" for n in range(50)), "[", "]")
    centred = found - found.mean(axis=0)
    weighted = centred * np.log(np.arange(3, 55) + 2)[:, np.newaxis]
    restored = words.vectors * words.scales[:, np.newaxis]
    assert np.matmul(restored, restored.T) == pytest.approx(np.matmul(weighted, weighted.T), abs=3.0)
    assert pack(distilled(vocabulary, found, size=16)) == pack(words)


def test_each_piece_of_text_is_encoded_once_between_the_special_ones() -> None:
    vocabulary = ["[PAD]", "[CLS]", "[SEP]", *(f"w{n}" for n in range(600))]
    found = np.concatenate(batches(vocabulary)).tolist()
    assert found == [[1, number, 2] for number in range(3, 603)]
    with pytest.raises(ValueError, match=r"no piece \[SEP\]"):
        batches(["[CLS]", "w"])


# inputs


@each_case(
    ("of", "url", "said", "found"),
    [
        (subject, "http://a.example/", [], ""),
        (subject, "http://a.example/", ["home"], "home"),
        (subject, "http://a.example/x/Ice_Hockey/", [], "ice hockey"),
        (subject, "http://a.example/x/%C3%89t%C3%A9.html", ["été", "summer"], "été summer"),
        (subject, "http://a.example/v1.0", [""], "v1 0"),
        (page_subject, "http://a.example/", "", ""),
        (page_subject, "http://a.example/", "Ice, and Hockey!", "ice and hockey"),
        (page_subject, "http://a.example/Ice_Hockey", "Ice Hockey", "ice hockey"),
        (page_subject, "http://a.example/Ice_Hockey", "ice: rules", "ice hockey ice rules"),
        (page_subject, "http://a.example/x", "\x00\ud800 ski", "ski"),
    ],
)
def test_the_subject_of_a_page_is_its_last_segment_and_its_anchors_or_its_title(
    of: Callable[[str, object], str], url: str, said: list[str] | str, found: str
) -> None:
    assert of(url, said) == found


@given(st.text(max_size=300), st.lists(st.text(max_size=60), max_size=60).map(" ".join))
def test_a_subject_is_short_whatever_the_page_says(segment: str, title: str) -> None:
    found = page_subject(f"http://a.example/{segment}", title)
    assert len(found.split()) <= MOST_WORDS
    assert len(found) < 1_000, "the name of a feature that an import takes"
    assert found.encode().decode() == found


def inputs(meaning: Meaning, text: str, rate: float = 0.2) -> list[float]:
    found: list[float] = meaning.inputs([Sense(meaning.table.vector(text))], rate)[0].tolist()
    return found


def test_before_the_first_page_the_words_of_the_predicate_speak_and_then_pages_like_those_that_satisfied() -> (
    None
):
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
def test_the_kernel_average_is_kept_up_as_if_it_were_taken_anew(
    verdicts: list[tuple[str, bool, bool]], text: str, rate: float
) -> None:
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
