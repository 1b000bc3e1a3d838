"""Kept copies as text: whatever stands in them, damaged or dropped, and read by a process that may end."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from os import fsencode
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scentline.agents.judge.keep.records import Packing
from scentline.agents.judge.keep.store import KeptPages, copies
from scentline.agents.window.index.search import Asked, Phrase
from scentline.agents.window.kept.process import Answer, CopyReader
from scentline.agents.window.kept.text import LONGEST, MOST, Text, Unreadable, Wanted, shown, text_of
from scentline.agents.window.reading import Reading
from scentline.agents.window.screens import page
from scentline.models.page import Page
from scentline.streams.published import PredicateDefinition
from scentline.streams.settings import KeepSettings, Settings
from scentline.streams.topics import CHANGES, OUTCOMES, PREDICATES
from scentline.streams.transport.journal import Journal
from tests.agents.test_keep import fetched
from tests.agents.test_record import an_outcome
from tests.patience import wait_for
from tests.window.crawls import make_tables

URL = "http://a.org/1?q=a%20b"
HOSTILE = b"""<!doctype html><title>A \x07title <b>&lt;script&gt;</title>
<script>alert(1)</script><style>p {}</style><nav>Home</nav>
<p onclick="alert(1)">Ice <b>hock</b>ey,\nice &#x202e;ereht\x1b[2J</p><p>ice <br>rink<td>cell</p>"""


def kept(data: Path, body: bytes, time: float = 5.5, **headers: str) -> Wanted:
    """Keep a page; return its copy."""
    store = KeptPages(data, KeepSettings())
    told = fetched(1, time, **headers)
    record = Packing("all", "Scentline (test)").record(told, body, Page(URL), {})
    store.keep(URL, record, judged=time)
    store.close()
    return wanted(data)


def wanted(data: Path, asked: str = "") -> Wanted:
    newest = copies(data, URL)[0]
    phrases = tuple(Asked(asked).phrases)
    return Wanted(URL, fsencode(newest.path), newest.offset, newest.length, phrases)


def read(copy: Wanted) -> Text:
    found = text_of(copy)
    assert isinstance(found, Text)
    return found


def lines(text: Text) -> list[str]:
    return ["".join(parts) for parts in text.paragraphs]


def test_a_copy_is_its_title_and_paragraphs_and_no_markup(tmp_path: Path) -> None:
    copy = kept(tmp_path, HOSTILE, last_modified="Mon", set_cookie="secret=1")
    text = read(copy)
    assert text.title == "A title <b><script>"
    assert lines(text) == ["Home", "Ice hockey, ice ereht[2J", "ice", "rink", "cell"]
    assert text.headers == {"content-type": "text/html", "last-modified": "Mon"}
    assert (text.status, text.cut, text.unread) == (200, False, "")
    marked = read(
        msgspec.structs.replace(copy, phrases=(Phrase(("ice", "hockey"), False), Phrase(("rin",), True)))
    )
    assert marked.paragraphs[1:4] == (("", "Ice hockey", ", ice ereht[2J"), ("ice",), ("", "rink", ""))
    assert lines(marked) == lines(text)


def test_the_newest_copy_is_read_of_plain_text_and_of_what_is_no_text(tmp_path: Path) -> None:
    kept(tmp_path, b"<p>old")
    plain = read(kept(tmp_path, b"one\ntwo <b>\n \nthree", 6.5, content_type="text/plain"))
    assert lines(plain) == ["one two <b>", "three"]
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
    kept = {sign for sign in text if sign.isalnum()}
    assert kept <= {*line}


def test_a_copy_that_is_damaged_or_dropped_is_told_of(tmp_path: Path) -> None:
    copy = kept(tmp_path, b"<p>words")
    path = Path(os.fsdecode(copy.path))
    whole = path.read_bytes()
    assert text_of(msgspec.structs.replace(copy, url="http://a.org/other")) == Unreadable(
        "its file has another page there"
    )
    for damaged in (whole[:200], whole[:-600], b"rubbish" * 500, whole[:300] + bytes(100) + whole[400:], b""):
        path.write_bytes(damaged)
        found = text_of(copy)
        assert isinstance(found, Unreadable)
        assert found.reason == "its file is damaged"
    path.unlink()
    assert text_of(copy) == Unreadable("its file was dropped")


