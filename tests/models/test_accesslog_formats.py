"""Formats that are described, or that name their fields: Apache's, Squid's, W3C extended, JSON."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.accesslog import apache, squid
from scentline.models.accesslog.apache import parse_combined
from scentline.models.accesslog.entry import MAX_LINE, Entry, LogLineError, text_of
from scentline.models.accesslog.json_lines import JsonLines
from scentline.models.accesslog.layout import FormatTextError
from scentline.models.accesslog.recognise import Parser, parsers, recognise
from scentline.models.accesslog.squid import parse as parse_squid
from scentline.models.accesslog.w3c import W3C
from tests.cases import each_case

COMBINED = r"%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\""
SQUID = "%ts.%03tu %6tr %>a %Ss/%03>Hs %<st %rm %ru %[un %Sh/%<a %mt"
FIELDS = "#Fields: date time c-ip cs-username cs-method cs-uri-stem cs-uri-query sc-status sc-bytes cs(Referer)"
AGENT = "cs(User-Agent)"
HEAD = '192.0.2.7 - Alice B. [17/May/2015:10:05:03 +0200] "GET /a\\"b HTTP/1.1" 200 5'
SQUID_LINE = (
    "1431857103.586    921 192.0.2.7 TCP_MISS/200 507 GET http://example.org/a alice HIER_DIRECT/- text/html"
)
W3C_LINE = "2015-05-17 10:05:03 192.0.2.7 alice GET /a b=1 200 5 http://example.org/ Mozilla/5.0+(X11)"
JSON_LINE = json.dumps(
    {
        **{"ts": 1431857103.5, "status": 200, "size": 5},
        "request": {
            **{"client_ip": "192.0.2.7", "method": "GET", "host": "a.org", "uri": "/b?c=1"},
            "headers": {"Referer": ["http://a.org/"], "User-Agent": ["Mozilla/5.0"]},
        },
    }
)


def a_w3c(fields: str = f"{FIELDS} {AGENT}") -> W3C:
    reader = W3C()
    assert reader.directive(fields)
    return reader


# Apache


def test_the_combined_format_described_is_the_combined_format() -> None:
    read = apache.layout(COMBINED)
    for line in (f'{HEAD} "http://e.org/?q=\\"x\\"" "Mozilla/5.0"', f'{HEAD} "-" ""'.replace(" 200 5", " - -")):
        described, known = read(line), parse_combined(line)
        assert (described.client, described.user, described.time, described.url) == (
            *(known.client, known.user, known.time, known.url),
        )
        assert (described.status, described.size, described.referrer) == (
            *(known.status, known.size, known.referrer),
        )


def test_a_described_format_may_have_its_fields_in_any_order_and_between_any_marks() -> None:
    read = apache.layout("%{msec}t|%m|%U%q|%s|%V:%p|%{X-Trace}o|%a")
    entry = read("1431857103586|GET|/a?b=1|304|example.org:443|x y|::1")
    assert entry == Entry("::1", None, 1431857103.586, "GET", "https://example.org/a?b=1", 304, 0)


@each_case(
    ("directive", "written"),
    [
        ("%{%Y-%m-%dT%H:%M:%S%z}t", "2015-05-17T12:05:03+0200"),
        ("%{%F %T}t", "2015-05-17 10:05:03"),
        ("[%{%d/%b/%Y %T}t.%{msec_frac}t %{%z}t]", "[17/May/2015 08:05:03.000 -0200]"),
        ("%{sec}t", "1431857103"),
        ("%{usec}t", "1431857103000000"),
        ("%t", "[17/May/2015:10:05:03 +0000]"),
    ],
)
def test_times_are_read_as_they_are_described(directive: str, written: str) -> None:
    assert apache.layout(f'%h %u {directive} "%r" %>s')(f'::1 - {written} "GET /a" 200').time == 1431857103.0


@each_case(
    ("text", "complaint"),
    [
        ("%h %Q", "%Q is no directive of Apache's LogFormat"),
        ("%h %{Foo", "%{ is no directive"),
        ("%{%d/%j}t", "%{%d/%j}t: %j is not read"),
        ("%h%u %t %r %s", "nothing stands between %h and %u"),
        ("%t %r %s", "no directive for the client or user"),
        ("%h %r %s", "no directive for the time"),
        ("%h %{%H:%M}t %r %s", "no directive for the time"),
        ("%h %t %m %s", "no directive for the URL"),
        ("%h %t %U %s", "no directive for the method"),
        ("%h %t %r", "no directive for the status"),
        ("%h %t %{%T}t %r %s", "two directives for the hour"),
    ],
)
def test_a_description_that_can_not_be_used_names_what_is_wrong(text: str, complaint: str) -> None:
    with pytest.raises(FormatTextError) as raised:
        apache.layout(text)
    assert any(part in str(raised.value) for part in complaint.split("|"))


# Squid


def test_squids_own_format_described_is_squids_format() -> None:
    assert squid.layout(SQUID)(SQUID_LINE) == parse_squid(SQUID_LINE)


def test_squids_description_of_the_combined_format_reads_it() -> None:
    text = '%>a %[ui %[un [%tl] "%rm %ru HTTP/%rv" %>Hs %<st "%{Referer}>h" "%{User-Agent}>h" %Ss:%Sh'
    line = '::1 - bob [17/May/2015:12:05:03 +0200] "GET http://e.org/ HTTP/1.1" 200 5 "-" "Wget" TCP_MISS:NONE'
    entry = squid.layout(text)(line)
    assert entry == Entry("::1", "bob", 1431857103.0, "GET", "http://e.org/", 200, 5, None, None, "Wget")


def test_the_size_of_an_answer_that_was_cut_short_is_not_known() -> None:
    line = SQUID_LINE.replace("TCP_MISS/", "TCP_MISS_ABORTED/")
    assert squid.layout(SQUID)(line).size == parse_squid(line).size == 0
    assert parse_squid(SQUID_LINE).size == 507


@each_case("text", ["%>a %Q", "%>a %", "%{x"])
def test_an_unknown_code_is_named(text: str) -> None:
    with pytest.raises(FormatTextError, match=r"^%\S* is no code of Squid's logformat"):
        squid.layout(text)


# W3C extended


def test_a_w3c_line_is_read_by_the_fields_before_it() -> None:
    entry = a_w3c()(W3C_LINE)
    assert entry == Entry(
        *("192.0.2.7", "alice", 1431857103.0, "GET", "/a?b=1", 200, 5, None, "http://example.org/"),
        "Mozilla/5.0 (X11)",
    )


def test_the_fields_may_change_in_mid_file() -> None:
    read = a_w3c()
    assert read.directive("#Date: 2015-05-18 00:00:00")
    assert read.directive("#Fields: time cs-host cs-method cs-uri cs-username sc-status")
    entry = read('10:05:03 - GET http://e.org/ "Alice ""B""" 200')
    assert (entry.user, entry.time) == ('Alice "B"', 1431943503.0)
    with pytest.raises(LogLineError, match="11 fields, where #Fields names 6"):
        read(W3C_LINE)


