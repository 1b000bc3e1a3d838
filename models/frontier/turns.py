"""Which predicate has the next fetch, by weighted-fair turns, and how many pages may be in flight.

A page in flight was chosen without the verdicts on the others in flight. Where pages are scarce that costs
hits, so the window is a share of the pages judged. Where time is scarce every unused second of a host costs
hits, so all hosts may have fetches in flight at once, as long as this machine keeps up.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from heapq import nlargest
from typing import Protocol, TypeAlias

# Lags are sums of many small numbers: one that differs from zero by rounding only counts as zero.
_ROUNDING = 1e-9


def check_share(name: str, share: float) -> None:
    """Raise ValueError for a share that is not positive and finite."""
    if not 0 < share < math.inf:
        raise ValueError(f"the share of {name} is {share}, expected a positive number")


class FairShare:
    """Chooses the next name so that fetches follow the shares at all times, not only in the long run.

    Each name has a lag: the fetches owed to it minus those it got. Each fetch is owed to the names that were
    eligible for it, by their shares. Among the names with no negative lag, the one whose next fetch is due
    first is next (earliest eligible virtual deadline first, Stoica and Abdel-Wahab 1995). While all names are
    eligible, each is always within one fetch of its share, whatever the shares; plain stride scheduling would
    let one large share run ahead of many small ones by half of their number.

    A name is owed nothing for fetches it was not eligible for, so a name that joins late or had no candidates
    neither starves the others nor catches up.

    >>> fair = FairShare({"science": 2.0, "music": 1.0})
    >>> turns = []
    >>> for _ in range(6):
    ...     turns.append(fair.next({"science", "music"}))
    ...     fair.charge(turns[-1])
    >>> turns
    ['science', 'music', 'science', 'science', 'music', 'science']
    """

    def __init__(self, shares: Mapping[str, float]) -> None:
        self._shares: dict[str, float] = {}
        self._lags: dict[str, float] = {}
        for name, share in shares.items():
            self.set_share(name, share)
        self._competing = list(self._shares)

    def set_share(self, name: str, share: float) -> None:
        """Add a name or change its share from now on; ValueError when it is not positive and finite."""
        check_share(name, share)
        self._shares[name] = share
        self._lags.setdefault(name, 0.0)

    def remove(self, name: str) -> None:
        """Forget a name, if it is known; its lag is spread over the others."""
        if name not in self._shares:
            return
        del self._shares[name]
        lag = self._lags.pop(name)
        self._competing = [other for other in self._competing if other != name]
        self._owe(lag, list(self._shares))

    def next(self, eligible: Collection[str]) -> str | None:
        """Return the eligible name that gets the next fetch; None when none of them is known."""
        self._competing = [name for name in self._shares if name in eligible]
        if not self._competing:
            return None
        lags = self._lags
        owed = [name for name in self._competing if lags[name] >= -_ROUNDING]
        return min(owed or self._competing, key=lambda name: (1.0 - lags[name]) / self._shares[name])

    def charge(self, name: str) -> None:
        """Count one fetch for a name, owed to it and to the names eligible at the last ``next``.

        KeyError when the name is not known.
        """
        if name not in self._shares:
            raise KeyError(f"fair share: charge of {name}, expected one of {', '.join(self._shares)}")
        competing = self._competing if name in self._competing else [*self._competing, name]
        self._owe(1.0, competing)
        self._lags[name] -= 1.0

    def _owe(self, fetches: float, names: Collection[str]) -> None:
        total = sum(self._shares[name] for name in names)
        for name in names:
            self._lags[name] += fetches * self._shares[name] / total


#: A candidate's probability of a hit, by predicate.
Prospects: TypeAlias = Mapping[str, float]


class Offers(Protocol):
    """The candidates that predicates offer for a turn."""

    def chance(self, name: str) -> float | None:
        """Return the chance that a predicate's best candidate is a hit, as last scored; None without one."""

    def head(self, name: str) -> Prospects:
        """Return the chances of the candidate behind `chance` for all predicates, as last scored."""

    def best(self, name: str) -> Prospects:
        """Return the chances of a predicate's best candidate for all predicates, scored now."""


