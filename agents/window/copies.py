"""Kept copies, read by a process of their own, which a copy may end; and the search in the newest of them."""

import os
import select
import subprocess
import time
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from scentline.agents.judge.keep.store import newest_first
from scentline.agents.judge.question import HEAD, framed
from scentline.agents.signals import command, environment, kill_group
from scentline.agents.window.kept import CopyRequest, CopyText, Unreadable
from scentline.agents.window.search import Search
from scentline.streams.configuration import PREFIX

#: Seconds that a copy may take; bytes of an answer at most.
SECONDS, MOST_BYTES = 30.0, 1 << 24
#: Answers that are kept, those still to come included.
ANSWERS = 16
#: Seconds for which a view waits for an answer.
AT_ONCE = 0.02
#: The newest copies that a search looks at, the pages that it finds at most, and seconds of a step.
LOOKED_AT, MOST_FOUND, STEP_SECONDS = 300, 50, 0.05
#: Characters of an excerpt, and those of it before what is found.
EXCERPT, BEFORE = 240, 60
_BLOCK = 1 << 16

Answer: TypeAlias = CopyText | Unreadable

_decode = msgspec.msgpack.Decoder(Answer).decode


class CopyReader:
    """Has copies read, one at a time, in a thread that waits for the process; views ask again until it is done.

    Of many requests the oldest are forgotten.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="copies")
        self._answers: OrderedDict[CopyRequest, Future[Answer]] = OrderedDict()
        self._child: subprocess.Popen[bytes] | None = None

    def answer(self, request: CopyRequest) -> Answer | None:
        """Return a copy as text, or why it can't be read; None as long as it is being read: ask again."""
        if request not in self._answers:
            self._answers[request] = self._thread.submit(self._read, request)
            while len(self._answers) > ANSWERS:
                self._answers.popitem(last=False)[1].cancel()
        try:
            found = self._answers[request].result(AT_ONCE)
        except TimeoutError:
            return None
        if isinstance(found, Unreadable):
            del self._answers[request]  # it may do next time
        return found

    def close(self) -> None:
        """End the process and the thread."""
        for future in self._answers.values():
            future.cancel()
        if self._child is not None:
            kill_group(self._child.pid)
        self._thread.shutdown()
        self._end()

    def _read(self, request: CopyRequest) -> Answer:
        try:
            return self._answered(self._sent(request))
        except BrokenPipeError:  # it had nothing to do for long, and has just ended
            self._end()
        return self._answered(self._sent(request))

    def _sent(self, request: CopyRequest) -> int:
        child = self._started()
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(framed(request))
        child.stdin.flush()
        return child.stdout.fileno()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is not None and self._child.poll() is not None:
            self._end()
        if self._child is None:
            inherited = {name: value for name, value in environment().items() if not name.startswith(PREFIX)}
            self._child = subprocess.Popen(  # noqa: S603 - this program
                command("scentline.agents.window.kept"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, env=inherited, start_new_session=True,
            )  # fmt: skip
        return self._child

    def _answered(self, out: int) -> Answer:
        """Return the answer; where the process ended, or takes too long, that is the answer."""
        data, until = bytearray(), time.monotonic() + SECONDS
        while select.select([out], [], [], max(0.0, until - time.monotonic()))[0]:
            block = os.read(out, _BLOCK)
            data += block
            size = int.from_bytes(data[:HEAD], "big")
            if not block or size > MOST_BYTES:
                return self._failed("it ended the process that read it")
            if len(data) == HEAD + size:
                try:
                    answer: Answer = _decode(data[HEAD:])
                except msgspec.MsgspecError:
                    return self._failed("its answer can't be read")
                return answer
        return self._failed(f"it took longer than {SECONDS:g} seconds")

    def _failed(self, reason: str) -> Unreadable:
        self._end()
        return Unreadable(reason)

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            with suppress(BrokenPipeError), child:
                kill_group(child.pid)


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
        self._copies = found[:LOOKED_AT]

    def step(self) -> None:
        """Look at the next copies for a moment, until enough were found."""
        until = time.monotonic() + STEP_SECONDS
        while self.read < self.of and len(self.found) < MOST_FOUND and time.monotonic() < until:
            copy, phrases = self._copies[self.read], tuple(self._search.phrases)
            request = CopyRequest("", os.fsencode(copy.path), copy.offset, copy.length, phrases)
            answer = self._reader.answer(request)
            if answer is None:
                return
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
