"""Kept copies, read by a process of their own, which a copy may end; and the search in the newest of them."""

import os
import subprocess
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from scentline.agents.judge.keep.store import newest_first
from scentline.agents.judge.question import framed, received
from scentline.agents.signals import command, environment
from scentline.agents.window.kept import CopyRequest, CopyText, Unreadable
from scentline.agents.window.search import Search
from scentline.models.records import UNREADABLE
from scentline.streams.settings import PREFIX

#: Seconds that a process may take.
SECONDS = 30.0
#: Answers that are kept, those still to come included.
ANSWERS = 4
#: Seconds for which a view waits for an answer.
AT_ONCE = 0.02
#: The newest copies that a search looks at, and at a time; the pages that it finds at most.
LOOKED_AT, AT_A_TIME, MOST_FOUND = 300, 30, 50
#: Characters of an excerpt, and those of it before what is found.
EXCERPT, BEFORE = 240, 60

Answer: TypeAlias = CopyText | Unreadable

_decode = msgspec.msgpack.Decoder(Answer).decode


def read(requests: Sequence[CopyRequest]) -> list[Answer]:
    """Return copies as text, read by a process; one that ends it is unreadable, and another reads the rest."""
    found: list[Answer] = []
    while len(found) < len(requests):
        found += _read(requests[len(found) :])
    return found


def _read(requests: Sequence[CopyRequest]) -> list[Answer]:
    """Return what one process makes of some copies: of one at least."""
    inherited = {name: value for name, value in environment().items() if not name.startswith(PREFIX)}
    try:
        done = subprocess.run(  # noqa: S603 - this program
            command("scentline.agents.window.kept"), input=b"".join(map(framed, requests)), env=inherited,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=SECONDS, check=False,
        )  # fmt: skip
        found, why = [*_answers(done.stdout)], "it ended the process that read it"
        ended = done.returncode != 0 or not found
    except subprocess.TimeoutExpired as error:
        found, why, ended = [*_answers(error.stdout or b"")], f"it took longer than {SECONDS:g} seconds", True
    return [*found, Unreadable(why)] if ended and len(found) < len(requests) else found


def _answers(out: bytes) -> Iterator[Answer]:
    source = BytesIO(out)
    while (data := received(source)) is not None:
        try:
            yield _decode(data)
        except UNREADABLE:
            return


class CopyReader:
    """Has copies read in a thread that waits for their process; views ask again until it is done.

    Of many requests the oldest are forgotten.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="copies")
        self._answers: OrderedDict[CopyRequest, Future[list[Answer]]] = OrderedDict()

    def answer(self, request: CopyRequest) -> Answer | None:
        """Return a copy as text, or why it can't be read; None as long as it is being read: ask again."""
        if request not in self._answers:
            self._answers[request] = self.read([request])
            while len(self._answers) > ANSWERS:
                self._answers.popitem(last=False)[1].cancel()
        try:
            [found] = self._answers[request].result(AT_ONCE)
        except TimeoutError:
            return None
        if isinstance(found, Unreadable):
            del self._answers[request]  # it may do next time
        return found

    def read(self, requests: Sequence[CopyRequest]) -> Future[list[Answer]]:
        """Have copies read when those that were requested before are."""
        return self._thread.submit(read, requests)

    def close(self) -> None:
        """End the thread, when the copies at hand are read."""
        self._thread.shutdown(cancel_futures=True)


class FoundText(NamedTuple):
    """A page whose copy has what is searched, and an excerpt of its text in parts."""

    url: str
    parts: tuple[str, ...]


class TextSearch:
    """A search in the texts of the newest kept copies, which are read one after the other while it is viewed.

    It is as of its begin: copies that are kept later are not in it.
    """

    def __init__(self, data: Path, search: Search, reader: CopyReader) -> None:
        self.found: list[FoundText] = []
        #: How many copies were looked at.
        self.read = 0
        self._search = search
        self._reader = reader
        self._known: set[str] = set()
        found = list(islice(newest_first(data, 2 * LOOKED_AT), LOOKED_AT + 1)) if search else []
        #: How many copies will be looked at, and whether there are older ones.
        self.of, self.older = min(len(found), LOOKED_AT), len(found) > LOOKED_AT
        phrases = tuple(search.phrases)
        self._left = [
            CopyRequest("", os.fsencode(copy.path), copy.offset, copy.length, phrases)
            for copy in found[:LOOKED_AT]
        ]
        self._reading: Future[list[Answer]] | None = None

    def step(self) -> None:
        """Take up what was read, and have the next copies read, until enough were found."""
        if self._reading is None and self._left and len(self.found) < MOST_FOUND:
            self._reading = self._reader.read(self._left[:AT_A_TIME])
        if self._reading is not None and self._reading.done():
            answers, self._reading = self._reading.result(), None
            self._left = self._left[len(answers) :]
            for answer in answers:
                self._take(answer)

    def _take(self, answer: Answer) -> None:
        self.read += 1
        if isinstance(answer, CopyText) and answer.url not in self._known:
            self._known.add(answer.url)
            marked = [parts for parts in answer.paragraphs if len(parts) > 1]
            if self._search.found_in(part for parts in marked for part in parts[1::2]):
                self.found.append(FoundText(answer.url, excerpt_of(self._search, marked[0])))


def excerpt_of(search: Search, marked: tuple[str, ...]) -> tuple[str, ...]:
    """Return the part of a paragraph around the first words that are marked in it, marked anew."""
    text, at = "".join(marked), len(marked[0])
    start = max(0, at - BEFORE)
    if start:
        start = text.find(" ", start, at) + 1 or start
    end = "…" if start + EXCERPT < len(text) else ""
    return search.parts(f"{'…' if start else ''}{text[start : start + EXCERPT]}{end}")
