"""Kept copies as text, and searched: whatever they say, damaged or dropped, read by a process that may end."""

import os
import sys
from functools import partial
from os import fsencode
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bench.fuzz.corpus import CORPUS, content
from scentline.agents.judge.kept import KeptPages, copies
from scentline.agents.judge.warc import Packing
from scentline.agents.window import copies as module
from scentline.agents.window.copies import (
    EXCERPT,
    LONGEST,
    MOST,
    CopyRequest,
    CopyText,
    Unreadable,
    excerpt_of,
    shown,
    text_of,
)
from scentline.agents.window.reading import LOOKED_SECONDS, Reading
from scentline.agents.window.search import Phrase, Search
from scentline.models.page import Page
from scentline.models.published import PredicateDefinition
from scentline.streams.settings import KeepSettings
from scentline.streams.topics import CONTROL
from tests.agents.test_keep import fetched
from tests.agents.test_record import told_at
from tests.patience import come
from tests.window.crawls import a_crawl, seen

URL = "http://a.org/1?q=a%20b"
MARKUP = b"""<!doctype html><title>A \x07title <b>&lt;script&gt;</title>
<script>alert(1)</script><style>p {}</style><nav>Home</nav>
<p onclick="alert(1)">Ice <b>hock</b>ey,\nice &#x202e;ereht\x1b[2J</p><p>ice <br>rink<td>cell</p>"""


def kept(data: Path, body: bytes, time: float = 5.5, number: int = 1, **headers: str) -> CopyRequest:
    """Keep a page; return what requests its copy."""
    store = KeptPages(data, KeepSettings())
    page = fetched(number, time, **headers)
    record, _ = Packing("all", "Scentline (test)").record(page, body, Page(page.order.url), {})
    store.keep(page.order.url, record, judged=time)
    store.close()
    return requested(data, url=page.order.url)


def requested(data: Path, search: str = "", url: str = URL) -> CopyRequest:
    newest = copies(data, url)[0]
    return CopyRequest(url, fsencode(newest.path), newest.offset, newest.length, tuple(Search(search).phrases))


def read(copy: CopyRequest) -> CopyText:
    found = text_of(copy)
    assert isinstance(found, CopyText)
    return found


def lines(text: CopyText) -> list[str]:
    return ["".join(parts) for parts in text.paragraphs]


def test_a_copy_is_its_title_and_paragraphs_and_no_markup(tmp_path: Path) -> None:
    copy = kept(tmp_path, MARKUP, last_modified="Mon", set_cookie="secret=1")
    text = read(copy)
    assert text.title == "A title <b><script>"
    assert lines(text) == ["Home", "Ice hockey, ice ereht[2J", "ice", "rink", "cell"]
    assert text.headers == {"content-type": "text/html", "last-modified": "Mon"}
    assert (text.status, text.cut, text.unread) == (200, False, "")
    phrases = (Phrase(("ice", "hockey"), False), Phrase(("rin",), True))
    marked = read(msgspec.structs.replace(copy, phrases=phrases))
    assert marked.paragraphs[1:4] == (("", "Ice hockey", ", ice ereht[2J"), ("ice",), ("", "rink", ""))
    assert lines(marked) == lines(text)


def test_the_newest_copy_is_read_of_plain_text_and_of_what_is_no_text(tmp_path: Path) -> None:
    kept(tmp_path, b"<p>old")
    plain = read(kept(tmp_path, b"one\ntwo <b>\n \nthree", 6.5, content_type="text/plain"))
    assert lines(plain) == ["one two <b>", "three"]
    pdf = read(kept(tmp_path, content(CORPUS / "document" / "good-pdf"), 7.0, content_type="application/pdf"))
    assert (pdf.title, lines(pdf)) == ("On ice", ["Ice hockey", "See the rules, too"])
    binary = read(kept(tmp_path, b"\x89PNG\r\n\x1a\n\0\0", 7.5, content_type="text/html"))
    assert binary.unread == "PNG image, served as text/html"
    assert binary.paragraphs == ()


