"""The screen Pages: lists of hits and changes, page by page, of crawls whose pages say what they like."""

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.rows import INSTANT
from scentline.agents.window.index.pages import IndexedPage
from scentline.agents.window.reading import Reading
from scentline.agents.window.screens import pages
from scentline.streams.published import Change, Outcome
from scentline.streams.settings import Settings
from scentline.streams.topics import CHANGES, OUTCOMES, PREDICATES, partition_of
from scentline.streams.transport.journal import Journal
from tests.agents.test_record import an_outcome
from tests.cases import each_case
from tests.window.crawls import make_tables

PARTITIONS = 2
HOSTILE = '<img src=x onerror=alert(1)>\x1b[2J\u202egnp.exe\x00 "* NEAR( hockey'


@contextmanager
def a_crawl(*told: Outcome | Change) -> Iterator[tuple[Journal, Reading]]:
    """Give a crawl that told this much, and what reads it, which has taken all of it in."""
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory)
        with Journal.open(data / "journal") as journal, closing(Reading(Settings(data=data))) as reading:
            for topic in (OUTCOMES, CHANGES, PREDICATES):
                parts = PARTITIONS if topic.shards else 1
                journal.create_topic(topic.name, parts, retention=100.0, compacted=topic.compacted)
            make_tables(journal, PARTITIONS)
            tell(journal, *told)
            read(reading)
            yield journal, reading


def tell(journal: Journal, *told: Outcome | Change, at: float = 0.0) -> None:
    for one in told:
        topic = OUTCOMES.name if isinstance(one, Outcome) else CHANGES.name
        journal.append(topic, partition_of(one.url, PARTITIONS), None, msgspec.json.encode(one), at)


def read(reading: Reading) -> None:
    while reading.work() is not None:
        pass


def seen(reading: Reading, **asked: str) -> dict[str, Any]:
    query = msgspec.convert(asked, pages.Query)
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(pages.view(reading, query)))
    return found


def listed(reading: Reading, **asked: str) -> list[dict[str, Any]]:
    """Return all rows of a list, page by page."""
    found: list[dict[str, Any]] = []
    after = ""
    while True:
        view = seen(reading, **asked, after=after)
        found += view["rows"]
        if view["after"] is None:
            return found
        after = view["after"]


def test_a_long_list_is_shown_page_by_page_and_each_page_once() -> None:
    told = [
        an_outcome(1e9 + number % 40, {"p": number % 2 == 0}, url=f"http://a.org/{number}")
        for number in range(250)
    ]
    with a_crawl(*told) as (journal, reading):
        rows = listed(reading)
        assert len(seen(reading)["rows"]) == pages.ROWS
        assert seen(reading)["total"] == len(rows) == 125
        assert {row["url"] for row in rows} == {each.url for each in told if each.verdict["p"]}
        times = [row["time"] for row in rows]
        assert times == sorted(times, reverse=True)
        assert [row["url"] for row in listed(reading, predicate="p")] == [row["url"] for row in rows]
        assert listed(reading, predicate="unknown") == []
        assert len(listed(reading, show="judged", search="a.org")) == 250
        assert {row["url"] for row in listed(reading, search="a.org", predicate="p")} == {
            row["url"] for row in rows
        }
        tell(journal, an_outcome(2e9, {"p": True}, url="http://a.org/new"))
        read(reading)
        assert seen(reading)["rows"][0]["url"] == "http://a.org/new"


def test_what_a_page_says_is_text_on_one_line_and_of_bounded_length() -> None:
    outcome = msgspec.structs.replace(
        an_outcome(5, {"p": True}, url=f"http://a.org/{'x' * 1500}"), title=f"{HOSTILE} {'y' * 2000}"
    )
    with a_crawl(outcome) as (_, reading):
        for asked in ({}, {"search": "hockey"}, {"search": "onerror*", "show": "judged"}):
            (row,) = seen(reading, **asked)["rows"]
            title = "".join(row["title"])
            assert title.isprintable()
            assert title.startswith("<img src=x onerror=alert(1)>")
            assert len(title) < 700
            assert len("".join(row["address"])) < 310
            assert row["url"] == outcome.url
        seen(reading, search=HOSTILE)
        assert "hockey" in seen(reading, search="hockey")["rows"][0]["title"][1::2]


