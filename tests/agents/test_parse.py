"""Pages as they are read, and what counts as a change of one. Of any bytes: `tests/rubbish`."""

import random
import re
from collections.abc import Iterator
from itertools import islice

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from scentline.agents.judge.markup import MAX_PATH
from scentline.agents.judge.parse import LEAST_WORDS, MAX_ANCHOR, MAX_HEADING, cut, parse
from scentline.models.page import NEEDS_SCRIPTS, Page
from scentline.models.revisit.content import LINKS_BYTES, TEXT_BYTES, changed, links_digest, text_digest
from scentline.models.settings import JudgeSettings
from scentline.models.words import word_end, words
from tests.agents.judging import archived, responses
from tests.cases import each_case

URL, SITE = "http://example.org/dir/page", "http://example.org"
LIMITS = JudgeSettings(context=3)


def html(markup: str, limits: JudgeSettings = LIMITS) -> Page:
    kind = "text/html; charset=utf-8"
    page = parse(URL, markup.encode(), kind, limits, paths=True)
    assert parse(URL, markup.encode(), kind, limits) == replace(page, paths=())
    return page


def urls(page: Page) -> list[str]:
    return [link.url for link in page.links]


def test_title_text_and_words() -> None:
    page = html("<html><head><title> Ice \n Hockey &amp; more</title></head><body><h1>The game</h1><p>of ice")
    assert (page.url, page.title, page.text) == (URL, "Ice Hockey & more", "The game of ice")
    assert page.words == ("ice", "hockey", "more", "the", "game", "of")
    assert (page.indexable, page.follow) == (True, True)
    svg = html("<title>one</title><svg><title>two</title></svg><p>three")
    assert (svg.title, svg.text) == ("one", "three")


@each_case(("markup", "words"))
def test_the_words_of_a_page_are_those_of_its_title_and_main_text(markup: str, words: str) -> None:
    assert html(markup).words == tuple(words.split())


@each_case("markup")
def test_a_page_whose_scripts_make_its_content_needs_them(markup: str) -> None:
    page = filled(markup)
    assert (page.scripts, page.barred) == (True, NEEDS_SCRIPTS)


@each_case("markup")
def test_a_page_that_has_its_content_needs_no_scripts(markup: str) -> None:
    page = filled(markup)
    assert (page.scripts, page.barred) == (False, "")


def filled(markup: str) -> Page:
    return html(markup.format(json='{"text": "' + 99 * "tea from hills " + '"}', text=99 * "tea "))


def test_words_are_bounded_title_first() -> None:
    page = html("<title>five six</title>one two three four one", JudgeSettings(words=4))
    assert page.words == ("five", "six", "one", "two")


@each_case("navigation")
def test_navigation_is_text_and_no_word_of_it_is_one_of_the_page(navigation: str) -> None:
    page = html(f"<p>before{navigation.format('other pages')}<p>after")
    assert page.text == "before other pages after"
    assert page.words == ("before", "after")


def test_what_nobody_sees_is_not_text() -> None:
    page = html(
        "a1<script>b1 < '</p>'</script><style>c1</style><noscript>d1<a href=/x>e1</a></noscript>"
        "<template><p>f1<script>g1</script>h1</template><iframe>i1</iframe><!-- j1 -->k1"
    )
    assert (page.text, page.links) == ("a1 k1", ())
    frames = html("<frameset><frame src=menu></frameset><noframes><a href=/old>x1</a></noframes>")
    assert (frames.text, urls(frames)) == ("", ["http://example.org/dir/menu"])


@each_case(("markup", "anchor", "context"))
def test_a_link_has_its_words_and_those_around_it(markup: str, anchor: str, context: str) -> None:
    link = html(markup).links[0]
    assert (link.anchor, link.context, link.position) == (tuple(anchor.split()), tuple(context.split()), 0)


def test_a_link_has_the_words_of_the_heading_above_it_or_around_it() -> None:
    page = html(
        "<a href=0>no</a><h1>Ice <a href=1>hockey</a> rules</h1><ul><li><a href=2>off</a></ul><h3>More</h3>"
        "<nav><a href=3>on</a><h6></h6><a href=4>by</a></nav>"
    )
    game = ("ice", "hockey", "rules")
    assert [link.heading for link in page.links] == [(), game, game, ("more",), ()]
    many = html(f"<h2>{'word ' * 20}</h2><a href=1>one</a><h2>other</h2><a href=1>two</a>")
    assert [link.heading for link in many.links] == [("word",) * MAX_HEADING]


