"""What is fuzzed: each reader of what strangers write takes any bytes, and raises only where it is wrong."""

import asyncio
import logging
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from bench.fuzz.answers import asked
from bench.fuzz.messages import message
from scentline.agents.fetch.robots import MAX_BYTES, rules
from scentline.agents.fetch.sitemaps import MAX_URLS, feed_of
from scentline.agents.fetch.sitemaps import read as read_listing
from scentline.agents.judge.judges import Language
from scentline.agents.judge.markup import MAX_PATH
from scentline.agents.judge.parse import parse as parse_page
from scentline.agents.observe.observer import Filtered, Malformed, Observer
from scentline.agents.offline.archive import Archive, ArchiveError
from scentline.models.accesslog.entry import LogLineError, text_of
from scentline.models.accesslog.formats import Parser, parsers
from scentline.models.classifier import ClassifierError
from scentline.models.classifier import unpack as unpack_classifier
from scentline.models.duplicates import sketch
from scentline.models.formats import MEDIA_TYPES
from scentline.models.page import Page
from scentline.models.predicate import LENGTH, PredicateError, View, excerpt, parse
from scentline.models.reuse import LearnedStateError
from scentline.models.reuse import unpack as unpack_state
from scentline.models.secrets import Secrets
from scentline.models.semantic import SemanticTableError
from scentline.models.semantic import unpack as unpack_table
from scentline.models.settings import JudgeSettings
from scentline.models.traps import Bounds, pattern, space, trap
from scentline.models.url import MAX_LENGTH, canonical, host, network, owner, tokens
from scentline.models.words import words
from scentline.streams.settings import ObserveSettings


def sealed(data: bytes) -> None:
    """Read a file as each kind that there is; what is none is an error of one line."""
    for unpack, refused in (
        (unpack_state, LearnedStateError),
        (unpack_classifier, ClassifierError),
        (unpack_table, SemanticTableError),
    ):
        try:
            unpack(data)
        except refused as error:
            assert "\n" not in str(error)


def archive(data: bytes) -> None:
    """Read an archive and answer from its records; what is none is an `ArchiveError` of one line."""
    logging.getLogger("scentline.agents.offline.archive").disabled = True  # it names what can't be read
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "pages.warc")
        path.write_bytes(data)
        try:
            with Archive([path]) as found:
                for url in found.urls():
                    answer = found.answer(url, {})
                    assert 200 <= answer.status <= 599
                    assert len(answer.headers) <= 64
                    assert all(_HEADER.fullmatch(name) for name, _ in answer.headers)
                    assert not _FRAMING & {name.lower() for name, _ in answer.headers}
                    assert not any({"\r", "\n"} & set(value) for _, value in answer.headers)
        except ArchiveError as error:
            assert "\n" not in str(error)


Target = Callable[[bytes], None]

URL = "http://a.test/b/c?d"
_LIMITS = JudgeSettings(formats=tuple(MEDIA_TYPES))
_PARSERS = {
    **parsers(),
    **parsers('apache:%h %l %u %t "%r" %>s %b "%{Referer}i"'),
    **parsers("squid:%ts.%03tu %>a %>Hs %rm %ru %mt"),
    **parsers("w3c:date time c-ip cs-method cs-uri-stem sc-status"),
}
_TYPES = ("text/html", "text/html; charset=shift_jis", "application/xhtml+xml", "text/plain", None)
_LANGUAGE = Language()
_HEADER = re.compile(r"[!-9;-~]+")
_FRAMING = {"connection", "content-length", "transfer-encoding"}
_ASKED = parse('"ice hockey" or title("hockey*") or lang("de")')
_SITE = ObserveSettings(base_url="http://a.test")


def page(data: bytes) -> None:
    """Read and judge a page; its first byte chooses the content type, "<" HTML."""
    kind = _TYPES[data[0] % len(_TYPES)] if data else None
    _read_as(kind, data)


def document(data: bytes) -> None:
    """Read and judge what its bytes say that it is: PDF, another document, a feed."""
    _read_as(None, data)


def _read_as(kind: str | None, data: bytes) -> None:
    found = parse_page(URL, data, kind, _LIMITS, paths=True)
    well_formed(found)
    view = View(found.url, found.title, found.text, language=_LANGUAGE(found))
    _ASKED.evaluate(view)
    shown = excerpt(_ASKED, view, found.text)
    assert shown.isprintable() and shown == shown.strip() and len(shown) <= LENGTH + 2
    sketch(found.text, 50)


