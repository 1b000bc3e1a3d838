"""The crawls that URLFrontier's clients name: they take URLs of one, and put discovered and known ones."""

import asyncio
import re
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, TypeAlias

import msgspec

from scentline.agents.door.agent import BusyError, DoorAgent
from scentline.agents.door.leases import Parked
from scentline.agents.door.listing import Listing
from scentline.agents.door.metadata import TooLongError, answer_from, memo_from, wanted_from
from scentline.agents.door.proto import FAIL, OK, SKIPPED
from scentline.agents.door.telling import MOST_PARTS, Discover, Lease, Settle, Wanted
from scentline.agents.fetch.servers import Recent
from scentline.models.errors import ScentlineError
from scentline.models.facts import Found
from scentline.models.settings import LONGEST_LEASE
from scentline.models.url import canonical, host

#: The name of the crawl of this process, also of a call that names none.
DEFAULT: Final = "DEFAULT"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
#: The name of all clients, which say none.
CLIENT: Final = "urlfrontier"
#: Seconds of a lease where the client leaves it open, and items of a list: as in URLFrontier.
LEASE_SECONDS, LISTED = 30, 100
#: Seconds that a call waits for its first URL, and for others, as long as more come.
WAIT_SECONDS, GATHER_SECONDS = 1.0, 0.1
#: URLs that are taken together, and the seconds between two of them.
TOGETHER, SOON_SECONDS = 200, 0.002
#: The last second that has a date, in the year 9999.
LAST_DATE: Final = 253_402_300_799
#: URLs with a date that are remembered.
_MOST_DATES = 100_000

#: A URLInfo, and the date of a known one.
Given: TypeAlias = tuple[Any, int | None]


class ElsewhereError(ScentlineError):
    """What the call asks for is not done here."""

    code = "UNIMPLEMENTED"


class Crawl:
    """A crawl with a door; ``listing`` is what is to be seen of its frontier, None in another process."""

    def __init__(self, door: DoorAgent, listing: Listing | None) -> None:
        self.door = door
        self._listing = listing
        #: When clients want URLs.
        self._dates: Recent[str, int] = Recent(_MOST_DATES)

    @property
    def seen(self) -> Listing:
        """What is to be seen of the frontier; raises `ElsewhereError` in another process."""
        if self._listing is None:
            raise ElsewhereError("the frontier is in another process; expected scentline explain or the window")
        return self._listing

    async def lease(self, call: Any) -> list[Parked]:
        """Lease what GetURLs asks for, as long as more comes; return it by the dates that clients gave."""
        most, queues = min(call.max_urls_per_queue or MOST_PARTS, MOST_PARTS), call.max_queues or MOST_PARTS
        seconds = float(min(max(call.delay_requestable or LEASE_SECONDS, 1), LONGEST_LEASE))
        if self._listing is not None:
            await self._listing.caught_up()

        async def lease(want: int, wait: float, name: str | None) -> list[Parked]:
            return await self.door.lease(Lease(CLIENT, token_hex(8), want, wait, seconds, [], name))

        taken = more = await lease(1, WAIT_SECONDS, call.key or None)
        while more:
            await asyncio.sleep(GATHER_SECONDS)
            had, more = Counter(host(each.order.url) for each in taken), []
            for name in [call.key] if call.key else {host(url): None for url in self.door.leases.parked}:
                if had[name] < most and (name in had or len(had) < queues):
                    found = await lease(most - had[name], 0.0, name)
                    had.update(host(each.order.url) for each in found)
                    more += found
            taken = taken + more
        return sorted(taken, key=lambda each: self._dates.get(each.order.url, 0))

    async def put(self, given: Mapping[int, Given]) -> dict[int, int]:
        """Take URLs, links before the pages that have them; return the status of each that is not skipped."""
        found = {place: info for place, (info, date) in given.items() if date is None}
        known = {place: (info, date) for place, (info, date) in given.items() if date is not None}
        statuses = await self._discover(found) if found else {}
        return statuses | (await self._settle(known) if known else {})

    async def _discover(self, given: Mapping[int, Any]) -> dict[int, int]:
        """Take discovered URLs: links of their pages, where these are held still."""
        wanted: dict[int, Wanted] = {}
        for place, info in given.items():
            with suppress(TooLongError):
                wanted[place] = wanted_from(info.url, _metadata(info))
        try:
            said = await self.door.discover(Discover(CLIENT, list(wanted.values())))
        except BusyError:
            return dict.fromkeys(given, FAIL)
        return {place: OK if word == "taken" else SKIPPED for place, word in zip(wanted, said, strict=True)}

    async def _settle(self, given: Mapping[int, tuple[Any, int]]) -> dict[int, int]:
        """Take known URLs: the answers to orders, and of others when to order them, if ever."""
        statuses, answers, facts = {}, [], []
        for place, (info, date) in given.items():
            url, due = canonical(info.url), min(date, LAST_DATE)
            parked = self.door.leases.parked.get(url or "")
            with suppress(TooLongError, msgspec.ValidationError):
                if parked is not None:
                    answers.append(answer_from(parked, _metadata(info), due))
                elif url is not None:
                    facts.append(Found(url, memo=memo_from(_metadata(info)), due=float(due)))
                    self._dates[url] = due
                statuses[place] = OK if url is not None else SKIPPED
        await self.door.settle(Settle(CLIENT, answers), [b""] * len(answers))
        await self.door.tell(facts)
        return statuses


