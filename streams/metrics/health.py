"""Whether a process is well: its event loop turns, and it has all that it needs to work.

Both are answered from another thread than the loop's, so that a loop that is stuck is told of too.
"""

import asyncio
import time
from collections.abc import Callable

#: Seconds between two beats of the loop.
BEAT_SECONDS = 1.0

#: Returns what is missing, as text; called from any thread.
Check = Callable[[], list[str]]


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