def test_without_usable_fields_a_line_is_malformed() -> None:
    for read in (W3C(), a_w3c("#Fields: date time c-ip"), a_w3c("#Fields:")):
        with pytest.raises(LogLineError, match="no #Fields line"):
            read(W3C_LINE)


def test_a_comment_is_no_directive() -> None:
    assert not W3C().directive("# a comment")
    assert W3C().directive("#Remark: a comment")


# JSON


@each_case(
    "line",
    [
        JSON_LINE,
        '{"time_iso8601": "2015-05-17T12:05:03.5+02:00", "remote_addr": "192.0.2.7", "host": "a.org", '
        '"request": "GET /b?c=1 HTTP/1.1", "status": "200", "body_bytes_sent": "5", "http_referer": '
        '"http://a.org/", "http_user_agent": "Mozilla/5.0"}',
        '{"@timestamp": "2015-05-17T10:05:03,5Z", "source": {"ip": "192.0.2.7"}, "url.domain": "a.org", "url": '
        '{"path": "/b", "query": "c=1"}, "http": {"request": {"method": "GET", "referrer": "http://a.org/"}, '
        '"response": {"status_code": 200, "body": {"bytes": 5}}}, "user_agent": {"original": "Mozilla/5.0"}}',
        '{"StartUTC": "1431857103500", "ClientHost": "192.0.2.7", "RequestHost": "a.org", "RequestPath": '
        '"/b?c=1", "RequestMethod": "GET", "DownstreamStatus": 200, "DownstreamContentSize": 5, '
        '"request_Referer": "http://a.org/", "request_User-Agent": "Mozilla/5.0"}',
    ],
)
def test_the_usual_names_are_found(line: str) -> None:
    assert JsonLines()(line) == Entry(
        *("192.0.2.7", None, 1431857103.5, "GET", "http://a.org/b?c=1", 200, 5, None),
        *("http://a.org/", "Mozilla/5.0"),
    )


def test_a_name_that_is_given_takes_the_place_of_the_usual_ones() -> None:
    read = JsonLines(["client=peer.address", "url=page"])
    line = '{"peer": {"address": "::1"}, "client": "x", "url": "/x", "page": "/a", "method": "GET", "time": 1}'
    assert (read(line).client, read(line).url) == ("::1", "/a")


@each_case("text", ["page", "page=", "address=url"])
def test_a_name_for_no_field_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not FIELD=NAME"):
        JsonLines([text])