@pytest.mark.parametrize(
    "body", [b"<p>word " * 100_000, b"<p>" + b"word " * 100_000, b"<div>" * 30_000 + b"deep", b"<p>\0" * 9_000]
)
def test_of_a_huge_page_a_part_is_shown(tmp_path: Path, body: bytes) -> None:
    text = read(kept(tmp_path, body))
    assert sum(map(len, lines(text))) <= MOST
    assert all(len(line) <= LONGEST for line in lines(text))
    assert text.cut == (len(body.replace(b"<div>", b"").replace(b"\0", b"")) > LONGEST * 2)


@given(st.text() | st.text(alphabet="\u202e\u2066\u200b\x00\x1b\ufeff ab\n", max_size=30))
@example("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645")
def test_a_line_that_is_shown_has_no_control_characters(text: str) -> None:
    line = shown(text)
    assert line.replace("\u200c", "").replace("\u200d", "").isprintable()
    assert "\n" not in line
    assert {sign for sign in text if sign.isalnum()} <= {*line}


def test_a_copy_that_is_damaged_or_dropped_is_unreadable(tmp_path: Path) -> None:
    copy = kept(tmp_path, b"<p>words")
    path = Path(os.fsdecode(copy.path))
    whole = path.read_bytes()
    found = [text_of(msgspec.structs.replace(copy, url="http://a.org/other"))]
    for damaged in (whole[:200], whole[:-600], b"rubbish" * 500, whole[:300] + bytes(100) + whole[400:], b""):
        path.write_bytes(damaged)
        found.append(text_of(copy))
    path.unlink()
    found.append(text_of(copy))
    other, *damaged_ones, dropped = [each.reason for each in found if isinstance(each, Unreadable)]
    assert ("another page" in other, "dropped" in dropped) == (True, True)
    assert damaged_ones == ["its file is damaged"] * 5


# the process


def test_a_process_that_ends_costs_the_copy_that_it_reads_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = kept(tmp_path, MARKUP)
    words = [requested(tmp_path, word) for word in ("rink", "cell", "ice")]
    assert module.read([copy, *words]) == [text_of(each) for each in (copy, *words)]
    # Of what is no copy it says so, and begins anew; a pipe without an end is never read.
    os.mkfifo(tmp_path / "pipe")
    broken = msgspec.structs.replace(copy, path=b"\0"), msgspec.structs.replace(copy, length=-5, offset=-5)
    endless = msgspec.structs.replace(copy, path=fsencode(tmp_path / "pipe"))
    monkeypatch.setattr(module, "SECONDS", 10.0)
    found = module.read([*broken, words[0], endless, words[1]])
    assert [isinstance(each, Unreadable) for each in found] == [True, True, False, True, False]
    assert (found[2], found[4]) == (text_of(words[0]), text_of(words[1]))
    assert "longer than 10 seconds" in str(found[3])


def test_a_copy_that_kills_its_process_is_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = kept(tmp_path, MARKUP)
    killing = [sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]
    monkeypatch.setattr(module, "command", lambda _: killing)
    assert all("ended the process" in str(each) for each in module.read([copy, copy]))


def test_of_many_requests_at_once_the_last_are_read() -> None:
    with a_crawl() as (_, reading):
        kept(reading.data, MARKUP)
        requests = [requested(reading.data, f"word{number}") for number in range(12)]
        for copy in requests:
            reading.copy(copy)
        for copy in requests[-3:]:
            assert come("an answer", partial(reading.copy, copy)) == text_of(copy)


# the screens


def shown_page(reading: Reading, **query: str) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        found = seen(reading, "page", **{"url": URL, **query})
        return None if found["state"] == "reading" else found

    return come("the copy", look)


