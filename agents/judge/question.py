"""The questions of a judge to its examiner, and the answers: length-prefixed MessagePack.

The judge imports no reader of pages, and its examiner no settings: both import this.
"""

from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol, TypeAlias

import msgspec

from scentline.models.duplicates import NONE, Fingerprint
from scentline.models.errors import ScentlineError
from scentline.models.facts import Rendering
from scentline.models.formats import Format
from scentline.models.page import Page, Verdict

if TYPE_CHECKING:
    from scentline.models.settings import JudgeSettings
    from scentline.streams.settings import Settings


class Work(msgspec.Struct, array_like=True, frozen=True, tag="begin"):
    """The settings by which pages are examined."""

    labels: str | None
    classifier: str | None
    python: str | None
    seconds: float
    cpu_seconds: int
    memory_bytes: int
    words: int
    links: int
    context: int
    soft_404: bool
    duplicates: bool
    least_words: int
    #: Bytes of a body at most.
    most: int
    #: Which pages are kept.
    keep: str
    user_agent: str
    #: Our product token.
    agent: str
    #: Whether pages are judged again.
    revisit: bool = False
    #: Kinds of documents that are read.
    formats: tuple[Format, ...] = ()

    @classmethod
    def of(cls, settings: "Settings") -> "Work":
        """Select them from all settings."""
        # Imported here: an examiner's process does not need it.
        from scentline.agents.fetch.guard import product

        judge, fetch = settings.judge, settings.fetch
        return cls(
            judge.labels, judge.classifier, judge.python, judge.seconds, judge.cpu_seconds, judge.memory_bytes,
            judge.words, judge.links, judge.context, judge.soft_404, judge.duplicates, judge.least_words,
            fetch.max_bytes, settings.keep.pages, fetch.user_agent, product(fetch.user_agent),
            settings.frontier.revisit > 0, judge.formats,
        )  # fmt: skip


#: How pages are examined, as set or as sent to an examiner.
Judging: TypeAlias = "JudgeSettings | Work"


class Question(msgspec.Struct, array_like=True, frozen=True, tag="question"):
    """A message of `pages`, and the predicates' expressions by name."""

    value: bytes
    asked: dict[str, str]
    #: Only their verdict is needed: the page was judged before.
    alone: bool = False


class Show(msgspec.Struct, array_like=True, frozen=True, tag="show"):
    """A page to be shown, its body without encodings; ``asked`` and ``extract`` are expressions by name."""

    url: str
    body: bytes
    content_type: str | None = None
    asked: dict[str, str] = {}
    extract: dict[str, str] = {}


class Seen(msgspec.Struct, array_like=True, frozen=True, tag="seen"):
    """What a page shows, for people and data sets."""

    title: str
    #: The main text, without headings.
    text: str
    #: Its ISO 639 code, None where the text does not show it.
    language: str | None
    headings: tuple[str, ...]
    #: The URL and the text of each link.
    links: tuple[tuple[str, str], ...]
    #: The values of fields (`models.extract`).
    extract: dict[str, str]
    #: Why a crawl would refuse the page, else empty.
    barred: str
    verdict: Verdict
    #: Why a judge of categories failed.
    failure: str | None
    #: What decided each verdict (`models.predicate.decided`).
    decided: dict[str, tuple[str, str]] = {}


class Examined(msgspec.Struct, array_like=True, frozen=True, tag="examined"):
    """An examined page: ``content``, ``links`` and ``excerpts`` are those of `models.facts.Page`."""

    #: Without its text.
    page: Page
    #: Empty for a page that is barred or was fetched for its links.
    verdict: Verdict = {}
    #: Why a judge of categories failed.
    failure: str | None = None
    fingerprint: Fingerprint = NONE
    #: The records to keep.
    record: bytes = b""
    #: Why a page to keep has no records.
    unkept: str = ""
    content: bytes = b""
    links: bytes = b""
    excerpts: dict[str, str] = {}
    #: Whether the page has another text, other links or another verdict than at its last visit.
    differs: bool = True
    #: Set where a browser rendered the page.
    rendering: Rendering | None = None


class PageError(ScentlineError):
    """A page that takes too long or too much to be judged; the text says which."""

    explains_itself = False


class Examines(Protocol):
    """An examiner of pages."""

    async def examine(self, question: Question) -> Examined:
        """Examine a page; raises `RecordError` where the message holds none, `PageError`."""


#: Bytes of the length of a message.
HEAD = 4
#: Bytes of an answer at most: a page's records are the longest part of it.
MOST_BYTES = 1 << 28


class Ready(msgspec.Struct, array_like=True, frozen=True, tag="ready"):
    """The judges are loaded."""


class Refused(msgspec.Struct, array_like=True, frozen=True, tag="refused"):
    """No answer: a judge can't be loaded, the message holds no page, or the page broke the examiner."""

    kind: Literal["not-ready", "no-page", "broken"]
    reason: str


Request: TypeAlias = Work | Question | Show
Answer: TypeAlias = Ready | Examined | Seen | Refused


def received(source: BinaryIO) -> bytes | None:
    """Return the next message, still encoded; None at the end."""
    head = source.read(HEAD)
    size = int.from_bytes(head, "big")
    data = source.read(size)
    return data if len(head) == HEAD and len(data) == size else None


def framed(message: msgspec.Struct) -> bytes:
    """Return a message behind its length."""
    data = msgspec.msgpack.encode(message)
    return len(data).to_bytes(HEAD, "big") + data
