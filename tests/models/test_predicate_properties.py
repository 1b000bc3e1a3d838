"""Generated trees: what they write is read back, and they hold where a naive reading of them holds."""

import re
from fnmatch import fnmatchcase

from hypothesis import given
from hypothesis import strategies as st

from scentline.models.predicate import Predicate, View, parse
from scentline.models.predicate.functions import Category, Host, Keyword, Title, UrlPrefix, UrlRegex, UrlSuffix
from scentline.models.predicate.syntax import And, Node, Not, Or
from scentline.models.words import words

WORDS = st.sampled_from(["ice", "hockey", "straße", "café", "nba", "1999", "日本", "crawler", "web"])
TEXTS = st.lists(st.one_of(WORDS, st.sampled_from(["-", "and", "ICE", ". "])), max_size=12).map(" ".join)
CATEGORIES = st.sampled_from(
    ["Science", "Science.Biology", "it's \\", 'the "best"', "Ärzte", "\\'", "new\nline"]
)
PATTERNS = st.sampled_from(["ice", "ic*", "*", "*e*", "craw*r", "hockey", "w*b"])
URLS = st.sampled_from(
    [
        "http://example.org/",
        "http://www.example.org:8080/a.html",
        "https://bbc.co.uk/sport",
        "http://x.test/wp/Caf%C3%A9?q=1",
    ]
)

ATOMS: st.SearchStrategy[Node] = st.one_of(
    st.lists(WORDS, min_size=1, max_size=3).map(lambda found: Keyword(tuple(words(" ".join(found))))),
    CATEGORIES.map(Category),
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
VIEWS = st.builds(View, URLS, TEXTS, TEXTS, st.frozensets(CATEGORIES, max_size=3))


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


def naive(node: Node, view: View) -> bool:
    match node:
        case Not(operand):
            return not naive(operand, view)
        case And(operands):
            return all(naive(operand, view) for operand in operands)
        case Or(operands):
            return any(naive(operand, view) for operand in operands)
        case Keyword(wanted):
            return consecutive(wanted, words(view.title)) or consecutive(wanted, words(view.text))
        case Title(patterns):
            return consecutive(patterns, words(view.title))
        case Category(name):
            return name in view.categories
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


@given(TREES)
def test_what_a_predicate_writes_parses_to_an_equal_one(tree: Node) -> None:
    predicate = Predicate(tree)
    assert parse(str(predicate)) == predicate
    assert str(parse(str(predicate))) == str(predicate)


@given(TREES, VIEWS)
def test_predicate_holds_where_a_naive_reading_of_it_holds(tree: Node, view: View) -> None:
    assert parse(str(tree)).evaluate(view) == naive(tree, view)
