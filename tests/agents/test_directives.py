"""X-Robots-Tag: what it says to this crawler, in every form that sites use."""

from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.fetch.robots import directives
from tests.cases import each_case

BOTH = {"noindex", "nofollow"}


@each_case(
    ("values", "found"),
    [
        (["noindex"], {"noindex"}), ([" NoIndex , noarchive, NOFOLLOW "], BOTH), (["none"], BOTH),
        (["all, noarchive, nosnippet"], set()), (["googlebot: noindex, nofollow"], set()),
        (["googlebot: noindex", "nofollow"], {"nofollow"}), (["Scentline: noindex"], {"noindex"}),
        (["scentline:none"], BOTH), (["*: noindex"], {"noindex"}), (["scentline-images: noindex"], set()),
        (["otherbot: noindex, scentline: nofollow"], {"nofollow"}), (["max-snippet: 20, noindex"], {"noindex"}),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"], {"noindex"}),
        (["unavailable_after: Fri, 25 Jun 2010 15:00:00 PST, nofollow"], {"nofollow"}),
        (["noindexed, nofollows"], set()), (["", ":", ",,", ": noindex"], set()), ([], set()),
    ],
)  # fmt: skip
def test_directives_are_read_as_sites_write_them(values: list[str], found: set[str]) -> None:
    assert directives(values, "scentline") == found


@given(st.lists(st.text(alphabet="noindexfoluw:,* -_1", max_size=60), max_size=4))
def test_whatever_a_header_says_the_answer_is_of_two_directives(values: list[str]) -> None:
    assert directives(values, "scentline") <= BOTH
    assert directives([*values, "none"], "scentline") == BOTH
