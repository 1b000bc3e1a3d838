"""What is fuzzed: each target takes any bytes and raises only where the code under it is wrong."""

from collections.abc import Callable, Mapping

from agents.web.parse import parse as parse_page
from models.accesslog.entry import LogLineError, text_of
from models.accesslog.recognise import parsers
from models.predicate import PredicateError, parse
from models.url import MAX_LENGTH, canonical
from streams.settings import JudgeSettings

Target = Callable[[bytes], None]

URL = "http://a.test/b/c?d"
_LIMITS = JudgeSettings()
_PARSERS = {
    **parsers(),
    **parsers('apache:%h %l %u %t "%r" %>s %b "%{Referer}i"'),
    **parsers("squid:%ts.%03tu %>a %>Hs %rm %ru %mt"),
    **parsers("w3c:date time c-ip cs-method cs-uri-stem sc-status"),
}
_TYPES = ("text/html", "text/html; charset=shift_jis", "application/xhtml+xml", "text/plain", None)


def page(data: bytes) -> None:
    """Read a page: its first byte chooses the content type, the rest is the body."""
    kind = _TYPES[data[0] % len(_TYPES)] if data else None
    found = parse_page(URL, data[1:], kind, _LIMITS)
    assert len(found.words) <= _LIMITS.words
    assert len(found.links) <= _LIMITS.links
    assert all(canonical(link.url) == link.url for link in found.links)


def log_line(data: bytes) -> None:
    """Read a line by every format, that of a given description among them."""
    for line in parsers().values():
        _read(line, data)
    for line in _PARSERS.values():
        _read(line, data)


def url(data: bytes) -> None:
    """Make a URL canonical, alone and relative to another; what is canonical stays as it is."""
    text = data.decode("utf-8", "surrogateescape")
    for found in (canonical(text), canonical(text, URL)):
        if found is not None:
            assert canonical(found) == found
            assert found.isascii()
            assert len(found) <= MAX_LENGTH


def predicate(data: bytes) -> None:
    """Read a predicate; what it writes is read as an equal one."""
    text = data.decode("utf-8", "replace")
    try:
        found = parse(text)
    except PredicateError as error:
        assert 1 <= error.column <= len(text) + 1
        return
    assert parse(str(found)) == found


def _read(parser: Callable[[str], object], data: bytes) -> None:
    try:
        parser(text_of(data))
    except LogLineError as error:
        assert len(str(error)) < 200


#: The targets by name, and what a fuzzer starts from.
TARGETS: Mapping[str, Target] = {"page": page, "log": log_line, "url": url, "predicate": predicate}
SEEDS: Mapping[str, tuple[bytes, ...]] = {
    "page": (
        b'\0<!DOCTYPE html><base href="/x/"><title>t</title><a href="../y?z#w" rel="nofollow">a</a>',
        b'\0<meta http-equiv=refresh content="0;url=/r"><meta name=robots content="noindex">'
        b"<frameset><frame src=f></frameset>",
    ),
    "log": (
        b'10.0.0.1 - u [01/Feb/2024:10:00:00 +0000] "GET /a HTTP/1.1" 200 5 "http://r.test/" "Mozilla"',
        b"1286536309.450 180 192.0.2.7 TCP_MISS/200 512 GET http://a.test/ - DIRECT/192.0.2.1 text/html",
        b'{"time": 1, "client": "a", "url": "http://a.test/", "status": 200}',
        b"#Fields: date time c-ip cs-method cs-uri-stem sc-status",
        b"2024-02-01 10:00:00 10.0.0.1 GET /a 200",
    ),
    "url": (b"HTTP://user@Example.ORG:80/a/../%7eb?c=d#e", b"//[::ffff:127.0.0.1]/", b"../../x;y?z"),
    "predicate": (b'category("A.B") and ("x" or not title("y*")) and url(/(a+)+$/)', b'host("a.test")'),
}
