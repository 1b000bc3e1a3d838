"""Sketches: how well they estimate likeness, and what of a text they depend on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.duplicates import BAND, SLOTS, bands, likeness, sketch
from tests.cases import each_case


def a_text(changed: int, length: int = 2000) -> str:
    return " ".join(f"other{n:06}" if n < changed else f"words{n:06}" for n in range(length))


@each_case("changed", [0, 20, 100, 200, 500, 2000])
def test_a_likeness_is_the_overlap_of_the_shingles(changed: int) -> None:
    first, second = sketch(a_text(0), 50), sketch(a_text(changed), 50)
    assert first is not None
    assert second is not None
    # A shingle is there for each of the words but the last two, and ends in the third.
    kept = 2000 - 2 - changed
    overlap = max(0, kept) / (2 * (2000 - 2) - max(0, kept))
    assert likeness(first, second) == pytest.approx(overlap, abs=0.08)
    assert likeness(second, first) == likeness(first, second)


def test_a_sketch_is_found_by_eight_bands_of_its_own() -> None:
    first, second = sketch(a_text(0), 50), sketch(a_text(2000), 50)
    assert first is not None
    assert second is not None
    assert len(first) == 4 * SLOTS
    assert [len(key) for key in bands(first)] == [9] * (SLOTS // BAND)
    assert not set(bands(first)) & set(bands(second))


@each_case(
    "text",
    [
        "これは日本語のページです。東京は日本の首都です。スポーツについて書いています。" * 2,
        "หน้านี้เขียนเป็นภาษาไทยซึ่งไม่มีช่องว่างระหว่างคำในประโยคเดียวกันเลยแม้แต่น้อย",
    ],
)
def test_scripts_without_spaces_have_shingles_too(text: str) -> None:
    found, changed = sketch(text, 20), sketch(text[: len(text) // 2] + text[: len(text) // 2][::-1], 20)
    assert found is not None
    assert changed is not None
    assert 0.1 < likeness(found, changed) < 0.9


def test_case_makes_no_difference() -> None:
    assert sketch(a_text(0).upper(), 50) == sketch(a_text(0), 50)


def test_a_sketch_is_the_same_on_every_machine() -> None:
    found = sketch(a_text(0, 100), 50)
    assert found is not None
    assert found[:16].hex() == "b2787730f2fa6e7be0dc4621a5aa3e12"


@given(st.text(max_size=300), st.integers(1, 20))
def test_any_text_has_a_sketch_or_is_too_short(text: str, least: int) -> None:
    found = sketch(text, least)
    assert found is None or likeness(found, found) == 1.0
    assert sketch(text, least) == found
