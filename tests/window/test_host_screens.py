"""The screens Hosts and Errors: what a host's rows say in words, page by page, and nothing but text."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import zstandard

from scentline.agents.frontier.keys import depth_key, host_key, page_key, robots_key
from scentline.agents.frontier.rows import DepthRow, FrontierRow, HostRow, PageRow, RobotsRow
from scentline.agents.window.screens import errors, hosts
from scentline.models.frontier.causes import MOST_CAUSES, Cause
from scentline.models.frontier.politeness import HostState
from scentline.models.frontier.waits import Waits
from scentline.models.url import identifier
from scentline.streams.records import DeadLetter, RobotsTxt, encode
from scentline.streams.topics import DEAD_LETTERS
from tests.cases import each_case
from tests.window.crawls import HOSTILE, a_crawl, an_outcome, seen, tell, write_rows


@each_case(
    ("state", "shown"),
    [
        (HostState(), ("unknown", "", 0.0)),
        (HostState(asked=900.0), ("rests", "", 0.0)),
        (HostState(asked=999.5), ("waits", "delay", 1000.5)),
        (HostState(asked=995.0, delay=30.0), ("waits", "robots", 1025.0)),
        (HostState(asked=999.0, elapsed=0.5), ("waits", "delay", 1004.0)),
        (HostState(asked=900.0, wait=60.0, until=1050.0, failures=3), ("waits", "back-off", 1050.0)),
        (HostState(asked=900.0, wait=60.0, until=1080.0, retry_after=1080.0), ("waits", "retry-after", 1080.0)),
    ],
)
def test_a_host_waits_as_its_row_has_it(state: HostState, shown: tuple[str, str, float]) -> None:
    fetch = {"delay_seconds": 1.0, "delay_factor": 10.0}
    with a_crawl(hosts={"a.test": HostRow(1, state)}, fetch=fetch) as (_, reading):
        (row,) = seen(reading, hosts)["rows"]
        assert (row["state"], row["why"], row["until"]) == shown
        assert row["candidates"] is None


def test_a_list_of_hosts_is_gone_through_forth_and_back() -> None:
    rows = {f"h{number}.test": HostRow(number % 7) for number in range(120)}
    with a_crawl(hosts=rows) as (_, reading):
        pages: list[list[str]] = []
        query: dict[str, object] = {"by": "pages", "descending": "true"}
        while not pages or len(pages[-1]) == hosts.ROWS:
            view = seen(reading, hosts, **query)
            pages.append([row["host"] for row in view["rows"]])
            assert (view["total"], view["hosts"]) == (120, 120)
            assert view["as_of"] is not None
            query["beyond"] = view["last"]
        assert view["more"] is False
        expected = sorted(rows, key=lambda name: (int(name[1:-5]) % 7, name), reverse=True)
        assert [name for page in pages for name in page] == expected
        back = seen(reading, hosts, by="pages", beyond=view["first"], back="true")
        assert [row["host"] for row in back["rows"]] == pages[1]
        found = seen(reading, hosts, find="H11", by="name", descending="false")
        assert [row["host"] for row in found["rows"]] == sorted(name for name in rows if "h11" in name)
        assert seen(reading, hosts, find='"* OR')["rows"] == []


def test_all_that_is_known_of_a_host_is_shown() -> None:
    url, name = "https://a.test/x", "a.test"
    row = HostRow(
        4, HostState(asked=10.0, elapsed=0.5, delay=7.0, server="192.0.2.7"), 9, 2, 1, Waits(4.5, [0, 4, 0, 5]),
        {"HTTP 404": Cause(3, 500.0, identifier(url)), "timed out": Cause(4, 400.0, b"gone")},
    )  # fmt: skip
    text = zstandard.compress(b"User-agent: *\nDisallow: /private\nCrawl-delay: 7\n")
    robots = RobotsTxt("https://a.test/robots.txt", 2000.0, text, 800.0)
    failed = RobotsTxt("http://a.test/robots.txt", 1200.0, error="status 503")
    rows: dict[bytes, FrontierRow] = {
        host_key(name): row,
        page_key(url): PageRow(url, 1, 1, reason="status 404"),
        robots_key("https://a.test"): RobotsRow(robots),
        robots_key("http://a.test"): RobotsRow(failed),
        depth_key(name): DepthRow(views=[90, 9, 1], sessions=200),
    }
    with a_crawl(frontier={"depth": "auto"}) as (journal, reading):
        write_rows(journal, name, rows)
        tell(journal, *(an_outcome(n, {"p": True, "q": n > 2}, f"https://a.test/{n}") for n in range(4)))
        (listed,), host = seen(reading, hosts)["rows"], seen(reading, hosts, host=name)["host"]
        assert listed.items() <= host.items()
        counts = ("pages", "requests", "again", "moved", "failures", "seconds", "most", "delay")
        assert [host[each] for each in counts] == [4, 11, 2, 1, 7, 0.5, 0.5, 7.0]
        assert host["hits"] == {"p": 4, "q": 1}
        assert host["times"] == [{"within": 0.1, "answers": 4}, {"within": 0.5, "answers": 5}]
        assert [tuple(cause.values()) for cause in host["causes"]] == [
            ("timed out", 4, 400.0, "", ""), ("HTTP 404", 3, 500.0, url, "status 404"),
        ]  # fmt: skip
        https, http = host["robots_txt"]
        assert https["text"] == "User-agent: *\nDisallow: /private\nCrawl-delay: 7"
        assert (http["text"], http["error"]) == ("", "status 503")
        assert "level" in host["depth"]
        unknown = seen(reading, hosts, host="b.test")["host"]
        assert (unknown["known"], unknown["state"]) == (False, "unknown")


def test_errors_are_shown_by_cause_then_host_and_letters_by_what_they_are() -> None:
    with a_crawl() as (journal, reading):
        for number in range(70):
            host, url = f"h{number}.test", f"http://h{number}.test/"
            causes = {"HTTP 404": Cause(number + 1, float(number), identifier(url))}
            if number < 2:
                causes["timed out"] = Cause(1, 500.0, identifier(url))
            page = PageRow(url, 1, 1, reason="status 404")
            write_rows(journal, host, {page_key(url): page, host_key(host): HostRow(causes=causes)})
        for at in range(3):
            letter = DeadLetter(
                topic="proxy-log", partition=0, offset=at, reason="no URL", value=b"jane", time=at, why="line"
            )
            journal.append(DEAD_LETTERS.name, 0, None, encode(letter), 5.0)
        view = seen(reading, errors, cause="HTTP 404")
        assert [(cause["cause"], cause["fetches"], cause["hosts"]) for cause in view["causes"]] == [
            ("HTTP 404", sum(range(71)), 70), ("timed out", 2, 2),
        ]  # fmt: skip
        assert (view["causes"][0]["host"], view["causes"][0]["url"]) == ("h69.test", "http://h69.test/")
        assert [row["fetches"] for row in view["hosts"]] == [*range(70, 20, -1)]
        assert view["more"]
        more = seen(reading, errors, cause="HTTP 404", beyond="h20.test")
        assert [row["host"] for row in more["hosts"]] == [f"h{number}.test" for number in range(19, -1, -1)]
        (letters,) = view["letters"]
        assert (letters["topic"], letters["letters"], letters["place"]) == ("proxy-log", 3, "proxy-log/0@2")
        assert view["kept"] == 3
        assert not any("jane" in text for text in texts(view))
        assert seen(reading, errors, cause="<b>")["hosts"] == []
        found = seen(reading, errors, reason="TIMED")
        assert [cause["cause"] for cause in found["causes"]] == ["timed out"]
        assert (found["of"], found["fetches"]) == (1, 2)
        assert seen(reading, errors, reason="<b>")["causes"] == []


def texts(found: Any) -> Iterator[str]:
    if isinstance(found, dict):
        for key, value in found.items():
            yield from (key, *texts(value))
    elif isinstance(found, list):
        for value in found:
            yield from texts(value)
    elif isinstance(found, str):
        yield found


def test_what_strangers_wrote_is_bounded_text() -> None:
    name, url = "a.test", f"http://a.test/{'x' * 1900}"
    causes = {f"{HOSTILE}{number}": Cause(1, 1.0, identifier(url)) for number in range(MOST_CAUSES)}
    text = zstandard.compress(HOSTILE.encode() * 40_000)
    robots = RobotsTxt("http://a.test/robots.txt", 2000.0, text, 800.0, error=HOSTILE * 1_000)
    rows: dict[bytes, FrontierRow] = {
        host_key(name): HostRow(1, HostState(server=HOSTILE), causes=causes),
        page_key(url): PageRow(url, 1, 1, reason=HOSTILE * 1_000),
        robots_key("http://a.test"): RobotsRow(robots),
        robots_key("https://a.test"): RobotsRow(RobotsTxt("https://a.test/robots.txt", 2000.0, b"no frame")),
    }
    with a_crawl() as (journal, reading):
        write_rows(journal, name, rows)
        letter = DeadLetter(topic=HOSTILE, partition=0, offset=1, reason=HOSTILE * 1_000, value=b"", time=5.0)
        journal.append(DEAD_LETTERS.name, 0, None, encode(letter), 5.0)
        for view in (
            seen(reading, hosts),
            seen(reading, hosts, host=name),
            seen(reading, hosts, host=HOSTILE),
            seen(reading, errors, cause=f"{HOSTILE}1"),
        ):
            for found in texts(view):
                assert all(line.isprintable() for line in found.split("\n"))
                assert len(found) <= 6 * hosts.ROBOTS


@each_case("query", [{"by": "row; DROP"}, {"find": "x" * 301}, {"offset": "-1"}, {"colour": "red"}])
def test_what_can_not_be_shown_is_refused(query: dict[str, str]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(query, hosts.Query, strict=False)
