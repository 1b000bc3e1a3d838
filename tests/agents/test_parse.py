import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from agents.web.parse import MAX_ANCHOR, parse
from models.page import Link, Page
from models.url import canonical
from models.words import words
from streams.settings import JudgeSettings
from tests.shared import shared

URL = "http://example.org/dir/page"
LIMITS = JudgeSettings(context=3)


def html(markup: str, limits: JudgeSettings = LIMITS) -> Page:
    return parse(URL, markup.encode(), "text/html; charset=utf-8", limits)


def urls(page: Page) -> list[str]:
    return [link.url for link in page.links]


def test_title_text_and_words() -> None:
    page = html("<html><head><title> Ice \n Hockey &amp; more</title></head><body><h1>The game</h1><p>of ice")
    assert page.url == URL
    assert page.title == "Ice Hockey & more"
    assert page.text == "The game of ice"
    assert page.words == ("ice", "hockey", "more", "the", "game", "of")
    assert page.indexable
    assert page.follow


def test_what_nobody_sees_is_not_text() -> None:
    page = html(
        "a1<script>b1 < '</p>'</script><style>c1</style><noscript>d1<a href=/x>e1</a></noscript>"
        "<template><p>f1<script>g1</script>h1</template><iframe>i1</iframe><!-- j1 -->k1"
    )
    assert page.text == "a1 k1"
    assert page.links == ()


def test_block_elements_part_words_and_inline_elements_do_not() -> None:
    assert html("<p>one</p><p>two<br>three<td>four").words == ("one", "two", "three", "four")
    assert html("<b>ho</b>ck<i>ey</i> H<sub>2</sub>O").words == ("hockey", "h2o")


def test_only_the_first_title_counts() -> None:
    page = html("<title>one</title><svg><title>two</title></svg><p>three")
    assert page.title == "one"
    assert page.text == "three"


def test_words_are_bounded_title_first() -> None:
    page = html("<title>five six</title>one two three four one", JudgeSettings(words=4))
    assert page.words == ("five", "six", "one", "two")


def test_link_with_anchor_and_the_words_around_it() -> None:
    page = html("<p>one two three four <a href='../x?q=1#top'>Ice <b>Hockey</b></a> five</p><p>six seven eight")
    assert page.links == (
        Link(
            "http://example.org/x?q=1", ("ice", "hockey"), ("two", "three", "four", "five", "six", "seven"), 0
        ),
    )


def test_context_is_cut_at_the_ends_of_the_text_and_holds_other_links() -> None:
    page = html("<a href=/1>one</a> and <a href=/2>two</a>")
    assert [link.context for link in page.links] == [("and", "two"), ("one", "and")]
    assert html("one <a href=/1>two</a> three", JudgeSettings(context=0)).links[0].context == ()


def test_word_that_goes_on_behind_a_link_belongs_to_the_link() -> None:
    page = html("two <a href=/dog>dog</a>s bark")
    assert page.links == (Link("http://example.org/dog", ("dogs",), ("two", "bark"), 0),)
    assert page.words == ("two", "dogs", "bark")


def test_links_side_by_side_are_not_one_word() -> None:
    page = html("<a href=/1>home</a><a href=/2>news</a><a href=/3>contact</a>")
    assert [link.anchor for link in page.links] == [("home",), ("news",), ("contact",)]
    assert page.words == ("home", "news", "contact")


def test_alternative_text_of_an_image_counts_as_anchor() -> None:
    page = html('see <a href=/1>the <img src=x alt="Big Map"> here</a> <img alt="not this">')
    assert page.links[0].anchor == ("the", "here", "big", "map")
    assert "map" not in page.words


def test_areas_and_frames_are_links() -> None:
    page = html(
        "<frameset><frame src=/menu></frameset><map><area href=/north alt=North></map>"
        "<iframe src=/inner></iframe><a name=x>no link</a><area nohref>"
    )
    assert urls(page) == [f"http://example.org/{name}" for name in ("menu", "north", "inner")]
    assert page.links[1].anchor == ("north",)
    assert [link.position for link in page.links] == [0, 1, 2]


def test_first_base_counts_for_every_link() -> None:
    bases = "<base target=_top><base href='/base/'><base href='/other/'>"
    page = html(f"<a href=early>x1</a>{bases}<a href=late>x2</a>")
    assert urls(page) == ["http://example.org/base/early", "http://example.org/base/late"]


