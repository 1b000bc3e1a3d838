"""What is excluded, however many prefixes and expressions there are, is what each of them says by itself."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.frontier.exclusions import Exclusions
from tests.cases import each_case

# Few signs, so that prefixes begin with each other and URLs with them.
texts = st.text("ab/", max_size=5).map("http://a.org/{}".format)
names = st.sampled_from("stuvwxyz")
prefixes = texts.map(lambda text: (text, ""))
expressions = st.sampled_from(["a+b", "/$", "(?i)B", "b/b"]).map(lambda text: ("", text))
changes = st.lists(st.tuples(names, prefixes | expressions | st.none()), max_size=20)


@given(changes, st.lists(texts, min_size=1, max_size=10))
def test_exclusions_hold_for_the_urls_that_each_says_by_itself(
    told: list[tuple[str, tuple[str, str] | None]], urls: list[str]
) -> None:
    excluded, known = Exclusions(), dict[str, tuple[str, str]]()
    for name, what in told:
        if what is None:
            assert excluded.discard(name) == (known.pop(name, None) is not None)
        else:
            excluded.put(name, *what)
            known[name] = what
        assert len(excluded) == len(known)
        for url in urls:
            holding = {
                each
                for each, (prefix, expression) in known.items()
                if (url.startswith(prefix) if prefix else re.search(expression, url))
            }
            assert excluded.has(url) == bool(holding)
            assert excluded.of(url) in (holding or {""})


@each_case("expression", ["(", "a{1001}", r"(?=a)", "(" * 2000, "[" * 10])
def test_what_is_no_expression_of_re2_is_an_error_and_excludes_nothing(expression: str) -> None:
    excluded = Exclusions()
    with pytest.raises(ValueError, match=r"."):
        excluded.put("x", "", expression)
    assert not excluded
