"""What steering would come to, before it is asked for: the hits of a predicate, what an exclusion leaves out.

Both are counted a piece at a time, and only while somebody waits for it.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from scentline.agents.frontier.keys import PAGE_PREFIX
from scentline.agents.judge.apart.process import ExaminerProcess
from scentline.agents.judge.predicates import check_judges
from scentline.agents.judge.question import Examined, Examines, PageError, Question, Work
from scentline.models.errors import ScentlineError
from scentline.models.frontier.exclusions import Exclusions
from scentline.models.predicate import Predicate
from scentline.models.url import identifier
from scentline.streams.records import RecordError
from scentline.streams.settings import Settings
from scentline.streams.topics import PAGES
from scentline.streams.transport.database import TableMissingError, TablePartition
from scentline.streams.transport.journal import Journal, UnknownTopicError

#: Pages that a predicate is tried on at most, the newest, and how many are read at a time.
MOST_PAGES, PAGES_AT_ONCE = 2_000, 5
#: Rows between two looks at the clock, and seconds that are spent on candidates at a time.
ROWS_AT_ONCE, STEP_SECONDS = 200, 0.02
#: Seconds after which nobody waits for what he has not looked at, and trials that are remembered.
LOOKED_SECONDS, REMEMBERED = 5.0, 16
#: Beside a crawl, how many times as long as a page took is the pause after it: a tenth of a core is used.
BESIDE_A_CRAWL = 10.0
#: Seconds between two looks at whether there is a page to judge, and after which the idle process ends.
LOOK_SECONDS, IDLE_SECONDS = 0.2, 30.0
_KEYS = 1 << 64

T = TypeVar("T")
Key = TypeVar("Key")


class _Row(msgspec.Struct, array_like=True, gc=False, tag="page"):
    """The first fields of a `PageRow`: they are all that is asked of it."""

    url: str
    depth: int
    discovered: int
    state: str = "candidate"


_decode = msgspec.msgpack.Decoder(_Row).decode


class Tried(NamedTuple):
    """How far a trial is: ``found`` of what was ``read``, of ``of``; ``done`` when that is all of it.

    How many candidates there are is an estimate until then. ``trouble`` is why there is no more.
    """

    found: int
    read: int
    of: int
    done: bool
    trouble: str = ""


class PageTrial:
    """A predicate, tried on the newest pages of the topic `pages`, each URL once as it was fetched last."""

    def __init__(self, journal: Journal, predicate: Predicate) -> None:
        self.predicate = predicate
        self.trouble = ""
        self._journal = journal
        self._found = 0
        self._known: set[bytes] = set()
        self._read = 0
        self._ranges = _ranges(journal)
        self._of = min(MOST_PAGES, sum(end - start for start, end in self._ranges.values()))

    @property
    def done(self) -> bool:
        """Whether there is nothing more to judge."""
        return bool(self.trouble) or self._read >= self._of or not self._ranges

    def next(self) -> list[bytes]:
        """Return the next few messages: of each partition in turn, its newest first."""
        partition, (start, end) = self._ranges.popitem(last=False)
        first = max(start, end - PAGES_AT_ONCE)
        if first > start:
            self._ranges[partition] = start, first
        found = self._journal.read(PAGES.name, partition, first, end - first)
        self._read += end - first
        return [entry.value or b"" for entry in reversed(found) if entry.offset < end]

    def judged(self, page: Examined) -> None:
        """Take in what was found out about a page."""
        known = identifier(page.page.url)
        if page.verdict and known not in self._known:
            self._known.add(known)
            self._found += any(page.verdict.values())

    def told(self) -> Tried:
        """Return how far it is; a page that is none, or was there before, is not counted as read."""
        return Tried(self._found, len(self._known), self._of, self.done, self.trouble)


def _ranges(journal: Journal) -> OrderedDict[int, tuple[int, int]]:
    found: OrderedDict[int, tuple[int, int]] = OrderedDict()
    with suppress(UnknownTopicError):
        for partition in range(journal.partitions(PAGES.name)):
            start, end = journal.start(PAGES.name, partition), journal.end(PAGES.name, partition)
            if start < end:
                found[partition] = start, end
    return found


class CandidateTrial:
    """An exclusion, tried on all candidates of the frontier's table.

    Its keys are hashes: how many there are follows from how far they were read.
    """

    def __init__(self, journal: Journal, prefix: str, expression: str) -> None:
        self._exclusions = Exclusions()
        self._exclusions.put("", prefix, expression)
        self._excludes = self._exclusions.has
        self._found = self._read = 0
        self._parts: list[TablePartition] = []
        with suppress(TableMissingError):
            self._parts = list(journal.table("frontier").values())
        self._all = len(self._parts)
        self._cursor: bytes | None = None

    @property
    def done(self) -> bool:
        """Whether all candidates were read."""
        return not self._parts

    def step(self) -> None:
        """Read candidates for a moment."""
        until = time.perf_counter() + STEP_SECONDS
        while self._parts:
            self._rows()
            if time.perf_counter() >= until:
                return

    def _rows(self) -> None:
        rows = self._parts[0].scan(PAGE_PREFIX, self._cursor)
        for number, (key, raw) in enumerate(rows, 1):
            row = _decode(raw)
            if row.state == "candidate":
                self._read += 1
                self._found += self._excludes(row.url)
            if number == ROWS_AT_ONCE:
                self._cursor = key
                return
        self._cursor = None
        del self._parts[0]

    def told(self) -> Tried:
        """Return how far it is."""
        part = self._all - len(self._parts) + self._place()
        of = self._read if self.done or not part else round(self._read * self._all / part)
        return Tried(self._found, self._read, of, self.done)

    def _place(self) -> float:
        """Return which part of the partition's keys was read."""
        if self._cursor is None:
            return 0.0
        return int.from_bytes(self._cursor[len(PAGE_PREFIX) :][:8]) / _KEYS


