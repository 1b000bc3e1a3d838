"""Carrying out what people ask of a running crawl: the spool is looked at a few times a second.

Reads the spool in the data directory and `pages`; keeps nothing; writes `predicates`, `sightings`, `outcomes`.
"""

import asyncio
from collections import deque

from agents.control.messages import carry_out
from agents.control.rejudge import Rejudge
from agents.control.requests import JudgeKept, RefusedError
from agents.control.spool import Spool
from agents.predicates import Predicates
from streams.logging import EventLog
from streams.runtime import Runtime

#: Seconds between two looks at the spool.
POLL_SECONDS = 0.2
#: Seconds between two looks at whether a new definition was heard.
HEARD_SECONDS = 0.01

log = EventLog("control")


class ControlService:
    """Takes up requests in their order; judging kept pages anew goes on beside the others, one at a time."""

    def __init__(self, runtime: Runtime, predicates: Predicates, rejudge: Rejudge) -> None:
        self._runtime = runtime
        self._predicates = predicates
        self._rejudge = rejudge
        self._spool = Spool(runtime.settings.data)
        self._passes: deque[tuple[str, JudgeKept]] = deque()
        self._more = asyncio.Event()

    @property
    def busy(self) -> bool:
        """Whether kept pages are being judged anew: the crawl does not end before that is done."""
        return bool(self._passes)

    async def run(self) -> None:
        """Look at the spool now and then; never returns."""
        self._spool.tidy()
        while True:
            await self.look()
            await asyncio.sleep(POLL_SECONDS)

    async def look(self) -> None:
        """Carry out the requests that wait."""
        under_way = {name for name, _ in self._passes}
        for name in self._spool.names():
            if name in under_way:
                continue
            try:
                await self._take_up(name)
            except RefusedError as error:
                log.warning("a request is refused", reason=str(error))
                self._spool.refuse(name, str(error))

    async def _take_up(self, name: str) -> None:
        request = self._spool.read(name)
        if isinstance(request, JudgeKept):
            self._passes.append((name, request))
            self._more.set()
            return
        judges = self._runtime.settings.judge
        publisher = self._runtime.publisher
        carried = carry_out(request, self._predicates.definitions, publisher.partitions, judges)
        await publisher.send_all(carried.messages)
        if carried.defines is not None:
            # The next request may be about the same predicate.
            while self._predicates.definitions.get(carried.defines.name) != carried.defines:
                await asyncio.sleep(HEARD_SECONDS)
        if carried.follows is not None:
            self._spool.put(carried.follows, f"{name}-kept")
        self._spool.done(name)

    async def judge_kept(self) -> None:
        """Judge kept pages for each predicate that asks for it; never returns."""
        while True:
            self._more.clear()
            while self._passes:
                name, request = self._passes[0]
                pages = await self._rejudge.run(request.name)
                log.info("kept pages were judged", predicate=request.name, pages=pages)
                self._spool.done(name)
                self._passes.popleft()
            await self._more.wait()
