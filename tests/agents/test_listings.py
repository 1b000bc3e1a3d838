"""Sitemaps and feeds as they are written: what is read of them, and what of hostile ones."""

import gzip
import tracemalloc

import pytest

from bench.fuzz.corpus import CORPUS, content
from scentline.agents.fetch import sitemaps as module
from scentline.agents.fetch.result import MAX_MEMBERS
from scentline.agents.fetch.sitemaps import MAX_URLS, Dated, feed_of, read
from scentline.models.dates import seconds_of
from tests.agents.test_sitemaps import index, urlset
from tests.cases import each_case

JANUARY, MARCH = seconds_of("2024-01-01") or 0.0, seconds_of("2024-03-01") or 0.0
NINE = MARCH + 9 * 3600
BOM = b"\xef\xbb\xbf"
ONE = urlset("http://a/1")

RSS, RDF, ATOM, PLACES = (
    content(CORPUS / "sitemap" / f"good-{name}")
    for name in ("rss-of-two", "rdf-of-one", "atom-of-two", "dates-in-any-place")
)
PICTURES = (
    b"<urlset xmlns:image='i'><url><loc>http://a/?b=1&amp;c=2</loc>"
    b"<image:image><image:loc>http://a/i.png</image:loc></image:image></url></urlset>"
)


SITEMAPS: list[tuple[bytes, list[Dated]]] = [
    (BOM + b"\n" + ONE.removeprefix(b'<?xml version="1.0"?>'), [Dated("http://a/1", JANUARY)]),
    (BOM + b"http://a/1\r\nftp://a/2\nhttps://a/3 \n", [Dated("http://a/1"), Dated("https://a/3")]),
    (PICTURES, [Dated("http://a/?b=1&c=2")]),
    # Dates are read in any place of their page.
    (PLACES, [Dated("a", MARCH), Dated("b", MARCH + 9 * 3600), Dated("c"), Dated("d", MARCH + 2 * 86_400),
              Dated("e")]),
    # What is broken is read as far as it goes.
    (PICTURES[:-40], [Dated("http://a/?b=1&c=2")]),
    (urlset("http://a/" + "x" * 2000), []),
    (b"http://a/" + b"x" * 2000 + b"\nhttp://a/1", [Dated("http://a/1")]),
    # A sitemap holds no feed.
    (b"<urlset><item><link>http://a/1</link></item></urlset>", []),
]  # fmt: skip
FEEDS: list[tuple[bytes, list[Dated]]] = [
    (RSS, [Dated("http://a/1?b=1&c=2", NINE + 3600), Dated("http://a/2", NINE)]),
    (RDF, [Dated("http://a/1", NINE - 9 * 3600)]),
    (ATOM, [Dated("/1", NINE), Dated("/2", NINE - 3600)]),
    # A broken one is read as far as it goes.
    (RSS[: RSS.index(b"<![CDATA[ http")], [Dated("http://a/1?b=1&c=2", NINE + 3600)]),
    (RSS.replace(b"&amp; black", b"&nbsp; & black"),
     [Dated("http://a/1?b=1&c=2", NINE + 3600), Dated("http://a/2", NINE)]),
    # A feed holds no sitemap.
    (b"<rss><url><loc>http://a/1</loc></url><sitemap><loc>http://a/2</loc></sitemap></rss>", []),
]  # fmt: skip


@each_case(("feed", "text", "urls"), [(cases is FEEDS, *case) for cases in (SITEMAPS, FEEDS) for case in cases])
def test_pages_are_told_with_their_dates(feed: bool, text: bytes, urls: list[Dated]) -> None:
    for form in (text, gzip.compress(text)):
        found = read(form)
        assert (found.urls, found.files, found.feed) == (urls, [], feed)


@each_case(
    ("text", "urls", "files"),
    [
        (index("a", dated="<lastmod>2024-03-01</lastmod>"), [], [Dated("a", MARCH)]),
        (b"<sitemap><loc>a</loc><url><loc>b</loc></url><lastmod>2024-03-01</lastmod></sitemap>",
         [Dated("b")], [Dated("a")]),
    ],
)  # fmt: skip
def test_the_files_of_an_index_are_its_sitemaps(text: bytes, urls: list[Dated], files: list[Dated]) -> None:
    assert (read(text).urls, read(text).files) == (urls, files)


@each_case(
    ("text", "many"),
    [(urlset(*(f"http://a/{n}" for n in range(5000))), 7), (b"http://a/\n" * 50, 7),
     (b"<rss>" + b"<item><link>http://a/</link></item>" * 200_000, MAX_URLS)],
)  # fmt: skip
def test_no_more_is_read_than_the_limit(monkeypatch: pytest.MonkeyPatch, text: bytes, many: int) -> None:
    monkeypatch.setattr(module, "MAX_URLS", many)
    assert len(read(text).urls) == many


EMPTY, LINE = gzip.compress(b""), gzip.compress(b"http://a/1")


@each_case(
    ("text", "urls"),
    [
        (b'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><urlset><url><loc>&f;</loc></url>', []),
        (gzip.compress(bytes(200_000_000), 9), []),
        (EMPTY * (MAX_MEMBERS + 1) + LINE, []),
        (EMPTY * (MAX_MEMBERS - 1) + LINE, [Dated("http://a/1")]),
        (b"\r" * 9_000_000 + b"http://a/1", [Dated("http://a/1")]),
        (b"<rss>" + b"&" * 9_000_000, []),
        (b"<rss>" + b"<![CDATA[" * 900_000, []),
        (b"<rss>" + b"<aa>" * 2_000_000 + b"<item><link>http://a/1</link></item>", []),
    ],
)  # fmt: skip
def test_of_hostile_listings_nothing_is_read_and_in_little_memory(text: bytes, urls: list[Dated]) -> None:
    tracemalloc.start()
    assert read(text).urls == urls
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


FEED = '<link rel="alternate" type="application/rss+xml" href="/feed">'


@each_case(
    ("html", "feed"),
    # What stands behind the head is not looked at.
    [(" " * 65_536 + FEED, None), ("application/rss+xml" + "<link " * 10_000 + FEED, "/feed")],
)
def test_the_first_that_a_page_names_is_its_feed(html: str, feed: str | None) -> None:
    assert feed_of(html.encode()) == feed
