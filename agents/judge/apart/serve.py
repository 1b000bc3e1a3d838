"""The process of an examiner: it answers the questions on standard input, within limits of the system."""

import signal
from typing import BinaryIO

import msgspec

from scentline.agents.judge.apart.bounds import alone, bound_cpu, bound_memory, die_first, die_with_parent
from scentline.agents.judge.apart.messages import HEAD, Answer, Asked, Found, Ready, Refused, Request, framed
from scentline.agents.judge.examiner import Examiner
from scentline.agents.judge.judges import load_judges
from scentline.agents.judge.question import Question, Work
from scentline.streams.logging import printable
from scentline.streams.memory import YOUNG_OF_PAGES, collected_seldom
from scentline.streams.records import RecordError

_decode = msgspec.msgpack.Decoder(Request).decode


def serve() -> None:
    """Answer until the end of standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent()
    die_first()
    source, out = alone()
    work = _read(source)
    if not isinstance(work, Work):
        return
    try:
        examiner = Examiner(work, load_judges(work))
    except Exception as error:  # a judge is foreign code
        _write(out, Refused("not-ready", printable(str(error), 1000)))
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
        if isinstance(answer, Refused) and answer.kind == "broken":
            return


def _answer(examiner: Examiner, question: Question) -> Answer:
    try:
        return Found(examiner.examined(question))
    except RecordError as error:
        return Refused("no-page", str(error))
    except Exception as error:  # the next page gets a fresh process
        return Refused("broken", printable(f"{type(error).__name__}: {error}", 300))


def _read(source: BinaryIO) -> Request | None:
    """Return the next request, None at the end."""
    head = source.read(HEAD)
    size = int.from_bytes(head, "big")
    data = source.read(size)
    return _decode(data) if len(head) == HEAD and len(data) == size else None


def _write(out: BinaryIO, answer: Answer) -> None:
    out.write(framed(answer))
    out.flush()
