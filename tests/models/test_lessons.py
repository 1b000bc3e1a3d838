"""What a policy counts of a page's in-links, and how many of them it looks at."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.learner.lessons import LinkWords
from scentline.models.lessons import LinkFrom, lessons

texts = st.lists(st.sampled_from("abcdefgh"), max_size=3)
in_links = st.builds(
    lambda page, *words: LinkFrom(frozenset(page), LinkWords(*words)), texts, texts, texts, texts
)


@pytest.mark.parametrize(
    "policy", ["learned", "combined", "collaborative", "linkage", "breadth-first", "random", "pagerank"]
)
@given(before=st.lists(in_links, max_size=12), after=st.lists(in_links, max_size=12))
def test_in_links_beyond_those_that_count_change_nothing(
    policy: str, before: list[LinkFrom], after: list[LinkFrom]
) -> None:
    counted = lessons(policy)
    most = counted.in_links
    assert counted.of_links(before) == counted.of_links(before[:most])
    change = counted.change_of_links(before, after)
    assert change == counted.change_of_links(before[:most], after[:most])
    old, new = counted.of_links(before), counted.of_links(after)
    assert change == (new - old, old - new)
