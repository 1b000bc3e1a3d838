"""The newest pages, changes and dead letters, and the first hosts, are what a plain recount says."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.operate.record import current_pages, judged_pages
from scentline.agents.operate.record import outcomes as recorded
from scentline.agents.window.hosts import ROUND_SECONDS, Hosts, looked_through
from scentline.agents.window.recent import Place, RecentChanges, RecentLetters, RecentPages
from scentline.agents.window.search import Search, runs
from scentline.models.frontier.answers import Cause, Waits
from scentline.models.frontier.rows import HostRow
from scentline.models.published import Change, Outcome
from scentline.models.records import DeadLetter
from scentline.streams.topics import DEAD_LETTERS
from tests.agents.test_changes import a_change as changed
from tests.agents.test_record import told_at
from tests.window.crawls import NOW, a_letter, a_small_journal, tell, write_hosts

PREDICATES = ("p", "q", "r s")
RECENT = "scentline.agents.window.recent"


def gone_through(more: Callable[[Place | None], list[tuple[Place, Any]]]) -> list[Any]:
    """Return all of a list, page by page: ``more`` returns what is behind a place."""
    found: list[tuple[Place, Any]] = []
    while page := more(found[-1][0] if found else None):
        found += page
    assert [place for place, _ in found] == sorted((place for place, _ in found), reverse=True)
    return [each for _, each in found]


# pages

#: The first answer, another one to the same order, a visit again, and a later predicate's word.
OUTCOMES = st.builds(
    lambda number, time, verdict, kind: told_at(
        time, {} if kind == "left" else verdict, url=f"http://a.org/{number}", later=kind == "later",
        again=kind in ("again", "left"), left="status 410" if kind == "left" else msgspec.UNSET,
    ),
    st.integers(0, 5), st.integers(1, 4).map(float),
    st.dictionaries(st.sampled_from(PREDICATES), st.booleans()),
    st.sampled_from(["first", "first", "again", "left", "later", "later"]),
)  # fmt: skip


@given(st.lists(st.lists(OUTCOMES, max_size=8), min_size=1, max_size=6))
def test_the_newest_pages_are_what_is_recounted(parts: list[list[Outcome]]) -> None:
    with a_small_journal() as journal:
        recent = RecentPages(journal)
        for outcomes in parts:
            tell(journal, *outcomes)
            now, ever = current_pages(recorded(journal)), judged_pages(journal)
            for predicate in ("", *PREDICATES):
                expected = {
                    url: page.time for url, page in now.items()
                    if (page.verdict.get(predicate) if predicate else any(page.verdict.values()))
                }  # fmt: skip
                found = gone_through(lambda after, of=predicate: recent.pages(of, None, after, 2))  # type: ignore[misc]
                assert {page.outcome.url: page.outcome.time for page in found} == expected
                assert len(found) == len(expected)
            for url, outcome in ever.items():
                page = recent.page(url)
                assert page is not None
                assert (page.title, page.outcome.time) == (outcome.title, outcome.time)
                assert page.outcome.verdict == outcome.verdict
                assert page.left == (None if outcome.left is msgspec.UNSET else outcome.left)


def test_of_many_pages_the_newest_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{RECENT}.MOST_PAGES", 30)
    outcomes = [told_at(number, {"p": number % 2 == 0}, url=f"http://a.org/{number}") for number in range(300)]
    with a_small_journal(*outcomes[:120]) as journal:
        recent = RecentPages(journal)
        assert len(recent.pages(None, most=99)) == 30
        tell(journal, *outcomes[120:])
        assert [page.outcome.time for _, page in recent.pages("p", None, None, 3)] == [298.0, 296.0, 294.0]
        assert (len(recent.held), recent.older, recent.page("http://a.org/200")) == (30, True, None)
        tell(journal, told_at(400, {}, url="http://a.org/270", again=True))
        tell(journal, *(told_at(401 + number, {}, url=f"http://b.org/{number}") for number in range(29)))
        assert recent.page("http://a.org/270") is not None, "it was visited again"


# searches

WORDS = st.sampled_from(
    ["ice", "Ice", "ICE-hockey", "hockey", "hock", "Straße", "strasse", "हिन्दी", "Ελλάς", "e", "1", "12345"]
)
SYNTAX = st.sampled_from(['"', "'", "*", "(", ")", ":", "-", "^", "OR", "+", "\\", "%", "_", ";"])
TITLES = st.lists(WORDS | SYNTAX | st.text(max_size=5), max_size=6).map(" ".join)
_PHRASES = WORDS.map('"{} ice"'.format) | WORDS.map("{}*".format)
TYPED = st.lists(WORDS | SYNTAX | _PHRASES, max_size=4).map(" ".join)


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
    whole = " ".join(["", *runs(title), ""])
    stands = [f" {' '.join(words)}{'' if begun else ' '}" in whole for words, begun in search.phrases]
    assert search.found_in([title]) == all(stands)


# changes


def a_change(number: int, time: float, predicate: str, kind: str) -> Change:
    told, origin = {"time": time, "excerpt": f"words at {time:g}"}, f"pages/0@{number}-{time:g}"
    return changed(number, predicate=predicate, kind=kind, origin=origin, **told)


CHANGES = st.builds(
    a_change, st.integers(0, 4), st.integers(1, 5).map(float), st.sampled_from(["p", "q"]),
    st.sampled_from(["appeared", "changed", "left"]),
)  # fmt: skip


@given(st.lists(CHANGES, max_size=30), st.integers(0, 30))
def test_changes_are_listed_once_each_the_newest_first(changes: list[Change], dropped: int) -> None:
    with a_small_journal(*changes[:dropped]) as journal:
        recent = RecentChanges(journal)
        recent.changes()
        tell(journal, *changes[dropped:])
        once = {(each.origin, each.predicate, each.kind): each for each in changes}.values()
        for predicate in ("", "p", "q"):
            found = gone_through(lambda after, of=predicate: recent.changes(of, after, 2))  # type: ignore[misc]
            asked = [each for each in once if predicate in ("", each.predicate)]
            assert sorted(map(str, found)) == sorted(map(str, asked))


# dead letters

LETTERS = st.builds(
    lambda topic, at, why, reason: a_letter(at, topic, why, reason, b"GET /?password=hunter2 jane"),
    st.sampled_from(["pages", "proxy-log"]), st.integers(0, 5), st.sampled_from(["line", "unreadable"]),
    st.sampled_from(["line 12: no URL", "line 7: no URL", "Expected `array`", "<b>\u202egod"]),
)  # fmt: skip


@given(st.lists(LETTERS), st.lists(LETTERS), st.booleans())
def test_letters_that_are_alike_are_counted_together_and_nothing_of_what_they_hold_is_shown(
    first: list[DeadLetter], later: list[DeadLetter], damaged: bool
) -> None:
    with a_small_journal() as journal:
        recent = RecentLetters(journal)
        for letters in (first, later):
            tell(journal, *letters)
            if damaged:
                journal.append(DEAD_LETTERS.name, 0, None, b"\xc1", 0.0)
            found = recent.alike()
        assert recent.total() == len(first) + len(later) + 2 * damaged
        once = {(each.topic, each.offset, each.reason) for each in (*first, *later)}
        counted = Counter(topic for topic, _, _ in once) + Counter({DEAD_LETTERS.name: 2 * damaged})
        assert sum((Counter({each.topic: each.letters}) for each in found), Counter()) == counted
        assert [each.letters for each in found] == sorted((each.letters for each in found), reverse=True)
        assert len({(each.topic, each.why, each.reason.replace("12", "7")) for each in found}) == len(found)
        assert all(text.isprintable() for each in found for text in (each.reason, each.topic))
        assert not any("hunter2" in str(each) for each in found)


def test_of_many_letters_the_newest_that_are_kept_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{RECENT}.MOST_LETTERS", 3)
    with a_small_journal() as journal:
        for at in range(9):
            tell(journal, a_letter(at), at=float(at))
        journal.drop_expired(101.5)
        (found,) = RecentLetters(journal).alike()
        assert (found.letters, RecentLetters(journal).total(), found.place) == (3, 7, "pages/0@8")


# hosts

CAUSES = ("HTTP 404", "timed out", "robots.txt forbids")
ROWS = st.builds(
    lambda judged, waits, causes: HostRow(
        judged, waits=Waits() if waits is None else Waits(waits, [1]),
        causes={name: Cause(count, float(count), b"page") for name, count in causes.items()},
    ),
    st.integers(0, 3), st.none() | st.sampled_from([0.5, 2.0]),
    st.dictionaries(st.sampled_from(CAUSES), st.integers(1, 3)),
)  # fmt: skip
NAMES = st.from_regex(r"[ab]{1,2}\.(x-){0,2}(test|org)", fullmatch=True)
HOSTS = st.dictionaries(NAMES, ROWS, max_size=25)
#: What may be searched for: parts of names, in any case, and whatever people type.
PARTS = st.sampled_from(["", "a", "a.", ".te", "TEST", "b.x", "x-x", ".org", '"', "a\0b", "b.test"]) | st.text()


@given(HOSTS, HOSTS, PARTS, st.sampled_from(["name", "pages", "failures", "seconds"]))
def test_hosts_are_found_and_sorted_as_in_a_plain_list(
    first: dict[str, HostRow], later: dict[str, HostRow], part: str, by: str
) -> None:
    now = NOW
    with a_small_journal() as journal:
        pieces = looked_through(journal, lambda: now)
        for hosts in (first, first | later):
            write_hosts(journal, hosts)
            now += ROUND_SECONDS
            _check(whole(pieces), hosts, part, by)


def whole(pieces: Iterator[tuple[Hosts, bool]]) -> Hosts:
    """Return the hosts of the next whole round, or of the last where nothing has changed."""
    return next(found for found, more in pieces if not more)


def _check(found: Hosts, hosts: dict[str, HostRow], part: str, by: str) -> None:
    figures: dict[str, Callable[[str, HostRow], Any]] = {
        "name": lambda name, _: name,
        "pages": lambda _, row: row.judged,
        "failures": lambda _, row: sum(cause.count for cause in row.causes.values()),
        "seconds": lambda _, row: -1.0 if row.waits.mean is None else row.waits.mean,
    }
    expected = sorted((figures[by](name, row), name) for name, row in hosts.items() if part.lower() in name)
    assert found.names(part, by) == [name for _, name in expected]
    assert found.names(part, by, descending=True) == [name for _, name in reversed(expected)]
    totals = {total.cause: total for total in found.causes()}
    assert totals.keys() == {name for row in hosts.values() for name in row.causes}
    for name, total in totals.items():
        causes = {host: row.causes[name] for host, row in hosts.items() if name in row.causes}
        assert (total.fetches, total.hosts) == (sum(each.count for each in causes.values()), len(causes))
        assert total.time == max(each.time for each in causes.values()) == causes[total.host].time
        assert found.of_cause(name) == sorted(causes, key=lambda host: (-causes[host].count, host))


def test_hosts_are_looked_through_a_piece_at_a_time_and_again_when_they_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = NOW
    with a_small_journal(hosts={f"h{number}.test": HostRow(number) for number in range(250)}) as journal:
        pieces = looked_through(journal, lambda: now)
        found, more = next(pieces)
        assert (found.as_of, 0 < len(found) < 250, more) == (None, True, True)
        found = whole(pieces)
        assert (found.as_of, len(found), found.more) == (NOW, 250, False)
        write_hosts(journal, {"h7.test": HostRow(700)})
        assert next(pieces) == (found, False), "it is too soon"
        now += ROUND_SECONDS
        newer = whole(pieces)
        assert (newer.as_of, newer.names(by="pages")[-1]) == (now, "h7.test")
        now += ROUND_SECONDS
        assert next(pieces) == (newer, False), "nothing has changed"
        monkeypatch.setattr("scentline.agents.window.hosts.MOST_HOSTS", 30)
        first = whole(looked_through(journal, lambda: now))
        assert (len(first), first.more) == (30, True)
        assert [first.names(part) for part in ("'; DROP TABLE hosts; --", "\0")] == [[], []]
