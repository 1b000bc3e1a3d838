"""What the process of an examiner does: it answers what it is asked on standard input, until that ends.

What it may take, the system holds it to.
"""

import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from agents.judge.apart.messages import (
    HEAD,
    Answer,
    Asked,
    Broken,
    Found,
    NoPage,
    NotReady,
    Ready,
    Request,
    framed,
)
from agents.judge.categories import load_judges
from agents.judge.examiner import Examiner
from agents.judge.question import Question, Work
from streams.logging import printable
from streams.memory import YOUNG_OF_PAGES, collected_seldom
from streams.records import RecordError

_STATUS = Path("/proc/self/status")
_OUT_OF_MEMORY = Path("/proc/self/oom_score_adj")
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)


def die_with_parent() -> None:
    """Have the system kill this process when the thread that started it ends, where it can."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)


def die_first() -> None:
    """Have the system choose this process where it has no memory left, and write no image of it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):
        _OUT_OF_MEMORY.write_text("1000", encoding="ascii")


def bound_memory(size: int) -> None:
    """Let this process take ``size`` bytes more than it has; more is a MemoryError."""
    resource.setrlimit(resource.RLIMIT_DATA, (_data() + size, resource.RLIM_INFINITY))


def bound_cpu(seconds: int) -> None:
    """Let this process take ``seconds`` of CPU more than it has; the system ends it then."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    most = int(usage.ru_utime + usage.ru_stime) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))


def _data() -> int:
    """Return the bytes of data that this process has, as `RLIMIT_DATA` counts them."""
    with suppress(OSError):
        for line in _STATUS.read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(":")
            if name == "VmData":
                return int(value.split()[0]) * 1024
    return 0


_decode = msgspec.msgpack.Decoder(Request).decode


def serve() -> None:
    """Answer until the end of standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent()
    die_first()
    source, out = _alone()
    work = _read(source)
    if not isinstance(work, Work):
        return
    try:
        examiner = Examiner(work, load_judges(work))
    except Exception as error:  # a judge is anybody's code: whatever it is, it is the answer
        _write(out, NotReady(printable(str(error), 1000)))
        return
    bound_memory(work.memory_bytes)
    _write(out, Ready())
    with collected_seldom(YOUNG_OF_PAGES):
        _answer_all(examiner, source, out)


def _answer_all(examiner: Examiner, source: BinaryIO, out: BinaryIO) -> None:
    while (asked := _read(source)) is not None:
        assert isinstance(asked, Asked)
        bound_cpu(asked.cpu_seconds)
        answer = _answer(examiner, asked.question)
        _write(out, answer)
        if isinstance(answer, Broken):
            return


def _alone() -> tuple[BinaryIO, BinaryIO]:
    """Return where requests come from and answers go; nothing else in this process reads or writes there."""
    source, out = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)
    return os.fdopen(source, "rb"), os.fdopen(out, "wb")


def _answer(examiner: Examiner, question: Question) -> Answer:
    try:
        return Found(examiner.examined(question))
    except RecordError as error:
        return NoPage(str(error))
    except Exception as error:  # the next page meets a process that has seen nothing
        return Broken(printable(f"{type(error).__name__}: {error}", 300))


def _read(source: BinaryIO) -> Request | None:
    """Return the next request, None at the end."""
    head = source.read(HEAD)
    size = int.from_bytes(head, "big")
    data = source.read(size)
    return _decode(data) if len(head) == HEAD and len(data) == size else None


def _write(out: BinaryIO, answer: Answer) -> None:
    out.write(framed(answer))
    out.flush()
