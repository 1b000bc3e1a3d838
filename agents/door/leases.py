"""Orders that wait for clients, and the leases under which clients hold them. Pure: time is passed in, seconds.

An order is parked until its answer is in the log. A client holds it under a lease, which each of its calls
extends; a dead client's lease ends, and another client gets the order. The frontier's own lease bounds both.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from scentline.agents.fetch.servers import Recent
from scentline.models.records import FetchOrder
from scentline.models.url import host

#: Seconds after which an order that no client takes goes back to the frontier.
IDLE_SECONDS: Final = 30.0
#: Seconds in which an order that may have been given before is kept for the client that holds it.
GRACE_SECONDS: Final = 10.0
#: Seconds of the frontier's lease that a client must have left when it gets an order.
LEAST_SECONDS: Final = 5.0
#: Ended orders and requests of which a repetition is recognised; hosts whose last request is known; clients;
#: links of one page that are told before its end.
_MOST_ENDED, _MOST_REQUESTS, _MOST_HOSTS, _MOST_CLIENTS, MOST_LINKS = 20_000, 1_000, 100_000, 1_000, 1_000

#: What became of an answer: taken, taken before, of an order that was taken back, or of one never given.
Taken: TypeAlias = Literal["ok", "again", "late", "unknown"]


def name_of(order: FetchOrder) -> str:
    """Return the name of an order among those for its URL, as clients see it: "f1", a revisit "a3"."""
    return f"{order.visit[0]}{order.order}"


@dataclass(slots=True)
class Parked:
    """An order; ``acknowledge`` ends it, ``until`` is the end of the lease of ``client``, 0 without one."""

    order: FetchOrder
    acknowledge: Callable[[], object]
    since: float  #: When it was parked, or its lease ended.
    early: bool  #: Whether a client may have it from an earlier process.
    until: float = 0.0
    client: str = ""
    #: (URL, text) of links that were discovered before the page's answer.
    links: list[tuple[str, str]] = field(default_factory=list)


class Leases:
    """The parked orders of a door.

    ``stands`` returns whether the frontier still waits for an order's answer, as far as this process knows.
    ``crawl_delay`` returns the Crawl-delay of a URL's host, as far as known here.
    """

    def __init__(self, stands: Callable[[FetchOrder], bool], crawl_delay: Callable[[str], float]) -> None:
        self.stands = stands
        self._crawl_delay = crawl_delay
        self.parked: OrderedDict[str, Parked] = OrderedDict()
        #: By client, the time of its last call.
        self.clients: Recent[str, float] = Recent(_MOST_CLIENTS)
        self._given: Recent[tuple[str, str], list[tuple[str, str]]] = Recent(_MOST_REQUESTS)
        self._ended: Recent[tuple[str, str], Taken] = Recent(_MOST_ENDED)
        self._asked: Recent[str, float] = Recent(_MOST_HOSTS)
        self._blocked: Recent[str, float] = Recent(_MOST_HOSTS)

    def park(self, order: FetchOrder, acknowledge: Callable[[], object], now: float, *, early: bool) -> None:
        """Have an order wait for a client; an older one for its URL, which it replaces, is acknowledged.

        The same order may come twice: who holds it keeps it, and its end acknowledges both messages.
        """
        again = self._find(order.url, name_of(order))
        if again is not None:
            first = again.acknowledge
            again.acknowledge = lambda: (first(), acknowledge())
            return
        before = self.parked.pop(order.url, None)
        if before is not None:
            self._note_asked(host(order.url), before.until)
            self._drop(before, "late")
        self.parked[order.url] = Parked(order, acknowledge, now, early)

    def hold(self, client: str, holding: Iterable[tuple[str, str]], seconds: float, now: float) -> None:
        """Extend the leases of the orders that a client names, also those of before a restart."""
        self.clients[client] = now
        for url, name in holding:
            parked = self._find(url, name)
            if parked is not None and parked.client in ("", client):
                if parked.early:  # when it was given is not known
                    self._note_asked(host(url), now)
                self._lease(parked, client, seconds, now)

    def lease(
        self, client: str, request: str, want: int, seconds: float, now: float, only: str | None = None
    ) -> list[Parked]:
        """Lease up to ``want`` orders, of the host ``only`` if given; a repeated request gets the same ones."""
        self._end_leases(now)
        given = (self._find(*key) for key in self._given.get((client, request), ()))
        taken = [parked for parked in given if parked is not None and parked.client == client]
        for parked in taken:
            self._lease(parked, client, seconds, now)
        for parked in () if taken else self._free(now, only):
            if len(taken) >= want:
                break
            self._lease(parked, client, seconds, now)
            self._note_asked(host(parked.order.url), now)
            taken.append(parked)
        if taken:
            self._given[client, request] = [(each.order.url, name_of(each.order)) for each in taken]
        return taken

    def next_free(self, now: float) -> float:
        """Return when the next order that waits for its host's delay is free, infinity where none waits."""
        times = (self._free_at(parked) for parked in self.parked.values() if parked.until <= now)
        return min((at for at in times if at > now), default=math.inf)

    def take(self, url: str, name: str, elapsed: float, now: float) -> Parked | Taken:
        """Remove the order that an answer is for; return it, or why there is none.

        The page was requested ``elapsed`` seconds ago, or less.
        """
        parked = self._find(url, name)
        if parked is None:
            return self._ended.get((url, name), "unknown")
        del self.parked[url]
        self._ended[url, name] = "again"
        self._note_asked(host(url), now - max(0.0, elapsed))
        return parked

    def unread(self, url: str, name: str) -> bool:
        """Return whether an order is one that this door has not seen, and no other for its URL."""
        return url not in self.parked and (url, name) not in self._ended

    def overdue(self, now: float) -> Iterator[Parked]:
        """Remove and yield the orders to give back: no client takes them, or the frontier's lease is ending."""
        self._end_leases(now)
        for url, parked in list(self.parked.items()):
            waits = not parked.until and now >= max(parked.since, self._free_at(parked)) + IDLE_SECONDS
            if not waits and parked.order.lease > now + LEAST_SECONDS * (not parked.until):
                continue
            del self.parked[url]
            self._ended[url, name_of(parked.order)] = "late"
            yield parked

    def _find(self, url: str, name: str) -> Parked | None:
        parked = self.parked.get(url)
        return parked if parked is not None and name_of(parked.order) == name else None

    def held(self, now: float, name: str = "") -> int:
        """Return how many orders of a host, of any where ``name`` is empty, clients hold."""
        return sum(each.until > now and name in ("", host(url)) for url, each in self.parked.items())

    def block(self, name: str, until: float) -> None:
        """Lease no order of a host before a time; this process remembers it."""
        self._blocked[name] = until

    def _free(self, now: float, only: str | None) -> Iterator[Parked]:
        for url, parked in list(self.parked.items()):
            if parked.until > now or (only is not None and host(url) != only):
                continue
            if not self.stands(parked.order):
                self._drop(self.parked.pop(url), "again")  # its answer is in the log, its acknowledgement not
            elif self._free_at(parked) <= now < parked.order.lease - LEAST_SECONDS:
                yield parked

    def _free_at(self, parked: Parked) -> float:
        """Return when an order may be leased: its host had its delay, its earlier client the time to return."""
        delay = max(parked.order.delay, self._crawl_delay(parked.order.url))
        name = host(parked.order.url)
        asked = self._asked.get(name, 0.0)
        # An earlier process may have given it just before.
        early = parked.since if parked.early else 0.0
        return max(asked + delay, self._blocked.get(name, 0.0), early + max(delay, GRACE_SECONDS))

    def _lease(self, parked: Parked, client: str, seconds: float, now: float) -> None:
        parked.until = min(now + seconds, parked.order.lease)
        parked.client, parked.early = client, False

    def _end_leases(self, now: float) -> None:
        """End the leases that ran out; their clients may have sent a request until then."""
        for url, parked in self.parked.items():
            if 0 < parked.until <= now:
                self._note_asked(host(url), parked.until)
                parked.until, parked.client, parked.since = 0.0, "", parked.until

    def _note_asked(self, name: str, at: float) -> None:
        self._asked[name] = max(at, self._asked.get(name, 0.0))

    def _drop(self, parked: Parked, ended: Taken) -> None:
        self._ended[parked.order.url, name_of(parked.order)] = ended
        parked.acknowledge()