@each_case(
    "line",
    [
        *("[1]", "{", '{"a": 1}', "[" * 8000, '{"a":' * 1500, '{"url": "/a", "method": "GET", "client": "x"}'),
        '{"url": "/a", "method": "GET", "client": "x", "time": "yesterday"}',
        '{"url": "/a", "method": "GET", "client": "x", "time": true}',
        '{"url": "/a", "method": "GET", "client": "x", "time": 1, "status": "ok"}',
        '{"url": "/a", "method": "GET", "client": "x", "time": 1e300}',
        '{"url": "/a", "method": "GET", "time": 1}',
    ],
)
def test_other_json_is_malformed(line: str) -> None:
    with pytest.raises(LogLineError):
        JsonLines()(line)


# All of them


@each_case(
    ("lines", "name"),
    [
        ([f"{FIELDS} {AGENT}", W3C_LINE], "w3c"),
        ([JSON_LINE], "json"),
        ([SQUID_LINE, JSON_LINE, SQUID_LINE], "squid"),
    ],
)
def test_formats_that_name_their_fields_are_recognised(lines: list[str], name: str) -> None:
    assert recognise([line.encode() for line in lines]) == name


@each_case("form", ["nginx", "apache", "apache:%h", "squid:%h", "w3c:date time", "xml:a", "", ":"])
def test_what_is_no_format_is_refused(form: str) -> None:
    with pytest.raises(ValueError, match=r"expected|no code"):
        parsers(form)


def every() -> list[Parser]:
    described = [apache.layout(COMBINED), apache.layout("%h %u %t %r %s %v"), squid.layout(SQUID)]
    return [*described, a_w3c(), JsonLines(), *parsers().values()]


PARTS = [*HEAD.split(), *SQUID_LINE.split(), *W3C_LINE.split(), "#Fields:", '"', "\\", "{", "}", ":", "\t", "-"]
LINES = st.lists(st.sampled_from(PARTS) | st.text(max_size=3), max_size=15).map(" ".join)
EDITED = st.tuples(
    st.sampled_from([f'{HEAD} "-" "a"', SQUID_LINE, W3C_LINE, JSON_LINE, f"{FIELDS} {AGENT}"]),
    *(st.integers(0, 200), st.integers(0, 3), st.text(max_size=3)),
).map(lambda edit: edit[0][: edit[1]] + edit[3] + edit[0][edit[1] + edit[2] :])


@given((LINES | EDITED | st.text()).map(lambda line: line.encode("utf-8", "replace")) | st.binary())
def test_any_bytes_give_an_entry_or_the_error_of_a_line(line: bytes) -> None:
    for parse in every():
        try:
            text = text_of(line)
            if isinstance(parse, W3C):
                parse.directive(text)
            entry = parse(text)
        except LogLineError as error:
            assert len(str(error)) < 200
        else:
            assert abs(entry.time) < 1e15
            assert entry.url.isascii()
            assert 0 <= entry.status < 1000


WORDS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters='"\\?#|'), min_size=1)
MOMENTS = st.integers(0, 4_102_444_800)


@given(WORDS, WORDS, WORDS, MOMENTS, st.integers(100, 599), st.integers(0, 10**12))
def test_well_formed_lines_come_back_as_they_were_written(
    client: str, user: str, path: str, moment: int, status: int, size: int
) -> None:
    at = datetime.fromtimestamp(moment, UTC)
    written = Entry(
        *(client if client != "-" else "", user if user != "-" else None, float(moment), "GET", f"/{path}"),
        *(status, size),
    )
    if not written.client and written.user is None:
        return
    clf = at.strftime("%d/%b/%Y:%H:%M:%S +0000")
    apache_line = f'{client} - {user} [{clf}] "GET /{path} HTTP/1.1" {status} {size}'
    if "[" not in user:
        assert apache.layout('%h %l %u %t "%r" %>s %b')(apache_line) == written
    squid_line = f"{moment}.000 {client} {status} {size} GET /{path} {user}"
    assert squid.layout("%ts.%03tu %>a %>Hs %<st %rm %ru %un")(squid_line) == written
    read = a_w3c("#Fields: date time c-ip cs-username cs-method cs-uri-stem sc-status sc-bytes")
    assert read(f"{at:%Y-%m-%d %H:%M:%S} {client} {user} GET /{path} {status} {size}") == written
    values = {"client": client, "user": user, "time": moment, "method": "GET", "url": f"/{path}"}
    assert JsonLines()(json.dumps({**values, "status": status, "size": size})) == written


@each_case(
    "line",
    [
        *(" " * MAX_LINE, "a " * 4096, '"' * MAX_LINE, "\\" * MAX_LINE, HEAD + ' "' + "\\a" * 4000, "{" * 8000),
        *("1.1 " + " " * 8000, "[" * MAX_LINE, "a a " + "x [" * 2700, '{"a":"' + "\\" * 8000, '""' * 4000),
    ],
)
def test_lines_made_for_backtracking_end_at_once(line: str) -> None:
    for parse in every():
        with pytest.raises(LogLineError):
            parse(line[:MAX_LINE])
