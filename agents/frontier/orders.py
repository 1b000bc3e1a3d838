"""Fetch orders: what the frontier sends for a choice, and those in flight: neither answered nor taken back."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scentline.agents.frontier.rows import INSTANT, Choice, FrontierShard
from scentline.models.frontier.politeness import HostClocks
from scentline.models.url import host
from scentline.streams.records import FetchOrder, Revisit, RobotsTxt, Visit, encode
from scentline.streams.runtime import Runtime
from scentline.streams.topics import FETCHES

#: Seconds in flight after which a fetch no longer takes a place in the window.
SLOW_SECONDS = 3.0


def order_of(
    choice: Choice,
    url: str,
    number: int,
    depth: int,
    lease: float,
    *,
    delay: float,
    robots: RobotsTxt | float,
    vouched: float | None = None,
    silent: bool = False,
    requests: int = 0,
    revisit: Revisit | None = None,
) -> FetchOrder:
    """Return the order for a choice: the fetch of a URL by this ``number``, whose answer is waited for.

    ``delay`` is how many seconds lie between two requests to its host, ``robots`` what is known of robots.txt.
    """
    return FetchOrder(
        url=url, order=number, predicate=choice.predicate, policy=choice.policy, explored=choice.explored,
        probability=choice.probability, priority=choice.priority, depth=depth, lease=lease,
        expected=choice.expected, comes=choice.comes, requests=requests, delay=delay, robots=robots,
        revisit=revisit, vouched=vouched, silent=silent,
    )  # fmt: skip


def choice_of(order: FetchOrder, time: float) -> Choice:
    """Return the choice that an order tells of, as if it was made at ``time``: that is not told."""
    return Choice(
        order.predicate, order.policy, order.explored, order.probability, order.priority, time, order.expected,
        order.comes,
    )  # fmt: skip


def send(runtime: Runtime, shard: FrontierShard, order: FetchOrder) -> None:
    """Send an order with what the shard emits, to the partition of its host."""
    partition = runtime.partition(FETCHES, host(order.url))
    shard.outbox.send(FETCHES.name, partition, None, encode(order))


@dataclass(frozen=True)
class Flight:
    """A fetch that was ordered: for which predicate, until when its answer is waited for, and since when.

    An ``instant`` one was not chosen by the policy; only a first ``visit`` brings a new page to judge.
    """

    predicate: str
    lease: float
    explored: bool
    since: float
    instant: bool = False
    visit: Visit = "first"

    @classmethod
    def of(cls, choice: Choice, lease: float, since: float) -> "Flight":
        """Return the flight of a page that was chosen."""
        return cls(choice.predicate, lease, choice.explored, since, instant=choice.policy == INSTANT)


class Flights(Mapping[str, Flight]):
    """The fetches in flight, by URL; the clocks of their hosts know of each.

    One that was ``put_off`` keeps its place in the budget until its lease ends: where its order came again, as
    after a worker's death, the page that it brought may be in the log.
    """

    def __init__(self, clocks: HostClocks) -> None:
        self._clocks = clocks
        self._flights: dict[str, Flight] = {}
        self.put_off: dict[str, Flight] = {}

    def __getitem__(self, url: str) -> Flight:
        return self._flights[url]

    def __iter__(self) -> Iterator[str]:
        return iter(self._flights)

    def __len__(self) -> int:
        return len(self._flights)

    def fly(self, url: str, flight: Flight) -> None:
        """Note that a fetch was ordered."""
        if url not in self._flights:
            self._clocks.started(host(url), flight.since)
        self._flights[url] = flight
        self.put_off.pop(url, None)

    def land(self, url: str, now: float, *, put_off: bool = False) -> Flight | None:
        """Note that a fetch ended, or was ``put_off``; return what it was, None where it was not waited for."""
        flight = self._flights.pop(url, None)
        self.put_off.pop(url, None)
        if flight is not None:
            self._clocks.finished(host(url), now)
            if put_off:
                self.put_off[url] = flight
        return flight

    def overdue(self, now: float) -> list[str]:
        """Return the URLs whose leases ran out; those that were put off lose their places."""
        self.put_off = {url: flight for url, flight in self.put_off.items() if flight.lease > now}
        return [url for url, flight in self._flights.items() if flight.lease <= now]

    def prompt(self, now: float) -> int:
        """Return how many are not slow: what waits for a slow host holds up no other."""
        return sum(now - flight.since < SLOW_SECONDS for flight in self._flights.values())

    @property
    def pages(self) -> int:
        """How many may bring a page to judge."""
        return len(self.put_off) + sum(flight.visit == "first" for flight in self._flights.values())
