"""PDF and other documents, read as pages are. What hurts a reader of them: `tests/rubbish`."""

from collections.abc import Mapping
from io import BytesIO
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_STORED, ZipFile

from fpdf import FPDF
from hypothesis import given
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas

from bench.fuzz.targets import well_formed
from scentline.agents.judge.documents import MAX_BYTES
from scentline.agents.judge.parse import parse
from scentline.agents.judge.pdf import MAX_PAGES
from scentline.models.formats import MEDIA_TYPES
from scentline.models.page import Page
from scentline.models.settings import JudgeSettings
from tests.cases import each_case

URL, RULES = "http://example.org/dir/page", "http://a.test/rules"
LIMITS = JudgeSettings(context=3, formats=tuple(MEDIA_TYPES))
WORD = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)
TITLE = '<x xmlns:dc="d"><dc:title>On ice</dc:title></x>'


def read(body: bytes, kind: str | None = None) -> Page:
    page = parse(URL, body, kind, LIMITS, main=True, paths=True)
    well_formed(page)
    return page


def archive(files: Mapping[str, str], method: int = ZIP_DEFLATED) -> bytes:
    out = BytesIO()
    with ZipFile(out, "w", method) as file:
        for name, text in files.items():
            file.writestr(name, text, ZIP_STORED if name == "mimetype" else None)
    return out.getvalue()


def docx(document: str, method: int = ZIP_DEFLATED) -> bytes:
    rules = f'<R xmlns="x"><Relationship Id="r1" Target="{RULES}" TargetMode="External"/></R>'
    return archive({
        "word/document.xml": f"<w:document {WORD}><w:body>{document}</w:body></w:document>",
        "word/_rels/document.xml.rels": rules,
        "word/styles.xml": f'<s {WORD}><w:style w:styleId="b1"><w:name w:val="heading 1"/></w:style></s>',
        "docProps/core.xml": TITLE,
    }, method)  # fmt: skip


def with_reportlab() -> bytes:
    out = BytesIO()
    canvas = Canvas(out)
    canvas.setTitle("On ice")
    canvas.setFont("Helvetica", 18)
    canvas.drawString(72, 760, "Ice hockey")
    canvas.setFont("Helvetica", 10)
    canvas.drawString(72, 740, "See the rules, too, of a game that is as old as")
    canvas.drawString(72, 728, "the hills.")
    canvas.linkURL(RULES, (72 + canvas.stringWidth("See "), 738, 72 + canvas.stringWidth("See the rules"), 750))
    canvas.save()
    return out.getvalue()


def with_fpdf() -> FPDF:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("helvetica", size=10)
    pdf.start_section("Ice hockey")
    for text in ("1 Ice hockey\n", "See "):
        pdf.write(text=text)
    pdf.write(text="the rules", link=RULES)
    pdf.write(text=", too.")
    return pdf


WORDS = (
    '<w:p><w:pPr><w:pStyle w:val="b1"/></w:pPr><w:r><w:t>Ice hockey</w:t></w:r></w:p><w:p><w:t>See </w:t>'
    '<w:hyperlink r:id="r1"><w:t>the rul</w:t><w:t>es</w:t></w:hyperlink><w:t>,</w:t><w:tab/><w:t>too</w:t>'
    "<w:instrText>PAGE</w:instrText></w:p>"
)
ODT = {
    "mimetype": "application/vnd.oasis.opendocument.text",
    "content.xml": '<d xmlns:t="t" xmlns:x="http://www.w3.org/1999/xlink" xmlns:o="o"><s>x</s><o:body>'
    f'<t:h>Ice hockey</t:h><t:p>See <t:a x:href="{RULES}">the rul<t:span>es</t:span></t:a>,<t:tab/>too'
    '<t:a x:href="../local"/></t:p></o:body></d>',
    "meta.xml": TITLE,
}
EPUB = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": '<c xmlns="u"><rootfile full-path="O/p.opf"/></c>',
    "O/p.opf": '<p xmlns:dc="d"><dc:title>On ice</dc:title><item id="a" href="a%20b.xhtml"/><item id="b" '
    'href="../b.xhtml"/><itemref idref="a"/><itemref idref="b"/><itemref idref="c"/></p>',
    "O/a b.xhtml": "<title>no</title><link rel=canonical href=http://b.test/><h1>Ice hockey</h1><p>See",
    "b.xhtml": f'<p><a href="{RULES}">the rules</a>, too <a href="O/a b.xhtml"></a>',
}
RSS = (
    f"<rss><channel><title>On ice</title><item><title>Ice hockey</title><link>{RULES}</link><description>short"
    "</description><encoded>&lt;p&gt;See the rules, too</encoded></item></channel></rss>"
)
ATOM = (
    '<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>On ice</title><entry><title>Ice '
    f'hockey</title><link rel="edit" href="/no"/><link href="{RULES}"/><content type="xhtml"><div>See the '
    "rules, too</div></content></entry></feed>"
)
ANCHOR = (("the", "rules"), ("ice", "hockey", "see", "too"))
ENTRY = (("ice", "hockey"), ("see", "the", "rules"))


