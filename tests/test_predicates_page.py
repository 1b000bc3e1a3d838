"""Every example of the page on predicates is one: it parses, holds or is refused as the page says."""

import re
from pathlib import Path

import pytest

from scentline.models.predicate import PredicateError, View, parse
from scentline.models.predicate.parser import FUNCTIONS
from tests.cases import each_case

PAGE = (Path(__file__).parents[1] / "docs" / "predicates.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
EXAMPLES = [line for name, text in BLOCKS if name == "predicate" for line in text.splitlines()]
ERRORS = [text.rstrip("\n") for name, text in BLOCKS if name == "error"]
CASES = [
    (expression, title.strip(), text.strip(), holds == "yes")
    for expression, title, text, holds in re.findall(
        r"^\| `([^`]+)` \|([^|\n]*)\|([^|\n]*)\| (yes|no) \|$", PAGE, re.MULTILINE
    )
]


@each_case("expression", EXAMPLES)
def test_an_example_is_a_predicate(expression: str) -> None:
    predicate = parse(expression)
    assert parse(str(predicate)) == predicate


@each_case(("expression", "title", "text", "holds"), CASES)
def test_an_example_holds_as_the_page_says(expression: str, title: str, text: str, holds: bool) -> None:
    assert parse(expression).evaluate(View("http://example.org/", title, text)) is holds


@each_case("message", ERRORS)
def test_an_example_of_an_error_is_refused_with_these_words(message: str) -> None:
    expression = message.splitlines()[1].removeprefix("  ")
    with pytest.raises(PredicateError) as caught:
        parse(expression)
    assert str(caught.value) == message


def test_the_page_has_examples_of_every_kind() -> None:
    assert len(EXAMPLES) > 10
    assert len(CASES) > 10
    assert len(ERRORS) > 3


def test_the_page_explains_every_function() -> None:
    assert [name for name in FUNCTIONS if f"**`{name}(" not in PAGE] == []
    (grammar,) = re.findall(r"^FUNCTION = (.*)$", PAGE, re.MULTILINE)
    assert grammar.split(" | ") == list(FUNCTIONS)


def test_the_order_of_operators_is_as_the_page_says() -> None:
    assert parse('"ski" or "snow" and not "surf"') == parse('"ski" or ("snow" and (not "surf"))')