def test_unusable_base_is_passed_over() -> None:
    assert urls(html("<base href='mailto:x'><a href=y>x</a>")) == ["http://example.org/dir/y"]


def test_nofollow_links_are_left_out() -> None:
    page = html("<a rel='external NoFollow' href=/1>spam</a> <a rel=external href=/2>good</a>")
    assert urls(page) == ["http://example.org/2"]


def test_links_to_itself_and_to_what_is_not_the_web_are_left_out() -> None:
    hrefs = ("#top", "", "page", "mailto:a@b.org", "javascript:x", "http://", "ftp://b.org/")
    page = html("".join(f"<a href='{href}'>x</a>" for href in hrefs))
    assert page.links == ()


def test_second_link_to_a_page_adds_its_words_to_the_first() -> None:
    page = html("<a href=/1>the dog</a> between <a href=/2>x</a> <a href='/1#a'>good dog</a> after")
    assert urls(page) == ["http://example.org/1", "http://example.org/2"]
    assert page.links[0].anchor == ("the", "dog", "good")
    assert page.links[0].context == ("between", "good", "dog")


def test_anchors_are_bounded() -> None:
    many = " ".join(f"word{n}" for n in range(1000))
    page = html(f"<a href=/1>{many}</a> <a href=/1>more words</a><a href=/2><img alt='{many}'>{many}")
    assert [len(link.anchor) for link in page.links] == [MAX_ANCHOR, MAX_ANCHOR]


def test_links_are_bounded() -> None:
    markup = "".join(f"<a href=/{n % 50}>x{n}</a>" for n in range(200))
    assert len(html(markup, JudgeSettings(links=7)).links) == 7


def test_canonical_link() -> None:
    assert (
        html("<link rel=stylesheet href=/s><link rel='Canonical' href='/c#x'>").canonical
        == "http://example.org/c"
    )
    assert html("<link rel=canonical href='javascript:x'>").canonical is None


@pytest.mark.parametrize(
    ("content", "indexable", "follow"),
    [
        ("noindex", False, True),
        ("NoFollow , x", True, False),
        ("none", False, False),
        ("index,follow", True, True),
    ],
)
def test_robots_directives(content: str, indexable: bool, follow: bool) -> None:
    page = html(f"<meta name=Robots content='{content}'><a href=/1>one</a>")
    assert (page.indexable, page.follow, bool(page.links)) == (indexable, follow, follow)
    assert page.words == ("one",)


def test_plain_text_has_words_and_no_links() -> None:
    page = parse(URL, b"see <a href=/x>\n http://example.org/y", "text/plain", LIMITS)
    assert page.text == "see <a href=/x> http://example.org/y"
    assert page.words == ("see", "href", "http", "example", "org")
    assert page.links == ()


@pytest.mark.parametrize("content_type", ["image/png", "application/pdf", "video/mp4; charset=utf-8"])
def test_what_is_neither_text_nor_html_is_an_empty_page(content_type: str) -> None:
    assert parse(URL, b"<title>x1</title>", content_type, LIMITS) == Page(URL)


def test_page_without_a_content_type_is_html_unless_it_is_binary() -> None:
    assert parse(URL, b"<title>x1</title>", None, LIMITS).title == "x1"
    assert parse(URL, b"\x89PNG\r\n\0\0<title>x1</title>", None, LIMITS) == Page(URL)
    assert parse(URL, "\ufeff<title>x1</title>".encode("utf-16-le"), None, LIMITS).title == "x1"


def test_declared_encodings_reach_the_text() -> None:
    body = "<?xml version='1.0' encoding='iso-8859-2'?><html><title>Łódź</title>".encode("iso-8859-2")
    assert parse(URL, body, "application/xhtml+xml", LIMITS).title == "Łódź"
    body = "<meta charset=koi8-r><title>Москва</title>".encode("koi8-r")
    assert parse(URL, body, "text/html", LIMITS).title == "Москва"


