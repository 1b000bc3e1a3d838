"""What experiments read: the pages of archives, link graphs, and the page views of logs."""

import gzip
import secrets
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from scentline.agents.judge.judges import Labels
from scentline.agents.judge.parse import parse
from scentline.agents.observe.logfile import LogFile
from scentline.agents.observe.observer import Observer
from scentline.agents.offline.archive import Archive
from scentline.models.duplicates import Sketch, fingerprint
from scentline.models.errors import ScentlineError
from scentline.models.facts import Access
from scentline.models.formats import readable
from scentline.models.page import Link, Page
from scentline.models.predicate import Predicate, View
from scentline.models.url import canonical
from scentline.streams.settings import ObserveSettings, Settings
from scentline_lab.experiment import Progress, spread
from scentline_lab.simulation.virtual import NO_TEXTS, Texts

R = TypeVar("R")
#: Pages that a process reads at a time.
CHUNK = 50


class Web(NamedTuple):
    """The pages of archives by canonical URL, without text; the hits of each predicate; and near-duplicates."""

    pages: Mapping[str, Page]
    hits: Mapping[str, frozenset[str]]
    texts: Texts = NO_TEXTS


def load_web(
    archives: Iterable[Path],
    predicates: Mapping[str, Predicate],
    labels: Labels | None,
    settings: Settings,
    processes: int,
    progress: Progress,
) -> Web:
    """Read and judge every page of the archives that may be indexed, in the order of their URLs. Raises
    `ArchiveError` and OSError.
    """
    judge = settings.judge

    def judged(page: Page) -> tuple[Page, list[str], Sketch | None] | None:
        if page.barred and not page.missing:
            return None
        categories = labels.categories(page.url) if labels is not None else frozenset()
        view = View(page.url, page.title, page.text, categories, sequence=page.sequence)
        satisfied = [name for name, predicate in predicates.items() if predicate.evaluate(view)]
        sketch = fingerprint(page, judge.least_words).sketch if judge.duplicates else None
        return msgspec.structs.replace(page, text=""), satisfied, sketch

    read = each_page(archives, judged, settings, processes, progress)
    shared = ((_shared(page), held, sketch) for page, held, sketch in read)
    found = sorted(shared, key=lambda each: each[0].url)
    pages = {page.url: page for page, _, _ in found}
    hits = {name: frozenset(page.url for page, held, _ in found if name in held) for name in predicates}
    sketches = {page.url: sketch for page, _, sketch in found if sketch is not None}
    return Web(pages, hits, Texts(sketches, judge.likeness))


def each_page(
    archives: Iterable[Path], of: Callable[[Page], R | None], settings: Settings, processes: int, bars: Progress
) -> Iterator[R]:
    """Yield what ``of`` makes of each page of archives, parsed as the judge agent does; None is left out."""

    def bodies() -> Iterator[tuple[str, bytes, str | None]]:
        """Yield the records that a fetch would take for a page; redirects are not followed."""
        kinds = readable(settings.judge.formats)
        for url in archive.urls():
            answer = archive.answer(url, {})
            bars.advance()
            written = {name.lower(): value for name, value in answer.headers}.get("content-type")
            kind = (written or "").partition(";")[0].strip().lower()
            page = answer.status == 200 and ("/" not in kind or kind in kinds)
            if page and len(answer.body) <= settings.fetch.max_bytes:
                yield url, answer.body, written

    def read(chunk: Iterable[tuple[str, bytes, str | None]]) -> list[R]:
        pages = (parse(*body, settings.judge, paths=True) for body in chunk)
        return [found for found in map(of, pages) if found is not None]

    bars.phase("index the archive", 1)
    with Archive(archives) as archive:
        bars.advance()
        bars.phase("read the pages", len(archive))
        taken = bodies()
        chunks = iter(lambda: list(islice(taken, CHUNK)), [])
        yield from chain.from_iterable(spread(read, chunks, processes))


