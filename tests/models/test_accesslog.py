"""Log formats: the lines of each, and damaged ones; `tests/rubbish/corpus` has what hurt a reader."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.accesslog import layout
from scentline.models.accesslog.entry import Entry, LogLineError
from scentline.models.accesslog.json_lines import JsonLines
from scentline.models.accesslog.layout import FormatTextError
from scentline.models.accesslog.recognise import FORMATS, RECOGNISED, LogFormatError, Parser, parsers, recognise
from scentline.models.accesslog.w3c import W3C
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
    """Return the entry of most lines here, with some other fields."""
    usual = {"client": "192.0.2.7", "user": "alice", "time": TIME, "method": "GET", "status": 200, "size": 5}
    return Entry(**{**usual, "url": url, **fields})


def stranger(url: str, **fields: Any) -> Entry:
    return alice(url, **({"client": "::1", "user": None} | fields))


def asked(request: str) -> str:
    return COMMON.replace("GET /a HTTP/1.1", request)


SITE = "http://example.org/"
ODD_FORM = '%>a %[ui %[un [%tl] "%rm %ru HTTP/%rv" %>Hs %<st "%{Referer}>h" "%{User-Agent}>h" %Ss:%Sh'
ODD_LINE = f'::1 - bob [17/May/2015:12:05:03 +0200] "GET {SITE} HTTP/1.1" 200 5 "-" "Wget" TCP_MISS:NONE'
ESCAPED = rf'{HEAD} "GET /a\"b\\c\xc3\xa9 HTTP/1.1" 200 5 "{SITE}?q=\"x\"" "say \"\x22\""'
ABORTED = f"1431857103 -12 ::1 TCP_MISS_ABORTED/000 77 GET {SITE} - HIER_DIRECT/::2 Text/HTML;q [H: e] [-]"
HTML = "text/html"
PEER = '{"peer": {"address": "::1"}, "client": "x", "url": "/x", "page": "/a", "method": "GET", "time": 1}'


TUNNEL = "1431857103 60117 ::1 TCP_TUNNEL/200 38 CONNECT e.org:443 - HIER_DIRECT/::2 -"
INVALID = "1431857103 0 ::1 NONE/400 38 NONE error:invalid - NONE/- text/html"
MANY = layout.apache("%{msec}t|%m|%U%q|%s|%V:%p|%{X-Trace}o|%a")


@each_case(
    ("parse", "line", "entry"),
    [
        (combined, COMBINED, alice("/a", referrer=SITE, agent="Mozilla/5.0 (X11)")),
        (common, COMMON, alice("/a")),
        (common, f'{COMMON} "{SITE}"', alice("/a", referrer=SITE)),
        (combined, f'{HEAD} "GET /a HTTP/1.1" - - "-" ""', alice("/a", status=0, size=0, agent="")),
        (common, COMMON.replace("alice", '""'), alice("/a", user=None)),
        (common, COMMON.replace("alice", "A. B"), alice("/a", user="A. B")),
        (common, asked("GET /a b c HTTP/1.1"), alice("/a b c")),
        (common, asked("GET /a"), alice("/a")),
        (common, asked("M-SEARCH /a HTTP/1.1"), alice("/a", method="M-SEARCH")),
        (common, asked("-"), alice("-", method="-")),
        (combined, ESCAPED, alice(r'/a"b\c%C3%A9', referrer=f'{SITE}?q="x"', agent='say "%22"')),
        (squid, SQUID, alice(f"{SITE}a", time=TIME + 0.586, size=507, content_type="text/html")),
        (squid, TUNNEL, stranger("e.org:443", method="CONNECT", size=38)),
        (squid, INVALID, stranger("error:invalid", method="NONE", status=400, size=38, content_type=HTML)),
        (squid, ABORTED, stranger(SITE, status=0, size=0, content_type=HTML)),
        (squid, f" 1431857103 1 ::1 MEM_HIT/304 - GET {SITE} - NONE/- - ", stranger(SITE, status=304, size=0)),
        (MANY, "1431857103586|GET|/a?b=1|304|example.org:443|x y|::1",
         stranger("https://example.org/a?b=1", time=TIME + 0.586, status=304, size=0)),
        (layout.squid(ODD_FORM), ODD_LINE, stranger(SITE, user="bob", agent="Wget")),
        (a_w3c(), W3C_LINE, alice("/a?b=1", referrer=SITE, agent="Mozilla/5.0 (X11)")),
        (JsonLines(["client=peer.address", "url=page"]), PEER, stranger("/a", time=1.0, status=0, size=0)),
    ],
)  # fmt: skip
def test_a_line_gives_every_field(parse: Parser, line: str, entry: Entry) -> None:
    assert parse(line) == entry


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


@each_case(
    "line",
    [
        '{"@timestamp": "2015-05-17T10:05:03,5Z", "source": {"ip": "192.0.2.7"}, "url.domain": "a.org", "url": '
        '{"path": "/b", "query": "c=1"}, "http": {"request": {"method": "GET", "referrer": "http://a.org/"}, '
        '"response": {"status_code": 200, "body": {"bytes": 5}}}, "user_agent": {"original": "Mozilla/5.0"}}',
        '{"StartUTC": "1431857103500", "ClientHost": "192.0.2.7", "RequestHost": "a.org", "RequestPath": '
        '"/b?c=1", "RequestMethod": "GET", "DownstreamStatus": 200, "DownstreamContentSize": 5, '
        '"request_Referer": "http://a.org/", "request_User-Agent": "Mozilla/5.0"}',
    ],
)
def test_the_usual_names_of_json_are_found(line: str) -> None:
    named = {"user": None, "time": TIME + 0.5, "referrer": "http://a.org/", "agent": "Mozilla/5.0"}
    assert JsonLines()(line) == alice("http://a.org/b?c=1", **named)


JSON_PART = '{"url": "/a", "method": "GET", "client": "x"'


@each_case(
    ("parse", "lines"),
    [
        (common, [
            "", "hello", HEAD, COMMON[:-2], COMBINED[:-1], COMBINED + "x", COMMON.replace("[17", "17"), SQUID,
            COMMON.replace("10:05:03", "24:05:03"), COMMON.replace("10:05:03", "10:60:03"),
            COMMON.replace(" +0000", ""), COMMON.replace("200", "2000"), COMMON.replace("200", "abc"),
            COMMON.replace('"GET', "GET"), COMMON.replace(" 5", f" {'5' * 5000}"),
            COMMON.replace("200", "２００"), COMMON.replace("2015", "0000"),
            *map(asked, ("", " ", "GET", "GET HTTP/1.1", r"\x16\x03\x01", r"\x16\x03 a", "\x16 a")),
            *(COMMON.replace("17/May", day) for day in ("31/Feb", "00/May", "17/Mai")),
        ]),
        (combined, [COMMON, f'{COMMON} "http://example.org/"', COMBINED[:-1], SQUID]),
        (squid, [
            "", SQUID.rpartition(" ")[0], SQUID.replace("/200", "/20"), SQUID.replace("MISS/200", "MISS"),
            *(SQUID.replace("1431857103.586", time) for time in ("nan", "1e9", "9" * 400)),
            SQUID.replace("507", "9" * 5000), SQUID.replace("org/a", "org/a b"), COMBINED,
        ]),
        (JsonLines(), [
            "[1]", "{", '{"a": 1}', "[" * 8000, '{"a":' * 1500, f"{JSON_PART}}}",
            *(f'{JSON_PART}, "time": {time}}}' for time in ('"yesterday"', "true", "1e300")),
            f'{JSON_PART}, "time": 1, "status": "ok"}}', '{"url": "/a", "method": "GET", "time": 1}',
        ]),
    ],
)  # fmt: skip
def test_damaged_lines_and_those_of_other_formats_are_malformed(parse: Parser, lines: list[str]) -> None:
    for line in lines:
        with pytest.raises(LogLineError):
            print(line, parse(line))


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
def test_well_formed_lines_come_back_as_they_were_written(
    client: str, user: str, path: str, moment: int, status: int, size: int
) -> None:
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