@pytest.fixture
def reader() -> Iterator[CopyReader]:
    with closing(CopyReader()) as found:
        yield found


def answered(reader: CopyReader, copy: Wanted) -> Answer:
    found: list[Answer | None] = [None]

    def asked() -> bool:
        found[0] = reader.answer(copy)
        return found[0] is not None

    wait_for("an answer", asked)
    assert found[0] is not None
    return found[0]


def test_a_process_that_ends_costs_the_copy_that_it_reads_alone(tmp_path: Path, reader: CopyReader) -> None:
    copy = kept(tmp_path, HOSTILE)
    assert answered(reader, copy) == text_of(copy)
    child = reader.process
    assert child is not None
    os.kill(child, signal.SIGSTOP)
    other = wanted(tmp_path, "rink")
    assert reader.answer(other) is None
    os.kill(child, signal.SIGKILL)
    assert answered(reader, other) == Unreadable("it ended the process that read it")
    last = wanted(tmp_path, "cell")
    assert answered(reader, last) == text_of(last)
    child = reader.process
    assert child is not None
    os.kill(child, signal.SIGKILL)  # with nothing in hand, as by somebody else
    time.sleep(0.05)
    again = wanted(tmp_path, "ice")
    assert answered(reader, again) == text_of(again)


def test_of_many_that_are_asked_for_at_once_the_last_are_read(tmp_path: Path, reader: CopyReader) -> None:
    kept(tmp_path, HOSTILE)
    asked = [wanted(tmp_path, f"word{number}") for number in range(20)]
    for copy in asked:
        reader.answer(copy)
    for copy in asked[-5:]:
        assert answered(reader, copy) == text_of(copy)


def seen(reading: Reading, **asked: str) -> dict[str, Any]:
    query = msgspec.convert({"url": URL, **asked}, page.Query)
    found: dict[str, Any] = {}

    def read() -> bool:
        found.update(msgspec.json.decode(msgspec.json.encode(page.view(reading, query))))
        return bool(found["state"] != "reading")

    wait_for("the copy", read)
    return found


def test_a_page_is_shown_with_why_it_came_and_the_words_of_its_predicates_marked(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "journal") as journal, closing(Reading(Settings(data=tmp_path))) as reading:
        for topic in (OUTCOMES, CHANGES, PREDICATES):
            journal.create_topic(topic.name, 1, retention=None, compacted=topic.compacted)
        make_tables(journal, 1)
        for name, expression in {"p": '"ice hockey"', "q": 'title("rink*") or "rink"'}.items():
            definition = PredicateDefinition(name=name, expression=expression)
            journal.append(PREDICATES.name, 0, name.encode(), msgspec.json.encode(definition), 0.0)
        outcome = an_outcome(5.5, {"p": True, "q": False}, url=URL)
        journal.append(OUTCOMES.name, 0, None, msgspec.json.encode(outcome), 0.0)
        while reading.work() is not None:
            pass
        view = seen(reading)
        assert view["state"] == "none"
        assert "keep.pages" in view["reason"]
        assert view["page"]["title"] == outcome.title
        kept(tmp_path, HOSTILE)
        view = seen(reading)
        assert view["paragraphs"][1] == ["", "Ice hockey", ", ice ereht[2J"]
        assert view["page"]["why"].startswith("Chosen for p")
        assert view["judged"] == 5.5
        assert seen(reading, predicate="q")["paragraphs"][3] == ["", "rink", ""]
        assert seen(reading, predicate="q", search="cell")["paragraphs"][4] == ["", "cell", ""]
        copies(tmp_path, URL)[0].path.write_bytes(b"rubbish")
        assert "damaged" in seen(reading, search="anew")["reason"]
        assert seen(reading, url="http://a.org/unknown")["page"] is None