@each_case(
    "asked", [{"after": "x"}, {"after": "1,2,3"}, {"search": "x" * 301}, {"show": "none"}, {"more": "1"}]
)
def test_nothing_else_can_be_asked(asked: dict[str, str]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(asked, pages.Query)


def a_change(number: int, time: float, predicate: str, kind: str) -> Change:
    return Change(
        predicate=predicate, kind=kind, url=f"http://a.org/{number}", time=time, title=f"Page {number}",
        excerpt="" if kind == "left" else f"words at {time:g}", reason="status 410" if kind == "left" else "",
        origin=f"pages/0@{number}-{time:g}",
    )  # fmt: skip


CHANGED = st.builds(
    a_change,
    st.integers(0, 4),
    st.integers(1, 5).map(float),
    st.sampled_from(["p", "q"]),
    st.sampled_from(["appeared", "changed", "left"]),
)


@given(st.lists(CHANGED, max_size=30), st.integers(0, 30))
def test_changes_are_told_once_each_the_newest_first(told: list[Change], dropped: int) -> None:
    with a_crawl(*told[:dropped]) as (journal, reading):
        tell(journal, *told[dropped:], at=50.0)
        read(reading)
        check_changes(reading, told)
        journal.drop_expired(120.0)
        read(reading)
        earlier = {key(change) for change in told[:dropped]}  # the first of those that are equal is kept
        check_changes(reading, [change for change in told[dropped:] if key(change) not in earlier])


def key(change: Change) -> tuple[str, str, str]:
    return change.origin, change.predicate, change.kind


def check_changes(reading: Reading, told: list[Change]) -> None:
    once = {key(change): change for change in told}.values()
    for predicate in ("", "p", "q"):
        rows = listed(reading, show="changes", predicate=predicate)
        expected = [each for each in once if predicate in ("", each.predicate)]
        assert sorted((row["url"], row["time"], row["kind"], row["predicate"]) for row in rows) == sorted(
            (each.url, each.time, each.kind, each.predicate) for each in expected
        )
        assert [row["time"] for row in rows] == sorted((each.time for each in expected), reverse=True)


def test_a_hit_is_shown_with_the_words_it_last_satisfied_its_predicate_by() -> None:
    told = [a_change(1, 1, "p", "appeared"), a_change(1, 3, "p", "changed"), a_change(1, 4, "q", "appeared")]
    with a_crawl(an_outcome(5, {"p": True, "q": False}, url="http://a.org/1"), *told) as (_, reading):
        (row,) = seen(reading)["rows"]
        assert row["excerpt"] == ["words at 3"]
        assert row["holds"] == ["p"]


@each_case(
    ("chosen", "said"),
    [
        (
            {"policy": "learned", "expected": 0.62, "depth": 3},
            "Chosen for hockey by the policy learned; a hit was expected with 62 %; depth 3.",
        ),
        ({"policy": "linkage"}, "Chosen for hockey by the policy linkage; depth 0."),
        (
            {"policy": "learned", "explored": True, "probability": 0.004, "predicate": "<b>"},
            "Explored by chance for <b>, which had a probability of 0.4 %; depth 0.",
        ),
        ({"policy": INSTANT, "predicate": ""}, "Fetched at once, as it was news; depth 0."),
    ],
)
def test_why_a_page_was_fetched_is_told_in_a_sentence(chosen: dict[str, Any], said: str) -> None:
    page = IndexedPage(1, "http://a.org/", "", 1.0, 0, "hockey", "learned", False, 1.0, None, {})
    assert pages.story(msgspec.structs.replace(page, **chosen)) == said


def test_a_directory_without_a_crawl_has_none() -> None:
    with tempfile.TemporaryDirectory() as directory:
        assert seen(Reading(Settings(data=Path(directory))))["begun"] is False