def well_formed(found: Page) -> None:
    """Check what is true of every page that was read, with the paths of its links."""
    text, urls = words(found.text), [link.url for link in found.links]
    assert canonical(found.url) == found.url
    assert found.text == " ".join(found.text.split())
    assert not re.search("[\ud800-\udfff]", found.title + found.text)
    assert len(found.title) <= 1_000 and len(found.text) <= 1_000_000
    assert found.sequence == tuple(text)
    assert len(found.words) <= _LIMITS.words
    assert {*found.words} <= {*text, *words(found.title)}
    assert len({*urls}) == len(urls) == len(found.paths) <= _LIMITS.links
    assert all(len(path) <= MAX_PATH and all(path.split(" ")) for path in found.paths)
    for place, link in enumerate(found.links):
        assert canonical(link.url) == link.url != found.url
        assert link.position == place
        assert len(link.context) <= 2 * _LIMITS.context
        assert words(" ".join(link.anchor)) == list(link.anchor)


def log(data: bytes) -> None:
    """Read a line by every format, that of a given description among them; observe the lines of a log."""
    for parser in (*parsers().values(), *_PARSERS.values()):
        _read(parser, data)
    observer = Observer(_SITE, b"key")
    for line in data.split(b"\n"):
        found = observer.observe(line)
        if isinstance(found, Filtered | Malformed):
            assert len(found.reason) < 200
        else:
            assert canonical(found.url) == found.url
            assert found.referrer is None or canonical(found.referrer) == found.referrer


def url(data: bytes) -> None:
    """Make a URL canonical: alone, relative, as a path; what is canonical stays so, and goes out so."""
    text = data.decode("utf-8", "surrogateescape")
    owner(text)
    network(text)
    for found in (canonical(text), canonical(text, URL), canonical(f"{URL}/{text}")):
        if found is not None:
            assert canonical(found) == canonical("", found) == canonical("#x", found) == found
            assert str(httpx.URL(found)) == found
            assert len(found) <= MAX_LENGTH
            _spelt(found)


def _spelt(found: str) -> None:
    """Check how a canonical URL is spelt, and what is told by its spelling."""
    parts = urlsplit(found)
    assert found.isascii() and found.isprintable()
    assert not {"#", "|", "[", "]", '"', " "} & set(found.split("/", 3)[3])
    assert parts.scheme in ("http", "https") and (parts.fragment, parts.username) == ("", None)
    assert parts.path.startswith("/") and {".", ".."}.isdisjoint(parts.path.split("/"))
    assert parts.netloc == host(found)
    assert tokens(found) == {part for part in re.split("[./]", found.split("//", 1)[1].lower()) if part}
    trap(found, Bounds())
    name = pattern(found)
    assert (name is None) == (space(found) is None)
    assert name is None or (host(name) == host(found) and pattern(name) == name)
    left = Secrets().strip(found)
    assert left is None or canonical(left) == left == Secrets().strip(left)


def predicate(data: bytes) -> None:
    """Read a predicate, and ask it of a page made for backtracking; what it writes is read as an equal one."""
    text = data.decode("utf-8", "replace")
    try:
        found = parse(text)
    except PredicateError as error:
        assert 1 <= error.column <= len(text) + 1
        assert error.problem and len(str(error).splitlines()) == 3
        return
    assert parse(str(found)) == found
    found.evaluate(View(f"http://a.org/{'a' * 1500}b", "a" * 100, f"{'a' * 5000} b"))


def robots(data: bytes) -> None:
    """Read a robots.txt and ask it."""
    text = data[:MAX_BYTES].decode("utf-8-sig", "replace")
    found = rules(text, "scentline")
    assert found.crawl_delay is None or found.crawl_delay >= 0
    for path in ("", "index.html", "a/b?c=d&e=%25", "a" * 1900):
        found.allows(f"http://a.test/{path}")


def sitemap(data: bytes) -> None:
    """Read a sitemap or a feed, and what a page names as its feed."""
    found = read_listing(data)
    assert len(found.urls) <= MAX_URLS
    assert len(found.files) <= MAX_URLS
    assert all(one.time is None or one.time >= 0 for one in (*found.urls, *found.files))
    feed_of(data)


def http(data: bytes) -> None:
    """Read an answer as it comes from a server: that of robots.txt and that of a page, to the kept page."""
    asyncio.run(asked(data))


def _read(parser: Parser, data: bytes) -> None:
    try:
        entry = parser(text_of(data))
    except LogLineError as error:
        assert len(str(error)) < 100
        assert len(data) < 20 or data.decode("latin-1") not in str(error), "nothing of the line is quoted"
    else:
        assert abs(entry.time) < 1e15 and entry.url.isascii() and 0 <= entry.status < 1000


#: The readers by name. What each begins with, and what was found, lies in the corpus.
TARGETS: Mapping[str, Target] = {
    "page": page,
    "document": document,
    "log": log,
    "url": url,
    "predicate": predicate,
    "robots": robots,
    "sitemap": sitemap,
    "http": http,
    "record": message,
    "sealed": sealed,
    "warc": archive,
}