@each_case(("markup", "targets"), [("<font>word <b>" * 5000 + "<a href=/x>link</a>", ["/x"])])
def test_where_the_links_of_a_page_lead(markup: str, targets: list[str]) -> None:
    assert urls(html(markup)) == [SITE + target for target in targets]


@each_case(("robots", "links"))
def test_xhtml_is_read_as_html(robots: str, links: list[str]) -> None:
    body = (
        '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x">'
        '<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><head><title>One</title>'
        f'<base href="http://example.org/base/"/><meta name="robots" content="{robots}"/></head>'
        '<body><p>two<br/>three</p><hr/><a href="x">four</a></body></html>'
    )
    page = parse(URL, body.encode(), "application/xhtml+xml", LIMITS)
    assert (page.title, page.words, urls(page)) == ("One", ("one", "two", "three", "four"), links)


@each_case(("name", "content", "indexable", "follow"))
def test_robots_directives_count(name: str, content: str, indexable: bool, follow: bool) -> None:
    body = f"<meta name={name} content='{content}'><a href=/1>one</a>".encode()
    page = parse(URL, body, "text/html", LIMITS, "scentline")
    assert (page.indexable, page.follow, bool(page.links)) == (indexable, follow, follow)
    assert (page.words, page.barred != "") == (("one",), not indexable)


def test_a_soft_404_is_barred_unless_the_setting_is_off() -> None:
    lost = html("<title>Page not found</title>x")
    assert (lost.barred, lost.missing) == ("soft 404: the page says that there is none", True)
    assert not html("<title>Page not found</title>x", JudgeSettings(soft_404=False)).barred


def test_anchors_and_links_are_bounded() -> None:
    many = " ".join(f"word{n}" for n in range(1000))
    page = html(f"<a href=/1>{many}</a> <a href=/1>more words</a><a href=/2><img alt='{many}'>{many}")
    assert [len(link.anchor) for link in page.links] == [MAX_ANCHOR, MAX_ANCHOR]
    assert len(html("".join(f"<a href=/{n % 50}>x</a>" for n in range(200)), JudgeSettings(links=7)).links) == 7


@each_case(("href", "found"), [("/c#x", "http://example.org/c"), ("javascript:x", None)])
def test_canonical_link(href: str, found: str | None) -> None:
    assert html(f"<link rel=stylesheet href=/s><link rel='Canonical' href='{href}'>").canonical == found


def test_plain_text_has_words_and_no_links() -> None:
    page = parse(URL, b"see <a href=/x>\n http://example.org/y", "text/plain", LIMITS)
    assert page.text == "see <a href=/x> http://example.org/y"
    assert page.words == ("see", "href", "http", "example", "org")
    assert parse(URL, b"once twice twice", "text/plain", LIMITS).words == ("twice", "once")
    assert page.links == ()


@each_case(
    ("body", "what"),
    [
        (b"%!PS-Adobe-2.0\n", "PostScript"),
        (b"GIF89a <title>x1</title>", "GIF image"), (b"\x89PNG\r\n\x1a\n\0\0<title>x1</title>", "PNG image"),
        (b"PK\3\4 <p>a</p>", "ZIP archive"), (b"\x1f\x8b\x08\0\0", "gzip archive"),
        (bytes(range(256)) * 10, "binary data"), (b"\0" * 5000, "binary data"),
    ],
)  # fmt: skip
def test_what_is_neither_text_nor_html_is_an_empty_page_that_says_what_it_is(body: bytes, what: str) -> None:
    for kind in ("text/html", "text/plain", "application/xhtml+xml", None, "html"):
        served = f", served as {kind}" if kind and "/" in kind else ""
        assert parse(URL, body, kind, LIMITS) == Page(URL, barred=f"not HTML or text: {what}{served}")
    for kind in ("image/png", "application/pdf", "video/mp4; charset=utf-8", "text/css", "x/" + "y" * 1000):
        named = kind.partition(";")[0][:60]
        assert parse(URL, b"<title>x1", kind, LIMITS) == Page(URL, barred=f"not HTML or text: {named}")


