"""The work on a page that may take any time, in a process of its own (`agents.judge.apart`).

It answers the questions on standard input, within the system's limits.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import BinaryIO

import msgspec
import zstandard

from scentline.agents.judge.apart import alone, bound_cpu, bound_memory
from scentline.agents.judge.decode import decode
from scentline.agents.judge.judges import CategoryJudge, Verdicts, load_judges
from scentline.agents.judge.parse import is_plain, unread_of
from scentline.agents.judge.parse import parse as parse_page
from scentline.agents.judge.question import (
    Answer,
    Examined,
    Question,
    Ready,
    Refused,
    Request,
    Seen,
    Show,
    Work,
    framed,
    received,
)
from scentline.agents.judge.shells import LEAST_TEXT
from scentline.agents.judge.warc import Packing
from scentline.models.duplicates import NONE, fingerprint
from scentline.models.extract import compiled, extracted
from scentline.models.facts import Rendering
from scentline.models.page import Page, Verdict
from scentline.models.predicate import Predicate, decided, excerpt, parse
from scentline.models.published import RENEWED
from scentline.models.records import NOT_MODIFIED, Decoder, FetchedPage, RecordError, Revisit
from scentline.models.revisit.content import changed, content_of, links_digest
from scentline.streams.logging import printable
from scentline.streams.memory import YOUNG_OF_PAGES, collected_seldom

# Two sets of predicates may alternate: those for new pages, and one for kept pages.
_parsed = lru_cache(maxsize=1000)(parse)
_compiled = lru_cache(maxsize=1000)(compiled)
_decode = msgspec.msgpack.Decoder(Request).decode
#: Links that rendering brings at least where it counts as more.
LEAST_LINKS = 10


class Examiner:
    """Examines pages: decodes, decompresses, parses and judges them."""

    def __init__(self, work: Work, judges: Sequence[CategoryJudge] = ()) -> None:
        self._work = work
        #: Returns a fetched page; raises `RecordError` for a message without one.
        self.decode = Decoder[FetchedPage](FetchedPage)
        self._decompress = zstandard.ZstdDecompressor()
        self._packing = Packing(work.keep, work.user_agent)
        self._verdicts = Verdicts(judges)

    def read(self, fetched: FetchedPage) -> tuple[bytes, Page]:
        """Return a page's body and the page; raises `RecordError` for a body that is too large or damaged."""
        work, kind = self._work, fetched.headers.get("content-type")
        body = self._whole(fetched.body)
        page = parse_page(
            fetched.order.url, body, kind, work, work.agent, main=work.revisit, wanted=fetched.wanted
        )
        if fetched.nofollow:
            page = msgspec.structs.replace(page, links=(), leading=(), follow=False)
        return body, page

    def _whole(self, body: bytes) -> bytes:
        try:
            # The decompressor allocates the size that the body states, whatever the limit.
            if zstandard.frame_content_size(body) > self._work.most:
                raise RecordError(f"not a FetchedPage: its body has more than {self._work.most} bytes")
            return self._decompress.decompress(body, max_output_size=self._work.most)
        except zstandard.ZstdError as error:
            raise RecordError(f"not a FetchedPage: its body can't be decompressed: {error}") from error

    def _rendering(self, fetched: FetchedPage, page: Page) -> Rendering | None:
        """Return what it brought to render a page, if it was: half as much again of text or links counts."""
        how = fetched.rendered
        if how is None:
            return None
        work = self._work
        plain = parse_page(fetched.order.url, self._whole(how.plain), how.content_type, work, work.agent)
        more = 2 * len(page.sequence) > 3 * len(plain.sequence) + LEAST_TEXT
        further = 2 * len(page.links) > 3 * len(plain.links) + LEAST_LINKS
        return Rendering(how.seconds, plain.scripts, not page.scripts and (plain.scripts or more or further))

    def examined(self, question: Question) -> Examined:
        """Examine a page; raises `RecordError` where the message holds none."""
        fetched = self.decode(question.value)
        if fetched.status == NOT_MODIFIED:
            record, unkept = self._packing.again(fetched, None)
            return Examined(Page(fetched.order.url), record=record, unkept=unkept, differs=False)
        work, main = self._work, self._work.revisit
        body, page = self.read(fetched)
        scripts = page.scripts and fetched.rendered is None  # else it may be filled the next time
        told = msgspec.structs.replace(
            page, text="", sequence=(), prose="", main=(), leading=(), headings=(), anchors=(), scripts=scripts,
        )  # fmt: skip
        revisit, rendering = fetched.order.revisit, self._rendering(fetched, page)
        if page.barred or (revisit is not None and not revisit.again):
            return Examined(told, rendering=rendering)
        asked = _predicates(question.asked)
        shown = main and not question.alone
        verdict, view, failure = self._verdicts.of(page, asked, fetched.items)
        held = (name for name, holds in verdict.items() if holds and shown)
        excerpts = {name: excerpt(asked[name], view, page.prose) for name in held}
        if revisit is not None and failure is not None:  # without a judge's answer its last one holds
            verdict = {name: holds for name, holds in revisit.verdict.items() if name in asked} | verdict
        content = content_of(page.title, page.main, body) if main else b""
        links = links_digest(page.leading) if main else b""
        found = {} if question.alone else verdict
        differs = revisit is None or _differs(revisit, fetched.time, content, links, found)
        if differs:
            kept = self._packing.record(fetched, body, page, verdict)
        elif revisit is not None and content == revisit.content and not question.alone:
            kept = self._packing.again(fetched, body)
        else:
            kept = b"", ""
        marked = work.duplicates and differs and not question.alone
        return Examined(
            told, verdict, failure, fingerprint(page, work.least_words) if marked else NONE, *kept,
            content, links, excerpts, differs, rendering,
        )  # fmt: skip

    def seen(self, show: Show) -> Seen:
        """Return what a page shows, whether or not a crawl would refuse it."""
        work = self._work
        page = parse_page(show.url, show.body, show.content_type, work, work.agent, main=True)
        asked = _predicates(show.asked)
        verdict, view, failure = self._verdicts.of(page, asked)
        readable = not unread_of(show.body, show.content_type) and not is_plain(show.content_type)
        found = {name: _compiled(text) for name, text in show.extract.items()} if readable else {}
        return Seen(
            page.title, " ".join(page.prose.split()), self._verdicts.language(page), page.headings,
            tuple((link.url, anchor) for link, anchor in zip(page.links, page.anchors, strict=True)),
            extracted(decode(show.body, show.content_type), found) if found else {},
            page.barred, verdict, failure,
            {name: decided(asked[name], view, page.prose) for name in verdict},
        )  # fmt: skip


