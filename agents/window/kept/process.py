"""Has kept copies read, one at a time, by a process of their own, which is started where there is none.

Nobody waits for it: an answer is there the next time, or the time after that.
"""

import os
import select
import subprocess
import time
from collections import OrderedDict
from typing import TypeAlias

import msgspec

from scentline.agents.judge.apart.messages import HEAD, framed
from scentline.agents.signals import command, environment, kill_group
from scentline.agents.window.kept.text import Text, Unreadable, Wanted
from scentline.streams.configuration import PREFIX

#: Seconds that a copy may take; bytes of an answer at most.
SECONDS, MOST_BYTES = 30.0, 1 << 24
#: Answers that are kept, and copies that wait to be read, at most.
ANSWERS, WAITING = 8, 8
#: Seconds for which an answer is waited for at once.
AT_ONCE = 0.02
_BLOCK = 1 << 16

Answer: TypeAlias = Text | Unreadable

_decode = msgspec.msgpack.Decoder(Answer).decode


class CopyReader:
    """Reads copies as they are asked for; of many that wait the oldest are forgotten."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._answers: OrderedDict[Wanted, Answer] = OrderedDict()
        self._waiting: OrderedDict[Wanted, None] = OrderedDict()
        self._reading: Wanted | None = None
        self._begun = 0.0
        self._read = bytearray()

    def answer(self, wanted: Wanted) -> Answer | None:
        """Return a copy as text, or why it can't be read; None as long as it is being read: ask again."""
        if wanted not in self._answers and wanted != self._reading:
            self._waiting[wanted] = None
            while len(self._waiting) > WAITING:
                self._waiting.popitem(last=False)
        self._go_on()
        found = self._answers.get(wanted)
        if isinstance(found, Unreadable):
            del self._answers[wanted]  # it may do next time
        return found

    @property
    def process(self) -> int | None:
        """The identifier of the process, None where there is none."""
        return None if self._child is None else self._child.pid

    def close(self) -> None:
        """End the process, and forget what was to be read."""
        self._reading = None
        self._waiting.clear()
        self._end()

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            with child:
                kill_group(child.pid)

    def _go_on(self) -> None:
        """Take what has been answered, and ask for the next."""
        if self._reading is not None:
            self._take()
        if self._reading is None and self._waiting:
            self._reading, _ = self._waiting.popitem(last=False)
            self._begun = time.monotonic()
            self._read.clear()
            self._ask(self._reading)
            self._take()

    def _ask(self, wanted: Wanted) -> None:
        try:
            self._send(wanted)
        except BrokenPipeError:  # it had nothing to do for long, and has just ended
            self._end()
            self._send(wanted)

    def _send(self, wanted: Wanted) -> None:
        child = self._started()
        assert child.stdin is not None
        child.stdin.write(framed(wanted))
        child.stdin.flush()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is not None and self._child.poll() is not None:
            self._end()
        if self._child is None:
            inherited = {name: value for name, value in environment().items() if not name.startswith(PREFIX)}
            self._child = subprocess.Popen(  # noqa: S603 - this program
                command("scentline.agents.window.kept"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, env=inherited, start_new_session=True,
            )  # fmt: skip
            assert self._child.stdout is not None
            os.set_blocking(self._child.stdout.fileno(), False)
        return self._child

    def _take(self) -> None:
        """Take in what there is of an answer; that the process ended, or takes too long, is one."""
        assert self._child is not None and self._child.stdout is not None
        out, until = self._child.stdout.fileno(), time.monotonic() + AT_ONCE
        while self._reading is not None and select.select([out], [], [], max(0.0, until - time.monotonic()))[0]:
            block = os.read(out, _BLOCK)
            self._read += block
            size = int.from_bytes(self._read[:HEAD], "big")
            if not block or size > MOST_BYTES:
                self._failed("it ended the process that read it")
            elif len(self._read) == HEAD + size:
                self._answered(_decode(self._read[HEAD:]))
        if self._reading is not None and time.monotonic() > self._begun + SECONDS:
            self._failed(f"it took longer than {SECONDS:g} seconds")

    def _failed(self, reason: str) -> None:
        self._end()
        self._answered(Unreadable(reason))

    def _answered(self, answer: Answer) -> None:
        assert self._reading is not None
        self._answers[self._reading] = answer
        self._reading = None
        while len(self._answers) > ANSWERS:
            self._answers.popitem(last=False)