WIDE = "<title>x1</title>".encode("utf-16-le")


@each_case(
    ("body", "content_type", "title"),
    [
        *(
            (b"<title>x1</title>", kind, "x1")
            for kind in (None, "", "application/octet-stream", "html", ";charset=utf-8")
        ),
        (b"\xff\xfe" + WIDE, None, "x1"),
        (WIDE, "text/html; charset=UTF-16LE", "x1"),
        ("<?xml version='1.0' encoding='iso-8859-2'?><title>Łódź".encode("iso-8859-2"), "text/xml", "Łódź"),
        ("<meta charset=koi8-r><title>Москва</title>".encode("koi8-r"), "text/html", "Москва"),
        (b"<title>one\0</title>two \0three" + b" word" * 30, "text/html", "one"),
    ],
)
def test_a_page_is_html_in_any_encoding_or_binary(body: bytes, content_type: str | None, title: str) -> None:
    page = parse(URL, body, content_type, LIMITS)
    assert (page.title.rstrip("\ufffd\0"), page.barred) == (title, "")


@each_case(("markup", "path"))
def test_a_link_has_the_path_of_its_elements(markup: str, path: str) -> None:
    assert html(markup).paths == (path,)


@given(st.lists(st.integers(0, 60), max_size=30))
def test_a_long_path_has_its_last_elements(sizes: list[int]) -> None:
    names = [f"a{'b' * size}" for size in sizes]
    whole = " ".join([*(f"div.{name[:40]}" for name in names), "a"])
    found = html("".join(f"<div class={name}>" for name in names) + "<a href=/x>y").paths[0]
    assert whole == found or whole.endswith(f" {found}")
    assert len(found) <= MAX_PATH
    left_out = whole.removesuffix(found).split()
    assert not left_out or len(f"{left_out[-1]} {found}") > MAX_PATH


SIGNS = "aB1_ \n-\u2013\u2014\xa0\xe9\xad\u0301\u0315\u200d\u0e01\u65e5\u0130\ufb01\U00011099\U000110ba"


@given(st.text(alphabet=SIGNS, max_size=120) | st.text(), st.lists(st.integers(0, 130), max_size=12))
@example("1" * 41 + "\xe9 \u65e5\u65e5", [3, 42, 44, 60])
@example("\ufb01\xad x\u0301", [1, 1, 2, 4, 5])
def test_a_text_is_cut_into_its_words_and_each_place_is_among_them(text: str, places: list[int]) -> None:
    places.sort()
    before = [len(words(text[: word_end(text, place)])) for place in places]
    assert cut(text, places) == (words(text), before)


def test_pages_of_an_archive_are_read() -> None:
    pages = list(archived("webkb", 4))
    assert len(pages) > 250
    assert not any(page.barred for page in pages)
    assert sum(not page.words for page in pages) <= len(pages) // 100


# what counts as a change: any sentence of its text, and nothing that a template varies


