from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.accesslog.entry import MAX_LINE, Entry, LogLineError, text_of
from scentline.models.accesslog.recognise import FORMATS, RECOGNISED, LogFormatError, recognise
from tests.cases import each_case

HEAD = "192.0.2.7 - alice [17/May/2015:10:05:03 +0000]"
COMMON = f'{HEAD} "GET /a HTTP/1.1" 200 5'
COMBINED = f'{COMMON} "http://example.org/" "Mozilla/5.0 (X11)"'
SQUID = (
    "1431857103.586    921 192.0.2.7 TCP_MISS/200 507 GET http://example.org/a alice HIER_DIRECT/- text/html"
)


def combined(line: str) -> Entry:
    return FORMATS["combined"](line)


def common(line: str) -> Entry:
    return FORMATS["common"](line)


def squid(line: str) -> Entry:
    return FORMATS["squid"](line)


def test_a_combined_line_gives_every_field() -> None:
    assert combined(COMBINED) == Entry(
        client="192.0.2.7",
        user="alice",
        time=1431857103.0,
        method="GET",
        url="/a",
        status=200,
        size=5,
        content_type=None,
        referrer="http://example.org/",
        agent="Mozilla/5.0 (X11)",
    )


def test_the_common_format_takes_lines_with_and_without_referrer_and_agent() -> None:
    bare = common(COMMON)
    assert (bare.referrer, bare.agent) == (None, None)
    referred = common(f'{COMMON} "http://example.org/"')
    assert (referred.referrer, referred.agent) == ("http://example.org/", None)
    assert common(COMBINED) == combined(COMBINED)


def test_the_combined_format_needs_referrer_and_agent() -> None:
    for line in (COMMON, f'{COMMON} "http://example.org/"'):
        with pytest.raises(LogLineError, match="no referrer and agent"):
            combined(line)


@each_case("added", [" TCP_MISS:HIER_DIRECT", " 0.005 0.004", ' "203.0.113.9" rt=0.1', ' "a" "b" "c"', " "])
def test_what_a_server_adds_behind_is_passed_over(added: str) -> None:
    assert combined(COMBINED + added) == combined(COMBINED)
    if not added.startswith(' "'):
        assert common(COMMON + added) == common(COMMON)


def test_absent_fields_are_none_or_zero() -> None:
    entry = combined('::1 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" - - "-" ""')
    assert (entry.user, entry.referrer, entry.agent, entry.status, entry.size) == (None, None, "", 0, 0)
    assert common(COMMON.replace("alice", '""')).user is None


def test_a_user_name_may_hold_spaces() -> None:
    assert common(COMMON.replace("alice", "Alice B. Liddell")).user == "Alice B. Liddell"


def test_escaped_quotes_stay_inside_their_field() -> None:
    line = HEAD + r' "GET /a\"b\\c\xc3\xa9 HTTP/1.1" 200 5 "http://example.org/?q=\"x\"" "say \"\x22\""'
    entry = combined(line)
    assert entry.url == r'/a"b\c%C3%A9'
    assert entry.referrer == 'http://example.org/?q="x"'
    assert entry.agent == 'say "%22"'


@each_case(
    ("request_line", "method", "url"),
    [
        ("GET /a b c HTTP/1.1", "GET", "/a b c"),
        ("GET /a", "GET", "/a"),
        ("GET http://example.org/a HTTP/2.0", "GET", "http://example.org/a"),
        ("OPTIONS * HTTP/1.0", "OPTIONS", "*"),
        ("CONNECT example.org:443 HTTP/1.1", "CONNECT", "example.org:443"),
        ("M-SEARCH /a HTTP/1.1", "M-SEARCH", "/a"),
        ("-", "-", "-"),
    ],
)
def test_the_request_gives_method_and_url(request_line: str, method: str, url: str) -> None:
    entry = common(f'{HEAD} "{request_line}" 200 5')
    assert (entry.method, entry.url) == (method, url)


@each_case("request_line", ["", " ", "GET", "GET HTTP/1.1", r"\x16\x03\x01", r"\x16\x03 a", "\x16 a"])
def test_a_request_without_method_and_url_is_malformed(request_line: str) -> None:
    with pytest.raises(LogLineError, match="request is not a method and a URL"):
        common(f'{HEAD} "{request_line}" 400 226')


