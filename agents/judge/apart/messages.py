"""What a judge and its examiner say to each other: MessagePack, each message behind its length."""

from typing import TypeAlias

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


class NotReady(msgspec.Struct, array_like=True, frozen=True, tag="not-ready"):
    """A judge can't be loaded."""

    reason: str


class Found(msgspec.Struct, array_like=True, frozen=True, tag="found"):
    """The answer to a question."""

    examined: Examined


class NoPage(msgspec.Struct, array_like=True, frozen=True, tag="no-page"):
    """There is no page in the message of a question."""

    reason: str


class Broken(msgspec.Struct, array_like=True, frozen=True, tag="broken"):
    """A page ended the examiner, which still could say why."""

    reason: str


Request: TypeAlias = Work | Asked
Answer: TypeAlias = Ready | NotReady | Found | NoPage | Broken


def framed(message: msgspec.Struct) -> bytes:
    """Return a message as it is written."""
    data = msgspec.msgpack.encode(message)
    return len(data).to_bytes(HEAD, "big") + data