@each_case(
    ("body", "kind", "link"),
    [
        (docx(WORDS), None, ANCHOR), (archive(ODT), "application/zip", ANCHOR), (archive(EPUB), "", ANCHOR),
        (RSS.encode(), "text/xml", ENTRY), (ATOM.encode(), "application/atom+xml", ENTRY),
    ],
)  # fmt: skip
def test_a_document_has_title_text_headings_and_links(
    body: bytes, kind: str | None, link: tuple[tuple[str, ...], ...]
) -> None:
    page = read(body, kind)
    assert (page.title, page.text, page.barred) == ("On ice", "Ice hockey See the rules, too", "")
    assert [(each.url, each.anchor, each.context) for each in page.links] == [(RULES, *link)]
    assert (page.headings, page.links[0].heading) == (("Ice hockey",), ("ice", "hockey"))
    assert parse(URL, body, kind, JudgeSettings()).barred.startswith("not HTML or text: ") or kind == "text/xml"


def test_a_link_of_a_pdf_is_at_the_words_that_it_covers_and_headings_are_larger() -> None:
    page = read(with_reportlab())
    assert (page.title, page.headings) == ("On ice", ("Ice hockey",))
    assert page.text == "Ice hockey See the rules, too, of a game that is as old as the hills."
    link = page.links[0]
    assert (link.url, link.anchor, link.heading) == (RULES, ("the", "rules"), ("ice", "hockey"))
    assert link.context == ("ice", "hockey", "see", "too", "of", "game")


def test_the_outline_of_a_pdf_names_its_headings_and_a_made_up_title_is_none() -> None:
    pdf = with_fpdf()
    pdf.add_page()
    for size, text in ((8, "of 1 Ice hockey"), (30, "The larger"), (30, "heading"), (8, "Small print. " * 9)):
        pdf.set_font("helvetica", size=size)
        pdf.multi_cell(0, text=text, new_x="LMARGIN", new_y="NEXT")
        pdf.ln(size / 2)
    page = read(bytes(pdf.output()))
    assert page.headings == ("1 Ice hockey", "The larger heading")
    assert (page.title, page.links[0].heading) == ("1 Ice hockey", ("1", "ice", "hockey"))
    pdf = with_fpdf()
    pdf.set_title("Microsoft Word - final (2).doc")
    assert read(bytes(pdf.output())).title == "1 Ice hockey"


def test_lines_words_and_links_go_on_where_a_line_of_a_pdf_ends() -> None:
    out = BytesIO()
    canvas = Canvas(out)
    for y, text in {700: "It is a matter of infor-", 688: "mation and of all that is", 676: "known."}.items():
        canvas.drawString(72, y, text)
    for y in (698, 686):
        canvas.linkURL(RULES, (72, y, 300, y + 11))
    canvas.linkURL("http://a.test/picture", (400, 100, 500, 200))
    canvas.linkURL("javascript:alert(1)", (72, 674, 300, 685))
    canvas.save()
    page = read(out.getvalue())
    assert page.text.startswith("It is a matter of information and of all that is known")
    found = {link.url: " ".join(link.anchor) for link in page.links}
    assert found == {
        RULES: "it is matter of information and of all that is", "http://a.test/picture": "",
    }  # fmt: skip


@each_case(
    ("kind", "read"),
    [("text/html", True), ("application/octet-stream", True), ("application/pdf; x", True), (None, True),
     ("image/png", True)],
)  # fmt: skip
def test_a_pdf_is_told_by_its_bytes(kind: str | None, read: bool) -> None:
    body = bytes(with_fpdf().output())
    assert bool(parse(URL, body, kind, LIMITS).text) == read
    junk = b"\xef\xbb\xbf<!-- junk -->" + body
    assert bool(parse(URL, junk, kind, LIMITS).links) == (kind not in ("text/html", "image/png"))


def test_what_can_not_be_read_is_barred_and_why() -> None:
    open_to_all, locked = with_fpdf(), with_fpdf()
    open_to_all.set_encryption(owner_password="o")
    locked.set_encryption(owner_password="o", user_password="u")
    assert read(bytes(open_to_all.output())).links
    empty = FPDF()
    empty.add_page()
    for body, barred in {
        bytes(locked.output()): "pdf: it needs a password", bytes(empty.output()): "pdf: it has no text",
        b"%PDF-1.4\n...": "pdf: it is broken", docx("")[:-30]: "docx: it is broken",
        docx("", ZIP_BZIP2): "docx: it is broken", docx("<w:p/>"): "docx: it has no text",
        b"<rss><!DOCTYPE x>": "feed: it is broken", b"PK\3\4application/epub+zip": "epub: it is broken",
    }.items():  # fmt: skip
        assert read(body).barred == barred


def test_what_is_read_of_a_document_is_bounded() -> None:
    bomb = docx(f"<w:p><w:t>First</w:t></w:p>{'<w:p><w:t>word </w:t></w:p>' * (MAX_BYTES // 20)}")
    assert len(bomb) * 50 < MAX_BYTES
    assert read(bomb).text.startswith("First word")
    out = BytesIO()
    canvas = Canvas(out)
    for number in range(MAX_PAGES + 9):
        canvas.drawString(72, 700, f"x{number}")
        canvas.showPage()
    canvas.save()
    assert len(read(out.getvalue()).sequence) == MAX_PAGES


WHOLE = [bytes(with_fpdf().output()), with_reportlab(), docx(WORDS), archive(ODT), archive(EPUB), RSS.encode()]


@given(st.sampled_from(WHOLE), st.lists(st.tuples(st.integers(0), st.binary(max_size=3))), st.integers(1))
def test_a_damaged_document_is_a_page_or_barred(
    whole: bytes, changed: list[tuple[int, bytes]], end: int
) -> None:
    found = bytearray(whole)
    for place, data in changed:
        found[place % len(whole) : place % len(whole) + 1] = data
    read(bytes(found[: end % len(whole) + 1]))
