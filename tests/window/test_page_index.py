"""The index of judged pages, and what is newest: what holds of each page, as the commands say it."""

from collections import Counter
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.operate.inspect.record import current_pages, judged_pages
from scentline.agents.window.index.index import Index
from scentline.agents.window.index.pages import IndexedPage, Place
from scentline.agents.window.index.search import Search, runs
from scentline.streams.published import Outcome
from scentline.streams.records import DeadLetter, encode
from scentline.streams.topics import DEAD_LETTERS
from scentline.streams.transport.journal import Journal
from tests.window.crawls import an_index, an_outcome, read, tell

PREDICATES = ("p", "q", "r s")


def all_of(
    newest: Callable[[str, Place | None, int], list[IndexedPage]], predicate: str = ""
) -> list[IndexedPage]:
    """Return all pages that satisfy a predicate, page by page of the list."""
    found: list[IndexedPage] = []
    while more := newest(predicate, found[-1].place if found else None, 2):
        found += more
    return found


def check(index: Index, journal: Journal) -> None:
    """Check all that the index says of pages against what is recounted from the journal."""
    now, ever = current_pages(journal), judged_pages(journal)
    for predicate in ("", *PREDICATES):
        expected = {
            url: page.time
            for url, page in now.items()
            if (page.verdict.get(predicate) if predicate else any(page.verdict.values()))
        }
        found = all_of(index.pages.newest, predicate)
        assert {page.url: page.time for page in found} == expected
        assert index.pages.count(predicate) == len(found) == len(expected)
        assert [page.place for page in found] == sorted((page.place for page in found), reverse=True)
    for url, outcome in ever.items():
        page = index.pages.page(url)
        assert page is not None
        assert (page.title, page.time, page.verdict) == (outcome.title, outcome.time, outcome.verdict)
        assert page.left == (None if outcome.left is msgspec.UNSET else outcome.left)


#: The first answer, another one to the same order, a visit again, and a later predicate's word.
OUTCOMES = st.builds(
    lambda number, time, verdict, kind: an_outcome(
        time,
        {} if kind == "left" else verdict,
        f"http://a.org/{number}",
        later=kind == "later",
        again=kind in ("again", "left"),
        left="status 410" if kind == "left" else msgspec.UNSET,
    ),
    st.integers(0, 5),
    st.integers(1, 4).map(float),
    st.dictionaries(st.sampled_from(PREDICATES), st.booleans()),
    st.sampled_from(["first", "first", "again", "left", "later", "later"]),
)


@given(st.lists(st.lists(OUTCOMES, max_size=8), min_size=1, max_size=6))
def test_what_holds_is_what_is_recounted_also_while_the_index_is_behind(parts: list[list[Outcome]]) -> None:
    with an_index() as (journal, index):
        for outcomes in parts:
            tell(journal, *outcomes)
            index.step()
            ahead = [listed(index, predicate) for predicate in ("", *PREDICATES)]
            read(index)
            check(index, journal)
            assert ahead == [
                (index.pages.count(predicate), all_of(index.pages.newest, predicate))
                for predicate in ("", *PREDICATES)
            ]
        assert index.pages.left() == 0


def listed(index: Index, predicate: str) -> tuple[int, list[IndexedPage]]:
    return index.newest.count(predicate), all_of(index.newest.pages, predicate)


def test_of_an_index_that_is_far_behind_the_newest_hits_are_listed() -> None:
    with an_index() as (journal, index):
        for number in range(2_000):
            at = 1 + number // 5
            tell(journal, an_outcome(at, {"p": number % 2 == 0}, f"http://a.org/{number}"))
            if number % 7 == 0:
                tell(journal, an_outcome(at, {}, f"http://a.org/{number // 2}", left="gone", again=True))
            if number == 600:
                read(index)
            elif number % 200 == 0:  # a view
                index.newest.pages("p")
        index.step()
        ahead = index.newest.pages("p")
        assert index.pages.left() > 1_000
        read(index)
        assert ahead == index.newest.pages("p") == index.pages.newest("p")
        assert index.newest.count() == index.pages.count()
        check(index, journal)


def test_what_its_topic_does_not_keep_any_more_is_dropped() -> None:
    with an_index() as (journal, index):
        for number in range(30):
            tell(journal, an_outcome(1, {"p": True}, f"http://a.org/{number}"), at=float(number))
            if number == 10:
                journal.drop_expired(105.0)  # some that were never read
                read(index)
        read(index)
        check(index, journal)
        journal.drop_expired(115.5)
        read(index)
        check(index, journal)
        assert index.pages.count("p") == 14
        assert index.pages.page("http://a.org/15") is None
        assert not index.pages.search(Search("15"))


# searches

WORDS = st.sampled_from(
    ["ice", "Ice", "ICE-hockey", "hockey", "hock", "Straße", "strasse", "हिन्दी", "Ελλάς", "e", "1", "12345"]
)
SYNTAX = st.sampled_from(
    ['"', "'", "*", "NEAR(", ")", ":", "-", "^", "OR", "NOT", "{title}", "+", "\\", "%", "_", ";"]
)
TITLES = st.lists(WORDS | SYNTAX | st.text(max_size=5), max_size=6).map(" ".join)
TYPED = st.lists(WORDS | SYNTAX | WORDS.map('"{} ice"'.format) | WORDS.map("{}*".format), max_size=4).map(
    " ".join
)


