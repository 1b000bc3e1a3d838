"""How a crawl stands whose frontiers run in other processes, as a door's clients hear it."""

from collections.abc import Callable

from scentline.agents.operate.record import read_standing
from scentline.models.errors import EventLog
from scentline.models.published import SILENT_SECONDS, Standing
from scentline.models.records import RecordError

log = EventLog("door")


class Elsewhere:
    """The frontiers by what they publish in `standing`.

    "done" is not known from it: another frontier or another door's client may have found more meanwhile.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._frontiers: dict[str, Standing] = {}

    def hear(self, key: bytes | None, value: bytes | None) -> None:
        """Apply a frontier's standing; skip the other messages of the topic."""
        if not (key or b"").startswith(b"frontier ") or value is None:
            return
        try:
            told = read_standing(value)
        except RecordError as error:
            log.warning("skipped a standing that can't be read", reason=str(error))
        else:
            self._frontiers[told.worker] = told

    def state(self) -> str:
        """Return "paused" or "spent" where they say so, else "running"; one that is silent says nothing."""
        since = self._clock() - SILENT_SECONDS
        said = {each.state for each in self._frontiers.values() if not each.final and each.time > since}
        return "paused" if "paused" in said else "spent" if said == {"spent"} else "running"