def test_a_page_is_shown_with_why_it_came_and_the_words_of_its_predicates_marked() -> None:
    with a_crawl(told_at(5.5, {"p": True, "q": False}, url=URL)) as (journal, reading):
        for name, expression in {"p": '"ice hockey"', "q": 'title("rink*") or "rink"'}.items():
            definition = PredicateDefinition(name=name, expression=expression)
            journal.append(CONTROL.name, 0, name.encode(), msgspec.json.encode(definition), 0.0)
        view = shown_page(reading)
        assert view["state"] == "none"
        assert "keep.pages" in view["reason"]
        assert view["page"]["title"] == "title at 5.5"
        kept(reading.data, MARKUP)
        view = shown_page(reading)
        assert view["paragraphs"][1] == ["", "Ice hockey", ", ice ereht[2J"]
        assert view["page"]["why"].startswith("Chosen for p")
        assert view["judged"] == 5.5
        assert shown_page(reading, predicate="q")["paragraphs"][3] == ["", "rink", ""]
        assert shown_page(reading, predicate="q", search="cell")["paragraphs"][4] == ["", "cell", ""]
        copies(reading.data, URL)[0].path.write_bytes(b"rubbish")
        assert "damaged" in shown_page(reading, search="anew")["reason"]
        assert shown_page(reading, url="http://a.org/unknown")["page"] is None


def found_texts(reading: Reading, search: str, **query: str) -> dict[str, Any]:
    """Return the list of a search in texts when all copies were looked at."""

    def look() -> dict[str, Any] | None:
        found = seen(reading, "pages", show="texts", search=search, **query)
        return found if found["read"] == found["of"] else None

    return come("the search", look)


def test_a_search_looks_at_the_newest_copies_and_at_the_newest_of_a_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LOOKED_AT", 4)
    urls = [fetched(number).order.url for number in range(4)]
    outcomes = [told_at(1.0, {"p": number != 2}, url=url) for number, url in enumerate(urls)]
    with a_crawl(*outcomes) as (_, reading):
        data = reading.data
        kept(data, b"<p>ice hockey", 1.0, number=0)  # not among the newest
        kept(data, b"<p>ice hockey", 2.0, number=1)  # an older copy
        kept(data, b"<title>hockey</title><p>Ice cream<p>and Hockeypuck", 3.0, number=2)
        damaged = kept(data, b"<p>ice hockey", 4.0, number=3)
        with Path(os.fsdecode(damaged.path)).open("r+b") as file:
            file.seek(damaged.offset)
            file.write(bytes(damaged.length))
        kept(data, b"<p>no more", 5.0, number=1)
        for search, expected in {
            "ice hock*": [urls[2]], '"ice cream"': [urls[2]], "cream hockey": [], "more": [urls[1]], "ic": [],
        }.items():  # fmt: skip
            view = found_texts(reading, search)
            assert [row["url"] for row in view["rows"]] == expected
            assert (view["of"], view["older"], view["after"]) == (4, True, None)
        assert found_texts(reading, "ice", predicate="p")["rows"] == []
        assert found_texts(reading, "ice")["rows"][0]["excerpt"] == ["", "Ice", " cream"]
        assert found_texts(reading, "--")["of"] == 0
        kept(data, b"<p>ice again", 6.0, number=1)
        assert len(found_texts(reading, "ice")["rows"]) == 1, "it is as of its begin"
        reading._clock = lambda: 1000.0 + LOOKED_SECONDS
        reading._read = float("-inf")
        assert len(found_texts(reading, "ice")["rows"]) == 2, "nobody looked at it for a while"


@given(st.text(max_size=400), st.sampled_from(["ice", "Straße", "हिन्दी", "12345"]))
def test_an_excerpt_is_short_and_has_what_is_searched(text: str, word: str) -> None:
    search = Search(f'"{word}"')
    marked = search.parts(f"{text} {word} {text}")
    parts = excerpt_of(search, marked)
    assert len("".join(parts)) <= EXCERPT + 2
    assert parts[1] == marked[1]
