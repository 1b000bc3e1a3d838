"""Sitemaps and feeds as they are written: what is read of them, and what of hostile ones."""

import gzip
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.fetch.body import MAX_MEMBERS
from scentline.agents.fetch.listings import MAX_URLS, Dated, feed_of, read
from scentline.models.dates import seconds_of
from tests.agents.test_sitemaps import index, urlset
from tests.cases import each_case


def urls_of(text: bytes, limit: int = MAX_URLS) -> list[str]:
    return [found.url for found in read(text, limit).urls]


class TestSitemaps:
    def test_gzip_text_and_a_byte_order_mark_are_read(self) -> None:
        assert urls_of(gzip.compress(urlset("http://a/1"))) == ["http://a/1"]
        assert read(b"\xef\xbb\xbf\n" + urlset("http://a/1").removeprefix(b'<?xml version="1.0"?>')).urls
        assert urls_of(b"\xef\xbb\xbfhttp://a/1\r\nftp://a/2\nhttps://a/3 \n") == ["http://a/1", "https://a/3"]

    def test_escapes_are_undone_and_pictures_of_a_page_are_no_pages(self) -> None:
        text = (
            b"<urlset xmlns:image='i'><url><loc>http://a/?b=1&amp;c=2</loc>"
            b"<image:image><image:loc>http://a/i.png</image:loc></image:image></url></urlset>"
        )
        assert urls_of(text) == ["http://a/?b=1&c=2"]

    def test_the_files_of_an_index_are_its_sitemaps_and_what_is_broken_is_read_as_far_as_it_goes(self) -> None:
        assert urls_of(urlset("http://a/1", "http://a/2")[:-40])[0] == "http://a/1"
        text = index("a", dated="<lastmod>2024-03-01</lastmod>")
        assert (read(text).urls, read(text).files) == ([], [Dated("a", seconds_of("2024-03-01"))])
        mixed = b"<sitemap><loc>a</loc><url><loc>b</loc></url><lastmod>2024-03-01</lastmod></sitemap>"
        assert (read(mixed).urls, read(mixed).files) == ([Dated("b")], [Dated("a")])

    def test_no_more_is_read_than_the_limit(self) -> None:
        assert len(read(urlset(*(f"http://a/{n}" for n in range(5000))), 7).urls) == 7
        assert len(read(b"http://a/\n" * 50, 7).urls) == 7
        assert urls_of(urlset("http://a/" + "x" * 2000)) == []

    def test_a_bomb_of_zeros_and_one_of_entities_take_little_memory(self) -> None:
        laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 20))
        entities = f'<!DOCTYPE x [<!ENTITY l0 "ha">{laughs}]><urlset><url><loc>&l19;</loc></url></urlset>'
        bomb = gzip.compress(bytes(200_000_000), 9)
        tracemalloc.start()
        passwords = (
            b'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><urlset><url><loc>&f;</loc></url></urlset>'
        )
        assert "root" not in "".join(urls_of(passwords))
        assert urls_of(bomb) == []
        assert all(len(url) <= 2000 for url in urls_of(entities.encode()))
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
        tracemalloc.stop()

    def test_what_holds_hardly_anything_in_very_many_parts_is_no_sitemap(self) -> None:
        assert urls_of(gzip.compress(b"") * (MAX_MEMBERS + 1) + gzip.compress(b"http://a/1")) == []
        assert urls_of(gzip.compress(b"") * (MAX_MEMBERS - 1) + gzip.compress(b"http://a/1")) == ["http://a/1"]
        declared = b"<!DOCTYPE x [<!ELEMENT x (" + b"a," * 4_000_000 + b"a)>]>"
        tracemalloc.start()
        assert urls_of(declared + urlset("http://a/1")) == []
        assert urls_of(b"\r" * 9_000_000 + b"http://a/1") == ["http://a/1"]
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
        tracemalloc.stop()

    @given(st.binary(max_size=300) | st.text(alphabet="<>/&;urlsetocmap \n", max_size=200).map(str.encode))
    def test_rubbish_is_an_empty_sitemap_or_a_short_one(self, text: bytes) -> None:
        assert len(read(text, 5).urls) <= 5
        assert len(read(b"<urlset>" + text, 5).files) <= 5

    def test_dates_are_read_in_any_place_of_their_page(self) -> None:
        text = (
            b'<urlset xmlns:n="news"><url><lastmod>2024-03-01</lastmod><loc>a</loc></url>'
            b"<url><loc>b</loc><lastmod>2024-03-01T10:00+01:00</lastmod></url><url><loc>c</loc></url>"
            b"<url><n:news><n:publication_date>2024-03-03</n:publication_date></n:news><loc>d</loc>"
            b"<lastmod>2024-03-02</lastmod></url><lastmod>2024-01-01</lastmod>"
            b"<url><loc>e</loc><lastmod>lately</lastmod></url></urlset>"
        )
        march = seconds_of("2024-03-01")
        assert march is not None
        assert read(text).urls == [
            Dated("a", march),
            Dated("b", march + 9 * 3600),
            Dated("c"),
            Dated("d", march + 2 * 86_400),
            Dated("e"),
        ]


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

