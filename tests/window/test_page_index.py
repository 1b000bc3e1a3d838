"""The index of judged pages: what holds of each, as the commands say it, after every cut, fault and past."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.operate.inspect.record import current_pages, judged_pages
from scentline.agents.window.index.index import Index
from scentline.agents.window.index.pages import IndexedPage, Place
from scentline.agents.window.index.search import Asked, runs
from scentline.streams.published import Outcome
from scentline.streams.topics import OUTCOMES, partition_of
from scentline.streams.transport.journal import Journal
from tests.agents.commands import ROOT, environment
from tests.agents.test_record import an_outcome

PARTITIONS = 3
PREDICATES = ("p", "q", "r s")


@contextmanager
def a_crawl(data: Path) -> Iterator[Journal]:
    with Journal.open(data / "journal") as journal:
        journal.create_topic(OUTCOMES.name, PARTITIONS, retention=100.0, compacted=False)
        yield journal


def tell(journal: Journal, *outcomes: Outcome, at: float = 0.0) -> None:
    journal.append_all(
        [
            (OUTCOMES.name, partition_of(each.url, PARTITIONS), None, msgspec.json.encode(each))
            for each in outcomes
        ],
        at,
    )


def read(index: Index) -> None:
    while index.step():
        pass


def all_of(
    newest: Callable[[str, Place | None, int], list[IndexedPage]], predicate: str = ""
) -> list[IndexedPage]:
    """Return all pages that satisfy a predicate, page by page of the list."""
    found: list[IndexedPage] = []
    while True:
        more = newest(predicate, found[-1].place if found else None, 2)
        if not more:
            return found
        found += more


def check(index: Index, journal: Journal) -> None:
    """Check all that the index says of pages against what is recounted from the journal."""
    now, ever = current_pages(journal), judged_pages(journal)
    for predicate in PREDICATES:
        expected = {url: page.time for url, page in now.items() if page.verdict.get(predicate)}
        found = all_of(index.pages.newest, predicate)
        assert {page.url: page.time for page in found} == expected
        assert index.pages.count(predicate) == len(found) == len(expected)
        assert [page.place for page in found] == sorted((page.place for page in found), reverse=True)
    hits = {url for url, page in now.items() if any(page.verdict.values())}
    assert {page.url for page in all_of(index.pages.newest)} == hits
    assert index.pages.count() == len(hits)
    for url, outcome in ever.items():
        page = index.pages.page(url)
        assert page is not None
        assert (page.title, page.time, page.verdict) == (outcome.title, outcome.time, outcome.verdict)
        assert page.left == (None if outcome.left is msgspec.UNSET else outcome.left)


VERDICTS = st.dictionaries(st.sampled_from(PREDICATES), st.booleans())
#: The first answer, another one to the same order, a visit again, and a later predicate's word.
TOLD = st.builds(
    lambda number, time, verdict, kind: an_outcome(
        time,
        {} if kind == "left" else verdict,
        url=f"http://a.org/{number}",
        later=kind == "later",
        again=kind in ("again", "left"),
        left="status 410" if kind == "left" else msgspec.UNSET,
    ),
    st.integers(0, 5),
    st.integers(1, 4).map(float),
    VERDICTS,
    st.sampled_from(["first", "first", "again", "left", "later", "later"]),
)


@given(st.lists(st.tuples(st.lists(TOLD, max_size=8), st.booleans()), min_size=1, max_size=6))
def test_what_holds_is_what_is_recounted_wherever_it_is_cut_and_the_window_ends(
    parts: list[tuple[list[Outcome], bool]],
) -> None:
    with tempfile.TemporaryDirectory() as directory, a_crawl(Path(directory)) as journal:
        index = Index(Path(directory), journal)
        for told, ends in parts:
            tell(journal, *told)
            if ends:  # before all of it was read
                index.step()
                index.close()
                index = Index(Path(directory), journal)
            ahead = [listed(index, predicate) for predicate in ("", *PREDICATES)]
            read(index)
            check(index, journal)
            assert ahead == [
                (index.pages.count(predicate), all_of(index.pages.newest, predicate))
                for predicate in ("", *PREDICATES)
            ]
        assert index.pages.left() == 0
        index.close()


def listed(index: Index, predicate: str) -> tuple[int, list[IndexedPage]]:
    """Return what is listed while the index is behind, once the ends of all partitions are read."""
    index.newest.count()
    return index.newest.count(predicate), all_of(index.newest.pages, predicate)


def test_of_an_index_that_is_far_behind_the_newest_hits_are_listed(tmp_path: Path) -> None:
    with a_crawl(tmp_path) as journal, closing(Index(tmp_path, journal)) as index:
        for number in range(2_000):
            at = 1 + number // 5
            tell(journal, an_outcome(at, {"p": number % 2 == 0}, url=f"http://a.org/{number}"))
            if number % 7 == 0:
                tell(journal, an_outcome(at, {}, url=f"http://a.org/{number // 2}", left="gone", again=True))
            if number == 600:
                read(index)
            elif number % 200 == 0:  # somebody looks
                index.newest.pages("p")
        index.step()
        ahead, left = index.newest.pages("p"), index.pages.left()
        assert left > 1_000
        read(index)
        assert ahead == index.newest.pages("p") == index.pages.newest("p")
        assert index.newest.count() == index.pages.count()
        check(index, journal)


def test_what_its_topic_does_not_keep_any_more_is_dropped(tmp_path: Path) -> None:
    with a_crawl(tmp_path) as journal, closing(Index(tmp_path, journal)) as index:
        for number in range(30):
            tell(journal, an_outcome(1, {"p": True}, url=f"http://a.org/{number}"), at=float(number))
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
        assert not index.pages.search(Asked("15"))


@pytest.mark.parametrize("fault", ["another crawl", "an older copy", "another version", "rubbish", "cut short"])
def test_an_index_that_does_not_fit_the_crawl_is_made_anew(tmp_path: Path, fault: str) -> None:
    data, file = tmp_path / "data", tmp_path / "data" / "window" / "index.sqlite"
    with a_crawl(data) as journal:
        tell(journal, *(an_outcome(1, {"p": True}, url=f"http://a.org/{number}") for number in range(50)))
        with closing(Index(data, journal)) as index:
            read(index)
    if fault in ("another crawl", "an older copy"):
        moved = (data / "journal").rename(tmp_path / "moved")
        if fault == "an older copy":
            with a_crawl(data) as journal:
                tell(
                    journal, *(an_outcome(2, {"q": True}, url=f"http://a.org/{number}") for number in range(70))
                )
            (data / "journal" / "IDENTITY").write_bytes((moved / "IDENTITY").read_bytes())
    elif fault == "another version":
        with closing(sqlite3.connect(file, isolation_level=None)) as db:
            db.execute("PRAGMA user_version = 77")
            db.execute("DELETE FROM hits")
    elif fault == "rubbish":
        file.write_bytes(b"no database at all" * 1000)
    else:
        os.truncate(file, 20_000)
    with a_crawl(data) as journal, closing(Index(data, journal)) as index:
        tell(journal, an_outcome(3, {"q": True}, url="http://a.org/new"))
        read(index)
        check(index, journal)
    assert file.stat().st_mode & 0o777 == 0o600


def test_one_that_may_not_be_written_or_is_in_use_is_made_for_this_time(tmp_path: Path) -> None:
    with a_crawl(tmp_path) as journal:
        tell(journal, an_outcome(1, {"p": True}))
        (tmp_path / "window").write_text("in the way")
        with closing(Index(tmp_path, journal)) as index:
            read(index)
            check(index, journal)
        (tmp_path / "window").unlink()
        with closing(Index(tmp_path, journal)) as index, closing(Index(tmp_path, journal)) as other:
            for each in (index, other):
                read(each)
                check(each, journal)


_FOLLOW = """
import sys, time
from pathlib import Path
from scentline.agents.window.index.index import Index
from scentline.streams.transport.journal import Journal
data = Path(sys.argv[1])
with Journal.open(data / "journal", read_only=True) as journal:
    index = Index(data, journal)
    print("reading", flush=True)
    while True:
        journal.refresh()
        index.step()