#: Turns over which hits are remembered: each turn multiplies them by 1 - 1 / MEMORY.
MEMORY = 1_000
#: Prior hits of every predicate, so that few turns go to one with hardly a hit to find.
PRIOR_HITS = 0.25
#: Prior hits of every predicate's own fetches, actual and expected; and the number of expected hits at which
#: both are halved.
PRIOR_OWN = 1.0
OWN_MEMORY = 400
#: Share of the turns that goes by the shares alone.
EVEN = 0.3
#: Predicates whose best candidates are examined for one turn.
LEADERS = 8
#: The smallest part of a candidate's worth that is reported.
LEAST_PART = 0.01
#: The name for turns by worth, among the predicates with turns by share: not a predicate's name.
_BY_WORTH = ""


@dataclass(slots=True)
class _Standing:
    """A predicate's share, its recent hits, and the actual and the expected hits of its own fetches."""

    share: float
    hits: float = 0.0
    came: float = PRIOR_OWN
    expected: float = PRIOR_OWN

    @property
    def belief(self) -> float:
        """Actual hits per expected hit."""
        return self.came / self.expected


class ProportionalTurns:
    """Chooses the page with the greatest sum over predicates of share * chance of a hit / recent hits.

    Each such choice climbs the sum of share * log(hits), the objective of proportional fairness (Kelly, Maulloo
    and Tan 1998), as a proportionally fair scheduler does with rates for chances. A page may count for several
    predicates, and a predicate with many hits gives way; with steady chances every predicate gets turns by its
    share, however rare its hits.

    A turn counts as the part of a hit that it promises, whatever its result: a predicate that promises too much
    gets no more turns for it, and is believed less from then on. Hits from others' turns count in full. A
    predicate that joins, or had no candidates, starts with the hits that make it worth as much as the best: it
    neither waits nor catches up.

    The share ``even`` of the turns goes by the shares alone: a predicate without hits yet underrates its
    chances, and might never find any.
    """

    def __init__(self, even: float = EVEN) -> None:
        self._even = even
        self._fair = FairShare({_BY_WORTH: 1.0 - even} if even < 1 else {})
        self._turn = _BY_WORTH
        self._standings: dict[str, _Standing] = {}
        #: The chances with which predicates competed for the latest turn.
        self._competing: dict[str, float] = {}

    def set_share(self, name: str, share: float) -> None:
        """Add a predicate or change its share; ValueError when it is not positive and finite."""
        check_share(name, share)
        if name in self._standings:
            self._standings[name].share = share
        else:
            self._standings[name] = _Standing(share)
        self._divide()

    def remove(self, name: str) -> None:
        """Give a predicate no turns until it has a share again."""
        self._standings.pop(name, None)
        self._competing.pop(name, None)
        self._fair.remove(name)
        self._divide()

    def _divide(self) -> None:
        total = sum(standing.share for standing in self._standings.values())
        for name, standing in self._standings.items():
            self._fair.set_share(name, self._even * standing.share / total)

    def brought(self, verdict: Mapping[str, bool], own: str | None) -> None:
        """Count a judged page's hits; ``own`` is the predicate whose turn brought it, if any."""
        for name, hit in verdict.items():
            if hit and name in self._standings:
                standing = self._standings[name]
                if name == own:
                    standing.came += 1
                else:
                    standing.hits += 1

    def next(self, eligible: Collection[str], offers: Offers) -> str | None:
        """Return the eligible predicate that has the next turn; None when none has a candidate."""
        names = [name for name in self._standings if name in eligible]
        if len(names) < 2:
            self._competing = {}
            return next(iter(names), None)
        self._compete({name: chance for name in names if (chance := offers.chance(name)) is not None})
        terms = {name: self._term(name, chance) for name, chance in self._competing.items()}
        self._turn = self._fair.next({_BY_WORTH, *self._competing}) or _BY_WORTH
        if self._turn != _BY_WORTH:
            return self._turn
        leaders = nlargest(LEADERS, terms, key=terms.__getitem__)
        return self._leading({name: self._worth(offers.head(name)) for name in leaders}, offers)

    def _leading(self, worths: dict[str, float], offers: Offers) -> str | None:
        """Return the predicate whose best candidate, scored now, is worth most."""
        looked: set[str] = set()
        while worths:
            name = max(worths, key=worths.__getitem__)
            if name in looked:
                return name
            looked.add(name)
            chances = offers.best(name)
            if chances:
                self._competing[name] = chances.get(name, 0.0)
                worths[name] = self._worth(chances)
            else:
                del worths[name]
        return None

    def charge(self, name: str) -> None:
        """Count a turn: the hits of all its competitors fade, and ``name`` gets the hits that it promised."""
        if self._competing:
            self._fair.charge(self._turn)
        for other, chance in self._competing.items():
            standing = self._standings[other]
            standing.hits *= 1 - 1 / MEMORY
            if other == name:
                standing.hits += chance * standing.belief
                standing.expected += chance
                if standing.expected > OWN_MEMORY:
                    standing.came /= 2
                    standing.expected /= 2

    def parts(self, prospects: Prospects) -> dict[str, float]:
        """Return the predicates' parts of a candidate's worth, without the smallest."""
        whole = self._worth(prospects)
        if len(self._standings) < 2 or not whole:
            return {}
        parts = {
            name: self._term(name, prospects[name]) / whole for name in self._standings if name in prospects
        }
        return {name: part for name, part in parts.items() if part >= LEAST_PART}

    def _compete(self, chances: dict[str, float]) -> None:
        """Raise the hits of those that did not compete last, so that they are worth no more than the best."""
        before = [name for name in chances if name in self._competing]
        best = max((self._term(name, chances[name]) for name in before), default=0.0)
        for name in chances.keys() - self._competing.keys():
            excess = self._term(name, chances[name]) / best if best else 1.0
            if excess > 1:
                standing = self._standings[name]
                standing.hits = (PRIOR_HITS + standing.hits) * excess - PRIOR_HITS
        self._competing = chances

    def _worth(self, chances: Prospects) -> float:
        return sum(self._term(name, chance) for name, chance in chances.items() if name in self._standings)

    def _term(self, name: str, chance: float) -> float:
        standing = self._standings[name]
        return standing.share * standing.belief * chance / (PRIOR_HITS + standing.hits)


