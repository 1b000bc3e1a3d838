"""An export of judged pages as a data set, from a crawl at rest or one that goes on.

It reads `outcomes` twice: for the current outcome of each page, and then for the rows, in the order of the
log. What pages hold comes from their kept bodies, read apart by a process for each core.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import BinaryIO, NamedTuple, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from scentline.agents.judge.bodies import Bodies
from scentline.agents.judge.process import ExaminerProcess
from scentline.agents.judge.question import PageError, Seen, Show, Work
from scentline.agents.operate.control import check_known
from scentline.agents.operate.parts import Cursor, ExportError, Part, Row, advance, name_of, resumed
from scentline.agents.operate.record import by_partition
from scentline.agents.operate.versions import Listed, Versions, read_listed
from scentline.agents.operate.wacz import Wacz
from scentline.agents.stored import whole
from scentline.models.page import Verdict
from scentline.streams.settings import Settings
from scentline.streams.topics import OUTCOMES
from scentline.streams.transport.database import Entry

#: Rows and about the bytes of a row group and of a part, pages read at once, and seconds between two reports.
GROUP_ROWS, GROUP_BYTES = 10_000, 32_000_000
PART_ROWS, PART_BYTES = 200_000, 256_000_000
AT_ONCE = 64
TELL_SECONDS = 5.0

_OK = 200  # the one status of an answer that brings a page


#: By partition: the offsets to write, and verdicts by offset, as `Versions.current` returns them.
_Places: TypeAlias = dict[int, tuple[npt.NDArray[np.int64], dict[int, Verdict]]]


class _Page(NamedTuple):
    """A page to export, and the place behind its outcome."""

    outcome: Listed
    verdict: Verdict
    partition: int
    behind: int


class Contents:
    """What kept pages hold; counts the pages that are not kept, and those that could not be read."""

    def __init__(self, settings: Settings, resources: ExitStack) -> None:
        self._bodies = Bodies(settings.data)
        self._fields = settings.extract
        # No judge is asked, so none is loaded.
        work = msgspec.structs.replace(Work.of(settings), labels=None, classifier=None, python=None)
        self._runner = resources.enter_context(asyncio.Runner())
        self._processes = [ExaminerProcess(work) for _ in os.sched_getaffinity(0)]
        resources.callback(lambda: [self._runner.run(process.close()) for process in self._processes])
        self.missing = self.unread = 0

    def of(self, pages: Iterable[_Page]) -> list[Seen | None]:
        """Return what each page holds, None where it is not known."""
        shown = [self._shown(page) for page in pages]
        self.missing += shown.count(None)
        found: list[Seen | None] = [None] * len(shown)
        left = ((place, show) for place, show in enumerate(shown) if show is not None)

        async def read(process: ExaminerProcess) -> None:
            for place, show in left:
                try:
                    found[place] = await process.show(show)
                except PageError:
                    self.unread += 1

        async def read_all() -> None:
            await asyncio.gather(*map(read, self._processes))

        if any(shown):
            self._runner.run(read_all())
        return found

    def records(self, page: _Page) -> bytes | None:
        """Return a page's WARC records, None where it is not kept."""
        return self._bodies.records(page.outcome.url, page.outcome.time)

    def _shown(self, page: _Page) -> Show | None:
        body = self._bodies.of(page.outcome.url, page.outcome.time)
        fields = self._fields if any(page.verdict.values()) else {}
        return None if body is None else Show(page.outcome.url, *body, extract=fields)


