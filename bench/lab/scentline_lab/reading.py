"""The pages of archives and which of them satisfy each predicate, and the page views of logs.

Archives are read by several processes, logs in the order of their lines; both tell how far they are.
"""

import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from scentline.agents.fetch.client import READABLE
from scentline.agents.judge.judges import Labels
from scentline.agents.judge.parse import parse
from scentline.agents.observe.logfile import LogFile
from scentline.agents.observe.observer import Observer
from scentline.agents.offline.archive import Archive
from scentline.agents.progress import Progress
from scentline.models.duplicates import Sketch, fingerprint
from scentline.models.page import Link, Page
from scentline.models.predicate import Predicate, View
from scentline.streams.crawl_settings import JudgeSettings
from scentline.streams.facts import Access
from scentline.streams.settings import ObserveSettings, Settings
from scentline_lab.simulation.virtual import NO_TEXTS, Texts
from scentline_lab.spread import spread

#: Pages that are handed to a process at a time.
CHUNK = 50


class Body(NamedTuple):
    """A recorded page that is still to be read."""

    url: str
    content: bytes
    content_type: str | None


@dataclass(frozen=True)
class Web:
    """The pages by canonical URL, without their text, and each predicate's hits: URLs of ``pages``.

    ``left_out`` counts records that are no page: other statuses, no text, or a page that asks not to be
    indexed. ``texts`` tell which pages are near-duplicates.
    """

    pages: Mapping[str, Page]
    hits: Mapping[str, frozenset[str]]
    left_out: int
    texts: Texts = NO_TEXTS


class Judge:
    """Reads and judges pages as the judge agent does."""

    def __init__(self, predicates: Mapping[str, Predicate], labels: Labels | None, settings: Settings) -> None:
        self._predicates = predicates
        self._labels = labels
        self._settings = settings.judge

    def read(self, bodies: Iterable[Body]) -> list[tuple[Page, tuple[str, ...], Sketch | None]]:
        """Return the pages that may be indexed, without their text, what each satisfies, and its sketch."""
        return [
            (msgspec.structs.replace(page, text=""), self._satisfied(page), self._sketch(page))
            for page in indexable(bodies, self._settings)
        ]

    def _sketch(self, page: Page) -> Sketch | None:
        settings = self._settings
        return fingerprint(page, settings.least_words).sketch if settings.duplicates else None

    def _satisfied(self, page: Page) -> tuple[str, ...]:
        categories = self._labels.categories(page.url) if self._labels is not None else frozenset()
        view = View(page.url, page.title, page.text, categories, sequence=page.sequence)
        return tuple(name for name, predicate in self._predicates.items() if predicate.evaluate(view))


def load_web(
    archives: Iterable[Path],
    predicates: Mapping[str, Predicate],
    labels: Labels | None,
    settings: Settings,
    processes: int,
    progress: Progress,
) -> Web:
    """Read and judge every page of the archives; the pages are in the order of their URLs.

    Raises `agents.offline.warc.ArchiveError` for what is no WARC file, OSError for what can't be opened.
    """
    judge = Judge(predicates, labels, settings)
    pages: dict[str, Page] = {}
    hits: dict[str, set[str]] = {name: set() for name in predicates}
    sketches: dict[str, Sketch] = {}
    progress.phase("index the archive", 1)
    with Archive(archives) as archive:
        progress.advance()
        progress.phase("read the pages", len(archive))
        parts = chunks(bodies(archive, settings.fetch.max_bytes, progress))
        for chunk in spread(judge.read, parts, processes):
            for page, satisfied, sketch in chunk:
                pages[page.url] = _shared(page)
                if sketch is not None:
                    sketches[page.url] = sketch
                for name in satisfied:
                    hits[name].add(page.url)
        records = len(archive)
    found = {url: pages[url] for url in sorted(pages)}
    satisfying = {name: frozenset(urls) for name, urls in hits.items()}
    return Web(found, satisfying, records - len(found), Texts(sketches, settings.judge.likeness))


def bodies(archive: Archive, limit: int, progress: Progress) -> Iterator[Body]:
    """Yield what a fetch would take for a page; redirects are not followed."""
    for url in archive.urls():
        answer = archive.answer(url, {})
        progress.advance()
        written = {name.lower(): value for name, value in answer.headers}.get("content-type")
        kind = (written or "").partition(";")[0].strip().lower()
        readable = "/" not in kind or kind in READABLE
        if answer.status == 200 and readable and len(answer.body) <= limit:
            yield Body(url, answer.body, written)


def indexable(found: Iterable[Body], settings: JudgeSettings) -> Iterator[Page]:
    """Yield the pages that may be indexed, read as the judge agent reads them."""
    pages = (parse(body.url, body.content, body.content_type, settings, paths=True) for body in found)
    return (page for page in pages if page.indexable)


def chunks(found: Iterator[Body]) -> Iterator[list[Body]]:
    """Yield pages by as many as are handed to a process at a time."""
    while chunk := list(islice(found, CHUNK)):
        yield chunk


def _shared(page: Page) -> Page:
    """Return the page with equal words and URLs being one object: less memory, and faster to look up."""
    intern = sys.intern
    links = tuple(
        Link(
            intern(link.url),
            tuple(map(intern, link.anchor)),
            tuple(map(intern, link.context)),
            link.position,
            tuple(map(intern, link.heading)),
        )
        for link in page.links
    )
    words, paths = tuple(map(intern, page.words)), tuple(map(intern, page.paths))
    return msgspec.structs.replace(page, url=intern(page.url), words=words, links=links, paths=paths)


#: Lines between two looks at how far the reading is.
_STEP = 1_000
_PER_CENT = 100


class LogReader:
    """Reads logs one after the other; whom a line names is known by a pseudonym that only tells users apart.

    The pseudonyms' ``key`` is drawn by chance, and gone with the reader, unless one is given. ``everywhere`` is
    for `Observer`.
    """

    def __init__(
        self,
        settings: ObserveSettings,
        progress: Progress,
        *,
        everywhere: bool = False,
        key: bytes | None = None,
    ) -> None:
        self._all = Observer(settings, key or secrets.token_bytes(32), everywhere=everywhere)
        self._one = self._all
        self._line = b""
        self._progress = progress

    def read(self, source: str, phase: str | None = None) -> Iterator[Access]:
        """Yield the page views of a log; ``phase`` is what the reading is called.

        Raises `agents.observe.logfile.LogFileError` and `models.accesslog.recognise.LogFormatError`.
        """
        self._one = self._all.another()
        with LogFile(source) as log:
            self._one.recognise(log.sample)
            self._progress.phase(f"{phase or f'read {log.name}'}, per cent", _PER_CENT)
            done = 0
            for number, self._line in log:
                access = self._one.observe(self._line)
                if isinstance(access, Access):
                    yield access
                part = _PER_CENT * log.consumed // log.size if log.size and number % _STEP == 0 else 0
                if part > done:
                    self._progress.advance(part - done)
                    done = part
            if done < _PER_CENT:
                self._progress.advance(_PER_CENT - done)

    @property
    def agent(self) -> str | None:
        """The user agent of the page view that came last."""
        return self._one.agent(self._line)

    @property
    def lines(self) -> int:
        """How many lines of all logs were read."""
        return self._all.lines

    @property
    def passed(self) -> dict[str, int]:
        """How many of them are no page views, by reason."""
        return {**self._all.filtered, "malformed": self._all.malformed}
