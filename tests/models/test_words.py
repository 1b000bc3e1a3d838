import sys
from unicodedata import category, combining, normalize

from hypothesis import example, given
from hypothesis import strategies as st

from scentline.models.words import MAX_DIGITS, MAX_LENGTH, WORD, folded, stream_safe, words


def test_words_are_case_folded_in_order_and_repeated() -> None:
    assert words("Dog DOG cat dog") == ["dog", "dog", "cat", "dog"]


def test_sharp_s_folds_to_two_letters() -> None:
    assert words("Straße STRASSE") == ["strasse", "strasse"]


def test_composed_and_decomposed_letters_are_the_same_word() -> None:
    assert words("cafe\u0301") == words("caf\u00e9") == ["café"]


def test_single_ascii_letters_are_left_out_and_others_kept() -> None:
    assert words("a é 7 日 x") == ["é", "7", "日"]


def test_numbers_of_more_than_four_digits_are_left_out() -> None:
    assert words("1999 19999 1999a") == ["1999", "1999a"]


def test_words_of_more_than_forty_characters_are_left_out() -> None:
    assert words("a" * 40 + " " + "b" * 41) == ["a" * 40]


def test_underscore_hyphen_and_apostrophe_separate() -> None:
    assert words("ab_cd ef-gh don't") == ["ab", "cd", "ef", "gh", "don"]


def test_vowel_signs_belong_to_their_word() -> None:
    assert words("हिन्दी भाषा") == ["हिन्दी", "भाषा"]


def test_soft_hyphen_does_not_part_a_word() -> None:
    assert words("co\u00adoperation") == ["cooperation"]


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


@given(st.text(alphabet="aİ \u0301\u0315\u0344\u0345\u0f73!", max_size=400))
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


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert folded(folded(text)) == folded(text)


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