@dataclass
class Export:
    """An export of pages that satisfy one of some predicates, or any, or of all judged pages (None).

    Only pages fetched since ``begin`` come. ``new`` begins a part in a file; ``tell`` is told of long work.
    """

    settings: Settings
    predicates: Sequence[str] | None
    begin: float
    out: Path
    new: Callable[[BinaryIO], Part]
    tell: Callable[[str], object]

    def run(self, asked: Cursor) -> tuple[Cursor, int, int]:
        """Write what is new; return how far it has come, and the pages not kept and not read.

        At Ctrl-C it ends with the part that is being written. Raises `ExportError`, and what reading raises.
        """
        cursor = resumed(self.out, asked)
        with ExitStack() as resources:
            stopped = resources.enter_context(_stopping())
            places, ends = self._plan(cursor.offsets, stopped)
            advance(self.out, cursor)
            total = cursor.rows + sum(len(offsets) for offsets, _ in places.values())
            contents = Contents(self.settings, resources)
            pages = self._pages(places)
            told = monotonic()
            while chunk := [*islice(pages, AT_ONCE)]:
                name = name_of(cursor, cursor.parts + 1)
                with whole(self.out / name) as file, closing(self.new(file)) as part:
                    writing = _Writing(part)
                    while chunk:
                        writing.add(chunk, contents.of(chunk), self.settings.extract)
                        if writing.full or stopped:
                            break
                        chunk = [*islice(pages, AT_ONCE)]
                        if monotonic() - told > TELL_SECONDS:
                            told = monotonic()
                            self.tell(f"{cursor.rows + writing.rows:,} of {total:,} rows")
                    writing.flush()
                cursor = msgspec.structs.replace(
                    cursor, rows=cursor.rows + writing.rows, parts=cursor.parts + 1,
                    offsets=cursor.offsets | writing.offsets,
                )  # fmt: skip
                advance(self.out, cursor)
                if stopped:
                    raise KeyboardInterrupt
            cursor = msgspec.structs.replace(cursor, offsets=cursor.offsets | ends)
            advance(self.out, cursor)
            return cursor, contents.missing, contents.unread

    def archive(self, file: BinaryIO, software: str) -> tuple[int, int, int]:
        """Write the kept pages as one WACZ file; return how many, and the pages not kept and not read."""
        written = 0
        with ExitStack() as resources:
            stopped = resources.enter_context(_stopping())
            places, _ = self._plan({}, stopped)
            contents, pages = Contents(self.settings, resources), self._pages(places)
            with closing(Wacz(file, software)) as wacz:
                while chunk := [*islice(pages, AT_ONCE)]:
                    for page, seen in zip(chunk, contents.of(chunk), strict=True):
                        if records := contents.records(page):
                            wacz.add(records, page.outcome.title, None if seen is None else seen.text)
                            written += 1
                    if stopped:
                        raise KeyboardInterrupt
            return written, contents.missing, contents.unread

    def _plan(self, offsets: Mapping[int, int], stopped: Sequence[int]) -> tuple[_Places, dict[int, int]]:
        """Return what to write of each partition from its offset on, and the partitions' ends."""
        places: _Places = {}
        ends: dict[int, int] = {}
        names: set[str] = set()
        for partitions in by_partition(self.settings, OUTCOMES.name):
            for number, found in partitions.items():
                versions = Versions(_heeding(found, stopped))
                start, ends[number] = offsets.get(number, 0), versions.end
                if 0 < versions.end < start:
                    raise ExportError(f"--out {self.out}: an export of another crawl; give another directory")
                names |= {name for verdict in versions.verdicts for name, _ in verdict}
                places[number] = versions.current(start, self.begin, self._chosen)
        for name in self.predicates or ():
            check_known(self.settings, name, names)
        return places, ends

    def _chosen(self, verdict: Verdict) -> bool:
        asked = self.predicates
        return asked is None or any(holds and (not asked or name in asked) for name, holds in verdict.items())

    def _pages(self, places: _Places) -> Iterator[_Page]:
        """Yield the pages to write, partition after partition; records that are gone meanwhile are left out."""
        starts = {number: int(offsets[0]) for number, (offsets, _) in places.items() if len(offsets)}
        for partitions in by_partition(self.settings, OUTCOMES.name, starts):
            for number, start in starts.items():
                offsets, merged = places[number]
                wanted = bytearray(int(offsets[-1]) + 1 - start)
                np.frombuffer(wanted, np.uint8)[offsets - start] = 1
                for entry in partitions[number]:
                    if entry.offset - start >= len(wanted):
                        break
                    if entry.offset >= start and wanted[entry.offset - start]:
                        outcome, behind = read_listed(entry), entry.offset + 1
                        yield _Page(outcome, merged.get(entry.offset, outcome.verdict), number, behind)


class _Writing:
    """A part, the rows that wait to be written to it, and how far these and it have come."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._waiting: list[Row] = []
        self._bytes = self._all_bytes = 0
        self.rows = 0
        self.offsets: dict[int, int] = {}

    @property
    def full(self) -> bool:
        """Whether the next rows belong to another part."""
        return self.rows >= PART_ROWS or self._all_bytes >= PART_BYTES

    def add(self, pages: Sequence[_Page], seen: Iterable[Seen | None], fields: Iterable[str]) -> None:
        """Add pages."""
        for page, shown in zip(pages, seen, strict=True):
            self._waiting.append(_row(page.outcome, page.verdict, shown, fields))
            self.offsets[page.partition] = page.behind
            if shown is not None:
                self._bytes += len(shown.text) + 100 * len(shown.links)
        self.rows += len(pages)
        if len(self._waiting) >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if self._waiting:
            self._part.write(self._waiting)
        self._all_bytes += self._bytes
        self._waiting, self._bytes = [], 0


def _row(outcome: Listed, verdict: Verdict, seen: Seen | None, fields: Iterable[str]) -> Row:
    """Return a page's values by the columns of `models.columns`, the time in microseconds."""
    language, text, headings, links = None, None, None, None
    extract: Mapping[str, str] = {}
    if seen is not None:
        language, text, headings, extract = seen.language, seen.text, seen.headings, seen.extract
        links = [{"url": url, "anchor": anchor} for url, anchor in seen.links]
    chosen = outcome.predicate
    verdicts = [
        {
            "name": name,
            "holds": holds,
            "score": outcome.priority if name == chosen else None,
            "expected": outcome.expected if name == chosen else None,
        }
        for name, holds in verdict.items()
    ]
    return (
        outcome.source or outcome.url, outcome.url, _OK, round(outcome.time * 1e6), language, outcome.title,
        text, headings, links, verdicts, outcome.depth, outcome.referrer or None, *map(extract.get, fields),
    )  # fmt: skip


@contextmanager
def _stopping() -> Iterator[list[int]]:
    """Give a list to which a signal to end adds itself, in place of interrupting what is done."""
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, before)


def _heeding(entries: Iterable[Entry], stopped: Sequence[int]) -> Iterator[Entry]:
    for entry in entries:
        if stopped:
            raise KeyboardInterrupt
        yield entry
