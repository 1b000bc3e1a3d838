"""How many of the seconds in which hosts might be asked are used, and what keeps the others."""

from collections.abc import Mapping
from typing import NamedTuple

#: The part of the slots that is enough to say nothing of the others.
ENOUGH = 0.5
#: What keeps hosts from being asked.
WHY = ("politeness", "network", "CPU", "window", "nothing left")
_POLITENESS = ("delay", "robots", "back-off", "retry-after", "shared")


class Slots(NamedTuple):
    """The part of the slots that is ``used``: a slot is the time of one delay on one host with candidates.

    Where it is less than `ENOUGH`, ``why``, of `WHY`, says what keeps most of the others: ``held`` of
    so many hosts, ``of``.
    """

    used: float
    why: str
    held: int
    of: int

    def __str__(self) -> str:
        """Return it in a few words."""
        reason = f": {self.why}, {self.held:,} of {self.of:,} hosts" if self.why else ""
        return f"{self.used:.0%} of slots{reason}"


def slots(asked: float, ready: int, waiting: Mapping[str, int], *, congested: bool, connected: bool) -> Slots:
    """Return how the slots are used.

    ``asked`` is how many hosts are asked in the time of a delay. Of those with candidates so many are ``ready``
    and so many ``waiting``, by why (`models.frontier.politeness.Wait`). ``congested`` says that pages wait here
    for their verdicts (`models.frontier.window.Pace`), ``connected`` that all connections are in use.

    >>> str(slots(8.0, 22, {"delay": 8, "busy": 2}, congested=True, connected=False))
    '25% of slots: CPU, 22 of 32 hosts'
    >>> str(slots(1.0, 0, {"delay": 1, "robots": 9}, congested=False, connected=False))
    '10% of slots: politeness, 9 of 10 hosts'
    >>> str(slots(9.0, 1, {"delay": 9}, congested=False, connected=False))
    '90% of slots'
    """
    of = ready + sum(waiting.values())
    if not of:
        return Slots(0.0, "nothing left", 0, 0)
    used = min(1.0, asked / of)
    if used >= ENOUGH:
        return Slots(used, "", 0, of)
    held = {
        "politeness": max(0, round(sum(waiting.get(why, 0) for why in _POLITENESS) - asked)),
        "network": waiting.get("busy", 0),
    }
    here = "CPU" if congested else "network" if connected else "window"
    held[here] = held.get(here, 0) + ready
    why = max(held, key=held.__getitem__)
    return Slots(used, why, held[why], of)