@pytest.mark.parametrize(
    "body",
    [
        b"<div>" * 100_000 + b"deep <a href=/x>link</a>",
        b"<b><div>" * 100_000,
        b"<p>" * 1_600_000,
        b"<a href=/x>" * 450_000,
        b"".join(b"<a href=/%d>x" % n for n in range(350_000)),
        b"<a href=/x>" + b"x" * 5_000_000,
        b"x<a href=/x></a>" * 300_000,
        b"<" * 5_000_000,
        b"&#x41" * 1_000_000,
        b"<!--" * 1_200_000,
        b"word " * 1_000_000,
        "wörd ".encode() * 800_000,
        "é".encode() * 2_500_000,
        b"<a href=/x><img alt='" + b"y " * 2_000_000,
        b"<title>" + b"y " * 2_000_000,
        b"<title>" + b"&amp;" * 1_000_000,
        b"<meta name=robots content='" + b"x," * 2_000_000 + b"'>",
        b"\xff" * 5_000_000,
    ],
    ids=lambda body: body[:20].decode("ascii", "replace"),
)
def test_hostile_five_megabytes_are_read_within_the_limits(body: bytes) -> None:
    page = parse(URL, body, "text/html", LIMITS)
    assert len(page.text) <= 1_000_000
    assert len(page.title) <= 1_000
    assert len(page.links) <= LIMITS.links
    assert len(page.words) <= LIMITS.words


def check(page: Page) -> None:
    assert canonical(page.url) == page.url
    assert page.text == " ".join(page.text.split())
    assert len(set(urls(page))) == len(page.links)
    assert [link.position for link in page.links] == list(range(len(page.links)))
    for link in page.links:
        assert canonical(link.url) == link.url != page.url
        assert len(link.context) <= 2 * LIMITS.context
        assert words(" ".join(link.anchor)) == list(link.anchor)


TYPES = st.sampled_from(
    [None, "", "text/html", "text/html; charset=utf-16", "text/plain", "text/html;charset=gbk", "x"]
)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.binary(max_size=400), TYPES)
def test_any_bytes_are_read(body: bytes, content_type: str | None) -> None:
    check(parse(URL, body, content_type, LIMITS))


PIECES = st.sampled_from(
    [
        *(
            "<a href=x>",
            "<a href='/y?z=1'>",
            "</a>",
            "<p>",
            "</p>",
            "<b>",
            "</b>",
            "<title>",
            "</title>",
            "<br>",
        ),
        *("<base href=//b.org/>", "<frame src=q>", "<iframe src=r>", "</iframe>", "<area href=s alt=t>"),
        *("<img alt='ice rink'>", "<script>", "</script>", "<noscript>", "</noscript>", "<template>"),
        *("</template>", "<meta name=robots content=none>", "<link rel=canonical href=c>", "<!--", "-->"),
        *("<![CDATA[", "]]>", "<svg>", "</svg>", "<table>", "<td>", "<select>", "<option>", "<textarea>"),
        *("</textarea>", "<body>", "</body>", "</html>", "<frameset>", " ", "word", "wörd", "straße日本"),
        *("e\u0301", "\u0301", "\u00ad", "&amp;", "&#0;", "&#xd800;", "&lt;", "\0", "<", ">", "'", '"', "\t"),
    ]
)


@settings(derandomize=True, deadline=None, max_examples=600)
@given(st.lists(PIECES, max_size=40))
@example(["<a href=x>", "e", "</a>", "\u0301"])
def test_any_markup_is_read(pieces: list[str]) -> None:
    page = html("".join(pieces))
    check(page)
    assert set(page.words) == set(words(page.title)) | set(words(page.text))


def test_mutated_real_pages_are_read() -> None:
    chance = random.Random(7)
    with shared("webkb/pages.warc.gz").open("rb") as file:
        bodies = [
            record.content_stream().read() for record in ArchiveIterator(file) if record.rec_type == "response"
        ][::20]
    for body in bodies:
        mutant = bytearray(body)
        for _ in range(20):
            at = chance.randrange(len(mutant) + 1)
            mutant[at : at + chance.randrange(8)] = chance.randbytes(chance.randrange(4))
        check(parse(URL, bytes(mutant), "text/html", LIMITS))


def test_links_of_real_pages_have_their_anchor_in_the_text() -> None:
    with shared("wikispeedia/pages.warc.gz").open("rb") as file:
        for number, record in enumerate(ArchiveIterator(file)):
            if record.rec_type == "response" and number % 100 == 0:
                url = record.rec_headers.get_header("WARC-Target-URI")
                page = parse(url, record.content_stream().read(), "text/html; charset=utf-8", JudgeSettings())
                text = set(words(page.text))
                assert page.links
                assert all(text.issuperset(link.anchor) for link in page.links)
