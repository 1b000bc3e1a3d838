"""When each host is ready for a request: delays between fetches, back-off after failures. Times in seconds.

A server is an address: hosts known to share one are treated as one.
"""

import math
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

#: The longest Crawl-delay that is obeyed; a longer one would hold candidates for ever.
LONGEST_CRAWL_DELAY = 300.0
#: The longest delay derived from slow answers.
LONGEST_PACE = 60.0
#: The first back-off of a failing host; it doubles each time.
SHORTEST_BACK_OFF = 60.0
#: The longest back-off, and the longest Retry-After that is obeyed.
LONGEST_BACK_OFF = 86_400.0
#: Weight of the last answer in a host's usual response time.
_LATEST = 0.3
#: Consecutive failures that begin a back-off, for failures that may be the page's own.
TOLERATED_FAILURES = 3


class HostState(msgspec.Struct, array_like=True):
    """The politeness state of a host: a function of its answers, in their order.

    ``asked`` is the start of the last answered request, ``elapsed`` the usual response time: a moving geometric
    mean, which one slow page hardly moves. ``delay`` is the Crawl-delay of its robots.txt. ``wait`` is the last
    back-off, 0 once forgiven, and ``until`` its end; ``failures`` counts the consecutive ones. ``server`` is
    the address of the host, empty where unknown. ``retry_after`` is the end of the last Retry-After, 0 without
    one. ``requests`` counts those of the last answered fetch: the next one waits for as many delays.

    Back-off begins with the third consecutive failure, since one slow or broken page says little of its host,
    and at once when the host reports overload (429, 503) or sends a Retry-After. It takes a minute, doubled
    with each further failure up to a day, or the Retry-After if that is longer, within a day. Failures and
    successes that arrive during a back-off are of fetches begun before it: only their Retry-After counts, and
    extends it.

    >>> state = HostState()
    >>> state.failed(100.0, retry_after=90.0)
    >>> state.until
    190.0
    """

    asked: float = -math.inf
    elapsed: float = 0.0
    delay: float = 0.0
    until: float = 0.0
    wait: float = 0.0
    failures: int = 0
    server: str = ""
    retry_after: float = 0.0
    requests: int = 1

    def answered(self, began: float, elapsed: float, requests: int = 1) -> None:
        """Apply the start of an answered fetch, its response time, and its requests."""
        self.asked = max(self.asked, began)
        self.requests = requests
        usual = self.elapsed ** (1 - _LATEST) * elapsed**_LATEST if self.elapsed > 0 < elapsed else elapsed
        self.elapsed = max(0.0, usual)

    def crawl_delay(self, seconds: float) -> None:
        """Apply the Crawl-delay of robots.txt, up to 5 minutes."""
        self.delay = min(max(0.0, seconds), LONGEST_CRAWL_DELAY)

    def succeeded(self, now: float) -> None:
        """Forgive the host its failures, except during a back-off."""
        if now >= self.until:
            self.failures = 0
            self.wait = 0.0

    def failed(self, now: float, retry_after: float | None = None, *, overloaded: bool = False) -> None:
        """Count a failure of the host (not a missing page), and back off if it is time to.

        ``retry_after`` is in seconds from now; ``overloaded`` means that the host reported overload.
        """
        asked = min(max(0.0, retry_after or 0.0), LONGEST_BACK_OFF)
        if asked:
            self.retry_after = max(self.retry_after, now + asked)
        if now < self.until:
            self.until = max(self.until, now + asked)
            return
        self.failures += 1
        if overloaded or asked or self.failures >= TOLERATED_FAILURES:
            self.wait = min(max(SHORTEST_BACK_OFF, 2 * self.wait), LONGEST_BACK_OFF)
            self.until = now + max(self.wait, asked)


@dataclass(slots=True)
class _Server:
    """The shared state of one address's hosts: last start, fetches in flight, and delay by response times.

    ``requests`` counts those that the last fetch made.

    A server without a ``name`` serves one host only, as far as known. One without ``hosts`` is kept for later
    ones, while there is room.
    """

    name: str = ""
    started: float = -math.inf
    in_flight: int = 0
    pace: float = 0.0
    hosts: int = 0
    requests: int = 1


@dataclass(slots=True)
class _Clock:
    """One host: its delay, its server, its last start, and its state from this process and earlier ones."""

    delay: float
    server: _Server
    state: HostState
    started: float = -math.inf
    in_flight: int = 0

    @property
    def apart(self) -> float:
        """Seconds between two starts."""
        return max(self.delay, self.server.pace) if self.delay else 0.0

    def opens(self) -> float:
        """Return when the host is ready again, fetches in flight aside."""
        if not self.delay:
            return max(self.state.until, self.started)
        return max(self.state.until, self.server.started + self.apart * self.server.requests)

    def busy(self, at_once: int) -> bool:
        """Return whether fetches in flight block the host, whatever the time."""
        return self.server.in_flight > 0 if self.delay else self.in_flight >= at_once


