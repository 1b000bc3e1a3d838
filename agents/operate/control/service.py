"""Carrying out what people ask of a running crawl: the spool is looked at a few times a second.

Reads the spool in the data directory; keeps nothing; writes `control`, `sightings`,
`dead-letters`.
"""

import asyncio
from collections.abc import Callable, Mapping

from scentline.agents.judge.predicates import Predicates
from scentline.agents.operate.control.requests import Known, Record, RefusedError, Seeds, messages, resolve
from scentline.agents.operate.control.spool import DIRECTORY, Spool, UnreadableError
from scentline.models.events import EventLog
from scentline.models.frontier.steered import Steered
from scentline.models.published import PredicateDefinition
from scentline.streams.attempts import Place
from scentline.streams.inbox import Outbox
from scentline.streams.logging import printable
from scentline.streams.runtime import Runtime

#: Seconds between two looks at the spool.
POLL_SECONDS = 0.2
#: Seconds between two looks at whether a new definition was heard.
HEARD_SECONDS = 0.01

log = EventLog("control")


class ControlService:
    """Takes up requests in their order; ``sync`` returns when the disk has what was sent.

    ``stand`` returns the crawl's figures, as `Known` has them.
    """

    def __init__(
        self,
        runtime: Runtime,
        predicates: Predicates,
        steered: Steered,
        sync: Callable[[], None],
        stand: Callable[[], Mapping[str, int]],
    ) -> None:
        self._runtime = runtime
        settings = runtime.settings
        self._known = Known(
            predicates.definitions, steered, settings.fetch.delay_seconds, judges=settings.judge
        )
        self._sync = sync
        self._stand = stand
        self._spool = Spool(runtime.settings.data)
        self._stuck: set[str] = set()

    async def run(self) -> None:
        """Look at the spool now and then; never returns."""
        self._spool.tidy()
        while True:
            await self.look()
            await asyncio.sleep(POLL_SECONDS)

    async def look(self) -> None:
        """Carry out the requests that wait."""
        for name in self._spool.names():
            if name in self._stuck:
                continue
            try:
                await self._answer(name)
            except OSError as error:
                # It is done, or refused, and done it would be again at every look.
                self._stuck.add(name)
                log.warning("a request can't be removed", reason=error.strerror)

    async def _answer(self, name: str) -> None:
        try:
            await self._take_up(name)
        except RefusedError as error:
            if isinstance(error, UnreadableError):
                await self._bury(name, error)
            log.warning("a request is refused", reason=str(error))
            self._spool.refuse(name, str(error))

    async def _take_up(self, name: str) -> None:
        bus = self._runtime.bus
        known = self._known._replace(stand=self._stand(), now=self._runtime.clock())
        record, said = resolve(self._spool.read(name), known)
        await bus.send_all(messages(record, bus.partitions))
        while not self._heard(record):  # the next request may be about the same
            await asyncio.sleep(HEARD_SECONDS)
        self._sync()
        self._spool.done(name, said)

    async def _bury(self, name: str, error: UnreadableError) -> None:
        outbox = Outbox(DIRECTORY)
        reason = f"{printable(name)}: {error}"
        self._runtime.bury(outbox, Place(DIRECTORY, 0, 0), error.data, reason, "unreadable")
        await self._runtime.bus.send_all(outbox.take())

    def _heard(self, record: Record) -> bool:
        if isinstance(record, PredicateDefinition):
            return self._known.predicates.get(record.name) == record
        return isinstance(record, Seeds) or self._known.steered.heard(record)
