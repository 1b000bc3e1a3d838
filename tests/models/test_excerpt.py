"""Excerpts: why a page satisfies a predicate, in a few words, whatever the page holds."""

from hypothesis import given
from hypothesis import strategies as st

from scentline.models.predicate import View, excerpt, parse
from scentline.models.predicate.excerpt import LENGTH
from scentline.models.words import words
from tests.cases import each_case

URL = "http://example.org/"
TEXT = "Home News Ice hockey. It snowed in the Alps! The ice-hockey season begins on Sunday. Nobody knows more."
PROSE = TEXT.partition(". ")[2]
LONG = " ".join(f"word{n}" for n in range(60))


def shown(expression: str, text: str = TEXT, prose: str = PROSE, title: str = "Winter") -> str:
    return excerpt(parse(expression), View(URL, title, text), prose)


@each_case(
    ("expression", "expected"),
    [
        ('"ice hockey"', "The ice-hockey season begins on Sunday."),
        ('"tea" or "snowed"', "It snowed in the Alps!"),
        ('category("A") or ("knows" and not "sunday")', "Nobody knows more."),
        ('"news"', "Home News Ice hockey."),
        ('"winter"', PROSE),
        ('title("win*")', PROSE),
        ('host("example.org")', PROSE),
        ('not "tea"', PROSE),
    ],
)
def test_an_excerpt_is_the_sentence_with_the_first_words_asked_for_or_the_beginning(
    expression: str, expected: str
) -> None:
    assert shown(expression) == expected


def test_of_a_long_text_it_is_what_stands_around_the_words_or_the_beginning() -> None:
    found = shown('"word30"', LONG, LONG)
    assert found.startswith("…word2")
    assert " word30 " in found
    assert found.endswith("…")
    assert len(found) <= LENGTH + 2
    assert shown('url("example")', LONG, LONG) == f"{LONG[: LONG.rindex(' ', 0, LENGTH)]}…"
    assert shown('url("example")', prose="") == TEXT, "without main text it is of the text"
    assert shown('url("example")', text="", prose="") == ""
    japanese = "これは日本語。 東京 は首都。スポーツ"
    assert shown('"東京"', japanese, japanese) == "東京 は首都。"


@given(st.text(max_size=400), st.text(max_size=400), st.integers(0, 50))
def test_any_text_has_an_excerpt_of_one_printable_line(text: str, prose: str, place: int) -> None:
    found = words(text)
    expressions = [f'"{found[place % len(found)]}"'] if found else []
    for expression in (*expressions, 'url("example")', '"tea" or not "tea"'):
        line = shown(expression, text, prose)
        assert len(line) <= LENGTH + 2
        assert line.isprintable()
        assert line == line.strip()


def test_hostile_text_takes_no_time_without_end() -> None:
    text = ("ice " + "-" * 50) * 20_000
    assert len(shown('"ice hockey" or "ice"', text, text)) <= LENGTH + 2
