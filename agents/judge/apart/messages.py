"""The messages between a judge and its examiner: MessagePack, each behind its length."""

from typing import Literal, TypeAlias

import msgspec

from scentline.agents.judge.question import Examined, Question, Work

#: Bytes of the length of a message.
HEAD = 4
#: Bytes of an answer at most: a page's records are the longest part of it.
MOST_BYTES = 1 << 28


class Asked(msgspec.Struct, array_like=True, frozen=True, tag="asked"):
    """A question, and the seconds of CPU that the answer may take."""

    question: Question
    cpu_seconds: int


class Ready(msgspec.Struct, array_like=True, frozen=True, tag="ready"):
    """The judges are loaded."""


class Found(msgspec.Struct, array_like=True, frozen=True, tag="found"):
    """The answer to a question."""

    examined: Examined


class Refused(msgspec.Struct, array_like=True, frozen=True, tag="refused"):
    """No answer: a judge can't be loaded, the message holds no page, or the page broke the examiner."""

    kind: Literal["not-ready", "no-page", "broken"]
    reason: str


Request: TypeAlias = Work | Asked
Answer: TypeAlias = Ready | Found | Refused


def framed(message: msgspec.Struct) -> bytes:
    """Return a message as it is written."""
    data = msgspec.msgpack.encode(message)
    return len(data).to_bytes(HEAD, "big") + data