PAGE = "http://example.org/page"
USUAL = JudgeSettings()
PROSE = " ".join(f"words{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(LEAST_WORDS))
CONTENTS = f"<div id=table-of-contents>{PROSE * 3}"
# A sentence between two tags, far enough from their ends.
SENTENCE = re.compile(rb"(?<=[.>] )[A-Z][a-z]+ [^<>&.]{30,200}\.(?= [A-Z])")
WORD = re.compile(rb"(?<= )[a-z]{3,}(?= )")


def read(markup: bytes) -> Page:
    return parse(PAGE, markup, "text/html; charset=utf-8", USUAL, main=True)


def digest(markup: bytes | str) -> bytes:
    page = read(markup.encode() if isinstance(markup, str) else markup)
    return text_digest(page.title, page.main)


def links(markup: str) -> bytes:
    return links_digest(read(markup.encode()).leading)


@each_case(("before", "now"))
def test_what_is_of_the_moment_or_beside_the_text_makes_no_change(before: str, now: str) -> None:
    text = f"<title>Alps</title><p>{PROSE}</p>"
    assert digest(text + before) == digest(text + now)


@each_case(("before", "now"), [(f"{CONTENTS} and it snows</div>", f"{CONTENTS} it rains")])
def test_any_other_word_makes_one(before: str, now: str) -> None:
    assert changed(digest(f"{before}<p>{PROSE}"), digest(f"{now}<p>{PROSE}"))


@each_case("page")
def test_headlines_or_navigation_are_the_text_of_a_page_that_has_little_else(page: str) -> None:
    assert changed(digest(page.format("Flood in town")), digest(page.format("Flood is over")))


def test_a_link_counts_as_one_outside_navigation_in_any_order() -> None:
    page = "<nav><a href={}>x</a></nav><p>of <a href=/{}>one</a> and <a href=/{}>two</a>"
    assert links(page.format("/n", "a", "b")) == links(page.format("/m", "b", "a"))
    assert links(page.format("/n", "a", "b")) != links(page.format("/n", "a", "c"))
    assert links("<nav><a href=/a>a</a></nav>") != links("<nav><a href=/b>b</a></nav>")


def noise(chance: random.Random) -> tuple[bytes, bytes]:
    """Return what a template puts before and behind a page's text, another at each visit."""

    def word() -> str:
        return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 9)))

    def teasers(count: int) -> str:
        return " ".join(f"<li><a href='/{word()}'>{word()} {word()} {word()}</a></li>" for _ in range(count))

    day, month = chance.choice(["Monday", "Tuesday", "Friday"]), chance.choice(["May", "June", "November"])
    ago = chance.choice(["just now", "an hour ago", "yesterday", f"{chance.randint(2, 59)} minutes ago"])
    before = f"""<nav><a href=/>{word()}</a> {word()}</nav><div class="banner">{word()} {word()}</div>
        <p>{day}, {month} {chance.randint(1, 28)}, 2026, {chance.randint(1, 12)}:{chance.randint(10, 59)} pm</p>
        <p>Posted {ago}, {chance.randint(1, 9999)} views, session {chance.randbytes(8).hex()}0</p>"""
    behind = f"""<ul>{teasers(chance.randint(3, 6))}</ul><aside>{word()} {word()}: <ul>{teasers(4)}</ul></aside>
        <footer>{word()} {chance.random()} seconds</footer>"""
    return before.encode(), behind.encode()


def recorded(name: str, most: int) -> Iterator[bytes]:
    bodies = (body for _, _, body in islice(responses(name), 0, None, 13))
    return islice((body for body in bodies if b"<body" in body and b"</body>" in body), most)


@each_case("name", ["docs", "wikispeedia"])
def test_of_recorded_pages_few_changes_are_missed_and_little_noise_taken_for_one(name: str) -> None:
    chance = random.Random(5)
    pages, noisy = 0, 0
    seen: dict[str, list[bool]] = {"sentence": [], "word": []}
    for body in recorded(name, 60):
        head, tag, rest = body.partition(b"<body")
        attributes, close, text = rest.partition(b">")
        text, end, _ = text.rpartition(b"</body>")

        def visit(text: bytes, first: bytes = head + tag + attributes + close, last: bytes = end) -> bytes:
            before, behind = noise(chance)
            return digest(first + before + text + behind + last)

        known = visit(text)
        pages += 1
        noisy += changed(known, visit(text))
        places = list(SENTENCE.finditer(text))
        if not places:
            continue
        place = chance.choice(places)
        for kind, found, other in (
            ("sentence", place, b"The committee of the harbour has found nothing to add."),
            ("word", WORD.search(text, place.start(), place.end()), b"harbour"),
        ):
            if found is not None:
                seen[kind].append(changed(known, visit(text[: found.start()] + other + text[found.end() :])))
    assert pages >= 60
    assert noisy <= 0.05 * pages  # indexes, whose text are lists of links
    for noticed in seen.values():
        assert len(noticed) >= 20
        assert sum(noticed) >= 0.95 * len(noticed)


@given(st.text(max_size=200), st.text(max_size=300), st.lists(st.text(max_size=20), max_size=5))
def test_a_digest_is_of_one_size_and_numbers_do_not_change_it(title: str, text: str, urls: list[str]) -> None:
    found = text_digest(title, words(text))
    assert len(found) == TEXT_BYTES
    assert not changed(found, text_digest(title, [*words(text), "12", "minutes", "2026"]))
    assert changed(found, text_digest(title, [*words(text), "snow", "snow"]))
    assert len(links_digest(url.encode("utf-8", "replace").decode() for url in urls)) == LINKS_BYTES
