"""PDF and other documents, read as pages are. What hurts a reader of them: `tests/rubbish`."""

from io import BytesIO
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipFile

from fpdf import FPDF
from hypothesis import given
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas

from bench.fuzz.corpus import CORPUS
from bench.fuzz.targets import well_formed
from scentline.agents.judge.documents import MAX_BYTES
from scentline.agents.judge.parse import parse
from scentline.agents.judge.pdf import MAX_PAGES
from scentline.models.formats import MEDIA_TYPES
from scentline.models.page import Page
from scentline.models.settings import JudgeSettings
from tests.agents.commands import printed
from tests.cases import each_case
from tests.e2e.crawls import ANY, exact
from tests.rubbish.crawling import matches
from tests.webs.serving import pages, serving

URL, RULES = "http://example.org/dir/page", "http://a.test/rules"
LIMITS = JudgeSettings(context=3, formats=tuple(MEDIA_TYPES))
#: A document of each format about the same.
GOOD = {path.name.removeprefix("good-"): path.read_bytes() for path in (CORPUS / "document").glob("good-*")}


def read(body: bytes, kind: str | None = None) -> Page:
    page = parse(URL, body, kind, LIMITS, main=True, paths=True)
    well_formed(page)
    return page


def archive(name: str, text: str, method: int = ZIP_DEFLATED) -> bytes:
    with ZipFile(out := BytesIO(), "w", method) as file:
        file.writestr(name, text)
    return out.getvalue()


def drawn(texts: list[dict[int, str]], links: dict[tuple[int, int, int, int], str]) -> bytes:
    """Return a PDF with lines of each page by their heights, and links by their areas on the last."""
    canvas = Canvas(out := BytesIO(), initialFontSize=10)
    for text in texts:
        canvas.showPage()
        for height, line in text.items():
            canvas.drawString(72, height, line)
    for area, url in links.items():
        canvas.linkURL(url, area)
    canvas.save()
    return out.getvalue()


def written(*lines: tuple[int, str], title: str = "") -> FPDF:
    """Return a PDF that has a section, with lines of text by their size."""
    pdf = FPDF()
    pdf.set_title(title)
    pdf.add_page()
    pdf.set_font("helvetica")
    pdf.start_section("Ice hockey")
    for size, text in lines:
        pdf.set_font_size(size)
        pdf.multi_cell(0, text=text, new_x="LMARGIN", new_y="NEXT")
        pdf.ln(size / 2)
    return pdf


@each_case(
    ("name", "kind"),
    [
        ("pdf", None), ("docx", None), ("odt", "application/zip"), ("epub", ""), ("rss", "text/xml"),
        ("atom", "application/atom+xml"),
    ],
)  # fmt: skip
def test_a_document_has_title_text_headings_and_links(name: str, kind: str | None) -> None:
    page = read(GOOD[name], kind)
    assert (page.title, page.text, page.barred) == ("On ice", "Ice hockey See the rules, too", "")
    link = page.links[0]
    assert (link.url, page.headings, link.heading) == (RULES, ("Ice hockey",), ("ice", "hockey"))
    feed = name in ("rss", "atom")  # in which a title is the link
    assert " ".join(link.anchor) == ("ice hockey" if feed else "the rules")
    assert " ".join(link.context) == ("see the rules" if feed else "ice hockey see too")
    assert feed or parse(URL, GOOD[name], kind, JudgeSettings(formats=())).barred.startswith(
        "not HTML or text: "
    )


def test_headings_of_a_pdf_are_larger_or_in_its_outline_and_a_made_up_title_is_none() -> None:
    lines = (
        (10, "1 Ice hockey"),
        (10, "of 1 Ice hockey"),
        (30, "The larger"),
        (30, "heading"),
        (10, "text " * 99),
    )
    page = read(bytes(written(*lines, title="Microsoft Word - final (2).doc").output()))
    assert page.headings == ("1 Ice hockey", "The larger heading")
    assert page.title == "The larger heading"


