"""Logs: the lines of each format, and what counts of them: page views of people, users within bounds."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.accesslog import layout, views
from scentline.models.accesslog.entry import MAX_LINE, Entry, JsonLines, LogLineError, text_of
from scentline.models.accesslog.formats import (
    FORMATS,
    RECOGNISED,
    W3C,
    LogFormatError,
    Parser,
    parsers,
    recognise,
)
from scentline.models.accesslog.layout import FormatTextError
from scentline.models.accesslog.views import Clients, Rates, Robots, network, page_view
from tests.cases import each_case

HEAD = "192.0.2.7 - alice [17/May/2015:10:05:03 +0000]"
COMMON = f'{HEAD} "GET /a HTTP/1.1" 200 5'
COMBINED = f'{COMMON} "http://example.org/" "Mozilla/5.0 (X11)"'
SQUID = "1431857103.586  92 192.0.2.7 TCP_MISS/200 507 GET http://example.org/a alice HIER_DIRECT/- text/html"
FIELDS = "#Fields: date time c-ip cs-username cs-method cs-uri-stem cs-uri-query sc-status sc-bytes cs(Referer)"
W3C_LINE = "2015-05-17 10:05:03 192.0.2.7 alice GET /a b=1 200 5 http://example.org/ Mozilla/5.0+(X11)"
HEADERS = {"Referer": ["http://a.org/"], "User-Agent": ["Mozilla/5.0"]}
REQUEST = {"client_ip": "192.0.2.7", "method": "GET", "host": "a.org", "uri": "/b?c=1", "headers": HEADERS}
JSON_LINE = json.dumps({"ts": 1431857103.5, "status": 200, "size": 5, "request": REQUEST})
TIME = 1431857103.0
#: The texts of two formats as their servers write them.
AS_COMBINED = r"%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\""
AS_SQUID = "%ts.%03tu %6tr %>a %Ss/%03>Hs %<st %rm %ru %[un %Sh/%<a %mt"

common, combined, squid = FORMATS["common"], FORMATS["combined"], FORMATS["squid"]


def a_w3c(fields: str = f"{FIELDS} cs(User-Agent)") -> W3C:
    reader = W3C()
    assert reader.directive(fields)
    return reader


def alice(url: str, **fields: Any) -> Entry:
    usual = {"client": "192.0.2.7", "user": "alice", "time": TIME, "method": "GET", "status": 200, "size": 5}
    return Entry(**{**usual, "url": url, **fields})


PEER = '{"peer": {"address": "::1"}, "client": "x", "url": "/x", "page": "/a", "method": "GET", "time": 1}'


def reader(form: str) -> Parser:
    """Return what reads a format, by its name or as it is described."""
    found: dict[str, Parser] = {"w3c": a_w3c(), "json": JsonLines(), **FORMATS}
    return found[form] if form in found else next(iter(parsers(form).values()))


@each_case(("form", "line", "fields"))
def test_a_line_gives_every_field(form: str, line: str, fields: dict[str, Any]) -> None:
    assert reader(form)(line) == alice(**fields)
    named = JsonLines(["client=peer.address", "url=page"])(PEER)
    assert (named.client, named.url) == ("::1", "/a")


@each_case("added")
def test_what_a_server_adds_at_the_end_is_ignored(added: str) -> None:
    assert combined(COMBINED + added) == combined(COMBINED) == common(COMBINED + added)
    if not added.startswith(' "'):
        assert common(COMMON + added) == common(COMMON)


@each_case(
    ("described", "parse", "line"),
    [
        (layout.apache(AS_COMBINED), combined, COMBINED),
        (layout.apache(AS_COMBINED), combined, COMBINED.replace("example.org/", 'e.org/?q=\\"x\\"')),
        (layout.apache(AS_COMBINED.replace("%>s", "%% %>s")), combined, COMBINED.replace('" 200', '" % 200')),
        *((layout.squid(AS_SQUID), squid, SQUID.replace("MISS", how)) for how in ("MISS", "MISS_ABORTED")),
    ],
)  # fmt: skip
def test_a_known_format_described_is_that_format(described: Parser, parse: Parser, line: str) -> None:
    assert described(line) == parse(line.replace('" % 200', '" 200'))


@each_case(("directive", "written"))
def test_times_are_read_as_they_are_described(directive: str, written: str) -> None:
    assert layout.apache(f'%h %u {directive} "%r" %>s')(f'::1 - {written} "GET /a" 200').time == TIME


@each_case(("form", "named"))
def test_a_description_that_can_not_be_used_names_what_is_wrong(form: str, named: str) -> None:
    with pytest.raises(FormatTextError) as raised:
        parsers(form)
    assert named in str(raised.value)


def test_fields_are_named_by_the_log_or_by_the_settings() -> None:
    read = a_w3c()
    assert not read.directive("# a comment")
    for directive in ("#Remark: a comment", "#Date: 2015-05-18 00:00:00"):
        assert read.directive(directive)
    assert read.directive("#Fields: time cs-host cs-method cs-uri cs-username sc-status")
    entry = read('10:05:03 - GET http://e.org/ "Alice ""B""" 200')
    assert (entry.user, entry.time) == ('Alice "B"', TIME + 86_400)
    for unusable in (read, W3C(), a_w3c("#Fields: date time c-ip"), a_w3c("#Fields:")):
        with pytest.raises(LogLineError):
            unusable(W3C_LINE)
    with pytest.raises(ValueError, match="no field for the"):
        parsers("w3c:date time")
    for named in ("page", "page=", "address=url"):
        with pytest.raises(ValueError, match="is not FIELD=NAME"):
            parsers("json", [named])