def _predicates(asked: Mapping[str, str]) -> dict[str, Predicate]:
    return {name: _parsed(text) for name, text in asked.items()}


def _differs(known: Revisit, time: float, content: bytes, links: bytes, verdict: Verdict) -> bool:
    """Return whether a page's text, links or verdict differ from the known ones, or these are old.

    Verdicts of predicates that no longer judge are ignored.
    """
    return (
        (known.judged != 0 and time - known.judged >= RENEWED)
        or changed(known.content, content)
        or known.links != links
        or any(known.verdict.get(name) != holds for name, holds in verdict.items())
    )


def serve() -> None:
    """Answer questions until standard input ends."""
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
        while isinstance(question := _read(source), Question | Show):
            bound_cpu(work.cpu_seconds)
            answer = _answer(examiner, question)
            _write(out, answer)
            if isinstance(answer, Refused) and answer.kind == "broken":
                return


def _answer(examiner: Examiner, question: Question | Show) -> Answer:
    try:
        return examiner.seen(question) if isinstance(question, Show) else examiner.examined(question)
    except RecordError as error:
        return Refused("no-page", str(error))
    except Exception as error:  # the next page gets a fresh process
        return Refused("broken", printable(f"{type(error).__name__}: {error}", 300))


def _read(source: BinaryIO) -> Request | None:
    data = received(source)
    return None if data is None else _decode(data)


def _write(out: BinaryIO, answer: Answer) -> None:
    out.write(framed(answer))
    out.flush()
