"""Predicates: what holds where, what is an error and where it lies, and what a page is shown with."""

import pickle
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from random import Random
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.predicate import LENGTH, Predicate, PredicateError, View, decided, excerpt, parse
from scentline.models.predicate.categories import expand
from scentline.models.predicate.syntax import (
    And,
    Category,
    Host,
    Item,
    Keyword,
    Node,
    Not,
    Or,
    Title,
    UrlPrefix,
    UrlRegex,
    UrlSuffix,
)
from scentline.models.predicate.syntax import tests as all_tests
from scentline.models.words import words
from tests.cases import each_case


@each_case(("expression", "page", "true"))
def test_a_predicate_holds_where_its_parts_say_so(expression: str, page: dict[str, str], true: bool) -> None:
    view = View(page.get("url", "http://x.test/"), page.get("title", ""), page.get("text", ""))
    assert parse(expression).evaluate(view) is true


def test_case_spaces_quotes_and_escapes_make_no_other_predicate() -> None:
    assert parse('"aa"AND not"bb"Or\n"cc"') == parse("'aa' and not 'bb' or 'cc'")
    assert parse(r"""category('the \'best\' "one"')""").categories == {"""the 'best' "one\""""}
    assert parse(r'category("back\\slash")').categories == {"back\\slash"}
    assert parse(r'category("as \is")').categories == {r"as \is"}
    predicate = parse("""(("NBA  Finals")and(NOT('x1'or host('A.org'))))""")
    assert str(predicate) == '"nba finals" and not ("x1" or host("a.org"))'
    assert len({parse('"NBA" and url("x")'), parse("('nba' and url('x'))")}) == 1
    asked = parse('category("A.B") and not (category("C") or "aa") or category("C")')
    assert asked.categories == {"A.B", "C"}


# read as generated trees say: what they write is read back, and they hold where a naive reading of them holds


WORDS = st.sampled_from(["ice", "hockey", "straße", "café", "nba", "1999", "日本", "crawler", "web"])
TEXTS = st.lists(st.one_of(WORDS, st.sampled_from(["-", "and", "ICE", ". "])), max_size=12).map(" ".join)
CATEGORIES = st.sampled_from(
    ["Science", "Science.Biology", "it's \\", 'the "best"', "Ärzte", "\\'", "new\nline"]
)
PATTERNS = st.sampled_from(["ice", "ic*", "*", "*e*", "craw*r", "hockey", "w*b"])
URLS = st.sampled_from(
    [
        *("http://example.org/", "http://www.example.org:8080/a.html", "https://bbc.co.uk/sport"),
        *("http://x.test/wp/Caf%C3%A9?q=1", "http://[::1]:81/"),
        *("http://notexample.org/", "http://example.org.evil.test/"),
    ]
)

ATOMS: st.SearchStrategy[Node] = st.one_of(
    st.lists(WORDS, min_size=1, max_size=3).map(lambda found: Keyword(tuple(words(" ".join(found))))),
    CATEGORIES.map(Category),
    CATEGORIES.map(Item),
    st.lists(PATTERNS, min_size=1, max_size=3).map(lambda found: Title(tuple(found))),
    st.sampled_from(["example.org", "co.uk", "bbc.co.uk", "example.org:8080", "[::1]:81"]).map(Host),
    st.sampled_from([r"\d+", "a|b", r"\\", r"\"", "^http://[a-z]+", "[.]html$", "'"]).map(UrlRegex),
    st.sampled_from(["http", "https://", "x", "http://www.", '"', "\\"]).map(UrlPrefix),
    st.sampled_from([".uk", ".html", "/", "org", ".ORG"]).map(UrlSuffix),
)


