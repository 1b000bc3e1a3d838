"""The candidates that a browser is to render: they wait for one of its slots, the most worth for it first.

A page is rendered if it is known to need its scripts, or if pages like it do so often enough that this saves
more requests than it wastes; of the others a few are, by chance, to see what rendering brings.
"""

import math
from collections.abc import Sequence
from functools import partial
from random import Random
from typing import TypeAlias

from scentline.models.frontier.fairness import Fairness
from scentline.models.frontier.flights import Flights
from scentline.models.frontier.freshness import groups_of
from scentline.models.frontier.keys import Rows
from scentline.models.frontier.needs import Needs, Outlook, outlook
from scentline.models.frontier.queue import CandidateQueue
from scentline.models.frontier.rows import PageRow
from scentline.models.policy.priorities import Priorities
from scentline.models.settings import CrawlSettings
from scentline.models.url import host

#: Pages ordered for each slot: the next one is there when it is free.
AHEAD = 2
#: Most URLs chosen to be rendered before they are seen; others are decided anew.
_MOST = 100_000

#: Rows with their priorities, None for one that is set aside.
_Scored: TypeAlias = Sequence[tuple[PageRow, dict[str, float] | None]]


class Renders:
    """Decides which candidates to render, where that is needed; ``queues`` has them for each predicate.

    Their priorities are those of a plain request worth as much for its time.
    """

    def __init__(
        self, whole: CrawlSettings, priorities: Priorities, fairness: Fairness, flights: Flights, random: Random
    ) -> None:
        self._settings = whole.render
        self._priorities, self._flights, self._clocks = priorities, flights, flights.clocks
        self._fairness, self._random = fairness, random
        self.queues: dict[str, CandidateQueue] = {}
        self.always = self._settings.pages == "always"
        #: Seconds that a lease lasts longer.
        self.seconds = AHEAD * self._settings.seconds
        self._early: set[str] = set()

    @property
    def free(self) -> bool:
        """Whether another page may be ordered for a slot."""
        return self._flights.rendering < AHEAD * self._settings.slots

    @property
    def full(self) -> bool:
        """Whether no page at all may be ordered: all are rendered, and all slots are taken."""
        return self.always and not self.free

    @property
    def waiting(self) -> bool:
        """Whether any candidate waits here."""
        return any(map(len, self.queues.values()))

    def hosts(self) -> set[str]:
        """Return the hosts whose candidates could be rendered now."""
        return set[str]().union(*(queue.hosts() for queue in self.queues.values())) if self.free else set()

    def add(self, predicate: str, limit: int) -> None:
        """Add a queue for a predicate, where pages are rendered as needed."""
        if self._settings.pages == "where-needed":
            self.queues.setdefault(predicate, CandidateQueue(limit))

    def take(self, shard: Rows, scored: _Scored) -> _Scored:
        """Queue those of scored candidates that are to be rendered; return all, these as set aside."""
        if not self.queues:
            return scored
        left: list[tuple[PageRow, dict[str, float] | None]] = []
        for row, each in scored:
            here = row.render or row.url in self._early
            part = outlook_of(shard, row.url).part(self._apart(row.url)) if here and each else 0.0
            for name, queue in self.queues.items():
                priority = self._priorities.of_part(each[name], part) if here and each else None
                queue.change([(row.url, priority, row.discovered)])
            left.append((row, None if here else each))
        return left

    def better(self, predicate: str, plain: CandidateQueue, best: str | None, now: float) -> str | None:
        """Return the ``best`` of the ``plain`` candidates, or a better, fair one to render in a free slot."""
        queue = self.queues.get(predicate)
        if not queue or not self.free:
            return best
        first = next(iter(queue.best(1, partial(self._clocks.ready, now=now))), None)
        first = first and self._fairness.choose(queue, first, now, -math.inf)
        if first is None:
            return best
        return best if best is not None and plain.priority(best) >= queue.priority(first) else first

    def priority(self, predicate: str, plain: CandidateQueue, url: str) -> float:
        """Return the last priority of a candidate, of the ``plain`` ones or of those to render."""
        queue = self.queues.get(predicate)
        return (plain if queue is None or url not in queue else queue).priority(url)

    def changes_place(self, shard: Rows, row: PageRow) -> bool:
        """Return whether a chosen candidate is to be offered again, for by now it belongs to other queues.

        Else it is decided, and noted in its row, whether it is rendered.
        """
        if not self.queues or row.render:
            return False
        found, early = outlook_of(shard, row.url), row.url in self._early
        if self._pays(found, row.url, early=early) != early:
            if len(self._early) >= _MOST:
                self._early.clear()
            (self._early.discard if early else self._early.add)(row.url)
            return True
        self._early.discard(row.url)
        tried = self.free and self._random.random() < self._settings.chance / (1 + found.tried)
        row.render = early or tried
        return False

    def _pays(self, found: Outlook, url: str, *, early: bool) -> bool:
        # One that waits for a slot does not go back for a crowd: it would be moved to and fro for ever.
        crowd = 0 if early else max(len(queue.hosts()) for queue in self.queues.values())
        return found.pays(self._apart(url), crowd / self._settings.slots)

    def _apart(self, url: str) -> float:
        return self._clocks.apart(host(url))


def whether_rendered(row: PageRow, found: Outlook) -> str:
    """Return in words whether a page is rendered where that is needed, and why."""
    known = "rendered, as it needs its scripts" if row.shells else "rendered unseen" if row.render else ""
    return (
        f"{known or 'not rendered'}: {found.need:.0%} of the pages like it need their scripts; a rendering "
        f"takes {found.seconds:.1f} seconds and {found.requests:.1f} requests, and brings text or links to "
        f"{found.brings:.0%} of them"
    )


def outlook_of(shard: Rows, url: str) -> Outlook:
    """Return what is expected of a page by those like it."""
    return outlook([row.needs or Needs() for _, row in groups_of(shard, url)])
