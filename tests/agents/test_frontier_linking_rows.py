"""Rows of linking pages are packed: beside plain dictionaries of what they say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.linking import ChildrenRow, ParentRow, identifiers_in, place_in
from scentline.models.learner.lessons import LinkWords
from scentline.models.url import IDENTIFIER_BYTES
from scentline.models.verdict import Verdict

#: Of few bytes, so that one is often found across the border of two others.
PAGES = st.integers(0, 2**IDENTIFIER_BYTES - 1).map(
    lambda bits: bytes(bits >> place & 1 for place in range(IDENTIFIER_BYTES))
)
VERDICTS = st.dictionaries(st.sampled_from("pq"), st.booleans())
WORDS = st.lists(st.sampled_from(["ski", "alpen", "é"]), max_size=3)


@given(st.lists(PAGES), PAGES)
def test_an_identifier_is_found_where_it_lies(pages: list[bytes], page: bytes) -> None:
    packed = b"".join(pages)
    assert identifiers_in(packed) == pages
    for asked in (page, *pages):
        assert place_in(packed, asked) == (pages.index(asked) if asked in pages else None)


@given(st.lists(st.tuples(PAGES, st.integers(0, 3000), WORDS, WORDS, WORDS)), PAGES)
def test_the_newest_link_to_each_target_is_kept(
    links: list[tuple[bytes, int, list[str], list[str], list[str]]], other: bytes
) -> None:
    row, plain = ParentRow(), {}
    for target, position, *words in links:
        row.add(target, position, "\t".join(map(" ".join, words)))
        plain[target] = position, LinkWords(*words)
    assert identifiers_in(row.targets) == [*plain]
    assert {
        target: (row.positions[row.place(target)], row.words_at(row.place(target))) for target in plain
    } == plain
    if other not in plain:
        with pytest.raises(KeyError):
            row.place(other)


@given(st.lists(st.tuples(PAGES, VERDICTS, st.integers(0, 3000))))
def test_the_last_verdict_on_a_target_stands(told: list[tuple[bytes, Verdict, int]]) -> None:
    row = ChildrenRow()
    plain: dict[bytes, Verdict] = {}
    noted = 0
    for target, verdict, position in told:
        new = plain.get(target) != verdict
        plain[target] = verdict
        assert row.note(target, verdict, position) is new
        noted += new
        assert (row.judged, row.noted) == (plain, noted)
    assert len(row.verdicts) <= 3**2 * 2


def test_what_is_no_identifier_is_refused() -> None:
    with pytest.raises(ValueError, match="an identifier of 3 bytes, expected 12"):
        ChildrenRow().note(b"abc", {}, 0)