def _shared(page: Page) -> Page:
    """Return the page with equal words and URLs being one object: less memory, and faster to look up."""

    def shared(words: Iterable[str]) -> tuple[str, ...]:
        return tuple(map(sys.intern, words))

    links = []
    for each in page.links:
        words = shared(each.anchor), shared(each.context), each.position, shared(each.heading)
        links.append(Link(sys.intern(each.url), *words))
    parts = {"words": shared(page.words), "paths": shared(page.paths), "links": tuple(links)}
    return msgspec.structs.replace(page, url=sys.intern(page.url), **parts)


#: Of a graph: their numbers index an array.
_MOST_PAGES = 20_000_000


class GraphError(ScentlineError):
    """A graph that can't be read; the text names the file and what was expected."""


class LinkGraph(NamedTuple):
    """Links as rows of source and target, each once, and the pages' canonical URLs where they are known."""

    links: NDArray[np.int64]
    urls: dict[int, str]


def read_graph(path: Path) -> LinkGraph:
    """Read a graph, gzip if the name ends in ``.gz``. Raises `GraphError`. Lines are "source target"; or, as
    in the Hollins data, first "pages links ...", then that many lines of "number URL", then the links. Links of
    a page whose URL can't be crawled are left out.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="ascii", errors="replace") as lines:
            first = next(lines, "")
            named = int(first.split()[0]) if len(first.split()) > 2 else 0
            numbered = (line.split(maxsplit=1) for line in islice(lines, named))
            known = {int(number): canonical(url.strip()) for number, url in numbered}
            first = next(lines, "") if named else first
            if not first:
                raise ValueError("there are no links")
            links = np.loadtxt(chain([first], lines), dtype=np.int64, ndmin=2, usecols=(0, 1))
        if links.min() < 0 or links.max() >= _MOST_PAGES:
            raise ValueError(f"page numbers {links.min()} to {links.max()}, expected 0 to {_MOST_PAGES - 1}")
    except (OSError, EOFError, zlib.error, ValueError) as error:
        expected = "expected lines of two numbers, source and target, after numbered URLs if there are any"
        raise GraphError(f"graph {path}: {expected}: {error}") from error
    urls = {number: url for number, url in known.items() if url is not None}
    links = np.unique(links, axis=0)
    if named:
        links = links[np.isin(links, np.fromiter(urls, dtype=np.int64)).all(axis=1)]
    return LinkGraph(links, urls)


_LINES_A_REPORT = 1_000


class LogReader:
    """Reads logs one after the other. The ``key`` of users' pseudonyms is drawn by chance unless given;
    ``everywhere`` is for `Observer`.
    """

    def __init__(
        self, settings: ObserveSettings, progress: Progress, everywhere: bool = False, key: bytes | None = None
    ) -> None:
        self._all = Observer(settings, key or secrets.token_bytes(32), everywhere=everywhere)
        self._one, self._line = self._all, b""
        self._progress = progress

    def read(self, source: str, phase: str | None = None) -> Iterator[Access]:
        """Yield a log's page views; ``phase`` names the bar. Raises `LogFileError` and `LogFormatError`."""
        self._one = self._all.another()
        with LogFile(source) as log:
            self._one.recognise(log.sample)
            self._progress.phase(f"{phase or f'read {log.name}'}, bytes", log.size or 0)
            done = 0
            for number, self._line in log:
                access = self._one.observe(self._line)
                if isinstance(access, Access):
                    yield access
                if log.size and number % _LINES_A_REPORT == 0:
                    self._progress.advance(log.consumed - done)
                    done = log.consumed
            self._progress.advance(log.consumed - done)

    @property
    def agent(self) -> str | None:
        """The user agent of the last page view."""
        return self._one.agent(self._line)

    @property
    def lines(self) -> int:
        return self._all.counts.lines

    @property
    def passed(self) -> dict[str, int]:
        """The lines that are no page views, by reason."""
        return {**self._all.counts.filtered, "malformed": self._all.counts.malformed}
