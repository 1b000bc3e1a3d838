"""Sitemaps and feeds as they are written: what is read of them, and what of hostile ones."""

import gzip
import tracemalloc

import pytest

from scentline.agents.fetch import listings as module
from scentline.agents.fetch.body import MAX_MEMBERS
from scentline.agents.fetch.listings import MAX_URLS, Dated, feed_of, read
from scentline.models.dates import seconds_of
from tests.agents.test_sitemaps import index, urlset
from tests.cases import each_case

JANUARY, MARCH = seconds_of("2024-01-01") or 0.0, seconds_of("2024-03-01") or 0.0
NINE = MARCH + 9 * 3600
BOM = b"\xef\xbb\xbf"
ONE = urlset("http://a/1")

RSS = b"""<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:atom="http://www.w3.org/2005/Atom">
<channel>
  <title>Tea</title><link>http://a/</link><pubDate>Fri, 01 Mar 2024 10:00:00 GMT</pubDate>
  <atom:link href="http://a/feed" rel="self" type="application/rss+xml"/>
  <image><url>http://a/logo.png</url><title>Tea</title><link>http://a/</link></image>
  <item><title>Green &amp; black</title><link>http://a/1?b=1&amp;c=2</link><guid>http://a/?p=1</guid>
    <pubDate>Fri, 01 Mar 2024 11:00:00 +0100</pubDate>
    <image><url>http://a/1.png</url></image>
    <description><![CDATA[<p>A <a href="http://b/">link</a></p>]]></description></item>
  <item><dc:date>2024-03-01T09:00:00Z</dc:date><link><![CDATA[ http://a/2 ]]></link></item>
  <item><title>No link</title></item>
</channel></rss>"""

RDF = b"""<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
  xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel rdf:about="http://a/news.rss"><title>Tea</title><link>http://a/</link>
  <items><rdf:Seq><rdf:li rdf:resource="http://a/1"/></rdf:Seq></items></channel>
<item rdf:about="http://a/1"><title>Green</title><link>http://a/1</link><dc:date>2024-03-01</dc:date></item>
</rdf:RDF>"""

ATOM = b"""<?xml version="1.0"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <title>Tea</title><link href="http://a/"/><link rel="self" href="/feed"/>
  <updated>2024-03-01T12:00:00Z</updated>
  <entry><title>Green</title><id>tag:a,2024:1</id>
    <link rel="enclosure" type="audio/mpeg" href="http://a/1.mp3"/><link href="/1"/>
    <link rel="alternate" hreflang="de" href="/de/1"/>
    <source><link href="http://b/"/><updated>2024-03-09T12:00:00Z</updated></source>
    <published>2024-03-01T08:00:00Z</published><updated>2024-03-01T09:00:00.25Z</updated>
    <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><a href="/3">c</a></div></content></entry>
  <entry><updated>2024-03-01T10:00:00+02:00</updated><link rel="alternate" href="/2"/></entry>
</feed>"""

PLACES = (
    b'<urlset xmlns:n="news"><url><lastmod>2024-03-01</lastmod><loc>a</loc></url>'
    b"<url><loc>b</loc><lastmod>2024-03-01T10:00+01:00</lastmod></url><url><loc>c</loc></url>"
    b"<url><n:news><n:publication_date>2024-03-03</n:publication_date></n:news><loc>d</loc>"
    b"<lastmod>2024-03-02</lastmod></url><lastmod>2024-01-01</lastmod>"
    b"<url><loc>e</loc><lastmod>lately</lastmod></url></urlset>"
)
PICTURES = (
    b"<urlset xmlns:image='i'><url><loc>http://a/?b=1&amp;c=2</loc>"
    b"<image:image><image:loc>http://a/i.png</image:loc></image:image></url></urlset>"
)


@each_case(
    ("text", "urls"),
    [
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
    ],
)  # fmt: skip
def test_the_pages_of_a_sitemap_are_told_with_their_dates(text: bytes, urls: list[Dated]) -> None:
    for form in (text, gzip.compress(text)):
        found = read(form)
        assert (found.urls, found.files, found.feed) == (urls, [], False)


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
    ("text", "urls"),
    [
        (RSS, [Dated("http://a/1?b=1&c=2", NINE + 3600), Dated("http://a/2", NINE)]),
        (RDF, [Dated("http://a/1", NINE - 9 * 3600)]),
        (ATOM, [Dated("/1", NINE), Dated("/2", NINE - 3600)]),
        # A broken one is read as far as it goes.
        (RSS[: RSS.index(b"<![CDATA[ http")], [Dated("http://a/1?b=1&c=2", NINE + 3600)]),
        (RSS.replace(b"&amp; black", b"&nbsp; & black"),
         [Dated("http://a/1?b=1&c=2", NINE + 3600), Dated("http://a/2", NINE)]),
        # A feed holds no sitemap.
        (b"<rss><url><loc>http://a/1</loc></url><sitemap><loc>http://a/2</loc></sitemap></rss>", []),
    ],
)  # fmt: skip
def test_entries_of_a_feed_are_told_with_their_last_date(text: bytes, urls: list[Dated]) -> None:
    for form in (text, gzip.compress(text)):
        found = read(form)
        assert (found.urls, found.files, found.feed) == (urls, [], True)


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
    ],
)  # fmt: skip
def test_of_hostile_listings_nothing_is_read_and_in_little_memory(text: bytes, urls: list[Dated]) -> None:
    tracemalloc.start()
    assert read(text).urls == urls
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


FEED = b'<link rel="alternate" type="application/rss+xml" href="/feed">'


@each_case(
    ("html", "feed"),
    [
        (b'<link rel="alternate" type="application/rss+xml" title="a" href="/f?a=1&amp;b=2">', "/f?a=1&b=2"),
        (b"<LINK HREF=feed.xml TYPE=application/atom+xml REL=Alternate />", "feed.xml"),
        (b"<link type='application/rdf+xml' rel='alternate home' href='/rdf'>", "/rdf"),
        (b'<link rel="stylesheet" href="s.css"><link rel="alternate" hreflang="de" href="/de">'
         + FEED + FEED.replace(b"feed", b"2"), "/feed"),
        (FEED.replace(b"alternate", b"nofollow alternate"), None),
        (FEED.replace(b"alternate", b"search"), None),
        (FEED.replace(b'href="/feed"', b""), None),
        (FEED.replace(b"link", b"a"), None),
        (b"application/rss+xml", None),
        (b"", None),
        # What stands behind the head is not looked at.
        (b" " * 65_536 + FEED, None),
        (b"application/rss+xml" + b"<link " * 10_000 + FEED, "/feed"),
    ],
)  # fmt: skip
def test_the_first_that_a_page_names_is_its_feed(html: bytes, feed: str | None) -> None:
    assert feed_of(html) == feed