class _Asked(Generic[Key, T]):
    """Trials by what is tried, and when somebody looked at each; those looked at longest ago are forgotten."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._trials: OrderedDict[Key, tuple[T, float]] = OrderedDict()

    def get(self, key: Key, make: Callable[[], T]) -> T:
        """Return a trial that somebody looks at, made where there is none."""
        trial = self._trials[key][0] if key in self._trials else make()
        self._trials[key] = trial, self._clock()
        self._trials.move_to_end(key)
        if len(self._trials) > REMEMBERED:
            self._trials.popitem(last=False)
        return trial

    def looked_at(self) -> Iterator[T]:
        """Yield the trials that somebody waits for, the newest first."""
        now = self._clock()
        return (trial for trial, at in reversed(self._trials.values()) if at <= now < at + LOOKED_SECONDS)


class Trials:
    """All trials of one crawl; they belong to the thread that reads it."""

    def __init__(
        self, journal: Journal, settings: Settings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._journal = journal
        self._settings = settings
        self._pages: _Asked[str, PageTrial] = _Asked(clock)
        self._candidates: _Asked[tuple[str, str], CandidateTrial] = _Asked(clock)

    def hits(self, predicate: Predicate) -> Tried:
        """Return how many of the kept pages satisfy a predicate, as far as they were judged."""
        return self._pages.get(str(predicate), lambda: self._page_trial(predicate)).told()

    def _page_trial(self, predicate: Predicate) -> PageTrial:
        trial = PageTrial(self._journal, predicate)
        try:
            check_judges({"": predicate}, self._settings.judge)
        except ScentlineError:
            trial.trouble = "Which pages have a category can't be told by the settings of this window."
        return trial

    def excluded(self, prefix: str, expression: str) -> Tried:
        """Return how many candidates an exclusion leaves out, and go on; ValueError for one that is none."""
        make = lambda: CandidateTrial(self._journal, prefix, expression)  # noqa: E731
        trial = self._candidates.get((prefix, expression), make)
        trial.step()
        return trial.told()

    def step(self) -> bool:
        """Go on with what somebody waits for; return whether there is more to do."""
        trial = next((each for each in self._candidates.looked_at() if not each.done), None)
        if trial is not None:
            trial.step()
        return trial is not None

    def next_pages(self) -> tuple[PageTrial, list[bytes]] | None:
        """Return the next pages to be judged, and for which trial; None where nobody waits for any."""
        trial = next((each for each in self._pages.looked_at() if not each.done), None)
        return None if trial is None else (trial, trial.next())


class Judging:
    """Has the pages of trials judged as the crawl judges them: in a process of its own, which ends when idle.

    ``next_pages`` and ``running`` are asked in the thread that reads, by ``in_turn``.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        next_pages: Callable[[], tuple[PageTrial, list[bytes]] | None],
        running: Callable[[], bool],
        in_turn: Callable[..., Awaitable[Any]],
    ) -> None:
        self._settings = settings
        self._next_pages = next_pages
        self._running = running
        self._in_turn = in_turn
        self._process: ExaminerProcess | None = None
        self._idle = 0.0

    async def run(self) -> None:
        """Judge what somebody waits for; never returns."""
        try:
            while True:
                if not await self._look():
                    await self._rest()
        finally:
            await self._end()

    async def _look(self) -> bool:
        """Judge a few pages; return whether there were any."""
        found = await self._in_turn(self._next_pages)
        if found is None:
            return False
        self._idle = 0.0
        trial, values = found
        beside = await self._in_turn(self._running)
        begun = time.monotonic()
        try:
            for value in values:
                await self._judge(trial, value)
        except ScentlineError as error:
            trial.trouble = f"The kept pages can't be judged here: {error}"
        if beside:
            await asyncio.sleep(BESIDE_A_CRAWL * (time.monotonic() - begun))
        return True

    async def _judge(self, trial: PageTrial, value: bytes) -> None:
        question = Question(value, {"": str(trial.predicate)}, alone=True)
        with suppress(RecordError, PageError):  # the crawl has told of such a page
            trial.judged(await self._examiner().examine(question))

    def _examiner(self) -> Examines:
        if self._process is None:
            self._process = ExaminerProcess(Work.of(self._settings()))
        return self._process

    async def _rest(self) -> None:
        await asyncio.sleep(LOOK_SECONDS)
        self._idle += LOOK_SECONDS
        if self._idle >= IDLE_SECONDS:
            await self._end()

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.close()
