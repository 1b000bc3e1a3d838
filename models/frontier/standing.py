"""The status of a frontier, for queries and for publication at intervals.

It adds what no row and no other topic has: the state of queues, hosts and waits in memory.
"""

import math
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from scentline.models.frontier.candidates import Candidates
from scentline.models.frontier.keys import Rows
from scentline.models.frontier.politeness import Wait
from scentline.models.frontier.queue import CandidateQueue
from scentline.models.frontier.selection import Budget, Selection
from scentline.models.policy.combiner import Forecast
from scentline.models.published import HostStanding, Standing, Upcoming
from scentline.models.settings import FetchSettings
from scentline.models.url import host

#: Used share of the slots from which on no reason is given for the unused ones.
ENOUGH = 0.5
#: What holds hosts back.
WHY = ("politeness", "network", "rendering", "CPU", "window", "nothing left")
_POLITENESS = ("delay", "robots", "back-off", "retry-after", "shared")


class Slots(NamedTuple):
    """The ``used`` share of the slots: a slot is the time of one delay on one host with candidates.

    Where it is less than `ENOUGH`, ``why``, one of `WHY`, is what holds back most hosts: ``held`` out of
    ``of``.
    """

    used: float
    why: str
    held: int
    of: int

    def __str__(self) -> str:
        """Return a short description."""
        reason = f": {self.why}, {self.held:,} of {self.of:,} hosts" if self.why else ""
        return f"{self.used:.0%} of slots{reason}"


def slots(asked: float, ready: int, waiting: Mapping[str, int], rendering: int, here: str) -> Slots:
    """Return the use of the slots.

    ``asked`` is the number of requests in the time of a delay. Of the hosts with candidates, ``ready`` are
    ready, and held back by what is ``here``, one of `WHY`; ``waiting`` counts the others by reason (`wait_of`).
    ``rendering`` pages are with the browser.

    >>> str(slots(8.0, 22, {"delay": 8, "busy": 2}, 0, "CPU"))
    '25% of slots: CPU, 22 of 32 hosts'
    >>> str(slots(1.0, 0, {"delay": 1, "robots": 9}, 0, "window"))
    '10% of slots: politeness, 9 of 10 hosts'
    >>> str(slots(1.0, 0, {"busy": 2, "browser": 7}, 2, "window"))
    '11% of slots: rendering, 9 of 9 hosts'
    >>> str(slots(9.0, 1, {"delay": 9}, 0, "window"))
    '90% of slots'
    """
    of = ready + sum(waiting.values())
    if not of:
        return Slots(0.0, "nothing left", 0, 0)
    used = min(1.0, asked / of)
    if used >= ENOUGH:
        return Slots(used, "", 0, of)
    busy = waiting.get("busy", 0)
    rendering = min(busy, rendering)
    held = {
        "politeness": max(0, round(sum(waiting.get(why, 0) for why in _POLITENESS) - asked)),
        "network": busy - rendering,
        "rendering": rendering + waiting.get("browser", 0),
    }
    held[here] = held.get(here, 0) + ready
    why = max(held, key=held.__getitem__)
    return Slots(used, why, held[why], of)


def queues_of(candidates: Candidates, predicate: str) -> list[CandidateQueue]:
    """Return the queues that have candidates of a predicate: for plain requests, and to render."""
    both = candidates.queues, candidates.renders.queues
    return [queue for queues in both if (queue := queues.get(predicate))]


def hosts_of(candidates: Candidates, predicate: str) -> Collection[str]:
    """Return the hosts with candidates of a predicate, without a copy where one queue has all."""
    found = [queue.hosts() for queue in queues_of(candidates, predicate)]
    return found[0] if len(found) == 1 else set[str]().union(*found)


def wait_of(candidates: Candidates, name: str, now: float) -> Wait:
    """Return why a host waits: "browser" if its clock does not hold it, and all its candidates need a slot."""
    wait, renders = candidates.clocks.wait(name, now), candidates.renders
    if wait.why or renders.free:
        return wait
    plain = not renders.always and any(queue.of_host(name) for queue in candidates.queues.values())
    return wait if plain else Wait("browser", now)


#: Seconds between two samples of hosts and rates.
LOOK_SECONDS = 1.0
#: Hosts sampled at a time, candidates reported of a predicate, and candidates examined at a time.
HOSTS_AT_ONCE, BEST, BEST_AT_ONCE = 1_000, 50, 10
#: Seconds over which pages and requests a second are measured.
RATE_SECONDS = 10.0
#: Most inputs reported for a candidate, and as many against it.
SPEAKING = 3


