"""The indexes of pages, changes, dead letters and hosts say what a plain recount of the crawl says."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.keys import host_key
from scentline.agents.frontier.rows import HostRow
from scentline.agents.operate.inspect.record import current_pages, judged_pages
from scentline.agents.window.index import pages
from scentline.agents.window.index.hosts import LOOKED_SECONDS, ORDERS, SCHEMA, HostIndex
from scentline.agents.window.index.index import Index
from scentline.agents.window.index.pages import IndexedPage, Place
from scentline.agents.window.index.search import Search, runs
from scentline.agents.window.index.store import Store
from scentline.models.frontier.causes import Cause
from scentline.models.frontier.waits import Waits
from scentline.streams.published import Change, Outcome
from scentline.streams.records import DeadLetter
from scentline.streams.topics import DEAD_LETTERS, partition_of
from scentline.streams.transport.journal import Journal
from tests.agents.shards import put
from tests.agents.test_changes import a_change as changed
from tests.agents.test_record import told_at
from tests.cases import each_case
from tests.window.crawls import PARTITIONS, a_letter, an_index, read, tell, write_hosts

PREDICATES = ("p", "q", "r s")


def gone_through(more: Callable[[Any, Any], list[Any]], of: Any) -> list[Any]:
    """Return all of a list ``of`` something, page by page: ``more`` returns what is behind an entry."""
    found: list[Any] = []
    while page := more(of, found[-1] if found else None):
        found += page
    return found


def all_of(newest: Callable[[str, Place | None, int], list[IndexedPage]], predicate: str) -> list[IndexedPage]:
    return gone_through(lambda of, last: newest(of, last and last.place, 2), predicate)


# pages


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
    lambda number, time, verdict, kind: told_at(
        time, {} if kind == "left" else verdict, url=f"http://a.org/{number}", later=kind == "later",
        again=kind in ("again", "left"), left="status 410" if kind == "left" else msgspec.UNSET,
    ),
    st.integers(0, 5),
    st.integers(1, 4).map(float),
    st.dictionaries(st.sampled_from(PREDICATES), st.booleans()),
    st.sampled_from(["first", "first", "again", "left", "later", "later"]),
)  # fmt: skip


@given(st.lists(st.lists(OUTCOMES, max_size=8), min_size=1, max_size=6))
def test_what_holds_is_what_is_recounted_also_while_the_index_is_behind(parts: list[list[Outcome]]) -> None:
    with an_index() as (journal, index):
        for outcomes in parts:
            tell(journal, *outcomes)
            index.step()
            ahead = [(index.newest.count(of), all_of(index.newest.pages, of)) for of in ("", *PREDICATES)]
            read(index)
            check(index, journal)
            listed = [(index.pages.count(of), all_of(index.pages.newest, of)) for of in ("", *PREDICATES)]
            assert ahead == listed
        assert index.pages.left() == 0


def test_of_an_index_that_is_far_behind_the_newest_hits_are_listed() -> None:
    with an_index() as (journal, index):
        for number in range(2_000):
            at = 1 + number // 5
            tell(journal, told_at(at, {"p": number % 2 == 0}, url=f"http://a.org/{number}"))
            if number % 7 == 0:
                tell(journal, told_at(at, {}, url=f"http://a.org/{number // 2}", left="gone", again=True))
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
            tell(journal, told_at(1, {"p": True}, url=f"http://a.org/{number}"), at=float(number))
            if number == 10:
                journal.drop_expired(105.0)  # some that were never read
                read(index)
        for expired, kept in ((0.0, 25), (115.5, 14)):
            journal.drop_expired(expired)
            read(index)
            check(index, journal)
            assert index.pages.count("p") == kept
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
_PHRASES = WORDS.map('"{} ice"'.format) | WORDS.map("{}*".format)
TYPED = st.lists(WORDS | SYNTAX | _PHRASES, max_size=4).map(" ".join)


@given(st.lists(TITLES, max_size=12), st.lists(TYPED, max_size=5))
def test_a_search_finds_what_a_plain_scan_finds(titles: list[str], queries: list[str]) -> None:
    outcomes = [
        told_at(1, {"p": number % 2 == 0}, url=f"http://a.org/{number}", title=title or " ")
        for number, title in enumerate(titles)
    ]
    with an_index(*outcomes) as (_, index):
        known = [page for page in map(index.pages.page, [each.url for each in outcomes]) if page is not None]
        for query in queries:
            search = Search(query)
            expected = {page.url for page in known if scanned(search, page)}
            hits = {page.url for page in known if "p" in page.holds}
            for predicate, among in ((None, expected), ("p", expected & hits), ("unknown", set[str]())):
                asked = (search, predicate)
                found = gone_through(
                    lambda of, last: index.pages.search(of[0], of[1], last and last.id, 2), asked
                )
                assert {page.url for page in found} == among


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


# changes


def a_change(number: int, time: float, predicate: str, kind: str) -> Change:
    told, origin = {"time": time, "excerpt": f"words at {time:g}"}, f"pages/0@{number}-{time:g}"
    return changed(number, predicate=predicate, kind=kind, origin=origin, **told)


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
        for kept in (changes, changes[dropped:]):
            once = {(each.origin, each.predicate, each.kind): each for each in kept}.values()
            for predicate in ("", "p", "q"):
                found = gone_through(lambda of, last: index.changes.newest(of, last and last[0], 2), predicate)
                expected = [each for each in once if predicate in ("", each.predicate)]
                assert sorted(map(str, expected)) == sorted(str(change) for _, change in found)
                assert [place for place, _ in found] == sorted((place for place, _ in found), reverse=True)
            journal.drop_expired(120.0)


# dead letters

LETTERS = st.builds(
    lambda topic, at, why, reason: a_letter(at, topic, why, reason, b"GET /?password=hunter2 jane"),
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
        for letters in (first, later):
            tell(journal, *letters)
            if damaged:
                journal.append(DEAD_LETTERS.name, 0, None, b"\xc1", 0.0)
            found = index.letters.alike()
        assert index.letters.total() == len(first) + len(later) + 2 * damaged
        once = {(each.topic, each.offset, each.reason) for each in (*first, *later)}
        counted = Counter(topic for topic, _, _ in once) + Counter({DEAD_LETTERS.name: 2 * damaged})
        assert sum((Counter({each.topic: each.letters}) for each in found), Counter()) == counted
        assert [each.letters for each in found] == sorted((each.letters for each in found), reverse=True)
        assert len({(each.topic, each.why, each.reason.replace("12", "7")) for each in found}) == len(found)
        assert all(text.isprintable() for each in found for text in (each.reason, each.topic))
        assert not any("hunter2" in str(each) for each in found)


@each_case(
    ("most", "letters", "expired", "counted", "total"),
    [(1_000, 4, 100.5, 3, 3), (1, 9, 0.0, 1, 9), (3, 9, 0.0, 3, 9)],
)
def test_letters_are_counted_that_are_kept_and_of_many_the_newest(
    monkeypatch: pytest.MonkeyPatch, most: int, letters: int, expired: float, counted: int, total: int
) -> None:
    monkeypatch.setattr("scentline.agents.window.index.recent.MOST_LETTERS", most)
    with an_index() as (journal, index):
        for at in range(letters):
            tell(journal, a_letter(at), at=float(at))
            journal.drop_expired(expired if at > 1 else 0.0)
            (found,) = index.letters.alike()
        assert (found.letters, index.letters.total(), found.place) == (counted, total, f"pages/0@{letters - 1}")


# hosts

CAUSES = ("HTTP 404", "timed out", "robots.txt forbids")
ROWS = st.builds(
    lambda judged, waits, causes: HostRow(
        judged,
        waits=Waits(waits, [1]) if waits is not None else Waits(),
        causes={name: Cause(count, float(count), b"page") for name, count in causes.items()},
    ),
    st.integers(0, 3),
    st.none() | st.sampled_from([0.5, 2.0]),
    st.dictionaries(st.sampled_from(CAUSES), st.integers(1, 3)),
)
NAMES = st.from_regex(r"[ab]{1,2}\.(x-){0,2}(test|org)", fullmatch=True)
HOSTS = st.dictionaries(NAMES, ROWS, max_size=25)
#: What may be searched for: parts of names, in any case, and whatever people type.
PARTS = (
    st.sampled_from(["", "a", "a.", ".te", "TEST", "b.x", "x-x", ".org", '"', "a\0b", "%", "b.test", "tést"])
    | st.text()
)


def check_hosts(index: HostIndex, hosts: dict[str, HostRow], hits: dict[str, int], part: str, by: str) -> None:
    figures: dict[str, object] = {
        name: {
            "name": name,
            "pages": row.judged,
            "hits": hits.get(name, 0),
            "failures": sum(cause.count for cause in row.causes.values()),
            "seconds": -1.0 if row.waits.mean is None else row.waits.mean,
        }[by]
        for name, row in hosts.items()
    }
    found = [name for name in hosts if part.lower() in name]
    assert index.count() == len(hosts)
    assert index.count(part) in (len(found), None)
    for descending in (False, True):
        expected = sorted(found, key=lambda name: (figures[name], name), reverse=descending)
        listed: list[list[str]] = [index.names(part, by, descending=descending, most=4)]
        while listed[-1]:
            more = index.names(part, by, descending=descending, beyond=listed[-1][-1], most=4)
            if listed[-1] != listed[0]:
                back = index.names(part, by, descending=descending, beyond=listed[-1][0], back=True, most=4)
                assert back == listed[-2]
            listed.append(more)
        assert [name for page in listed for name in page] == expected


def check_causes(index: HostIndex, hosts: dict[str, HostRow]) -> None:
    found = {total.cause: total for total in index.causes()}
    assert found.keys() == {name for row in hosts.values() for name in row.causes}
    for name, total in found.items():
        causes = {host: row.causes[name] for host, row in hosts.items() if name in row.causes}
        assert (total.fetches, total.hosts) == (sum(each.count for each in causes.values()), len(causes))
        assert total.time == max(each.time for each in causes.values()) == causes[total.host].time
        listed = gone_through(lambda of, last: index.hosts_of(of, last, most=2), name)
        counts = [causes[host].count for host in listed]
        assert counts == sorted((each.count for each in causes.values()), reverse=True)
        assert {*listed} == causes.keys()


@given(HOSTS, HOSTS, PARTS, st.sampled_from(ORDERS), st.lists(st.tuples(NAMES, st.booleans()), max_size=10))
def test_hosts_are_found_sorted_and_paged_as_in_a_plain_list(
    first: dict[str, HostRow], later: dict[str, HostRow], part: str, by: str, judged: list[tuple[str, bool]]
) -> None:
    grown = {name: row for name, row in later.items() if name not in first or _grew(first[name], row)}
    with an_index() as (journal, index):
        for hosts in (first, first | grown):
            write_hosts(journal, hosts)
            read(index)
            check_hosts(index.hosts, hosts, {}, part, by)
            check_causes(index.hosts, hosts)
        hits: dict[str, int] = {}
        for number, (name, hit) in enumerate(judged):
            tell(journal, told_at(1, {"p": hit, "q": False}, url=f"http://{name}/{number}"))
            hits[name] = hits.get(name, 0) + hit
        read(index)
        assert {name: index.pages.hits_of(name) for name in hits} == {
            name: {"p": count} if count else {} for name, count in hits.items()
        }
        check_hosts(index.hosts, hosts, hits, part, by)


def _grew(before: HostRow, after: HostRow) -> bool:
    """Tell whether a host's row may follow on another: its counts only grow."""
    grown = {name: cause.count for name, cause in after.causes.items()}
    return all(grown.get(name, 0) >= cause.count for name, cause in before.causes.items())


