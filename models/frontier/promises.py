"""What became of the hits that owners' links promised: who promises more than comes is believed less.

A link's promise is the probability of a hit by which its target was chosen; a page that does not come is none.
"""

import math
from collections.abc import Iterable

import msgspec

#: Beyond it, either way, a probability is 1, or its logit is its log.
MOST_LOGIT = 30.0
#: Promised hits that every owner is taken to have kept as others do.
PRIOR = 10.0
#: How much worse than all others an owner keeps its promises before that counts.
TOLERANCE = 0.9


class Promised(msgspec.Struct, array_like=True):
    """The probabilities of hits that were promised, summed, and the hits that came."""

    promised: float = 0.0
    kept: int = 0

    def add(self, expected: float, hit: bool) -> None:
        """Count a promise."""
        self.promised += expected
        self.kept += hit


class Promises:
    """What owners promised, and how far each is believed.

    >>> promises = Promises()
    >>> for number in range(100):
    ...     promises.ended("good.org", 0.8, hit=number % 5 > 0)
    ...     promises.ended("farm.net", 0.8, hit=number % 10 == 0)
    >>> [round(promises.belief([owner]), 2) for owner in ("good.org", "farm.net", "new.org")]
    [1.0, 0.3, 1.0]
    """

    def __init__(self) -> None:
        self._owners: dict[str, Promised] = {}
        self._all = Promised()

    def __bool__(self) -> bool:
        """Return whether anybody may be believed less."""
        return len(self._owners) > 1

    def take_up(self, owner: str, promised: Promised) -> None:
        """Add what was counted of an owner before."""
        own = self._owners.setdefault(owner, Promised())
        for each in (own, self._all):
            each.promised += promised.promised
            each.kept += promised.kept

    def ended(self, owner: str, expected: float, hit: bool) -> None:
        """Count what came of a promise."""
        self._owners.setdefault(owner, Promised()).add(expected, hit)
        self._all.add(expected, hit)

    def belief(self, owners: Iterable[str]) -> float:
        """Return by how much the probability of a hit is lowered that some owners promise: by the best of them.

        An owner's part of hits that came is drawn towards that of all, so that a few misses say little. Who
        alone has promised is believed: there is nobody to do worse than.
        """
        if not self:
            return 1.0
        usual = (self._all.kept + PRIOR) / (self._all.promised + PRIOR)
        found = 0.0
        for name in owners:
            own = self._owners.get(name)
            if own is None:  # nothing speaks against it
                return 1.0
            found = max(found, (own.kept / usual + PRIOR) / (own.promised + PRIOR))
            if found >= TOLERANCE:
                return 1.0
        return found or 1.0


def believed(logit: float, belief: float) -> float:
    """Return the logit of a probability that is lowered by a factor.

    >>> believed(0.0, 1.0), round(believed(0.0, 0.5), 3)
    (0.0, -1.099)
    """
    if belief == 1:
        return logit
    if logit < -MOST_LOGIT:  # it is the log of its probability
        return logit + math.log(belief)
    probability = belief / (1 + math.exp(-logit))
    return math.log(probability / (1 - probability))