#: Runs the crawl of a directory, which may be new.
Run: TypeAlias = Callable[[Path], AbstractAsyncContextManager[Crawl]]


class Crawls:
    """The crawls by name: ``own`` is the default; up to ``most`` further ones lie in ``directory``.

    An async context manager: further ones run, by ``run``, from the first call that names them to its end.
    """

    def __init__(self, own: Crawl, directory: Path, most: int = 0, run: Run | None = None) -> None:
        self.own = own
        self._directory = directory
        self._most, self._run = most, run
        self._running: dict[str, tuple[Crawl, AsyncExitStack]] = {}
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> "Crawls":
        return self

    async def __aexit__(self, *_: object) -> None:
        async with self._turn:
            while self._running:
                await self._running.popitem()[1][1].aclose()

    def names(self) -> Iterator[str]:
        """Yield the names of all crawls, also of those that do not run."""
        yield DEFAULT
        if self._most and self._directory.is_dir():
            yield from sorted(each.name for each in self._directory.iterdir() if _NAME.fullmatch(each.name))

    async def find(self, name: str, *, begin: bool = False) -> Crawl | None:
        """Return the crawl of a name; ``begin`` makes one where there is room. None without one."""
        if name in ("", DEFAULT):
            return self.own
        async with self._turn:
            if name in self._running:
                return self._running[name][0]
            there = self._directory / name
            may = self._run is not None and len(self._running) < self._most and _NAME.fullmatch(name)
            if self._run is None or not may or not (begin or there.is_dir()):
                return None
            resources = AsyncExitStack()
            crawl = await resources.enter_async_context(self._run(there))
            self._running[name] = crawl, resources
            return crawl

    async def delete(self, name: str) -> None:
        """End a further crawl, and remove its directory."""
        async with self._turn:
            if name in self._running:
                await self._running.pop(name)[1].aclose()
            if self._most and _NAME.fullmatch(name):
                await asyncio.to_thread(shutil.rmtree, self._directory / name, ignore_errors=True)


def _metadata(info: Any) -> dict[str, list[str]]:
    return {name: list(given.values) for name, given in info.metadata.items()}


async def gathered(items: AsyncIterator[Any]) -> AsyncIterator[list[Any]]:
    """Yield what a client sends, together what comes together."""

    def follow() -> asyncio.Future[Any]:
        return asyncio.ensure_future(anext(items, None))

    coming = follow()
    try:
        while (item := await coming) is not None:
            batch, coming = [item], follow()
            while len(batch) < TOGETHER and (await asyncio.wait([coming], timeout=SOON_SECONDS))[0]:
                if coming.result() is None:
                    break
                batch.append(coming.result())
                coming = follow()
            yield batch
    finally:
        coming.cancel()
