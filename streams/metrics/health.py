"""Whether a process is well: its event loop turns, and each role has its partitions, their tables recovered.

Both are answered from another thread than the loop's, so that a loop that is stuck is reported too.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from streams.metrics.catalogue import READY, REBALANCES, RECOVERY
from streams.metrics.reading import Reading
from streams.topics import APP_ID

#: Seconds between two beats of the loop.
BEAT_SECONDS = 1.0

#: Returns what is missing, as text; called from any thread.
Check = Callable[[], list[str]]
#: The role of an app that has all of them.
ALL = "all"


class Health:
    """Takes note of the loop's beats, and asks the checks. ``clock`` gives seconds, and never goes back.

    >>> health = Health(lambda: 5.0)
    >>> health.missing()
    ['no role has started yet']
    >>> health.need(lambda: ["topics: pages"])
    >>> health.missing()
    ['topics: pages']
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._beat = clock()
        self._checks: list[Check] = []

    def need(self, check: Check) -> None:
        """Have the process ready only while ``check`` finds nothing missing."""
        self._checks.append(check)

    def missing(self) -> list[str]:
        """Return all that is missing; nothing when the process is ready."""
        checks = tuple(self._checks)
        if not checks:
            return ["no role has started yet"]
        return [line for check in checks for line in check()]

    def age(self) -> float:
        """Return the seconds since the loop last turned, or since the process began."""
        return self._clock() - self._beat

    async def beat(self, late: Callable[[float], object] = lambda _: None) -> None:
        """Note that the loop turns, for ever; tell ``late`` by how many seconds each beat came too late."""
        while True:
            self._beat = self._clock()
            await asyncio.sleep(BEAT_SECONDS)
            late(max(self._clock() - self._beat - BEAT_SECONDS, 0.0))


def role_of(app_id: str) -> str:
    """Return the role that an app's id names.

    >>> role_of("scentline-fetch"), role_of("scentline")
    ('fetch', 'all')
    """
    return app_id.removeprefix(APP_ID).removeprefix("-") or ALL


class Assignment:
    """Watches a Faust app: `settled` while it holds its partitions, tables recovered.

    Faust counts a rebalance as ended when the tables are recovered and messages flow. It is made in the app's
    event loop, and asked from any thread.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        # Faust makes its parts, and takes the event loop for them, where they are first asked for. A probe's
        # thread has another loop, which never runs: the app would wait for ever for what is to run there.
        self._monitor = app.monitor
        self._role = role_of(app.conf.id)

    @property
    def settled(self) -> bool:
        """Whether the partitions are assigned and their tables recovered; with none assigned it is so too."""
        app = self._app
        return bool(self._monitor.rebalance_end_latency) and not app.rebalancing and not app.should_stop

    def missing(self) -> list[str]:
        """Return what is missing before the role can work, as text; may be called from any thread."""
        if self.settled:
            return []
        app = self._app
        if app.should_stop:
            return [f"{self._role}: is stopping"]
        if app.rebalancing:
            return [f"{self._role}: partitions are being assigned and their tables recovered"]
        return [f"{self._role}: no partitions are assigned yet"]

    async def read(self, reading: Reading) -> None:
        """Tell where the role stands."""
        latencies = self._monitor.rebalance_end_latency
        reading.add(READY, self.settled, self._role)
        reading.add(REBALANCES, self._app.rebalancing_count, self._role)
        if latencies:
            reading.add(RECOVERY, latencies[-1], self._role)