NINE = seconds_of("2024-03-01T09:00:00Z") or 0.0


class TestFeeds:
    @each_case(
        ("text", "found"),
        [
            (RSS, [Dated("http://a/1?b=1&c=2", NINE + 3600), Dated("http://a/2", NINE)]),
            (RDF, [Dated("http://a/1", NINE - 9 * 3600)]),
            (ATOM, [Dated("/1", NINE), Dated("/2", NINE - 3600)]),
        ],
    )
    def test_entries_are_told_with_their_last_date(self, text: bytes, found: list[Dated]) -> None:
        assert read(text).urls == found
        assert read(gzip.compress(text)).feed
        assert read(text).files == []

    def test_a_sitemap_is_no_feed_and_a_feed_holds_no_sitemap(self) -> None:
        assert not read(urlset("http://a/1")).feed
        assert not read(b"http://a/1").feed
        mixed = read(b"<rss><url><loc>http://a/1</loc></url><sitemap><loc>http://a/2</loc></sitemap></rss>")
        assert (mixed.urls, mixed.files) == ([], [])
        assert read(b"<urlset><item><link>http://a/1</link></item></urlset>").urls == []

    def test_a_broken_one_is_read_as_far_as_it_goes(self) -> None:
        assert len(read(RSS[: RSS.index(b"<![CDATA[ http")]).urls) == 1
        assert len(read(RSS.replace(b"&amp; black", b"&nbsp; & black")).urls) == 2

    def test_a_bomb_of_entities_and_one_of_elements_take_little_memory(self) -> None:
        laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 20))
        bomb = f'<!DOCTYPE x [<!ENTITY l0 "ha">{laughs}]><rss><item><link>&l19;</link></item></rss>'
        tracemalloc.start()
        assert read(bomb.encode()).urls == []
        assert read(b"<rss>" + b"<item>" * 1_000_000).urls == []
        assert len(read(b"<rss>" + b"<item><link>http://a/</link></item>" * 200_000).urls) == MAX_URLS
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
        tracemalloc.stop()

    @given(
        st.text(alphabet="<>/&;itemlnkdaupsh 0-\n", max_size=200).map(str.encode),
        st.sampled_from([b"<rss>", b"<feed>", b"<rdf:RDF>", b"<feed><entry>", b"<rss><channel><item>"]),
    )
    def test_rubbish_is_an_empty_feed_or_a_short_one(self, text: bytes, begins: bytes) -> None:
        assert len(read(begins + text, 5).urls) <= 5


class TestFeedsOfPages:
    @each_case(
        ("html", "feed"),
        [
            (
                b'<link rel="alternate" type="application/rss+xml" title="a" href="/feed?a=1&amp;b=2">',
                "/feed?a=1&b=2",
            ),
            (b"<LINK HREF=feed.xml TYPE=application/atom+xml REL=Alternate />", "feed.xml"),
            (b"<link type='application/rdf+xml' rel='alternate home' href='/rdf'>", "/rdf"),
            (
                b'<link rel="stylesheet" href="s.css"><link rel="alternate" hreflang="de" href="/de">'
                b'<link rel="alternate" type="application/rss+xml" href="/1">'
                b'<link rel="alternate" type="application/rss+xml" href="/2">',
                "/1",
            ),
            (b'<link rel="nofollow alternate" type="application/rss+xml" href="/1">', None),
            (b'<link rel="search" type="application/rss+xml" href="/1">', None),
            (b'<link rel="alternate" type="application/rss+xml">', None),
            (b'<a type="application/rss+xml" rel="alternate" href="/1">', None),
            (b"application/rss+xml", None),
            (b"", None),
        ],
    )
    def test_the_first_that_a_page_names_is_its_feed(self, html: bytes, feed: str | None) -> None:
        assert feed_of(b"<html><head>" + html + b"</head>") == feed

    def test_what_stands_behind_the_head_is_not_looked_at(self) -> None:
        link = b'<link rel="alternate" type="application/rss+xml" href="/feed">'
        assert feed_of(b" " * 65_536 + link) is None
        assert feed_of(b"application/rss+xml" + b"<link " * 10_000 + link) == "/feed"

    @given(
        st.binary(max_size=300)
        | st.text(alphabet="<link re='\"=>applicon/s+xmhf \n", max_size=300).map(str.encode)
    )
    def test_rubbish_names_a_feed_or_none(self, html: bytes) -> None:
        assert isinstance(feed_of(b"application/rss+xml" + html), str | None)