class Standings:
    """Reports the status of the frontier, which ``began`` then; ``state`` returns its state, except its end."""

    def __init__(
        self,
        fetch: FetchSettings,
        candidates: Candidates,
        budget: Budget,
        selection: Selection,
        state: Callable[[], str],
        began: float,
    ) -> None:
        self._fetch = fetch
        self._candidates = candidates
        self._budget = budget
        self._selection = selection
        self._state = state
        self._hosts = HostCounts(candidates)
        self._rates = Rates()
        self._began = began
        self._sampled = -math.inf

    def changed(self) -> None:
        """Start over, as the shards held have changed."""
        self._hosts.forget()

    def sample(self, now: float) -> None:
        """Sample hosts and rates, once a second, whether or not there is a query."""
        if now >= self._sampled + LOOK_SECONDS:
            self._sample(now)

    def _sample(self, now: float) -> None:
        self._sampled = now
        self._hosts.look(now)
        shards = self._candidates.shards
        totals = shards.totals()
        self._rates.take(frozenset(shards), now, totals.judged, totals.requests)

    def slots(self) -> Slots | None:
        """Return the use of the slots; None without a delay between requests, or before it is known."""
        fetch, requests = self._fetch, self._rates.told()[1]
        if not fetch.delay_seconds or requests is None:
            return None
        ready, waiting, _, _ = self._hosts.told()
        flights = self._candidates.flights
        here = "network" if len(flights) >= fetch.connections else "window"
        here = "CPU" if self._selection.pace.congested else here
        return slots(requests * fetch.delay_seconds, ready, waiting, flights.rendering, here)

    def steps(
        self, now: float, predicate: str = "", hosts: Sequence[str] = (), *, final: bool = False
    ) -> Iterator[Standing | None]:
        """Yield None between steps, then the status with a predicate's best candidates and the given hosts.

        Yields nothing while no partition is held.
        """
        if not self._candidates.shards:
            return
        best: list[Upcoming] = []
        if predicate in self._candidates.queues:
            for part in self._best(predicate, now):
                best += part
                yield None
        standing = self.take(now, final=final)
        standing.best, standing.best_of = tuple(best), predicate
        standing.looked_at = tuple(self._looked_at(hosts, now))
        yield standing

    def take(self, now: float, *, final: bool) -> Standing:
        """Return the status; ``final`` means that this is the end."""
        candidates = self._candidates
        shards, flights = candidates.shards, candidates.flights
        totals, retries, state = shards.totals(), candidates.retries, self._state()
        self._sample(now)
        most, used = self._selection.window, self.slots()
        pages_a_second, requests_a_second = self._rates.told()
        ready, waiting, opens, seen = self._hosts.told()
        return Standing(
            worker=str(min(shards)),
            time=now,
            state="ended" if final and state in ("starting", "running") else state,
            final=final,
            partitions=len(shards),
            of=shards.partitions,
            judged=totals.judged,
            requests=totals.requests,
            discovered=totals.discovered,
            failed=totals.gone + totals.given_up,
            refused=totals.refused,
            moved=totals.moved,
            trapped=totals.trapped,
            revisits=totals.revisits,
            pages_a_second=pages_a_second,
            requests_a_second=requests_a_second,
            in_flight=len(flights),
            revisits_in_flight=max(0, len(flights) - flights.pages),  # `pages` includes those put off
            window=most,
            room=most - flights.prompt(now),
            queued={name: sum(map(len, queues_of(candidates, name))) for name in candidates.queues},
            hosts={name: len(hosts_of(candidates, name)) for name in candidates.queues},
            ready=ready,
            waiting=waiting,
            next_ready=None if opens is None else max(0.0, opens - now),
            seen=seen,
            retries=retries.urls,
            next_retry=None if retries.next is None else max(0.0, retries.next - now),
            opening=bool(candidates.opening),
            taken_up=candidates.opening.taken_up(len(shards)),
            filling=candidates.sweep.filling,
            budget=self._budget.pages,
            requests_budget=self._budget.requests,
            left=self._budget.remaining,
            began=self._began,
            slots=None if used is None else used.used,
            held_by="" if used is None else used.why,
            held=0 if used is None else used.held,
        )

    # candidates

    def _best(self, predicate: str, now: float) -> Iterator[list[Upcoming]]:
        found = self._candidates.queues[predicate].best(BEST)
        for start in range(0, len(found), BEST_AT_ONCE):
            yield self._upcoming(predicate, found[start : start + BEST_AT_ONCE], now)

    def _upcoming(self, predicate: str, urls: Sequence[str], now: float) -> list[Upcoming]:
        queue = self._candidates.queues.get(predicate)
        if queue is None:
            return []
        said: dict[str, Forecast] = {}
        for shard, rows in self._candidates.shards.rows_of(urls):
            found = self._candidates.scorer.forecasts(shard, rows, predicate)
            said.update(zip((row.url for row in rows), found, strict=True))
        return [
            Upcoming(
                url,
                queue.priority(url),
                said[url].hit,
                said[url].comes,
                max(0.0, self._candidates.clocks.wait(host(url), now).until - now),
                tuple(speaking(said[url].adds)),
            )
            for url in urls
            if url in queue and url in said
        ]

    # hosts

    def _looked_at(self, hosts: Sequence[str], now: float) -> Iterator[HostStanding]:
        for name in hosts:
            shard = self._candidates.shards.get(self._candidates.shards.partition_of(name))
            if shard is not None:
                yield self._host_standing(shard, name, now)

    def _host_standing(self, shard: Rows, name: str, now: float) -> HostStanding:
        queues = (queues_of(self._candidates, predicate) for predicate in self._candidates.queues)
        candidates = max((sum(queue.of_host(name) for queue in each) for each in queues), default=0)
        why, until = wait_of(self._candidates, name, now)
        if not candidates and (reason := self._candidates.scope.why_stopped(shard, name)):
            return HostStanding(name, "stopped", reason)
        if why == "busy":
            return HostStanding(name, "busy", why, until, candidates)
        if candidates:
            return HostStanding(name, "waits" if why else "ready", why, until if why else 0.0, candidates)
        asked = self._candidates.shards.host_state(name) is not None
        return HostStanding(name, "exhausted" if asked else "unknown")