@each_case("line")
def test_the_usual_names_of_json_are_found(line: str) -> None:
    named = {"user": None, "time": TIME + 0.5, "referrer": "http://a.org/", "agent": "Mozilla/5.0"}
    assert JsonLines()(line) == alice("http://a.org/b?c=1", **named)


@each_case(
    ("form", "line"),
    [
        ("common", COMMON.replace(" 5", f" {'5' * 5000}")), ("squid", SQUID.replace("507", "9" * 5000)),
        ("squid", SQUID.replace("1431857103.586", "9" * 400)), ("json", "[" * 8000), ("json", '{"a":' * 1500),
    ],
)  # fmt: skip
def test_damaged_lines_and_those_of_other_formats_are_malformed(form: str, line: str) -> None:
    with pytest.raises(LogLineError):
        print(line, reader(form)(line))


@given(st.datetimes(datetime(1000, 1, 2), datetime(9998, 12, 31)), st.integers(-14 * 60, 14 * 60))
def test_times_are_read_with_their_zone(local: datetime, minutes: int) -> None:
    moment = local.replace(microsecond=0, tzinfo=timezone(timedelta(minutes=minutes)))
    line = COMMON.replace("17/May/2015:10:05:03 +0000", moment.strftime("%d/%b/%Y:%H:%M:%S %z"))
    assert common(line).time == (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    leap = common(COMMON.replace("17/May/2015:10:05:03", "30/Jun/2015:23:59:60"))
    assert leap.time == common(COMMON.replace("17/May/2015:10:05:03", "01/Jul/2015:00:00:00")).time


@each_case(
    ("lines", "name"),
    [
        ([SQUID, JSON_LINE, SQUID], "squid"),
        ([*["", "# a comment", COMBINED, "\xff"] * 5, *[SQUID] * 30], "combined"),
    ],
)
def test_the_format_of_most_of_the_first_lines_is_recognised(lines: list[str], name: str) -> None:
    assert recognise([line.encode("latin-1") for line in lines]) == name
    with pytest.raises(LogFormatError, match=", ".join(RECOGNISED)):
        recognise([b"hello"] * 20 + [line.encode("latin-1") for line in lines])


WORDS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters='"\\?#|['), min_size=1)


@given(WORDS, WORDS, WORDS, st.integers(0, 4_102_444_800), st.integers(100, 599), st.integers(0, 10**12))
def test_whole_lines_come_back(client: str, user: str, path: str, moment: int, status: int, size: int) -> None:
    at = datetime.fromtimestamp(moment, UTC)
    who = {"client": "" if client == "-" else client, "user": None if user == "-" else user}
    written = alice(f"/{path}", **who, time=float(moment), status=status, size=size)
    if not written.client and written.user is None:
        return
    values = {"client": client, "user": user, "time": moment, "method": "GET", "url": f"/{path}"}
    described = layout.apache('%h %l %u %t "%r" %>s %b')
    line = f'{client} - {user} [{at:%d/%b/%Y:%H:%M:%S} +0000] "GET /{path} HTTP/1.1" {status} {size}'
    assert described(line) == written
    described = layout.squid("%ts.%03tu %>a %>Hs %<st %rm %ru %un")
    assert described(f"{moment}.000 {client} {status} {size} GET /{path} {user}") == written
    read = a_w3c("#Fields: date time c-ip cs-username cs-method cs-uri-stem sc-status sc-bytes")
    assert read(f"{at:%Y-%m-%d %H:%M:%S} {client} {user} GET /{path} {status} {size}") == written
    assert JsonLines()(json.dumps({**values, "status": status, "size": size})) == written


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


def entry(url: str = "/a", time: float = 0.0, agent: str | None = BROWSER) -> Entry:
    return Entry("192.0.2.7", None, time, "GET", url, 200, 5, agent=agent)


@each_case(("agent", "reason"))
def test_an_agent_that_names_a_program_is_a_robots(agent: str | None, reason: str | None) -> None:
    assert Robots(120).reason("u", entry(agent=agent)) == reason


@each_case("url", ["/robots.txt", "http://a.org/robots.txt?x=1"])
def test_who_requests_robots_txt_is_a_robot_from_then_on(url: str) -> None:
    seen = Robots(120, 600)
    for other in ("/robots.txt/a", "/a?b=/robots.txt", "/humans.txt"):
        seen.ask("u", entry(other))
    assert seen.reason("u", entry()) is None
    seen.ask("u", entry(url))
    assert seen.reason("u", entry()) == "robot by robots.txt"
    assert seen.reason("v", entry(), client="u") is None, "an address is one user of many"


def test_more_views_in_a_minute_than_the_rate_make_a_robot() -> None:
    seen = Robots(3)
    assert {seen.reason("slow", entry(time=20.0 * number)) for number in range(30)} == {None}
    fast = [seen.reason("fast", entry(time=600.0 + number)) for number in range(5)]
    assert fast == [None, None, None, "robot by rate", "robot by rate"]
    assert seen.reason("fast", entry(time=9000.0)) == "robot by rate"
    every = Robots(0, client_rate=3)
    assert [every.reason(f"user {number}", entry(), "a client") for number in range(5)] == fast
    late = [seen.reason("late", entry(time=time)) for time in (9020.0, 8930.0, 9021.0, 8931.0)]
    assert late == [None, None, None, "robot by rate"], "late lines count to the minute that is open"
    assert {Robots(0).reason("u", entry()) for _ in range(1000)} == {None}


def test_memory_is_bounded_and_the_latest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "KEPT", 10)
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


@each_case(("client", "name"))
def test_a_client_is_what_one_party_holds_of_addresses(client: str, name: str | None) -> None:
    assert network(client) == name