"""


def test_a_window_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    chance = random.Random(7)
    with a_crawl(tmp_path) as journal:
        for number in range(4):
            child = subprocess.Popen(
                [sys.executable, "-c", _FOLLOW, tmp_path], stdout=subprocess.PIPE, cwd=ROOT, env=environment()
            )
            with child:
                assert child.stdout is not None
                assert child.stdout.readline() == b"reading\n"
                until = time.monotonic() + chance.random() / 3
                while time.monotonic() < until:
                    tell(journal, *(some_outcome(chance, number) for _ in range(100)))
                child.send_signal(signal.SIGKILL)
        tell(journal, *(some_outcome(chance, 9) for _ in range(100)))
        with closing(Index(tmp_path, journal)) as index:
            assert index.pages.count() > 0, "nothing was kept of what was read"
            read(index)
            check(index, journal)


def some_outcome(chance: random.Random, time: int) -> Outcome:
    verdict = {name: chance.random() < 0.3 for name in PREDICATES}
    later = chance.random() < 0.2
    again = not later and chance.random() < 0.5
    return an_outcome(time, verdict, url=f"http://a.org/{chance.randrange(2_000)}", later=later, again=again)


WORDS = st.sampled_from(
    ["ice", "Ice", "ICE-hockey", "hockey", "hock", "Straße", "strasse", "हिन्दी", "Ελλάς", "e", "1", "12345"]
)
HOSTILE = st.sampled_from(
    ['"', "'", "*", "NEAR(", ")", ":", "-", "^", "OR", "NOT", "{title}", "+", "\\", "%", "_", ";"]
)
TITLES = st.lists(WORDS | HOSTILE | st.text(max_size=5), max_size=6).map(" ".join)
ASKED = st.lists(WORDS | HOSTILE | WORDS.map('"{} ice"'.format) | WORDS.map("{}*".format), max_size=4).map(
    " ".join
)


@given(st.lists(TITLES, max_size=12), st.lists(ASKED, max_size=5))
def test_a_search_finds_what_a_plain_scan_finds(titles: list[str], queries: list[str]) -> None:
    told = [
        msgspec.structs.replace(
            an_outcome(1, {"p": number % 2 == 0}, url=f"http://a.org/{number}"), title=title
        )
        for number, title in enumerate(titles)
    ]
    with tempfile.TemporaryDirectory() as directory, a_crawl(Path(directory)) as journal:
        tell(journal, *told)
        with closing(Index(Path(directory), journal)) as index:
            read(index)
            pages = [page for page in map(index.pages.page, [each.url for each in told]) if page is not None]
            for query in queries:
                asked = Asked(query)
                expected = {page.url for page in pages if scanned(asked, page)}
                hits = {page.url for page in pages if "p" in page.holds}
                assert {page.url for page in searched(index, asked, None)} == expected
                assert {page.url for page in searched(index, asked, "p")} == expected & hits
                assert not index.pages.search(asked, "unknown")


def searched(index: Index, asked: Asked, predicate: str | None) -> list[IndexedPage]:
    found: list[IndexedPage] = []
    while more := index.pages.search(asked, predicate, found[-1].id if found else None, 2):
        found += more
    return found


def scanned(asked: Asked, page: IndexedPage) -> bool:
    """Tell whether a page has what is asked, by its words one after the other."""
    fields = [[*map(str, runs(text))] for text in (page.title, page.url)]

    def stands(words: tuple[str, ...], begun: bool) -> bool:
        whole, last = words[:-1], words[-1]
        return any(
            tuple(field[at : at + len(whole)]) == whole
            and at + len(whole) < len(field)
            and (field[at + len(whole)].startswith(last) if begun else field[at + len(whole)] == last)
            for field in fields
            for at in range(len(field))
        )

    return bool(asked) and all(stands(*phrase) for phrase in asked.phrases)


@given(TITLES, ASKED)
def test_parts_are_the_text_and_every_second_one_is_what_is_asked(title: str, query: str) -> None:
    asked = Asked(query)
    parts = asked.parts(title)
    assert "".join(parts) == title
    assert len(parts) % 2 == 1
    words = {word for phrase in asked.phrases for word in phrase.words}
    for part in parts[1::2]:
        found = runs(part)
        assert found
        assert all(any(run.startswith(word) for word in words) for run in found)
