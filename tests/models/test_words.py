import sys
from unicodedata import category, combining, normalize

from hypothesis import example, given
from hypothesis import strategies as st

from scentline.models.words import MAX_DIGITS, MAX_LENGTH, WORD, folded, stream_safe, words
from tests.cases import each_case


@each_case(
    ("text", "expected"),
    [
        ("Dog DOG cat dog", ["dog", "dog", "cat", "dog"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("cafe\u0301 caf\u00e9", ["café", "café"]),
        ("a é 7 日 x", ["é", "7", "日"]),
        ("1999 19999 1999a", ["1999", "1999a"]),
        ("a" * 40 + " " + "b" * 41, ["a" * 40]),
        ("ab_cd ef-gh don't", ["ab", "cd", "ef", "gh", "don"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("co\u00adoperation", ["cooperation"]),
    ],
)
def test_words_are_folded_runs_of_letters_and_digits(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_dash_among_ascii_words_changes_nothing_about_them() -> None:
    plain = "The quick brown fox jumped over lazy dogs. " * 20
    assert words(plain + "\u2014 " + plain) == words(plain) * 2


def test_marks_in_a_row_beyond_thirty_are_left_out() -> None:
    assert folded("a" + "\u0301" * 31 + "b") == "á" + "\u0301" * 29 + "b"
    assert words("e" + "\u0315\u0300" * 500_000 + " next") == [folded("e" + "\u0315\u0300" * 500_000), "next"]


def test_every_mark_of_the_planes_that_have_any_belongs_to_the_letter_before() -> None:
    marks = [sign for sign in map(chr, range(0x300, 0x1F000)) if category(sign).startswith("M")]
    assert len(marks) > 2000
    assert [sign for sign in marks if len(stream_safe("a" + sign * 100)) != 31] == []


def test_every_sign_that_is_put_in_order_is_cut_in_a_long_run() -> None:
    moved = [
        sign for sign in map(chr, range(sys.maxunicode + 1))
        if combining(sign) or combining(normalize("NFD", sign)[0])
    ]  # fmt: skip
    assert len(moved) > 900
    assert [sign for sign in moved if len(stream_safe(sign * 100)) != 30] == []


@given(st.text(alphabet="aİ \u0301\u0315\u0344\u0345\u0f73!", max_size=400) | st.text())
@example("a" + "\u0344" * 40)
def test_folding_twice_changes_nothing(text: str) -> None:
    assert folded(folded(text)) == folded(text)


@given(st.text())
@example("İ ΐ ǰ ᾳ \u0345")
def test_words_of_words_are_the_same_words(text: str) -> None:
    found = words(text)
    assert words(" ".join(found)) == found
    assert all(0 < len(word) <= MAX_LENGTH for word in found)


@given(st.lists(st.text(min_size=1, max_size=30), max_size=40))
def test_long_text_gives_the_words_of_its_lines(lines: list[str]) -> None:
    # Text is taken in pieces that end at a space: joined by spaces, no word may be lost or made.
    assert words(" ".join(lines)) == [word for line in lines for word in words(line)]


@given(
    st.text(alphabet="aB1_ \n-\u2013\xe9\xad\u0301\u0315\u0e01\u65e5\u0130\ufb01\U000110ba", max_size=200)
    | st.text()
)
@example("a" * 40 + "\xe9" + "b" * 16 + "\xe9 " + "c" * 17 + "\xe9 d")
def test_words_are_those_that_the_expression_finds_in_the_whole_text(text: str) -> None:
    assert words(text) == [run for run in WORD.findall(folded(text)) if is_one(run)]


def is_one(run: str) -> bool:
    if run.isdigit():
        return len(run) <= MAX_DIGITS
    return len(run) <= MAX_LENGTH and not (len(run) == 1 and run.isascii())