@each_case(
    "line",
    [
        "",
        "hello",
        HEAD,
        COMMON[:-2],
        COMBINED[:-1],
        COMBINED + "x",
        COMMON.replace("[17", "17"),
        COMMON.replace("10:05:03", "24:05:03"),
        COMMON.replace("10:05:03", "10:60:03"),
        COMMON.replace(" +0000", ""),
        COMMON.replace("200", "2000"),
        COMMON.replace("200", "abc"),
        COMMON.replace('"GET', "GET"),
        COMMON.replace(" 5", " " + "5" * 5000),
        COMMON.replace("200", "２００"),
        SQUID,
    ],
)
def test_lines_of_no_such_shape_are_malformed(line: str) -> None:
    for parse in (common, combined):
        with pytest.raises(LogLineError, match=r"^not a line of the common or combined format$"):
            parse(line)


@each_case("day", ["31/Feb/2015", "00/May/2015", "17/Mai/2015", "17/May/0000"])
def test_days_that_do_not_exist_are_malformed(day: str) -> None:
    with pytest.raises(LogLineError, match="no such day"):
        common(COMMON.replace("17/May/2015", day))


@given(
    st.datetimes(datetime(1000, 1, 2), datetime(9998, 12, 31)),
    st.integers(-14 * 60, 14 * 60),
)
def test_times_are_read_with_their_zone(local: datetime, minutes: int) -> None:
    moment = local.replace(microsecond=0, tzinfo=timezone(timedelta(minutes=minutes)))
    line = COMMON.replace("17/May/2015:10:05:03 +0000", moment.strftime("%d/%b/%Y:%H:%M:%S %z"))
    assert common(line).time == (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()


def test_a_leap_second_is_the_next_minutes_first() -> None:
    leap = common(COMMON.replace("17/May/2015:10:05:03", "30/Jun/2015:23:59:60"))
    assert leap.time == common(COMMON.replace("17/May/2015:10:05:03", "01/Jul/2015:00:00:00")).time


def test_a_squid_line_gives_every_field() -> None:
    assert squid(SQUID) == Entry(
        client="192.0.2.7",
        user="alice",
        time=1431857103.586,
        method="GET",
        url="http://example.org/a",
        status=200,
        size=507,
        content_type="text/html",
    )


@each_case(
    ("line", "method", "url", "status", "kind"),
    [
        (
            "1431857103.586 60117 ::1 TCP_TUNNEL/200 3863 CONNECT example.org:443 - HIER_DIRECT/::2 -",
            *("CONNECT", "example.org:443", 200, None),
        ),
        (
            "1431857103.586      0 192.0.2.7 NONE/400 3888 NONE error:invalid-request - NONE/- text/html",
            *("NONE", "error:invalid-request", 400, "text/html"),
        ),
        (
            "1431857103.586 -12 ::1 TCP_MISS_ABORTED/000 - GET http://example.org/ - HIER_DIRECT/::2 "
            "Text/HTML;charset=utf-8 [Host: example.org\\r\\n] [-]",
            *("GET", "http://example.org/", 0, "text/html"),
        ),
        (
            " 1431857103 1 192.0.2.7 TCP_MEM_HIT/304 0 GET http://example.org/ - NONE/- - ",
            *("GET", "http://example.org/", 304, None),
        ),
    ],
)
def test_squids_particular_lines_are_read(
    line: str, method: str, url: str, status: int, kind: str | None
) -> None:
    entry = squid(line)
    assert (entry.method, entry.url, entry.status, entry.content_type) == (method, url, status, kind)
    assert entry.user is None


@each_case(
    "line",
    [
        "",
        SQUID.rpartition(" ")[0],
        SQUID.replace("/200", "/20"),
        SQUID.replace("TCP_MISS/200", "TCP_MISS"),
        SQUID.replace("1431857103.586", "nan"),
        SQUID.replace("1431857103.586", "1e9"),
        SQUID.replace("1431857103.586", "9" * 400),
        SQUID.replace("507", "9" * 5000),
        SQUID.replace("http://example.org/a", "http://example.org/a b"),
        COMBINED,
    ],
)
def test_lines_that_squid_does_not_write_are_malformed(line: str) -> None:
    with pytest.raises(LogLineError, match=r"^not a line of Squid's native format$"):
        squid(line)


def test_bytes_beyond_ascii_are_percent_encoded_whatever_their_encoding() -> None:
    assert text_of("/é\n".encode()) == "/%C3%A9"
    assert text_of("/é\r\n".encode("latin-1")) == "/%E9"


def test_lines_are_bounded() -> None:
    assert len(text_of(b"a" * MAX_LINE + b"\r\n")) == MAX_LINE
    with pytest.raises(LogLineError, match=r"^more than 8192 bytes$"):
        text_of(b"a" * (MAX_LINE + 1))
    with pytest.raises(LogLineError, match=r"^empty line$"):
        text_of(b"\r\n")


PIECES = st.sampled_from(
    [*HEAD.split(), *COMBINED.split(), *SQUID.split(), '"', "\\", "\\x", "[", "-", " ", "\0"]
)
LINES = st.lists(PIECES | st.text(max_size=3), max_size=15).map(" ".join)
EDITED = st.tuples(
    st.sampled_from([COMMON, COMBINED, SQUID]), st.integers(0, 200), st.integers(0, 3), st.text(max_size=3)
).map(lambda edit: edit[0][: edit[1]] + edit[3] + edit[0][edit[1] + edit[2] :])


@given((LINES | EDITED | st.text()).map(lambda line: line.encode("utf-8", "replace")) | st.binary())
def test_hostile_lines_give_an_entry_or_an_error_that_quotes_nothing(line: bytes) -> None:
    reasons = {
        "not a line of the common or combined format",
        "no referrer and agent at the end, as the combined format has",
        "not a line of Squid's native format",
        "request is not a method and a URL",
        "no such day",
        "empty line",
    }
    for parse in FORMATS.values():
        try:
            entry = parse(text_of(line))
        except LogLineError as error:
            assert str(error) in reasons
        else:
            assert abs(entry.time) < 1e12
            assert entry.url.isascii()
            assert 0 <= entry.status < 1000


def adversarial() -> list[str]:
    return [
        *("a " * 4096, "a" * 8192, " " * 8192, "a a " + "u " * 4000, "a a " + "x [" * 2700, "1" * 8192),
        *(HEAD + ' "' + "\\a" * 4000, HEAD + ' "' + "a" * 8000, COMMON + ' "' + '\\"' * 4000),
        *(
            COMMON + ' "a" "' + '\\"x' * 2600,
            COMMON + ' "a"' * 2000 + "x",
            HEAD * 170,
            '"' * 8192,
            "\\" * 8192,
        ),
        *(
            "1.1 1 a b/200 1 GET u - " + "a/" * 4000,
            "1.1 1 a b/200 1 GET u - " + "- " * 4000,
            "1.1" + " 1" * 4000,
        ),
    ]


@each_case("line", adversarial())
def test_lines_made_for_backtracking_end_at_once(line: str) -> None:
    for parse in FORMATS.values():
        with suppress(LogLineError):
            parse(line[:MAX_LINE])


@each_case(("line", "format_name"), [(SQUID, "squid"), (COMBINED, "combined"), (COMMON, "common")])
def test_the_format_is_recognised_although_lines_are_malformed(line: str, format_name: str) -> None:
    assert recognise([line.encode()]) == format_name
    assert recognise([b"", b"# a comment", line.encode(), b"\xff"] * 5) == format_name


def test_a_log_where_some_lines_lack_the_referrer_is_common() -> None:
    assert recognise([COMBINED.encode(), COMMON.encode()]) == "common"


def test_only_the_first_twenty_lines_are_looked_at() -> None:
    with pytest.raises(LogFormatError, match="none of the first 20 lines"):
        recognise([b"hello"] * 20 + [COMMON.encode()])


def test_an_unknown_format_names_what_was_tried() -> None:
    with pytest.raises(LogFormatError, match=rf"known format \({', '.join(RECOGNISED)}\)"):
        recognise([b"hello", b"world"])
