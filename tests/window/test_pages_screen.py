"""The screen Pages: lists of hits and changes, page by page, of crawls whose pages say what they like."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.rows import INSTANT
from scentline.agents.window.index.index import Index
from scentline.agents.window.index.pages import IndexedPage
from scentline.agents.window.reading import Reading
from scentline.agents.window.screens import pages
from scentline.streams.published import Change
from scentline.streams.settings import Settings
from tests.cases import each_case
from tests.window.crawls import HOSTILE, a_crawl, an_index, an_outcome, seen, settle, tell


def listed(reading: Reading, **query: str) -> list[dict[str, Any]]:
    """Return all rows of a list, page by page."""
    view = seen(reading, pages, **query)
    found = list(view["rows"])
    while view["after"] is not None:
        view = seen(reading, pages, **query, after=view["after"])
        found += view["rows"]
    return found


def test_a_long_list_is_shown_page_by_page_and_each_page_once() -> None:
    outcomes = [
        an_outcome(1e9 + number % 40, {"p": number % 2 == 0}, f"http://a.org/{number}") for number in range(250)
    ]
    with a_crawl(*outcomes) as (journal, reading):
        rows, hits = listed(reading), {each.url for each in outcomes if each.verdict["p"]}
        first = seen(reading, pages)
        assert (len(first["rows"]), first["total"], len(rows)) == (pages.ROWS, 125, 125)
        assert {row["url"] for row in rows} == hits
        times = [row["time"] for row in rows]
        assert times == sorted(times, reverse=True)
        assert listed(reading, predicate="p") == rows
        assert listed(reading, predicate="unknown") == []
        assert len(listed(reading, show="judged", search="a.org")) == 250
        assert {row["url"] for row in listed(reading, search="a.org", predicate="p")} == hits
        tell(journal, an_outcome(2e9, {"p": True}, "http://a.org/new"))
        settle(reading)
        assert seen(reading, pages)["rows"][0]["url"] == "http://a.org/new"


def test_what_a_page_says_is_text_on_one_line_and_of_bounded_length() -> None:
    title = f'{HOSTILE} "* NEAR( hockey {"y" * 2000}'
    outcome = an_outcome(5, {"p": True}, f"http://a.org/{'x' * 1500}", title=title)
    with a_crawl(outcome) as (_, reading):
        for query in ({}, {"search": "hockey"}, {"search": "onerror*", "show": "judged"}):
            (row,) = seen(reading, pages, **query)["rows"]
            shown = "".join(row["title"])
            assert shown.isprintable()
            assert shown.startswith("<img src=x onerror=alert(1)>")
            assert len(shown) < 700
            assert len("".join(row["address"])) < 310
            assert row["url"] == outcome.url
        seen(reading, pages, search=title[:300])
        assert "hockey" in seen(reading, pages, search="hockey")["rows"][0]["title"][1::2]


@each_case(
    "query", [{"after": "x"}, {"after": "1,2,3"}, {"search": "x" * 301}, {"show": "none"}, {"more": "1"}]
)
def test_nothing_else_can_be_requested(query: dict[str, str]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(query, pages.Query)


def a_change(number: int, time: float, predicate: str, kind: str) -> Change:
    return Change(
        predicate=predicate, kind=kind, url=f"http://a.org/{number}", time=time, title=f"Page {number}",
        excerpt="" if kind == "left" else f"words at {time:g}", reason="status 410" if kind == "left" else "",
        origin=f"pages/0@{number}-{time:g}",
    )  # fmt: skip


CHANGES = st.builds(
    a_change,
    st.integers(0, 4),
    st.integers(1, 5).map(float),
    st.sampled_from(["p", "q"]),
    st.sampled_from(["appeared", "changed", "left"]),
)


@given(st.lists(CHANGES, max_size=30), st.integers(0, 30))
def test_changes_are_listed_once_each_the_newest_first(changes: list[Change], dropped: int) -> None:
    with an_index(*changes[:dropped]) as (journal, index):
        tell(journal, *changes[dropped:], at=50.0)
        check_changes(index, changes)
        journal.drop_expired(120.0)
        check_changes(index, changes[dropped:])


def check_changes(index: Index, changes: list[Change]) -> None:
    once = {(each.origin, each.predicate, each.kind): each for each in changes}.values()
    for predicate in ("", "p", "q"):
        found = index.changes.newest(predicate, None, 2)
        while more := index.changes.newest(predicate, found[-1][0] if found else None, 2):
            found += more
        expected = [each for each in once if predicate in ("", each.predicate)]
        assert sorted(map(str, expected)) == sorted(str(change) for _, change in found)
        assert [place for place, _ in found] == sorted((place for place, _ in found), reverse=True)


def test_of_many_changes_the_newest_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scentline.agents.window.index.recent.MOST_CHANGES", 6)
    with a_crawl(*(a_change(1, float(time), "p", "changed") for time in range(9))) as (_, reading):
        view = seen(reading, pages, show="changes")
        assert [row["time"] for row in view["rows"]] == [8.0, 7.0]  # those of its partition of three
        assert view["older"]


def test_a_hit_is_shown_with_the_words_it_last_satisfied_its_predicate_by() -> None:
    changes = [a_change(1, 1, "p", "appeared"), a_change(1, 3, "p", "changed"), a_change(1, 4, "q", "appeared")]
    with a_crawl(an_outcome(5, {"p": True, "q": False}, "http://a.org/1"), *changes) as (_, reading):
        (row,) = seen(reading, pages)["rows"]
        assert row["excerpt"] == ["words at 3"]
        assert row["holds"] == ["p"]


@each_case(
    ("chosen", "words"),
    [
        ({"policy": "learned", "expected": 0.62, "depth": 3}, ("hockey", "learned", "62 %", "depth 3")),
        ({"policy": "linkage"}, ("hockey", "linkage", "depth 0")),
        ({"explored": True, "probability": 0.004, "predicate": "<b>"}, ("by chance", "<b>", "0.4 %")),
        ({"policy": INSTANT, "predicate": ""}, ("at once",)),
    ],
)
def test_why_a_page_was_fetched_is_a_sentence(chosen: dict[str, Any], words: tuple[str, ...]) -> None:
    page = IndexedPage(1, "http://a.org/", "", 1.0, 0, "hockey", "learned", False, 1.0, None, {})
    story = pages.story(msgspec.structs.replace(page, **chosen))
    assert [word for word in words if word not in story] == []


def test_a_directory_without_a_crawl_has_none(tmp_path: Path) -> None:
    assert seen(Reading(Settings(data=tmp_path)), pages)["begun"] is False
