"""All of a judge's work on a page of which the page decides how long it takes.

It is a function of a page's message and of what is asked, so that it can be done anywhere:
`agents.judge.apart` has it done in a process of its own.
"""

from collections.abc import Sequence
from functools import lru_cache

import msgspec
import zstandard

from agents.judge.categories import CategoryJudge
from agents.judge.keep.records import Packing, UnkeptError
from agents.judge.parse import parse as parse_page
from agents.judge.question import Examined, Judging, Question, Work
from agents.judge.verdicts import Verdicts
from models.duplicates import NONE, fingerprint
from models.page import Page
from models.predicate import parse
from models.revisit.content import links_digest, text_digest
from streams.records import Decoder, FetchedPage, RecordError


class PageReader:
    """Decodes, decompresses and parses; ``most`` bounds the bytes of a body, ``agent`` is our product token."""

    def __init__(self, limits: Judging, most: int, agent: str = "") -> None:
        self._limits = limits
        self._agent = agent
        self._most = most
        self._decode = Decoder[FetchedPage](FetchedPage)
        self._decompress = zstandard.ZstdDecompressor()

    def read(self, value: bytes, *, main: bool = False) -> tuple[FetchedPage, bytes, Page]:
        """Return a fetched page as it came, its body and its text; raises `RecordError` for what is none.

        ``main`` asks for what two visits are compared by.
        """
        fetched = self._decode(value)
        kind = fetched.headers.get("content-type")
        body = self.body(fetched)
        page = parse_page(fetched.order.url, body, kind, self._limits, self._agent, main=main)
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


class Examiner:
    """Examines pages here and now."""

    def __init__(self, work: Work, judges: Sequence[CategoryJudge] = ()) -> None:
        self._work = work
        self._pages = PageReader(work, work.most, work.agent)
        self._packing = Packing(work.keep, work.user_agent)
        self._verdicts = Verdicts(judges)

    async def examine(self, question: Question) -> Examined:
        """Return what a page is; raises `RecordError` where the message holds none."""
        return self.examined(question)

    def examined(self, question: Question) -> Examined:
        """Return what a page is; raises `RecordError` where the message holds none."""
        work = self._work
        main = work.revisit and not question.alone
        fetched, body, page = self._pages.read(question.value, main=main)
        told = msgspec.structs.replace(page, text="", sequence=(), prose="", main=(), leading=())
        revisit = fetched.order.revisit
        if page.barred or (revisit is not None and not revisit.again):
            return Examined(told)
        asked = {name: _parsed(text) for name, text in question.asked.items()}
        verdict, failure, excerpts = self._verdicts.of(page, asked, excerpts=main)
        if revisit is not None and failure is not None:  # what no judge could tell is as it was
            verdict = {name: holds for name, holds in revisit.verdict.items() if name in asked} | verdict
        record, unkept = b"", ""
        try:
            record = self._packing.record(fetched, body, page, verdict)
        except UnkeptError as error:
            unkept = str(error)
        marks = fingerprint(page, work.least_words) if work.duplicates and not question.alone else NONE
        content = text_digest(page.title, page.main) if main else b""
        links = links_digest(page.leading) if main else b""
        return Examined(told, verdict, failure, marks, record, unkept, content, links, dict(excerpts))