def test_words_and_links_go_on_where_a_line_of_a_pdf_ends_and_pictures_lead_on() -> None:
    lines = {700: "It is a matter of infor-", 688: "mation and of all that is", 676: "known of Br¨oker."}
    picture, script = "http://a.test/picture", "javascript:alert(1)"
    areas = {(72, 698, 300, 709): RULES, (72, 686, 300, 697): RULES, (400, 9, 500, 99): picture}
    page = read(drawn([lines], {**areas, (72, 674, 99, 685): script}))
    assert page.text == "It is a matter of information and of all that is known of Bröker."
    found = {link.url: " ".join(link.anchor) for link in page.links}
    assert found == {RULES: "it is matter of information and of all that is", picture: ""}


@each_case("kind", ["text/html", "application/octet-stream", "application/pdf; x", None, "image/png"])
def test_a_pdf_is_told_by_its_bytes(kind: str | None) -> None:
    assert read(GOOD["pdf"], kind).links
    behind = read(b"\xef\xbb\xbf<!-- junk -->" + GOOD["pdf"], kind)
    assert bool(behind.links) == (kind not in ("text/html", "image/png"))


def test_what_can_not_be_read_is_barred_and_why() -> None:
    text = (10, "text")
    (free := written(text)).set_encryption(owner_password="o")
    (locked := written(text)).set_encryption(owner_password="o", user_password="u")
    assert read(bytes(free.output())).text == "text"
    for body, barred in {
        bytes(locked.output()): "pdf: it needs a password", bytes(written().output()): "pdf: it has no text",
        b"%PDF-1.4\n...": "pdf: it is broken", GOOD["docx"][:-30]: "docx: it is broken",
        archive("word/document.xml", "<p>x", ZIP_BZIP2): "docx: it is broken",
        archive("word/document.xml", "<p/>"): "docx: it has no text",
        b"<rss><!DOCTYPE x [ ]>": "feed: it is broken", b"PK\3\4application/epub+zip": "epub: it is broken",
    }.items():  # fmt: skip
        assert read(body).barred == barred


def test_a_feed_with_the_document_type_of_rss_0_91_is_read() -> None:
    kind = b'<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "http://example.org/rss-0.91.dtd">'
    page = read(kind + b"<rss version='0.91'><channel><item><title>Old news</title></item></channel></rss>")
    assert page.headings == ("Old news",)


def test_a_feeds_title_is_whole_where_it_has_entities_of_html_alone() -> None:
    title = b"Tea &mdash; caf&eacute; &amp; &lt;cake&gt; &unheard;"
    page = read(b"<rss><channel><item><title>%b</title></item></channel></rss>" % title)
    assert page.headings == ("Tea — café & <cake>",)


def test_what_is_read_of_a_document_is_bounded() -> None:
    bomb = archive("word/document.xml", f"<d><p>First</p>{'<p>word </p>' * (MAX_BYTES // 10)}")
    assert len(bomb) * 50 < MAX_BYTES
    assert read(bomb).text.startswith("First word")
    long = drawn([{700: f"x{number}"} for number in range(MAX_PAGES + 9)], {})
    assert len(read(long).sequence) == MAX_PAGES - 1  # the first is empty


def test_a_crawl_judges_a_pdf_and_follows_its_links(tmp_path: Path) -> None:
    shown: dict[str, bytes | str] = {"/b": b"<p>The end of it."}
    with serving(pages(shown)) as served:
        shown["/a.pdf"] = drawn([{700: "The rest of it"}], {(72, 699, 99, 709): f"{served.origin}/b"})
        seed = ["--seed", f"{served.origin}/a.pdf", "--predicate", ANY, "--set", "fetch.delay_seconds=0"]
        printed(tmp_path, "crawl", *seed, "--set", "fetch.allow=127.0.0.1")
        assert matches(tmp_path) == {f"{served.origin}/a.pdf", f"{served.origin}/b"}
    exact(tmp_path, judged=2)


DAMAGE = st.lists(st.tuples(st.integers(0), st.binary(max_size=3)))


@given(st.sampled_from([*GOOD.values()]), DAMAGE, st.integers(1))
def test_a_damaged_document_is_a_page_or_barred(
    whole: bytes, changed: list[tuple[int, bytes]], end: int
) -> None:
    found = bytearray(whole)
    for place, data in changed:
        found[place % len(whole) : place % len(whole) + 1] = data
    read(bytes(found[: end % len(whole) + 1]))
