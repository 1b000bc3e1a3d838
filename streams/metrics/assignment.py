"""Where a role stands with its partitions: whether it has them, and how long their tables took to recover."""

from typing import Any

from streams.metrics.catalogue import READY, REBALANCES, RECOVERY
from streams.metrics.reading import Reading
from streams.topics import APP_ID

#: The role of an app that has all of them.
ALL = "all"


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
