import random
from html import escape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from warcio.archiveiterator import ArchiveIterator

from scentline.agents.judge.markup import MAX_PATH
from scentline.agents.judge.parse import MAX_ANCHOR, MAX_HEADING, cut, parse
from scentline.models.page import Link, Page
from scentline.models.url import canonical
from scentline.models.words import word_end, words
from scentline.streams.crawl_settings import JudgeSettings
from tests.cases import each_case
from tests.shared import shared

URL = "http://example.org/dir/page"
LIMITS = JudgeSettings(context=3)


def html(markup: str, limits: JudgeSettings = LIMITS) -> Page:
    return parse(URL, markup.encode(), "text/html; charset=utf-8", limits, paths=True)


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


def test_the_most_frequent_words_come_first_behind_the_title() -> None:
    page = html("<title>ski</title>once twice thrice twice thrice thrice ski", JudgeSettings(words=4))
    assert page.words == ("ski", "thrice", "twice", "once")
    assert parse(URL, b"once twice twice", "text/plain", LIMITS).words == ("twice", "once")


def test_a_word_of_a_heading_counts_six_times() -> None:
    five = "often " * 5
    assert html(f"<h2>telling</h2>{five}").words == ("telling", "often")
    assert html(f"<h2>telling</h2>{five} often often").words == ("often", "telling")


@each_case(
    "navigation",
    [
        *("<nav>{}</nav>", "<header><h1>{}</h1></header>", "<footer><p>{}</footer>", "<aside>{}</aside>"),
        *("<div role=Navigation>{}</div>", "<ul class='left side-menu'>{}</ul>", "<td id=toc2>{}</td>"),
        *("<nav><b>{}</nav>", "<div class=sidebar><div><h3>{}</div></div>", "<form role=search>{}</form>"),
    ],
)
def test_navigation_is_text_and_no_word_of_it_is_one_of_the_page(navigation: str) -> None:
    page = html(f"<p>before{navigation.format('other pages')}<p>after")
    assert page.text == "before other pages after"
    assert page.words == ("before", "after")


@each_case(
    "main",
    [
        *(
            "<div class=sidebar><main>{}</main></div>",
            "<nav role=main>{}</nav>",
            "<header class=top role=main>{}",
        ),
        *("<div class=stop>{}</div>", "<li class=menu>{}", "<p id=navy>{}", "<aside><article>{}</article>"),
    ],
)
def test_what_is_no_navigation_is_main_text(main: str) -> None:
    assert html(f"<p>before{main.format('more of it')}").words == ("before", "more", "of", "it")


def test_where_all_is_navigation_it_is_the_main_text() -> None:
    page = html("<title>List</title><div class=contents>one two two</div>")
    assert page.words == ("list", "two", "one")


