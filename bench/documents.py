"""``python -m bench.documents``: how PDFs are read, and what a crawl finds of a site with a third PDFs.

PDFs that three producers make of recorded pages, and those of Debian's packages of documentation, are read in
the process that reads pages; what poppler's pdftotext finds is what there is to find. Then a third of the
recorded pages become PDFs, and all are crawled, for a subject and for a word: which part of the hits in PDFs is
found, and of those in HTML?
"""

import argparse
import asyncio
import re
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path
from random import Random
from statistics import median
from typing import Any
from zlib import crc32

from fpdf import FPDF
from lxml import html
from pypdfium2 import PdfDocument
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate

from bench.clock.webs import Web, judged
from bench.command import WIKISPEEDIA, each, summary
from bench.crawl.web import HOME
from bench.packages import unpack
from scentline.agents.judge.pdf import MAX_PAGES
from scentline.agents.judge.process import ExaminerProcess
from scentline.agents.judge.question import PageError, Show, Work
from scentline.agents.offline.archive import Answer, Archive
from scentline.agents.operate.record import outcomes
from scentline.models.words import words
from scentline.streams.settings import Settings
from scentline.streams.transport.journal import Journal
from scentline_lab.synthetic.web import record

PACKAGES = (
    "asymptote-doc", "debian-policy", "debmake-doc", "developers-reference", "gnuplot-doc", "octave-doc",
    "installation-guide-amd64", "pari-doc", "r-doc-pdf", "texlive-humanities-doc", "texlive-lang-german",
    "texlive-latex-recommended-doc",
)  # fmt: skip
POPPLER, LIBRARY = "poppler-utils", "libpoppler126"
PRODUCERS = ("reportlab", "fpdf2", "chromium")
#: PDFs of packages, and of each producer.
PACKAGED, MADE = 140, 20
#: Words of a text, and the part of them that must be found.
LEAST, PART = 20, 0.9
PREDICATES = 'science=category("Science")', 'species="species"'
_PAGES, _LABELS = WIKISPEEDIA / "pages.warc.gz", WIKISPEEDIA / "topics.tsv.gz"
_STYLES = {"h1": "Title", "h2": "Heading1", "h3": "Heading2"}


def make(producer: str, body: bytes, path: Path) -> None:
    """Make a PDF of a page: of its text, and by reportlab of headings and links, by Chromium of all."""
    root: Any = html.fromstring(body)
    if producer == "chromium":
        page = path.with_suffix(".html")
        page.write_bytes(body)
        _run("chromium", "--headless", "--no-sandbox", f"--print-to-pdf={path}", str(page))
    elif producer == "fpdf2":
        pdf = FPDF()
        pdf.add_page()
        pdf.set_font("helvetica", size=11)
        pdf.multi_cell(0, text=root.text_content().encode("latin-1", "replace").decode("latin-1"))
        pdf.output(str(path))
    else:
        styles, found = getSampleStyleSheet(), []
        for element in root.iter("h1", "h2", "h3", "p", "li"):
            text = escape(element.text or "")
            for child in element:
                inside, href = escape("".join(child.itertext())), escape(child.get("href", ""))
                text += (f'<a href="{href}">{inside}</a>' if href else inside) + escape(child.tail or "")
            found.append(Paragraph(text, styles[_STYLES.get(element.tag, "BodyText")]))
        SimpleDocTemplate(str(path)).build(found)


def _run(*command: str) -> str:
    return subprocess.run(  # noqa: S603 - Debian's own tools
        command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace"
    ).stdout


def collected(place: Path) -> list[Path]:
    """Return PDFs of each producer, and those of packages, chosen at random."""
    unpack(place, (*PACKAGES, POPPLER, LIBRARY))
    files = (path for path in place.rglob("*.pdf") if not path.is_symlink())
    found = Random(1).sample(sorted(files), PACKAGED)
    with Archive([_PAGES]) as archive:
        for number, url in enumerate(Random(1).sample(sorted(archive.urls()), MADE * len(PRODUCERS))):
            found.append(place / f"made-{number}.pdf")
            make(PRODUCERS[number % len(PRODUCERS)], archive.answer(url, {}).body, found[-1])
    return found