@given(st.lists(TITLES, max_size=12), st.lists(TYPED, max_size=5))
def test_a_search_finds_what_a_plain_scan_finds(titles: list[str], queries: list[str]) -> None:
    outcomes = [
        an_outcome(1, {"p": number % 2 == 0}, f"http://a.org/{number}", title=title or " ")
        for number, title in enumerate(titles)
    ]
    with an_index(*outcomes) as (_, index):
        pages = [page for page in map(index.pages.page, [each.url for each in outcomes]) if page is not None]
        for query in queries:
            search = Search(query)
            expected = {page.url for page in pages if scanned(search, page)}
            hits = {page.url for page in pages if "p" in page.holds}
            assert {page.url for page in searched(index, search, None)} == expected
            assert {page.url for page in searched(index, search, "p")} == expected & hits
            assert not index.pages.search(search, "unknown")


def searched(index: Index, search: Search, predicate: str | None) -> list[IndexedPage]:
    found: list[IndexedPage] = []
    while more := index.pages.search(search, predicate, found[-1].id if found else None, 2):
        found += more
    return found


def scanned(search: Search, page: IndexedPage) -> bool:
    """Tell whether a page has what is searched, by its words one after the other."""
    fields = [runs(text) for text in (page.title, page.url)]

    def stands(words: tuple[str, ...], begun: bool) -> bool:
        *whole, last = words
        return any(
            field[at : at + len(whole)] == whole
            and at + len(whole) < len(field)
            and (field[at + len(whole)].startswith(last) if begun else field[at + len(whole)] == last)
            for field in fields
            for at in range(len(field))
        )

    return bool(search) and all(stands(*phrase) for phrase in search.phrases)


@given(TITLES, TYPED)
def test_parts_are_the_text_and_every_second_one_is_what_is_searched(title: str, query: str) -> None:
    search = Search(query)
    parts = search.parts(title)
    assert "".join(parts) == title
    assert len(parts) % 2 == 1
    words = {word for phrase in search.phrases for word in phrase.words}
    for part in parts[1::2]:
        found = runs(part)
        assert found
        assert all(any(run.startswith(word) for word in words) for run in found)


# dead letters

SECRET = b"GET /?password=hunter2 jane"
LETTERS = st.builds(
    lambda topic, offset, why, reason: DeadLetter(
        topic=topic, partition=0, offset=offset, reason=reason, value=SECRET, time=float(offset), why=why
    ),
    st.sampled_from(["pages", "proxy-log"]),
    st.integers(0, 5),
    st.sampled_from(["line", "unreadable"]),
    st.sampled_from(["line 12: no URL", "line 7: no URL", "Expected `array`", "<b>\u202egod"]),
)


@given(st.lists(LETTERS), st.lists(LETTERS), st.booleans())
def test_letters_that_are_alike_are_counted_together_and_nothing_of_what_they_hold_is_shown(
    first: list[DeadLetter], later: list[DeadLetter], damaged: bool
) -> None:
    with an_index() as (journal, index):
        written = 0
        for letters in (first, later):
            values = [*map(encode, letters), *([b"\xc1"] if damaged else [])]
            journal.append_all([(DEAD_LETTERS.name, 0, None, value) for value in values], 0.0)
            written += len(values)
            found = index.letters.alike()
        assert index.letters.total() == written
        once = {(each.topic, each.offset, each.reason) for each in (*first, *later)}
        counted = Counter(topic for topic, _, _ in once) + Counter({DEAD_LETTERS.name: 2 * damaged})
        assert sum((Counter({each.topic: each.letters}) for each in found), Counter()) == counted
        assert [each.letters for each in found] == sorted((each.letters for each in found), reverse=True)
        assert len({(each.topic, each.why, each.reason.replace("12", "7")) for each in found}) == len(found)
        assert all(text.isprintable() for each in found for text in (each.reason, each.topic))
        assert not any("hunter2" in str(each) for each in found)


def test_letters_that_are_not_kept_any_more_are_not_counted() -> None:
    with an_index() as (journal, index):
        for at in range(4):
            letter = DeadLetter(topic="pages", partition=0, offset=at, reason="", value=b"", time=float(at))
            journal.append(DEAD_LETTERS.name, 0, None, encode(letter), float(at))
            journal.drop_expired(100.5 if at > 1 else 0.0)
            (found,) = index.letters.alike()
        assert (found.letters, index.letters.total()) == (3, 3)


@pytest.mark.parametrize("most", [1, 3])
def test_of_many_letters_the_newest_are_counted(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr("scentline.agents.window.index.recent.MOST_LETTERS", most)
    with an_index() as (journal, index):
        for at in range(9):
            letter = DeadLetter(topic="pages", partition=0, offset=at, reason="", value=b"", time=float(at))
            journal.append(DEAD_LETTERS.name, 0, None, encode(letter), float(at))
        (found,) = index.letters.alike()
        assert (found.letters, found.place, index.letters.total()) == (most, "pages/0@8", 9)
