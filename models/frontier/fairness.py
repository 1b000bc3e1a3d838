"""Fairness between the owners of hosts: who had more than a share of the latest fetches stands back for others.

Kept in memory: a restart begins a new window of fetches. Each worker sees to it among the hosts that it holds.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from scentline.models.facts import Found
from scentline.models.frontier.keys import Rows, is_first, parent_of, start_of
from scentline.models.frontier.politeness import HostClocks
from scentline.models.frontier.queue import CandidateQueue
from scentline.models.frontier.rows import PageRow
from scentline.models.frontier.shares import LEAST_WORTH, Shares
from scentline.models.frontier.trust import Trust
from scentline.models.url import host, owner

#: Hosts whose servers' networks are known.
SERVERS = 100_000
#: Links from page to owner that are looked at when partitions are opened: more are too many to remember.
TAKEN_UP = 300_000
#: Share of all trust from which on it is noted who is vouched for: a thousand owners at most.
NOTED = 0.001
#: Hosts of one owner that are looked through for another's.
OTHERS = 100
#: Seconds within which a host may be asked for its candidates to be waited for; its own delay is waited out.
NEAR_SECONDS = 2.0


class Fairness:
    """Chooses between the best candidates of all owners; ``worth`` makes the log of a worth of a priority.

    ``waits`` says that the last choice left a place free for a candidate whose host may be asked soon.
    """

    def __init__(self, share: float, clocks: HostClocks, worth: Callable[[float], float]) -> None:
        self.shares = Shares(share, SERVERS)
        self.waits = False
        self._trust = Trust()
        self._vouched: dict[str, float] = {}
        self._taken_up: set[int] = set()
        self._clocks = clocks
        self._worth = worth

    # who is vouched for

    def absorb(self, shard: Rows, sighting: object) -> None:
        """Absorb a seed, or the links of a judged page, once and before its row does."""
        if isinstance(sighting, Found) and sighting.seed:
            self._trust.seeded(host(sighting.url), _owner(sighting.url))
        elif is_first(sighting, shard):
            self._trust.linked(_owner(sighting.url), {_owner(link.url) for link in sighting.links})

    def open(self, shard: Rows) -> None:
        """Begin with those who were vouched for when the partition was held last."""
        start = start_of(shard)
        if start is not None:
            self._vouch(self._vouched | start.vouched)

    def take_up(self, shard: Rows, row: PageRow) -> None:
        """Apply what a row of a partition that was opened tells of seeds and links."""
        own = _owner(row.url)
        if row.seed:
            self._trust.seeded(host(row.url), own)
        for parent in row.parents:
            link = hash((parent, own))
            if len(self._taken_up) < TAKEN_UP and link not in self._taken_up:
                self._taken_up.add(link)
                self._trust.linked(_owner(parent_of(shard, parent).url), {own})

    def settle(self) -> None:
        """Work out again who is vouched for, where enough is new."""
        if self._trust.grown:
            self._vouch(self._trust.shares())

    def _vouch(self, shares: dict[str, float]) -> None:
        self._vouched = shares
        self.shares.vouch(shares)

    def vouched(self) -> dict[str, float]:
        """Return the owners with the largest shares of all trust, and these."""
        return {own: share for own, share in self._vouched.items() if share >= NOTED}

    # choosing

    def choose(self, queue: CandidateQueue, best: str, now: float, price: float) -> str | None:
        """Return ``best``, the best candidate that may be asked for, or that of an owner who had less.

        None where none is worth its ``price``, and where all that may be asked had more than their shares while
        the host of an owner who had less may be asked soon.
        """
        self.waits = False
        held_back = self.shares.handicap(host(best))
        if not held_back:
            return best if queue.priority(best) >= price else None
        open_, soon = self._heads(queue, now)
        found = [each for each in open_ if queue.priority(each.url) >= price]
        if not found:
            return None
        first = max(found)
        if any(each.worth > first.worth and each.handicap > first.handicap for each in soon):
            free = [each for each in found if not each.handicap]
            self.waits = not free
            return max(free).url if free else None
        return first.url

    def others_wait(self, queue: CandidateQueue, own: str) -> bool:
        """Return whether another owner's best candidate is worth a third of the best of all."""
        heads = queue.heads(OTHERS, lambda name: owner(name) != own)
        if not heads or _owner(heads[-1]) == own:
            return False
        first, other = (self._worth(queue.priority(url)) for url in (heads[0], heads[-1]))
        return other >= first + math.log(LEAST_WORTH)

    def _heads(self, queue: CandidateQueue, now: float) -> tuple[list["_Head"], list["_Head"]]:
        """Return the best candidates of hosts that may be asked, and of those that soon may be.

        Hosts behind the first that may be asked and had less than its share are not looked at.
        """
        open_: list[_Head] = []
        soon: list[_Head] = []

        def last(name: str) -> bool:
            return self._clocks.ready(name, now) and not self.shares.handicap(name)

        for url in queue.heads(meets=last):
            name = host(url)
            ready = self._clocks.ready(name, now)
            if ready or self._clocks.soon(name, now, NEAR_SECONDS):
                handicap = self.shares.handicap(name)
                worth = self._worth(queue.priority(url)) + handicap
                (open_ if ready else soon).append(_Head(worth, handicap, url))
        return open_, soon


class _Head(NamedTuple):
    """A host's best candidate: the log of what it is worth beside others', and what of that its owner lost."""

    worth: float
    handicap: float
    url: str


def _owner(url: str) -> str:
    return owner(host(url))