def test_nothing_is_read_without_a_viewer_or_while_nothing_changes() -> None:
    now = 1000.0
    with an_index(hosts={f"h{number}.test": HostRow(number) for number in range(250)}) as (journal, index):
        hosts = HostIndex(Store(pages.SCHEMA + SCHEMA), journal, index.pages, lambda: now)
        assert not hosts.step()
        hosts.look()
        assert hosts.progress().as_of is None
        assert hosts.step()
        assert 0 < hosts.progress().read < 250
        while hosts.step():
            pass
        assert hosts.progress() == (250, 1000.0, 0)
        assert not hosts.step()
        write_hosts(journal, {"h7.test": HostRow(700)})
        now += LOOKED_SECONDS
        assert not hosts.step()
        hosts.look()
        while hosts.step():
            pass
        assert hosts.progress() == (250, now, 0)
        assert hosts.names(by="pages", descending=True, most=1) == ["h7.test"]


def test_an_index_with_hosts_that_the_crawl_does_not_have_is_made_anew() -> None:
    with an_index(hosts={"a.test": HostRow(1), "b.test": HostRow(2)}) as (journal, index):
        put(journal.table("frontier")[partition_of("b.test", PARTITIONS)], {host_key("b.test"): None})
        read(index)
        read(index)
        assert index.hosts.names() == ["a.test"]


@each_case("beyond", ["gone.test", "\0", "'; DROP TABLE hosts; --"])
def test_a_list_goes_on_behind_no_host_that_is_not_known(beyond: str) -> None:
    with an_index(hosts={"a.test": HostRow(1)}) as (_, index):
        assert index.hosts.names(by="pages", beyond=beyond) == []
        assert index.hosts.hosts_of(CAUSES[0], beyond) == []