async def read(paths: Sequence[Path], place: Path) -> None:
    """Read PDFs in the process that reads pages, and print what came of it."""
    examiner, parts, costs, memory = ExaminerProcess(Work.of(Settings())), list[float](), list[float](), 0
    libraries = f"LD_LIBRARY_PATH={':'.join(map(str, (place / LIBRARY).glob('usr/lib/*')))}"
    poppler = "env", libraries, str(place / POPPLER / "usr/bin/pdftotext"), "-l", str(MAX_PAGES)
    for path, body in ((path, path.read_bytes()) for path in paths):
        there = Counter(words(_run(*poppler, str(path), "-")))
        if there.total() < LEAST:
            continue
        await examiner.show(Show("http://a.test/", b"What is read first takes longer: readers are loaded."))
        assert examiner._child is not None
        before, _ = taken(examiner._child.pid)
        try:
            seen = await examiner.show(Show("http://a.test/a.pdf", body, "application/pdf"))
        except PageError as error:
            print(f"{path.name}: {error}")
            parts.append(0.0)
            continue
        after, most = taken(examiner._child.pid)
        costs.append((after - before) / min(MAX_PAGES, len(PdfDocument(path))))
        got = Counter(words(" ".join((seen.title, *seen.headings, seen.text))))
        parts.append((there & got).total() / there.total())
        memory = max(memory, most)
    await examiner.close()
    told = sum(part >= PART for part in parts) / len(parts)
    print(f"{len(paths)} PDFs, {len(parts)} with text: text read of {told:.1%} (goal 95 %)")
    print(f"failed: {len(parts) - len(costs)} (goal 0); memory: {memory // 1000} MB at most")
    print(f"CPU a page: {median(costs) * 1e3:.1f} ms at the median (goal 150), {max(costs) * 1e3:.0f} at most")


def taken(process: int) -> tuple[float, int]:
    """Return the seconds of CPU that a process took so far, and its most memory in kilobytes."""
    peak = re.search(r"VmHWM:\s*(\d+)", Path(f"/proc/{process}/status").read_text(encoding="ascii"))
    return time.clock_gettime(~process << 3 | 2), int(peak[1]) if peak else 0  # clock_getcpuclockid(3)


def mixed(place: Path) -> tuple[Path, Path]:
    """Write an archive of which each third page is a PDF, and its labels."""

    def moved(url: str) -> str:
        return f"{url}.pdf" if crc32(url.encode()) % 3 == 0 and url != HOME else url

    archive, labels, pdf = place / "mixed.warc.gz", place / "mixed.tsv", place / "page.pdf"
    with Archive([_PAGES]) as pages, archive.open("wb") as out:
        for url in pages.urls():
            root: Any = html.fromstring(pages.answer(url, {}).body)
            root.make_links_absolute(url)
            root.rewrite_links(lambda link: moved(link) if pages.answer(link, {}).status == 200 else link)
            body, kind = html.tostring(root, encoding="utf-8"), "text/html; charset=utf-8"
            if moved(url) != url:
                make("reportlab", body, pdf)
                body, kind = pdf.read_bytes(), "application/pdf"
            out.write(record(moved(url), Answer(200, (("Content-Type", kind),), body)))
    lines = (line.partition("\t") for line in _run("zcat", str(_LABELS)).splitlines())
    labels.write_text("".join(f"{moved(url)}\t{topic}\n" for url, _, topic in lines))
    return archive, labels


def crawl(place: Path, archive: Path, labels: Path, budget: int) -> None:
    """Crawl the mixed pages, and print which part of the hits in PDFs is found, and of those in HTML."""
    summary(
        "--archive", str(archive), "--labels", str(labels), "--data", str(place / "data"), "--seed", HOME,
        "--budget", str(budget), *each("--predicate", PREDICATES),
    )  # fmt: skip
    with Journal.open(place / "data" / "journal", read_only=True) as journal:
        found = {outcome.url for outcome in outcomes(journal)}
    for name, hits in judged(Web("mixed", archive, place, labels, PREDICATES))[1].hits.items():
        there = [{url for url in hits if url.endswith(".pdf") == pdf} for pdf in (True, False)]
        pdf, page = (len(urls & found) / len(urls) for urls in there)
        print(f"{name}: of the hits in PDFs {pdf:.3f}, in HTML {page:.3f}: {pdf / page:.2f} times (goal .9)")


def main() -> None:
    """Parse the command line, read and crawl."""
    parser = argparse.ArgumentParser(prog="bench.documents")
    parser.add_argument("--budget", type=int, default=1500, help="pages of the crawl")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="scentline-documents-") as directory:
        place = Path(directory)
        asyncio.run(read(collected(place), place))
        crawl(place, *mixed(place), given.budget)


if __name__ == "__main__":
    main()