def test_link_with_anchor_and_the_words_around_it() -> None:
    page = html("<p>one two three four <a href='../x?q=1#top'>Ice <b>Hockey</b></a> five</p><p>six seven eight")
    assert page.links == (
        Link(
            "http://example.org/x?q=1",
            ("ice", "hockey"),
            ("two", "three", "four", "five", "six", "seven"),
            position=0,
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


def test_a_link_has_the_words_of_the_heading_above_it_or_around_it() -> None:
    page = html(
        "<a href=0>no</a><h1>Ice <a href=1>hockey</a> rules</h1><ul><li><a href=2>off</a></ul><h3>More</h3>"
        "<nav><a href=3>on</a><h6></h6><a href=4>by</a></nav>"
    )
    game = ("ice", "hockey", "rules")
    assert [link.heading for link in page.links] == [(), game, game, ("more",), ()]


def test_the_words_of_a_heading_are_bounded_and_those_of_the_first_link_to_a_page_count() -> None:
    page = html(f"<h2>{'word ' * 20}</h2><a href=1>one</a><h2>other</h2><a href=1>two</a>")
    assert [link.heading for link in page.links] == [("word",) * MAX_HEADING]


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


@each_case(
    "content",
    ["0;url=/next", "5; URL='/next'", '0, url = "/next#top"', "0;/next", " 3.5 ;url=/next "],
)
def test_a_meta_refresh_is_a_link(content: str) -> None:
    page = html(f'<meta http-equiv=Refresh content="{escape(content)}"><p>moved')
    assert urls(page) == ["http://example.org/next"]
    assert page.text == "moved"


@each_case("content", ["5", "", "x;url=/next", "0;url=", "0;url=javascript:alert(1)", "0;url=page"])
def test_a_meta_refresh_of_the_page_itself_or_to_nowhere_is_none(content: str) -> None:
    assert html(f'<meta http-equiv=refresh content="{content}">').links == ()


def test_a_meta_refresh_for_those_without_scripts_is_passed_over() -> None:
    assert html("<noscript><meta http-equiv=refresh content='0;url=/plain'></noscript>").links == ()


def test_links_of_a_frameset_are_its_frames() -> None:
    page = html("<frameset><frame src=menu><frame src=main></frameset><noframes><a href=/old>x1</a></noframes>")
    assert urls(page) == ["http://example.org/dir/menu", "http://example.org/dir/main"]
    assert page.text == ""


def test_xhtml_is_read_as_html() -> None:
    body = (
        '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x">'
        '<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><head><title>One</title>'
        '<base href="http://example.org/base/"/><meta name="robots" content="nofollow"/></head>'
        '<body><p>two<br/>three</p><hr/><a href="x">four</a></body></html>'
    )
    page = parse(URL, body.encode(), "application/xhtml+xml", LIMITS)
    assert (page.title, page.words, page.follow) == ("One", ("one", "two", "three", "four"), False)
    followed = parse(URL, body.replace("nofollow", "all").encode(), "application/xhtml+xml", LIMITS)
    assert urls(followed) == ["http://example.org/base/x"]


def test_directives_that_name_us_count_beside_those_for_all() -> None:
    body = b"<meta name=ScentLine content=nofollow><meta name=otherbot content=noindex><a href=/1>one</a>"
    page = parse(URL, body, "text/html", LIMITS, "scentline")
    assert (page.indexable, page.follow, page.links, page.barred) == (True, False, (), "")
    assert parse(URL, body, "text/html", LIMITS, "another").follow


def test_a_page_that_is_not_to_be_judged_says_why() -> None:
    assert html("<meta name=robots content=noindex>x").barred == "the page asks not to be indexed"
    lost = html("<title>Page not found</title>x")
    assert (lost.barred, lost.missing) == ("soft 404: the page says that there is none", True)
    assert not html("<title>Page not found</title>x", JudgeSettings(soft_404=False)).barred


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


@each_case(
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


@each_case(
    ("content_type", "what"),
    [
        ("image/png", "image/png"),
        ("application/pdf", "application/pdf"),
        ("video/mp4; charset=utf-8", "video/mp4"),
        ("text/css", "text/css"),
        ("x/" + "y" * 1000, "x/" + "y" * 58),
    ],
)
def test_what_is_neither_text_nor_html_is_an_empty_page_that_says_what_it_is(
    content_type: str, what: str
) -> None:
    page = parse(URL, b"<title>x1</title>", content_type, LIMITS)
    assert page == Page(URL, barred=f"not HTML or text: {what}")


@each_case(
    ("body", "what"),
    [
        (b"%PDF-1.4\n<title>x1</title>", "PDF"),
        (b"%!PS-Adobe-2.0\n", "PostScript"),
        (b"GIF89a <title>x1</title>", "GIF image"),
        (b"\x89PNG\r\n\x1a\n\0\0<title>x1</title>", "PNG image"),
        (b"PK\3\4 <p>a</p>", "ZIP archive"),
        (b"\x1f\x8b\x08\0\0", "gzip archive"),
        (bytes(range(256)) * 10, "binary data"),
        (b"\0" * 5000, "binary data"),
    ],
)
@each_case("content_type", ["text/html", "text/plain", "application/xhtml+xml", None, "html"])
def test_binary_data_in_the_clothes_of_a_page_is_let_be(
    body: bytes, what: str, content_type: str | None
) -> None:
    page = parse(URL, body, content_type, LIMITS)
    served = f", served as {content_type}" if content_type and "/" in content_type else ""
    assert page == Page(URL, barred=f"not HTML or text: {what}{served}")


def test_page_without_a_content_type_is_html_unless_it_is_binary() -> None:
    for content_type in (None, "", "application/octet-stream", "html", ";charset=utf-8"):
        assert parse(URL, b"<title>x1</title>", content_type, LIMITS).title == "x1"
    assert parse(URL, "\ufeff<title>x1</title>".encode("utf-16-le"), None, LIMITS).title == "x1"
    wide = "text/html; charset=UTF-16LE"
    assert parse(URL, "<title>x1</title>".encode("utf-16-le"), wide, LIMITS).title == "x1"


def test_a_stray_nul_does_not_end_a_page() -> None:
    body = b"<title>one\0</title>two \0three <a href=/\0x>four</a>" + b" word" * 30
    page = parse(URL, body, "text/html", LIMITS)
    assert page.barred == ""
    assert page.words == ("one", "word", "two", "three", "four")


def test_declared_encodings_reach_the_text() -> None:
    body = "<?xml version='1.0' encoding='iso-8859-2'?><html><title>Łódź</title>".encode("iso-8859-2")
    assert parse(URL, body, "application/xhtml+xml", LIMITS).title == "Łódź"
    body = "<meta charset=koi8-r><title>Москва</title>".encode("koi8-r")
    assert parse(URL, body, "text/html", LIMITS).title == "Москва"


@each_case(
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
)
def test_hostile_five_megabytes_are_read_within_the_limits(body: bytes) -> None:
    page = parse(URL, body, "text/html", LIMITS)
    assert len(page.text) <= 1_000_000
    assert len(page.title) <= 1_000
    assert len(page.links) <= LIMITS.links
    assert len(page.words) <= LIMITS.words


def test_links_behind_the_last_target_that_is_used_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    whole = canonical

    def noting(url: str, base: str | None = None) -> str | None:
        seen.append(url)
        return whole(url, base)

    monkeypatch.setattr("scentline.agents.judge.parse.canonical", noting)
    page = html("".join(f"<a href={n}>x</a>" for n in range(100)), JudgeSettings(links=7))
    assert len(page.links) == 7
    assert seen == [str(n) for n in range(7)]


@each_case(
    ("markup", "path"),
    [
        ("<html><body class=x><a href=/y>z", "a"),
        ("<div id=main><ul class='toc  l1 current a4'><li><p>one<li><b><a class=ref href=/y>z",
         "div#main ul.a4.current.l1 li b a.ref"),
        ("<div id=' a b'><section id=id17><p id=x class=''><a href=/y id=b>z", "div#a section p a"),
        ("<table><tr><td><a href=/y>z", "table tr td a"),
        ("<map><area href=/y>", "map area"),
        ("<div><iframe src=/y></iframe>", "div iframe"),
    ],
)  # fmt: skip
def test_a_link_has_the_path_of_its_elements(markup: str, path: str) -> None:
    assert html(markup).paths == (path,)


def test_of_many_links_to_a_page_the_first_has_the_path() -> None:
    page = html("<nav><a href=/x>one</a></nav><p><a href=/y>two</a><a href=/x>three</a></p><a href=/z>four</a>")
    assert page.paths == ("nav a", "p a", "a")


@given(st.lists(st.integers(0, 60), max_size=30))
def test_a_long_path_has_its_last_elements(sizes: list[int]) -> None:
    names = [f"a{'b' * size}" for size in sizes]
    markup = "".join(f"<div class={name}>" for name in names)
    whole = " ".join([*(f"div.{name[:40]}" for name in names), "a"])
    found = html(f"{markup}<a href=/x>y").paths[0]
    assert whole == found or whole.endswith(f" {found}")
    assert len(found) <= MAX_PATH
    left_out = whole.removesuffix(found).split()
    assert not left_out or len(f"{left_out[-1]} {found}") > MAX_PATH


def test_elements_may_be_nested_deep() -> None:
    page = html("<font>word <b>" * 5000 + "<a href=/x>link</a>")
    assert urls(page) == ["http://example.org/x"]


def check(page: Page, context: int = LIMITS.context) -> None:
    assert canonical(page.url) == page.url
    assert page.text == " ".join(page.text.split())
    assert page.sequence == tuple(words(page.text))
    assert len(set(urls(page))) == len(page.links)
    assert [link.position for link in page.links] == list(range(len(page.links)))
    for link in page.links:
        assert canonical(link.url) == link.url != page.url
        assert len(link.context) <= 2 * context
        assert words(" ".join(link.anchor)) == list(link.anchor)
    for _, path in zip(page.links, page.paths, strict=True):
        assert len(path) <= MAX_PATH
        assert all(path.split(" "))


TYPES = st.sampled_from(
    [None, "", "text/html", "text/html; charset=utf-16", "text/plain", "text/html;charset=gbk", "x"]
)
HEADERS = st.one_of(TYPES, st.text(max_size=60), st.text(max_size=30).map("text/html; charset={}".format))


@given(st.binary(max_size=400), HEADERS)
def test_any_bytes_and_any_header_are_read(body: bytes, content_type: str | None) -> None:
    page = parse(URL, body, content_type, LIMITS, paths=True)
    check(page)
    assert parse(URL, body, content_type, LIMITS) == replace(page, paths=())


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
        *("\U00011099", "\U000110ba"),
    ]
)


@given(st.lists(PIECES, max_size=40))
@example(["<a href=x>", "e", "</a>", "\u0301"])
@example(["<a href=x>", "\U00011099", "</a>", "\U000110ba"])
def test_any_markup_is_read(pieces: list[str]) -> None:
    page = html("".join(pieces))
    check(page)
    assert set(page.words) == set(words(page.title)) | set(words(page.text))


SIGNS = "aB1_ \n-\u2013\u2014\xa0\xe9\xad\u0301\u0315\u200d\u0e01\u65e5\u0130\ufb01\U00011099\U000110ba"


@given(st.text(alphabet=SIGNS, max_size=120) | st.text(), st.lists(st.integers(0, 130), max_size=12))
@example("1" * 41 + "\xe9 \u65e5\u65e5", [3, 42, 44, 60])
@example("\ufb01\xad x\u0301", [1, 1, 2, 4, 5])
def test_a_text_is_cut_into_its_words_and_each_place_is_among_them(text: str, places: list[int]) -> None:
    places.sort()
    before = [len(words(text[: word_end(text, place)])) for place in places]
    assert cut(text, places) == (words(text), before)


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
        check(parse(URL, bytes(mutant), "text/html", LIMITS, paths=True))


def test_links_of_real_pages_have_their_anchor_in_the_text() -> None:
    with shared("wikispeedia/pages.warc.gz").open("rb") as file:
        for number, record in enumerate(ArchiveIterator(file)):
            if record.rec_type == "response" and number % 100 == 0:
                url = record.rec_headers.get_header("WARC-Target-URI")
                page = parse(url, record.content_stream().read(), "text/html; charset=utf-8", JudgeSettings())
                text = set(words(page.text))
                assert page.links
                assert all(text.issuperset(link.anchor) for link in page.links)


@each_case(("name", "every"), [("wikispeedia", 4), ("webkb", 1)])
def test_pages_of_an_archive_are_read(name: str, every: int) -> None:
    read = barred = empty = 0
    with shared(f"{name}/pages.warc.gz").open("rb") as file:
        for number, record in enumerate(ArchiveIterator(file)):
            url = canonical(record.rec_headers.get_header("WARC-Target-URI"))
            if record.rec_type != "response" or url is None or number % every:
                continue
            kind = record.http_headers.get_header("content-type") if record.http_headers else None
            page = parse(url, record.content_stream().read(), kind, JudgeSettings(), paths=True)
            check(page, JudgeSettings().context)
            read, barred, empty = read + 1, barred + bool(page.barred), empty + (not page.words)
    assert read > 1000
    assert barred == 0
    assert empty <= read // 100
