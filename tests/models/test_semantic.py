"""The meaning of words: pieces, tables, the encoder behind them, and what the learned policy makes of it."""

import math
from collections.abc import Sequence
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


def plainly(numbers: Sequence[int], found: dict[str, npt.NDArray[np.float32]]) -> list[float]:
    """Return what an encoder says of one text, with a loop for everything."""

    def dense(name: str, row: list[float]) -> list[float]:
        weight, bias = found[f"{name}.weight"].tolist(), found[f"{name}.bias"].tolist()
        return [sum(a * b for a, b in zip(w, row, strict=True)) + c for w, c in zip(weight, bias, strict=True)]

    def normal(name: str, row: list[float]) -> list[float]:
        mean = sum(row) / len(row)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in row) / len(row) + SHAPE.epsilon)
        scale, shift = found[f"{name}.weight"].tolist(), found[f"{name}.bias"].tolist()
        return [(v - mean) / deviation * a + b for v, a, b in zip(row, scale, shift, strict=True)]

    def added(one: list[float], two: list[float]) -> list[float]:
        return [a + b for a, b in zip(one, two, strict=True)]

    word, place, kind = (
        found[f"embeddings.{name}_embeddings.weight"].tolist() for name in ("word", "position", "token_type")
    )
    rows = [
        normal("embeddings.LayerNorm", added(added(word[number], place[n]), kind[0]))
        for n, number in enumerate(numbers)
    ]
    width = SHAPE.hidden // SHAPE.heads
    for layer in range(SHAPE.layers):
        at = f"encoder.layer.{layer}."
        q, k, v = ([dense(f"{at}attention.self.{p}", row) for row in rows] for p in ("query", "key", "value"))
        mixed = []
        for query in q:
            row: list[float] = []
            for head in range(0, SHAPE.hidden, width):
                part = slice(head, head + width)
                scores = [
                    math.exp(sum(a * b for a, b in zip(query[part], key[part], strict=True)) / math.sqrt(width))
                    for key in k
                ]
                row += [
                    sum(s * value[n] for s, value in zip(scores, v, strict=True)) / sum(scores)
                    for n in range(head, head + width)
                ]
            mixed.append(row)
        outs = [dense(f"{at}attention.output.dense", row) for row in mixed]
        rows = [normal(f"{at}attention.output.LayerNorm", added(a, b)) for a, b in zip(rows, outs, strict=True)]
        inner = [
            [x * (1 + math.erf(x / math.sqrt(2))) / 2 for x in dense(f"{at}intermediate.dense", row)]
            for row in rows
        ]
        outs = [dense(f"{at}output.dense", row) for row in inner]
        rows = [normal(f"{at}output.LayerNorm", added(a, b)) for a, b in zip(rows, outs, strict=True)]
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def test_the_encoder_does_what_plain_loops_do() -> None:
    found = tensors()
    texts = [[1, 5, 2], [1, 9, 2], [3, 3, 3]]
    encoded = Bert(SHAPE, found).encode(np.array(texts))
    for row, text in zip(encoded, texts, strict=True):
        assert row.tolist() == pytest.approx(plainly(text, found), abs=2e-5)


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
    ("url", "anchors", "found"),
    [
        ("http://a.example/", [], ""),
        ("http://a.example/", ["home"], "home"),
        ("http://a.example/x/Ice_Hockey/", [], "ice hockey"),
        ("http://a.example/x/%C3%89t%C3%A9.html", ["été", "summer"], "été summer"),
        ("http://a.example/v1.0", [""], "v1 0"),
    ],
)
def test_the_subject_of_a_page_is_its_last_segment_and_its_anchors(
    url: str, anchors: list[str], found: str
) -> None:
    assert subject(url, anchors) == found


@each_case(
    ("url", "title", "found"),
    [
        ("http://a.example/", "", ""),
        ("http://a.example/", "Ice, and Hockey!", "ice and hockey"),
        ("http://a.example/Ice_Hockey", "Ice Hockey", "ice hockey"),
        ("http://a.example/Ice_Hockey", "ice: rules", "ice hockey ice rules"),
        ("http://a.example/x", "\x00\ud800 ski", "ski"),
    ],
)
def test_the_subject_of_a_fetched_page_is_its_last_segment_and_its_title(
    url: str, title: str, found: str
) -> None:
    assert page_subject(url, title) == found


@given(st.text(max_size=300), st.lists(st.text(max_size=60), max_size=60).map(" ".join))
def test_a_subject_is_short_whatever_the_page_says(segment: str, title: str) -> None:
    found = page_subject(f"http://a.example/{segment}", title)
    assert len(found.split()) <= MOST_WORDS
    assert len(found) < 1_000, "the name of a feature that an import takes"
    assert found.encode().decode() == found


def inputs(meaning: Meaning, text: str, rate: float = 0.2) -> list[float]:
    found: list[float] = meaning.inputs([Sense(meaning.table.vector(text))], rate)[0].tolist()
    return found


def test_before_the_first_page_only_the_words_of_the_predicate_say_something() -> None:
    _, near, wanted = inputs(Meaning(table(), ["snow"]), "ski")
    assert near == 0
    assert wanted > 4 * 0.9
    assert inputs(Meaning(table()), "ski")[2] == 0
    unknown = "unheard of"
    meaning = Meaning(table(), ["snow"])
    assert inputs(meaning, unknown) == [0, 0, 0]


def test_a_page_like_the_ones_that_satisfied_is_ahead() -> None:
    meaning = Meaning(table())
    for text, holds in (("ski", True), ("army", False), ("snow", True), ("war", False)):
        meaning.learn(meaning.table.vector(text), holds)
    alike, unlike = inputs(meaning, "sled"), inputs(meaning, "war army")
    assert alike[0] > 0 > unlike[0]
    assert alike[1] > 0 > unlike[1]


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
