"""The screens Pages, Hosts and Errors: lists page by page, rows in words, and nothing but bounded text."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import zstandard

from scentline.agents.window import hosts, pages
from scentline.agents.window.reading import Reading
from scentline.agents.window.screens import QueryError, screen
from scentline.models.frontier.answers import MOST_CAUSES, Cause, Waits
from scentline.models.frontier.keys import host_key, page_key, robots_key
from scentline.models.frontier.politeness import HostState
from scentline.models.frontier.rows import INSTANT, Depth, FrontierRow, HostRow, PageRow
from scentline.models.records import RobotsTxt
from scentline.models.url import identifier
from tests.agents.test_record import told_at
from tests.cases import each_case
from tests.window.crawls import HOSTILE, a_crawl, a_letter, seen, tell, write_rows
from tests.window.test_lists import a_change


def listed(reading: Reading, **query: str) -> list[dict[str, Any]]:
    """Return all rows of a list of pages, page by page."""
    view = seen(reading, "pages", **query)
    found = list(view["rows"])
    while view["after"] is not None:
        view = seen(reading, "pages", **query, after=view["after"])
        found += view["rows"]
    return found


def test_long_lists_are_gone_through_page_by_page_and_each_row_once() -> None:
    outcomes = [told_at(9, {"p": number % 2 == 0}, url=f"http://a.org/{number}") for number in range(250)]
    known = {f"h{number}.test": HostRow(number % 7) for number in range(120)}
    with a_crawl(*outcomes, hosts=known) as (journal, reading):
        hits, first = {each.url for each in outcomes if each.verdict["p"]}, seen(reading, "pages")
        assert (len(first["rows"]), first["looked_at"], first["older"]) == (pages.ROWS, 250, False)
        for query in ({}, {"search": "a.org", "predicate": "p"}):
            rows = listed(reading, **query)
            assert (len(rows), {row["url"] for row in rows}) == (125, hits)
        assert listed(reading, predicate="unknown") == []
        assert len(listed(reading, show="judged", search="a.org")) == 250
        tell(journal, told_at(10, {"p": True}, url="http://a.org/new"))
        assert seen(reading, "pages")["rows"][0]["url"] == "http://a.org/new"
        views = [seen(reading, "hosts", offset=offset) for offset in (0, hosts.ROWS, 2 * hosts.ROWS)]
        assert [len(view["rows"]) for view in views] == [hosts.ROWS, hosts.ROWS, 20]
        assert {row["host"] for view in views for row in view["rows"]} == known.keys()
        assert {(view["total"], view["hosts"], view["as_of"] is None) for view in views} == {(120, 120, False)}
        named = seen(reading, "hosts", find="H11", by="name", descending="false")
        assert [row["host"] for row in named["rows"]] == sorted(name for name in known if "h11" in name)


@each_case(
    ("name", "query"),
    [
        ("hosts", {"by": "row; DROP"}), ("hosts", {"find": "x" * 301}), ("hosts", {"offset": "-1"}),
        ("hosts", {"colour": "red"}), ("pages", {"after": "x"}), ("pages", {"after": "1,2,3"}),
        ("pages", {"search": "x" * 301}), ("pages", {"show": "none"}), ("pages", {"more": "1"}),
    ],
)  # fmt: skip
def test_nothing_else_can_be_requested(name: str, query: dict[str, str]) -> None:
    with pytest.raises(QueryError):
        screen(name, query)


# pages


def test_of_many_changes_the_newest_are_listed_and_a_hit_has_the_words_of_its_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scentline.agents.window.recent.MOST_CHANGES", 6)
    changes = [a_change(1, float(time), "p", "changed") for time in range(9)]
    hit = told_at(5, {"p": True, "q": False}, url="http://a.org/1")
    with a_crawl(hit, *changes, a_change(1, 9, "q", "appeared")) as (_, reading):
        view = seen(reading, "pages", show="changes")
        assert [row["time"] for row in view["rows"]] == [9.0, 8.0]  # those of its partition of three
        assert view["older"]
        (row,) = seen(reading, "pages")["rows"]
        assert (row["excerpt"], row["holds"]) == (["words at 8"], ["p"])


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
    given = {"predicate": "hockey", "policy": "learned", **chosen}
    with a_crawl(msgspec.structs.replace(told_at(1, {"p": True}), **given)) as (_, reading):
        (row,) = seen(reading, "pages")["rows"]
        assert [word for word in words if word not in row["why"]] == []


# hosts and errors


def test_a_host_waits_as_its_row_has_it() -> None:
    known = [
        (HostState(), ("unknown", "", 0.0)), (HostState(asked=900.0), ("rests", "", 0.0)),
        (HostState(asked=999.5), ("waits", "delay", 1000.5)),
        (HostState(asked=999.0, elapsed=0.5), ("waits", "delay", 1004.0)),
        (HostState(asked=900.0, wait=60.0, until=1050.0, failures=3), ("waits", "back-off", 1050.0)),
    ]  # fmt: skip
    fetch = {"delay_seconds": 1.0, "delay_factor": 10.0}
    rows = {f"{number}.test": HostRow(1, state) for number, (state, _) in enumerate(known)}
    with a_crawl(hosts=rows, fetch=fetch) as (_, reading):
        shown = seen(reading, "hosts", by="name", descending="false")["rows"]
        assert [(row["state"], row["why"], row["until"]) for row in shown] == [each for _, each in known]
        assert [row["candidates"] for row in shown] == [None] * len(known)


def test_all_that_is_known_of_a_host_is_shown() -> None:
    url, name = "https://a.test/x", "a.test"
    row = HostRow(
        4, HostState(asked=10.0, elapsed=0.5, delay=7.0, server="192.0.2.7"), 9, 2, 1, Waits(4.5, [0, 4, 0, 5]),
        {"HTTP 404": Cause(3, 500.0, identifier(url)), "timed out": Cause(4, 400.0, b"gone")},
        Depth(views=[90, 9, 1], sessions=200),
    )  # fmt: skip
    text = zstandard.compress(b"User-agent: *\nDisallow: /private\nCrawl-delay: 7\n")
    failed = RobotsTxt("http://a.test/robots.txt", 1200.0, error="status 503")
    rows: dict[bytes, FrontierRow] = {
        host_key(name): row,
        page_key(url): PageRow(url, 1, 1, reason="status 404"),
        robots_key("https://a.test"): HostRow(
            robots=RobotsTxt("https://a.test/robots.txt", 2000.0, text, 800.0)
        ),
        robots_key("http://a.test"): HostRow(robots=failed),
    }
    with a_crawl(frontier={"depth": "auto"}) as (journal, reading):
        write_rows(journal, name, rows)
        (row_shown,), host = seen(reading, "hosts")["rows"], seen(reading, "hosts", host=name)["host"]
        assert row_shown.items() <= host.items()
        counts = ("pages", "requests", "again", "moved", "failures", "seconds", "most", "delay")
        assert [host[each] for each in counts] == [4, 11, 2, 1, 7, 0.5, 0.5, 7.0]
        assert host["times"] == [{"within": 0.1, "answers": 4}, {"within": 0.5, "answers": 5}]
        assert [tuple(cause.values()) for cause in host["causes"]] == [
            ("timed out", 4, 400.0, "", ""), ("HTTP 404", 3, 500.0, url, "status 404"),
        ]  # fmt: skip
        https, http = host["robots_txt"]
        assert https["text"] == "User-agent: *\nDisallow: /private\nCrawl-delay: 7"
        assert (http["text"], http["error"]) == ("", "status 503")
        assert "level" in host["depth"]
        unknown = seen(reading, "hosts", host="b.test")["host"]
        assert (unknown["known"], unknown["state"]) == (False, "unknown")


def test_errors_are_shown_by_cause_then_host_and_letters_by_what_they_are() -> None:
    letters = [a_letter(at, "proxy-log", "line", "no URL", b"jane") for at in range(3)]
    with a_crawl(*letters) as (journal, reading):
        for number in range(70):
            host, url = f"h{number}.test", f"http://h{number}.test/"
            causes = {"HTTP 404": Cause(number + 1, float(number), identifier(url))}
            if number < 2:
                causes["timed out"] = Cause(1, 500.0, identifier(url))
            page = PageRow(url, 1, 1, reason="status 404")
            write_rows(journal, host, {page_key(url): page, host_key(host): HostRow(causes=causes)})
        view = seen(reading, "errors", cause="HTTP 404")
        assert [(cause["cause"], cause["fetches"], cause["hosts"]) for cause in view["causes"]] == [
            ("HTTP 404", sum(range(71)), 70), ("timed out", 2, 2),
        ]  # fmt: skip
        assert (view["causes"][0]["host"], view["causes"][0]["url"]) == ("h69.test", "http://h69.test/")
        assert [row["fetches"] for row in view["hosts"]] == [*range(70, 20, -1)]
        assert view["hosts_of"] == 70
        more = seen(reading, "errors", cause="HTTP 404", offset=50)
        assert [row["host"] for row in more["hosts"]] == [f"h{number}.test" for number in range(19, -1, -1)]
        (alike,) = view["letters"]
        assert (alike["topic"], alike["letters"], alike["place"]) == ("proxy-log", 3, "proxy-log/0@2")
        assert view["kept"] == 3
        assert not any("jane" in text for text in texts(view))
        assert seen(reading, "errors", cause="<b>")["hosts"] == []
        found = seen(reading, "errors", reason="TIMED")
        assert [cause["cause"] for cause in found["causes"]] == ["timed out"]
        assert (found["of"], found["fetches"]) == (1, 2)
        assert seen(reading, "errors", reason="<b>")["causes"] == []


def texts(found: Any) -> Iterator[str]:
    """Yield every text of a view, names of fields too."""
    if isinstance(found, str):
        yield found
    elif isinstance(found, dict | list):
        for each in (*found, *found.values()) if isinstance(found, dict) else found:
            yield from texts(each)


# what strangers wrote


def test_what_pages_say_is_text_on_one_line_and_of_bounded_length() -> None:
    title = f'{HOSTILE} "* NEAR( hockey {"y" * 2000}'
    outcome = told_at(5, {"p": True}, url=f"http://a.org/{'x' * 1500}", title=title)
    with a_crawl(outcome) as (_, reading):
        for query in ({}, {"search": "hockey"}, {"search": "onerror*", "show": "judged"}):
            (row,) = seen(reading, "pages", **query)["rows"]
            shown = "".join(row["title"])
            assert shown.isprintable()
            assert shown.startswith("<img src=x onerror=alert(1)>")
            assert len(shown) < 700
            assert len("".join(row["address"])) < 310
            assert row["url"] == outcome.url
        seen(reading, "pages", search=title[:300])
        assert "hockey" in seen(reading, "pages", search="hockey")["rows"][0]["title"][1::2]


def test_what_hosts_say_is_bounded_text() -> None:
    name, url = "a.test", f"http://a.test/{'x' * 1900}"
    causes = {f"{HOSTILE}{number}": Cause(1, 1.0, identifier(url)) for number in range(MOST_CAUSES)}
    text = zstandard.compress(HOSTILE.encode() * 40_000)
    robots = RobotsTxt("http://a.test/robots.txt", 2000.0, text, 800.0, error=HOSTILE * 1_000)
    rows: dict[bytes, FrontierRow] = {
        host_key(name): HostRow(1, HostState(server=HOSTILE), causes=causes),
        page_key(url): PageRow(url, 1, 1, reason=HOSTILE * 1_000),
        robots_key("http://a.test"): HostRow(robots=robots),
        robots_key("https://a.test"): HostRow(
            robots=RobotsTxt("https://a.test/robots.txt", 2000.0, b"no frame")
        ),
    }
    with a_crawl(a_letter(1, HOSTILE, reason=HOSTILE * 1_000)) as (journal, reading):
        write_rows(journal, name, rows)
        shown = [seen(reading, "hosts", **query) for query in ({}, {"host": name}, {"host": HOSTILE})]
        for view in (*shown, seen(reading, "errors", cause=f"{HOSTILE}1")):
            for found in texts(view):
                assert all(line.isprintable() for line in found.split("\n"))
                assert len(found) <= 6 * hosts.ROBOTS