def speaking(adds: Sequence[tuple[str, float]]) -> Iterator[tuple[str, float]]:
    """Yield the inputs that raise a priority most, then those that lower it most.

    >>> list(speaking([("depth", -0.5), ("words", 2.0), ("users", 0.0), ("siblings", 3.0)]))
    [('siblings', 3.0), ('words', 2.0), ('depth', -0.5)]
    """
    found = sorted(adds, key=lambda entry: -entry[1])
    yield from ((name, round(each, 3)) for name, each in found[:SPEAKING] if each > 0)
    yield from ((name, round(each, 3)) for name, each in found[: -SPEAKING - 1 : -1] if each < 0)


class HostCounts:
    """Counts ready hosts with candidates, and waiting ones by reason: examines some at a time.

    Until all were examined once, the counts are extrapolated from those that were.
    """

    def __init__(self, candidates: Candidates, at_once: int = HOSTS_AT_ONCE) -> None:
        self._candidates = candidates
        self._at_once = at_once
        self._left: list[str] = []
        self._open = _Counts()
        self._whole: _Counts | None = None

    def look(self, now: float) -> None:
        """Examine the next hosts, starting over after the last."""
        if not self._left:
            of = partial(hosts_of, self._candidates)
            self._left = list(set[str]().union(*map(of, self._candidates.queues)))
            self._open = _Counts(hosts=len(self._left))
        looked_at, self._left = self._left[: self._at_once], self._left[self._at_once :]
        for name in looked_at:
            self._open.count(wait_of(self._candidates, name, now))
        if not self._left:
            self._whole = self._open

    def forget(self) -> None:
        """Start over, as other hosts are held."""
        self._left, self._whole = [], None

    def told(self) -> tuple[int, dict[str, int], float | None, float]:
        """Return the ready hosts, waiting ones by reason, when the first is ready, and the part examined."""
        counts = self._whole or self._open
        if not counts.looked_at:
            return 0, {}, None, 1.0
        times = counts.hosts / counts.looked_at
        waiting = {why: round(times * number) for why, number in counts.why.items() if why}
        return round(times * counts.why[""]), waiting, counts.opens, 1 / times


@dataclass
class _Counts:
    """Counts over the examined part of ``hosts``: why they wait, and when the first of them is ready."""

    hosts: int = 0
    looked_at: int = 0
    why: Counter[str] = field(default_factory=Counter)
    opens: float | None = None

    def count(self, wait: Wait) -> None:
        self.looked_at += 1
        self.why[wait.why] += 1
        if wait.why not in ("", "busy", "browser"):
            self.opens = wait.until if self.opens is None else min(self.opens, wait.until)


class Rates:
    """Pages and requests a second, over the last seconds in which the same partitions were held."""

    def __init__(self) -> None:
        self._held: frozenset[int] = frozenset()
        self._taken: deque[tuple[float, int, int]] = deque()

    def take(self, held: frozenset[int], now: float, judged: int, requests: int) -> None:
        """Sample the totals of the partitions held."""
        if held != self._held:
            self._held = held
            self._taken.clear()
        self._taken.append((now, judged, requests))
        while len(self._taken) > 2 and self._taken[1][0] <= now - RATE_SECONDS:
            self._taken.popleft()

    def told(self) -> tuple[float, float] | tuple[None, None]:
        """Return pages and requests a second; None where they are not known yet."""
        if not self._taken:
            return None, None
        (begun, judged, requests), (now, judged_now, requests_now) = self._taken[0], self._taken[-1]
        passed = now - begun
        if passed <= 0:
            return None, None
        return (judged_now - judged) / passed, (requests_now - requests) / passed