def combined(parts: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(parts.map(Not), several.map(And), several.map(Or))


TREES = st.recursive(ATOMS, combined, max_leaves=12)
NAMES = st.frozensets(CATEGORIES, max_size=3)
VIEWS = st.builds(View, URLS, TEXTS, TEXTS, NAMES, items=NAMES)


def consecutive(wanted: tuple[str, ...], sequence: list[str]) -> bool:
    return any(
        all(fnmatchcase(word, pattern) for word, pattern in zip(sequence[at:], wanted, strict=False))
        for at in range(len(sequence) - len(wanted) + 1)
    )


def on_host(name: str, url: str) -> bool:
    found = url.split("/")[2]
    if ":" not in name:
        found = found.split(":")[0]
    return ("." + found).endswith("." + name)


def naive(node: Node, view: View, told: Mapping[Node, bool] = MappingProxyType({})) -> bool:
    if node in told:
        return told[node]
    match node:
        case Not(operand):
            return not naive(operand, view, told)
        case And(operands):
            return all(naive(operand, view, told) for operand in operands)
        case Or(operands):
            return any(naive(operand, view, told) for operand in operands)
        case Keyword(wanted):
            return consecutive(wanted, words(view.title)) or consecutive(wanted, words(view.text))
        case Title(patterns):
            return consecutive(patterns, words(view.title))
        case Category(name):
            return name in view.categories
        case Item(name):
            return name in view.items
        case Host(name):
            return on_host(name, view.url)
        case UrlRegex(pattern):
            return re.search(pattern, view.url) is not None
        case UrlPrefix(text):
            return view.url[: len(text)] == text
        case UrlSuffix(text):
            name = view.url.split("/")[2].split(":")[0]
            return view.url.endswith(text) or name.endswith(text.lower())
    raise AssertionError(node)


@given(TREES, VIEWS)
def test_a_predicate_is_read_as_written_and_holds_where_a_naive_reading_does(tree: Node, view: View) -> None:
    predicate = parse(str(Predicate(tree)))
    assert predicate == Predicate(tree)
    assert str(predicate) == str(Predicate(tree))
    assert predicate.evaluate(view) == naive(tree, view)


@given(TREES, VIEWS, st.randoms())
def test_what_decided_a_verdict_does_so_whatever_the_other_tests_say(
    tree: Node, view: View, by: Random
) -> None:
    part, sentence = decided(Predicate(tree), view, view.text)
    found = parse(part).root
    assert found(view) is tree(view)
    known = {test: test(view) for test in all_tests(found)}
    values = {test: known.get(test, by.random() < 0.5) for test in all_tests(tree)}
    assert naive(tree, view, values) is tree(view)
    assert not sentence or any(isinstance(test, Keyword) and holds for test, holds in known.items())


# errors


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
    again = pickle.loads(pickle.dumps(found))  # it can be sent to another process
    assert (again.column, str(again)) == (found.column, str(found))


@each_case(("expression", "column", "expected"))
def test_an_error_says_where_and_what_was_expected(expression: str, column: int, expected: str) -> None:
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
    for marks in ("a" + "\u0316" * 5000, "a\u0316" * 2000):
        assert "letters" in error(f'title("{marks}!*")').problem


@each_case("name", ["A" * 100_000])
def test_an_empty_level_or_a_long_name_is_an_error_that_names_the_category(name: str) -> None:
    with pytest.raises(ValueError, match="category") as caught:
        expand(name)
    assert repr(name)[:40] in str(caught.value)
    assert len(str(caught.value)) < 200


# excerpts

TEXT = "Home News Ice hockey. It snowed in the Alps! The ice-hockey season begins on Sunday. Nobody knows more."
PROSE = TEXT.partition(". ")[2]
LONG = " ".join(f"word{n}" for n in range(60))


def shown(expression: str, text: str = TEXT, prose: str = PROSE, title: str = "Winter") -> str:
    return excerpt(parse(expression), View("http://example.org/", title, text), prose)


@each_case(("expression", "expected"))
def test_an_excerpt_is_the_sentence_with_words_asked_for_or_the_start(expression: str, expected: str) -> None:
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
    hostile = ("ice " + "-" * 50) * 20_000
    assert len(shown('"ice hockey" or "ice"', hostile, hostile)) <= LENGTH + 2
    japanese = "これは日本語。 東京 は首都。スポーツ"
    assert shown('"東京"', japanese, japanese) == "東京 は首都。"