#: Pages that may wait here for verdicts before fewer are ordered: enough to keep every core busy.
BACKLOG = 16
#: Most pages in flight while pages are scarce, by default.
FEW = 16
#: Weight of a new answer in the means of `Pace`.
_NEW = 1 / 16


def window(judged: int, share: float, at_most: int) -> int:
    """Return how many pages may be in flight after ``judged`` pages: a share of these, 1 to ``at_most``.

    For crawls in which pages are scarce. ``at_most`` 0 stands for `FEW`.

    >>> [window(judged, share=0.05, at_most=16) for judged in (0, 39, 40, 200, 5000)]
    [1, 1, 2, 10, 16]
    """
    return max(1, min(at_most or FEW, int(share * judged)))


class Pace:
    """The window of pages in flight while time is scarce, at most ``most``: as many as are judged in time.

    Congestion control by delay, as in TCP Vegas (Brakmo, O'Malley and Peterson 1994). The number of pages that
    wait here is the rate of verdicts times the time from answer to verdict (Little 1961). While it is at most
    `BACKLOG` the window grows by one with each verdict, which doubles it in the time of a fetch; else it
    shrinks by one.

    >>> pace = Pace(most=64)
    >>> for tenth in range(100):
    ...     pace.judged(tenth / 10, lag=0.05)
    >>> pace.window
    64
    >>> for hundredth in range(100):
    ...     pace.judged(10 + hundredth / 100, lag=2.0)
    >>> pace.window
    16
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.window = min(BACKLOG, most)
        self._last: float | None = None
        self._apart = 0.0
        self._lag = 0.0

    def judged(self, now: float, lag: float) -> None:
        """Count a verdict, ``lag`` seconds after the answer came."""
        self._lag += _NEW * (max(0.0, lag) - self._lag)
        if self._last is not None:
            self._apart += _NEW * (max(0.0, now - self._last) - self._apart)
        self._last = now
        wanted = max(BACKLOG, self.window - 1) if self.congested else self.window + 1
        self.window = min(self._most, wanted)

    @property
    def congested(self) -> bool:
        """Whether more pages wait for verdicts than it takes to keep the machine busy."""
        return self._lag > BACKLOG * self._apart > 0
