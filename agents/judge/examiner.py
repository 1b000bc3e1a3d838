"""All of a judge's work on a page of which the page decides how long it takes.

It is a function of a page's message and of what is asked, so that it can be done anywhere:
`agents.judge.apart` has it done in a process of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import msgspec
import zstandard

from agents.fetch.rules import product
from agents.judge.categories import CategoryJudge
from agents.judge.keep.packing import Packing, UnkeptError
from agents.judge.parse import parse as parse_page
from agents.judge.predicates import Predicates
from agents.judge.verdicts import Verdicts
from models.duplicates.fingerprint import NONE, Fingerprint, fingerprint
from models.errors import ScentlineError
from models.page import Page
from models.predicate import parse
from models.verdict import Verdict
from streams.records import Decoder, FetchedPage, RecordError
from streams.settings import JudgeSettings, KeepSettings, Settings


class PageReader:
    """Decodes, decompresses and parses; ``most`` bounds the bytes of a body, ``agent`` is our product token."""

    def __init__(self, settings: JudgeSettings, most: int, agent: str = "") -> None:
        self._settings = settings
        self._agent = agent
        self._most = most
        self._decode = Decoder[FetchedPage](FetchedPage)
        self._decompress = zstandard.ZstdDecompressor()

    def read(self, value: bytes) -> tuple[FetchedPage, bytes, Page]:
        """Return a fetched page as it came, its body and its text; raises `RecordError` for what is none."""
        fetched = self._decode(value)
        kind = fetched.headers.get("content-type")
        body = self.body(fetched)
        page = parse_page(fetched.order.url, body, kind, self._settings, self._agent)
        if fetched.nofollow:
            page = msgspec.structs.replace(page, links=(), follow=False)
        return fetched, body, page

    def body(self, fetched: FetchedPage) -> bytes:
        """Return a page's body; raises `RecordError` where it is too large or damaged."""
        most = self._most
        try:
            # A size that the body states is what the decompressor makes room for, whatever the limit.
            if zstandard.frame_content_size(fetched.body) > most:
                raise RecordError(f"not a FetchedPage: its body has more than {most} bytes")
            return self._decompress.decompress(fetched.body, max_output_size=most)
        except zstandard.ZstdError as error:
            raise RecordError(f"not a FetchedPage: its body can't be decompressed: {error}") from error


# Two sets of predicates may be asked in turn: those of the pages that come, and one for those that are kept.
_parsed = lru_cache(maxsize=1000)(parse)


class Question(msgspec.Struct, array_like=True, frozen=True):
    """A message of `pages`, and the predicates that are asked, each with its expression.

    ``alone`` says that nothing but their verdict is wanted, as of a page that was judged before.
    """

    value: bytes
    asked: dict[str, str]
    alone: bool = False


class Examined(msgspec.Struct, array_like=True, frozen=True):
    """What was found out about a page, which comes without its text.

    A page that is barred or was fetched for its links alone has no verdict. ``failure`` says why a judge of
    categories failed; ``record`` is what is kept of the page, ``unkept`` why nothing is that should be.
    """

    page: Page
    verdict: Verdict = {}
    failure: str | None = None
    fingerprint: Fingerprint = NONE
    record: bytes = b""
    unkept: str = ""


class PageError(ScentlineError):
    """A page that can't be judged, since it takes too long or too much; the text says what it did."""

    explains_itself = False


class Examines(Protocol):
    """What examines pages."""

    async def examine(self, question: Question) -> Examined:
        """Return what a page is; raises `RecordError` where the message holds none, `PageError`."""


@dataclass(frozen=True)
class Work:
    """By what pages are examined; ``most`` bounds the bytes of a body."""

    judge: JudgeSettings
    keep: KeepSettings
    most: int
    user_agent: str

    @classmethod
    def of(cls, settings: Settings) -> "Work":
        """Return what the settings say of it."""
        return cls(settings.judge, settings.keep, settings.fetch.max_bytes, settings.fetch.user_agent)


class Examiner:
    """Examines pages here and now."""

    def __init__(self, work: Work, judges: Sequence[CategoryJudge] = ()) -> None:
        self._settings = work.judge
        self._pages = PageReader(work.judge, work.most, product(work.user_agent))
        self._packing = Packing(work.keep, work.user_agent)
        self._predicates = Predicates()
        self._verdicts = Verdicts(self._predicates, judges)

    async def examine(self, question: Question) -> Examined:
        """Return what a page is; raises `RecordError` where the message holds none."""
        return self.examined(question)

    def examined(self, question: Question) -> Examined:
        """Return what a page is; raises `RecordError` where the message holds none."""
        fetched, body, page = self._pages.read(question.value)
        told = msgspec.structs.replace(page, text="", sequence=())
        if page.barred or fetched.order.revisit is not None:
            return Examined(told)
        self._predicates.active = {name: _parsed(text) for name, text in question.asked.items()}
        verdict, failure = self._verdicts.of(page)
        record, unkept = b"", ""
        try:
            record = self._packing.record(fetched, body, page, verdict)
        except UnkeptError as error:
            unkept = str(error)
        settings = self._settings
        marks = fingerprint(page, settings.least_words) if settings.duplicates and not question.alone else NONE
        return Examined(told, verdict, failure, marks, record, unkept)
