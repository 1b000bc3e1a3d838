"""An export of judged pages as a data set, from a crawl at rest or one that goes on.

It reads `outcomes` twice: for the current outcome of each page, and then for the rows, in the order of the
log. What pages hold comes from their kept records, read apart by a process for each core.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import msgspec

from scentline.agents.judge.bodies import Records
from scentline.agents.judge.process import ExaminerProcess
from scentline.agents.judge.question import PageError, Seen, Show, Work
from scentline.agents.offline.archive import ArchiveError, read
from scentline.agents.operate.control import check_known
from scentline.agents.operate.parts import Begin, Cursor, ExportError, Row, advance, alone, name_of, resumed
from scentline.agents.operate.record import by_partition
from scentline.agents.operate.versions import Listed, Places, Versions, read_listed
from scentline.agents.stored import whole
from scentline.models.page import Verdict
from scentline.streams.settings import Settings
from scentline.streams.topics import OUTCOMES

#: Rows and about the bytes of a row group and of a part, pages read at once, and seconds between two reports.
GROUP_ROWS, GROUP_BYTES = 10_000, 32_000_000
PART_ROWS, PART_BYTES = 200_000, 256_000_000
AT_ONCE = 64
TELL_SECONDS = 5.0

_UNSCORED = {"score": None, "expected": None}


class Page(NamedTuple):
    """A page to export, the place behind its outcome, and its kept records and what they hold, where known."""

    outcome: Listed
    verdict: Verdict
    partition: int
    behind: int
    records: bytes | None = None
    seen: Seen | None = None


@dataclass
class Export:
    """An export of pages that satisfy one of some predicates, or any, or of all judged pages (None).

    Only pages fetched since ``begin`` come. ``tell`` is told of long work; ``lost`` counts the pages of which
    is not known what they hold.
    """

    settings: Settings
    predicates: Sequence[str] | None
    begin: float
    tell: Callable[[str], object]
    lost: int = 0
    _ends: dict[int, int] = field(default_factory=dict)

    def in_parts(self, out: Path, asked: Cursor, new: Begin) -> Cursor:
        """Write what is new; return how far it has come. Raises `ExportError`, and what reading raises.

        At Ctrl-C it ends with the part that is being written.
        """
        with ExitStack() as resources:
            resources.enter_context(alone(out))
            cursor = resumed(out, asked)
            pages = resources.enter_context(closing(self.pages(out, cursor.offsets)))
            first = next(pages, None)
            stopped: list[int] = []
            before = signal.signal(signal.SIGINT, lambda number, _: stopped.append(number))
            resources.callback(signal.signal, signal.SIGINT, before)
            advance(out, cursor)
            while first is not None:
                rows = size = written = 0
                waiting: list[Row] = []
                with whole(out / name_of(cursor, cursor.parts + 1)) as file, new(file) as write:
                    for page in chain((first,), pages):
                        waiting.append(_row(page, self.settings.extract))
                        cursor.offsets[page.partition] = page.behind
                        rows, size = rows + 1, size + _size(page.seen)
                        if len(waiting) >= GROUP_ROWS or size - written >= GROUP_BYTES:
                            write(waiting)
                            waiting, written = [], size
                        if rows >= PART_ROWS or size >= PART_BYTES or stopped:
                            break
                    if waiting:
                        write(waiting)
                cursor.rows, cursor.parts = cursor.rows + rows, cursor.parts + 1
                advance(out, cursor)
                if stopped:
                    self.tell(f"stopped with {cursor.rows:,} rows in {out}: the same command goes on")
                    raise KeyboardInterrupt
                first = next(pages, None)
            cursor.offsets |= self._ends
            advance(out, cursor)
        return cursor

    def pages(self, out: Path, starts: Mapping[int, int]) -> Generator[Page, None, None]:
        """Yield the pages to export, partition after partition from ``starts`` on."""
        places = self._places(out, starts)
        total = sum(len(each.offsets) for each in places.values())
        records = Records(self.settings.data)
        found: Iterator[Page] = self._telling(self._chosen(places), f"of {total:,} pages")
        # No judge is asked, so none is loaded.
        work = msgspec.structs.replace(Work.of(self.settings), labels=None, classifier=None, python=None)
        with ExitStack() as resources:
            runner = resources.enter_context(asyncio.Runner())
            processes = [ExaminerProcess(work) for _ in os.sched_getaffinity(0)]
            resources.callback(lambda: [runner.run(process.close()) for process in processes])
            while some := [*islice(found, AT_ONCE)]:
                some = [page._replace(records=records.of(page.outcome.url, page.outcome.time)) for page in some]
                kept = any(page.records is not None for page in some)
                seen = runner.run(_read(processes, self._shown(some))) if kept else {}
                self.lost += len(some) - len(seen)
                yield from (page._replace(seen=seen.get(number)) for number, page in enumerate(some))

    def _telling(self, found: Iterable[Any], what: str) -> Iterator[Any]:
        """Tell how much was taken, at most every few seconds."""
        told = monotonic()
        for number, each in enumerate(found):
            if number % AT_ONCE == 0 and monotonic() > told + TELL_SECONDS:
                told = monotonic()
                self.tell(f"{number:,} {what}")
            yield each

    def _shown(self, pages: Iterable[Page]) -> Iterator[tuple[int, Show]]:
        for number, page in enumerate(pages):
            with suppress(ArchiveError):
                if page.records is not None:
                    _, answer = read(self.settings.data, BytesIO(page.records), 0)
                    kind = {name.lower(): value for name, value in answer.headers}.get("content-type")
                    fields = self.settings.extract if any(page.verdict.values()) else {}
                    yield number, Show(page.outcome.url, answer.body, kind, extract=fields)

    def _places(self, out: Path, starts: Mapping[int, int]) -> dict[int, Places]:
        """Return what to write of each partition."""
        places: dict[int, Places] = {}
        names: set[str] = set()
        for partitions in by_partition(self.settings, OUTCOMES.name, {}):
            for number, found in partitions.items():
                versions = Versions(self._telling(found, "outcomes looked through"))
                start = starts.get(number, 0)
                self._ends[number] = max(start, versions.end)
                if 0 < versions.end < start:
                    raise ExportError(f"--out {out}: an export of another crawl; give another directory")
                names |= {name for verdict in versions.verdicts for name, _ in verdict}
                places[number] = versions.current(start, self.begin, self._wanted)
        for name in self.predicates or ():
            check_known(self.settings, name, names)
        return {number: each for number, each in places.items() if len(each.offsets)}

    def _wanted(self, verdict: Verdict) -> bool:
        asked = self.predicates
        return asked is None or any(holds and (not asked or name in asked) for name, holds in verdict.items())

    def _chosen(self, places: Mapping[int, Places]) -> Iterator[Page]:
        """Yield the pages at some places; records that are gone meanwhile are left out."""
        starts = {number: int(each.offsets[0]) for number, each in places.items()}
        for partitions in by_partition(self.settings, OUTCOMES.name, starts):
            for number, (offsets, merged) in places.items():
                left = iter(offsets.data)
                wanted = next(left, None)
                for entry in partitions[number]:
                    while wanted is not None and wanted < entry.offset:
                        wanted = next(left, None)
                    if wanted is None:
                        break
                    if wanted == entry.offset:
                        ((_, _, outcome),) = read_listed(entry.value or b"").facts
                        yield Page(outcome, merged.get(entry.offset, outcome.verdict), number, entry.offset + 1)


async def _read(processes: Iterable[ExaminerProcess], asked: Iterator[tuple[int, Show]]) -> dict[int, Seen]:
    """Return by number what pages hold that can be read within the bounds."""
    found: dict[int, Seen] = {}

    async def read(process: ExaminerProcess) -> None:
        for number, show in asked:
            with suppress(PageError):
                found[number] = await process.show(show)

    await asyncio.gather(*map(read, processes))
    return found


def _size(seen: Seen | None) -> int:
    return 0 if seen is None else len(seen.text) + 100 * len(seen.links)


def _row(page: Page, fields: Iterable[str]) -> Row:
    """Return a page's values by the columns of `models.columns`, the time in microseconds.

    The one status that brings a page is 200.
    """
    outcome, seen = page.outcome, page.seen
    links = seen and [{"url": url, "anchor": anchor} for url, anchor in seen.links]
    scores = {outcome.predicate: {"score": outcome.priority, "expected": outcome.expected}}
    return (
        outcome.source or outcome.url, outcome.url, 200, round(outcome.time * 1e6), seen and seen.language,
        outcome.title, seen and seen.text, seen and seen.headings, links,
        [{"name": name, "holds": holds} | scores.get(name, _UNSCORED) for name, holds in page.verdict.items()],
        outcome.depth, outcome.referrer or None, *(seen and seen.extract.get(name) for name in fields),
    )  # fmt: skip