class Wait(NamedTuple):
    """Why a host is not ready, and until when, fetches in flight aside; it is ready where ``why`` is empty.

    ``why`` is "busy" (a fetch is in flight), "shared" (another host of its server had a request), "delay",
    "robots" (the delay is its Crawl-delay), "back-off" or "retry-after".
    """

    why: str
    until: float


class HostClocks:
    """Clocks of hosts that may be fetched, over their ``states``, which outlive this process.

    A host with a delay has at most one fetch in flight, and starts are at least the delay apart (counted
    from the last start; a fetch that takes longer is waited for). It shares both with the other hosts of its
    server, once `serves` has set it, and waits ``factor`` times the usual response time, at most a minute.
    A host without a delay may have ``at_once`` fetches in flight.

    ``states`` returns the state of a host, None for one that has not answered yet; a missing clock is made from
    it. At most ``limit`` hosts are kept beside those with a fetch in flight: those that are ready again
    earliest are forgotten first, a tenth at once.

    >>> clocks = HostClocks(delay=1.0, limit=10_000, states={"slow.org": HostState(asked=0.0, delay=9.0)}.get)
    >>> clocks.ready("slow.org", now=8.9), clocks.ready("slow.org", now=9.0)
    (False, True)
    >>> clocks.started("example.org", now=0.0)
    >>> clocks.finished("example.org", now=0.2)
    >>> clocks.ready("example.org", now=0.9), clocks.ready("example.org", now=1.0)
    (False, True)
    """

    def __init__(
        self,
        delay: float,
        limit: int,
        states: Callable[[str], HostState | None],
        factor: float = 0.0,
        at_once: int = 16,
    ) -> None:
        if not 0 <= delay < math.inf:
            raise ValueError(f"host clocks: delay is {delay}, expected seconds, 0 or more")
        if limit < 1:
            raise ValueError(f"host clocks: limit is {limit}, expected at least 1")
        self._delay = delay
        self._limit = limit
        self._states = states
        self._factor = factor
        self._at_once = at_once
        self._steered: dict[str, float] = {}
        self._clocks: dict[str, _Clock] = {}
        self._servers: dict[str, _Server] = {}

    def __len__(self) -> int:
        return len(self._clocks)

    def ready(self, host: str, now: float) -> bool:
        """Return whether a host may get a request now."""
        clock = self._clocks.get(host) or self._clock(host)
        return not clock.busy(self._at_once) and now >= clock.opens()

    def wait(self, host: str, now: float) -> Wait:
        """Return why a host is not ready, if it is not; creates no clock."""
        clock = self._clocks.get(host) or self._glimpse(host)
        if clock is None:
            return Wait("", now)
        until = clock.opens()
        if clock.busy(self._at_once):
            return Wait("busy" if clock.in_flight else "shared", max(now, until))
        return Wait("" if now >= until else self._why(clock, now), until)

    def _glimpse(self, host: str) -> _Clock | None:
        state = self._states(host)
        if state is None:
            return None
        known = self._servers.get(state.server) if state.server else None
        server = _Server() if known is None else copy(known)
        server.started, server.requests = max(server.started, state.asked), state.requests
        server.pace = server.pace or self._pace(state.elapsed)
        return _Clock(self._delay_of(host, state), server, state, state.asked)

    def _why(self, clock: _Clock, now: float) -> str:
        state = clock.state
        if state.until > now:
            return "retry-after" if state.retry_after >= state.until else "back-off"
        if clock.started + clock.apart * clock.server.requests <= now:
            return "shared"
        return "robots" if state.delay > self._delay and state.delay >= clock.apart else "delay"

    def _pace(self, elapsed: float) -> float:
        return min(self._factor * max(0.0, elapsed), LONGEST_PACE)

    def soon(self, host: str, now: float, seconds: float) -> bool:
        """Return whether a host will be ready within so many seconds, if its fetches in flight end soon.

        A fetch that has been in flight for longer is not expected to.
        """
        clock = self._clock(host)
        last = clock.server.started if clock.delay else clock.started
        busy = clock.busy(self._at_once) and now - last > seconds
        return not busy and clock.opens() <= now + seconds

    def waiting(self, now: float) -> int:
        """Return how many of the hosts with a clock are not ready."""
        return sum(clock.busy(self._at_once) or now < clock.opens() for clock in self._clocks.values())

    def next_ready(self, hosts: Iterable[str], now: float) -> float | None:
        """Return the earliest time, not before ``now``, at which one of the hosts is ready.

        None when all of them wait for fetches in flight, whose ends are unknown.
        """
        earliest = math.inf
        for host in hosts:
            clock = self._clock(host)
            if not clock.busy(self._at_once):
                earliest = min(earliest, clock.opens())
            if earliest <= now:
                return now
        return None if earliest == math.inf else earliest

    def apart(self, host: str) -> float:
        """Return the seconds between two requests to a host."""
        return self._clock(host).apart

    def steer(self, host: str, seconds: float) -> None:
        """Set the least delay of a host; 0 leaves it to the settings and its robots.txt."""
        if seconds > 0:
            self._steered[host] = seconds
        else:
            self._steered.pop(host, None)
        clock = self._clocks.get(host)
        if clock is not None:
            clock.delay = self._delay_of(host, clock.state)

    def _delay_of(self, host: str, state: HostState) -> float:
        return max(self._delay, state.delay, self._steered.get(host, 0.0))

    def told(self, host: str, take: Callable[[HostState], None]) -> None:
        """Apply ``take`` to the clock's copy of a host's state; the state in ``states`` has it already."""
        clock = self._clocks.get(host)
        if clock is None:
            self._clock(host)
        else:
            take(clock.state)
            clock.delay = self._delay_of(host, clock.state)

    def answered(self, host: str, last: float = 0.0) -> None:
        """Derive the delay of a host's server from the host's usual response time and its last requests.

        Where these were several, the next one waits for its delay from the ``last`` of them on, too.
        """
        clock = self._clocks.get(host)
        if clock is not None:
            server = clock.server
            server.pace, server.requests = self._pace(clock.state.elapsed), clock.state.requests
            if server.requests > 1:
                began = max(clock.state.asked, last - clock.apart * (server.requests - 1))
                server.started = max(server.started, began)

    def serves(self, server: str, host: str, *, asked: bool = True) -> None:
        """Set the server of a host; ``asked`` says whether its last fetch sent a request to that server."""
        clock = self._clock(host)
        if server == clock.server.name:
            return
        shared = self._servers.get(server)
        if shared is None:
            if len(self._servers) >= self._limit:
                self._servers = {name: known for name, known in self._servers.items() if known.hosts}
            shared = self._servers[server] = _Server(server)
        if asked and clock.started >= shared.started:
            shared.started, shared.requests = clock.started, clock.server.requests
        shared.in_flight += clock.in_flight
        clock.server.in_flight -= clock.in_flight
        clock.server.hosts -= 1
        shared.hosts += 1
        clock.server = shared

    def started(self, host: str, now: float) -> None:
        """Count a fetch started at ``now``."""
        clock = self._clock(host)
        clock.started = clock.server.started = now
        clock.server.requests = 1
        clock.in_flight += 1
        clock.server.in_flight += 1

    def finished(self, host: str, now: float) -> None:
        """Count the end of a fetch, or of the wait for a lost one; ``now`` starts no further delay."""
        clock = self._clocks.get(host)
        if clock is not None and clock.in_flight:
            clock.in_flight -= 1
            clock.server.in_flight -= 1

    def forget(self, hosts: Callable[[str], bool]) -> None:
        """Forget the hosts for which ``hosts`` is true, except those with a fetch in flight."""
        for host in [host for host, clock in self._clocks.items() if not clock.in_flight and hosts(host)]:
            self._clocks.pop(host).server.hosts -= 1

    def _clock(self, host: str) -> _Clock:
        clock = self._clocks.get(host)
        if clock is None:
            if len(self._clocks) >= self._limit:
                self._forget()
            state = self._states(host)
            known = copy(state or HostState())
            clock = self._clocks[host] = _Clock(self._delay_of(host, known), _Server(hosts=1), known)
            if state is not None:
                self._recall(host, clock, state)
        return clock

    def _recall(self, host: str, clock: _Clock, state: HostState) -> None:
        clock.started = clock.server.started = state.asked
        clock.server.requests = state.requests
        if state.server:
            self.serves(state.server, host)
        if not clock.server.pace:
            clock.server.pace = self._pace(state.elapsed)

    def _forget(self) -> None:
        idle = [host for host, clock in self._clocks.items() if not clock.in_flight]
        idle.sort(key=lambda host: self._clocks[host].opens())
        for host in idle[: max(1, self._limit // 10)]:
            self._clocks.pop(host).server.hosts -= 1
