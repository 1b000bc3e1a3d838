"""What of a log counts: lines that are no bombs, page views of people, as many users as a client may have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.accesslog import clients, robots
from scentline.models.accesslog.clients import Clients, network
from scentline.models.accesslog.entry import MAX_LINE, Entry, LogLineError, text_of
from scentline.models.accesslog.filter import page_view
from scentline.models.accesslog.robots import Rates, Robots
from tests.cases import each_case

BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36"
TODAY = 1_700_000_000.0
FUTURE = 100_000_000_000.0  # the year 5138


def test_a_raw_line_is_bounded_ascii_text() -> None:
    assert text_of("/é\n".encode()) == "/%C3%A9"
    assert text_of("/é\r\n".encode("latin-1")) == "/%E9"
    assert len(text_of(b"a" * MAX_LINE + b"\r\n")) == MAX_LINE
    for line in (b"a" * (MAX_LINE + 1), b"\r\n"):
        with pytest.raises(LogLineError):
            text_of(line)


def viewed(
    url: str = "http://example.org/a", method: str = "GET", status: int = 200, content_type: str | None = None
) -> str | None:
    return page_view(Entry("192.0.2.7", None, 0.0, method, url, status, 0, content_type))


def test_methods_answers_and_types_tell_page_views() -> None:
    assert {viewed(status=status) for status in (200, 203, 206, 304)} == {None}
    others = ("POST", "HEAD", "CONNECT", "OPTIONS", "NONE", "-", "get")
    assert {viewed(method=method) for method in others} == {"method"}
    assert {viewed(status=n) for n in (0, 100, 199, 300, 301, 302, 303, 305, 404, 500)} == {"status"}
    media = "image/png text/css application/javascript video/mp4 font/woff2 application/zip"
    assert {viewed(content_type=kind) for kind in media.split()} == {"media"}
    pages = "text/html application/xhtml+xml application/pdf text/plain"
    assert {viewed("http://e.org/File:Map.svg", content_type=kind) for kind in pages.split()} == {None}
    assert viewed("/a.png", method="POST", status=404) == "method"
    assert viewed("/a.png", status=404) == "status"


@each_case("content_type", [None, "application/octet-stream"])
def test_where_the_type_says_nothing_the_url_tells_media(content_type: str | None) -> None:
    media = "http://e.org/a.png /a/b.JPG /style.css?v=1.2 /a.js#x /a.tar.gz /.ico /a.woff2 /favicon.ico //a.zip"
    pages = "/ /a.html /png /a.png/ /a.png/b /?file=a.png /a. /a.b.php?c=d.zip - /robots.txt /paper.pdf"
    for url in (*media.split(), "http://example.org/a.mp4?b=/c"):
        assert viewed(url, content_type=content_type) == "media", url
    for url in ("", *pages.split(), "http://example.zip", "http://example.zip?a"):
        assert viewed(url, content_type=content_type) is None, url


# robots


def entry(url: str = "/a", time: float = 0.0, agent: str | None = BROWSER) -> Entry:
    return Entry("192.0.2.7", None, time, "GET", url, 200, 5, agent=agent)


@each_case(("agent", "reason"))
def test_an_agent_that_names_a_program_is_a_robots(agent: str | None, reason: str | None) -> None:
    assert Robots(120).reason("u", entry(agent=agent)) == reason


@each_case("url", ["/robots.txt", "http://a.org/robots.txt?x=1"])
def test_who_requests_robots_txt_is_a_robot_from_then_on(url: str) -> None:
    seen = Robots(120)
    for other in ("/robots.txt/a", "/a?b=/robots.txt", "/humans.txt"):
        seen.ask("u", entry(other))
    assert seen.reason("u", entry()) is None
    seen.ask("u", entry(url))
    assert seen.reason("u", entry()) == "robot by robots.txt"
    assert seen.reason("v", entry()) is None


def test_more_views_in_a_minute_than_the_rate_make_a_robot() -> None:
    seen = Robots(3)
    assert {seen.reason("slow", entry(time=20.0 * number)) for number in range(30)} == {None}
    fast = [seen.reason("fast", entry(time=600.0 + number)) for number in range(5)]
    assert fast == [None, None, None, "robot by rate", "robot by rate"]
    assert seen.reason("fast", entry(time=9000.0)) == "robot by rate"
    late = [seen.reason("late", entry(time=time)) for time in (9020.0, 8930.0, 9021.0, 8931.0)]
    assert late == [None, None, None, "robot by rate"], "late lines count to the minute that is open"
    assert {Robots(0).reason("u", entry()) for _ in range(1000)} == {None}


def test_memory_is_bounded_and_the_latest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robots, "KEPT", 10)
    monkeypatch.setattr(clients, "KEPT", 10)
    seen = Robots(1)
    for number in range(100):
        seen.ask(f"robot {number}", entry("/robots.txt"))
    known = [number for number in range(100) if seen.reason(f"robot {number}", entry())]
    assert 10 <= len(known) <= 20
    assert known == list(range(100 - len(known), 100))
    for number in range(100):
        seen.reason(f"viewer {number}", entry(time=600.0))
    again = [number for number in range(100) if seen.reason(f"viewer {number}", entry(time=601.0))]
    assert again == list(range(10))
    users = Clients(1)
    for number in range(100):
        users.counted(f"client {number}", "first")
    latest = [f"client {number}" for number in range(90, 100)]
    assert [users.counted(client, "second") for client in latest] == latest
    assert len(users._known) + len(users._older) <= 20


def test_a_line_of_the_future_or_the_past_makes_a_robot_of_no_other() -> None:
    for wrong in (FUTURE, 0.0):
        seen = Robots(120)
        seen.reason("clock", entry(time=wrong))
        times = (TODAY + 1.5 * number for number in range(20_000))
        assert {seen.reason(f"u{number % 50}", entry(time=time)) for number, time in enumerate(times)} == {None}


def test_lines_of_a_wrong_clock_among_others_empty_no_minute() -> None:
    seen = Robots(120)
    assert "robot by rate" in [
        seen.reason("fast", entry(time=time))
        for number in range(130)
        for time in (TODAY + number / 10, FUTURE + 1e6 * number, TODAY - 1e6 - 7_200 * number)
    ]
    rates = Rates()  # after pauses of days
    assert [rates.count("u", TODAY + 86_400 * number) for number in range(10)] == [1] * 10


@given(st.lists(st.floats(min_value=0, max_value=1e17), max_size=200))
def test_no_time_has_more_views_counted_than_there_were(times: list[float]) -> None:
    rates = Rates()
    for number, time in enumerate(times, start=1):
        assert 1 <= rates.count("u", time) <= number


# clients


@each_case(("client", "name"))
def test_a_client_is_what_one_party_holds_of_addresses(client: str, name: str | None) -> None:
    assert network(client) == name
