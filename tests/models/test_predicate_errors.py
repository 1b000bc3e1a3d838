import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scentline.models.predicate import PredicateError, parse
from tests.cases import each_case


def error(expression: str) -> PredicateError:
    with pytest.raises(PredicateError) as caught:
        parse(expression)
    return caught.value


def test_message_holds_expression_column_expectation_and_caret() -> None:
    found = error("\"hockey\" an 'x'")
    assert found.column == 10
    assert str(found).splitlines() == [
        'predicate "hockey" an \'x\': column 10: expected "and", "or" or the end',
        "  \"hockey\" an 'x'",
        "           ^",
    ]


@each_case(
    ("expression", "column", "expected"),
    [
        ("", 1, 'expected a keyword in quotes, a function, "not" or "("'),
        ('"aa" and', 9, 'expected a keyword in quotes, a function, "not" or "("'),
        ('"aa" and  ', 9, "expected a keyword in quotes"),
        ('("aa"', 6, 'expected "and", "or" or ")"'),
        ('"aa")', 5, 'expected "and", "or" or the end'),
        ('"aa" "bb"', 6, 'expected "and", "or" or the end'),
        ('"aa" and "bb', 10, "this quote is never closed"),
        ("host('a.org\")", 6, "this quote is never closed"),
        ('hockey and "aa"', 1, 'expected a keyword in quotes, "hockey", or a function'),
        ("category 'A'", 10, 'expected "("'),
        ("category(A)", 10, "expected a text in quotes"),
        ('category("A", "B")', 13, 'expected ")"'),
        ('"aa" and categry("A")', 10, 'no function "categry"; the nearest is "category"'),
        ('suffix(".uk")', 1, 'the nearest is "url.suffix"'),
        ('zzz("A")', 1, "there are category, lang, title, host, url, url.prefix, url.suffix"),
        ('lang("german")', 6, "expected the ISO 639 code of a language"),
        ('lang("DE")', 6, "expected the ISO 639 code of a language"),
        ('"aa" or url("a(b")', 13, "missing )"),
        ('url("(?=a)")', 5, "(?="),
        ('host("a b.org")', 6, "expected a host"),
        ('host("example.org/x")', 6, "expected a host"),
        ('host("example.org#x")', 6, "expected a host"),
        ('host("*.example.org")', 6, "expected a host"),
        ('host("")', 6, "expected a host"),
        ('category("A..B")', 10, "single dots"),
        ('title("e-c*")', 7, "nothing but letters"),
        ('title("...")', 7, "expected a word"),
        ('"!!"', 1, "expected a word"),
        ('"allocator*"', 1, 'words without "*"'),
        ('url.suffix("")', 12, "expected a part of a URL"),
        ('url.prefix("http://é")', 12, "expected ASCII"),
        ('"aa" @ "bb"', 6, 'expected "and", "or" or the end'),
        ('"aa"\n  and\n  xx', 14, "xx"),
    ],
)
def test_error_points_at_the_column_and_says_what_was_expected(
    expression: str, column: int, expected: str
) -> None:
    found = error(expression)
    assert found.column == column
    assert expected in found.problem


def test_nesting_is_bounded_and_the_deepest_predicate_can_be_read_again() -> None:
    for deep in ("(" * 5000 + '"aa"' + ")" * 4990, "not " * 2000 + '"aa"', "not (" * 33 + '"aa"' + ")" * 33):
        assert "at most 64 deep" in error(deep).problem
    assert str(parse("(" * 64 + '"aa"' + ")" * 64)) == '"aa"'
    deepest = parse('"aa" or "bb" and (' * 64 + '"cc"' + ")" * 64)
    assert parse(str(deepest)) == deepest


def test_a_long_expression_is_an_error_with_a_short_message() -> None:
    found = error('"' + "a" * 10_000 + '"')
    assert found.column == 10_001
    assert len(str(found)) < 500
    found = error('"aa" or ' * 500 + "hockey")
    assert found.column == 4001
    first, excerpt, caret = str(found).splitlines()
    assert len(first) < 400
    assert excerpt[caret.index("^") :] == "hockey"
    assert error('url("' + r"(\p{L}{30}){30}" * 60 + '")').column == 5


def test_an_error_can_be_sent_to_another_process() -> None:
    found = error("hockey")
    again = pickle.loads(pickle.dumps(found))
    assert (again.column, str(again)) == (found.column, str(found))


PARTS = """aa" 'bb' and or not host url title ( ) " ' \\ . * [ é"""
PIECES = st.sampled_from(['"aa"', " ", "\n", *PARTS.split()])


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
@example("\ud800")
@example('"aa" \ud800')
@example('url("\ud800")')
@example("'\\")
def test_any_text_is_a_predicate_or_an_error_within_it(expression: str) -> None:
    try:
        predicate = parse(expression)
    except PredicateError as found:
        assert 1 <= found.column <= len(expression) + 1
        assert found.problem
        assert len(str(found).splitlines()) == 3
    else:
        assert parse(str(predicate)) == predicate


def test_a_title_of_many_marks_is_told_from_a_word_at_once() -> None:
    assert "letters" in error('title("a' + "\u0316" * 5000 + '!*")').problem
    assert "letters" in error('title("' + "a\u0316" * 2000 + '!*")').problem
