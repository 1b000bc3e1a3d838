"""The selection of the next fetches, up to the free room of the window (`models.frontier.turns`)."""

import math

import msgspec

from scentline.models.frontier.candidates import Candidates
from scentline.models.frontier.fairness import NEAR_SECONDS
from scentline.models.frontier.flights import SLOW_SECONDS
from scentline.models.frontier.instant import Instant
from scentline.models.frontier.keys import Rows
from scentline.models.frontier.leases import Leases
from scentline.models.frontier.revisits import Revisits
from scentline.models.frontier.rows import INSTANT, Choice, HubRow
from scentline.models.frontier.turns import Pace, ProportionalTurns, Prospects, window
from scentline.models.published import Limit
from scentline.models.settings import FetchSettings
from scentline.models.url import host

#: Seconds for which the machine counts as full after its room was used up.
FULL_SECONDS = 1.0
#: Answers between two updates of the prices.
PRICED = 20


class Budget:
    """Counts the pages judged and the requests answered, those of other workers as last published.

    A single worker that holds every partition never exceeds a budget: it has no more in flight, or put off,
    than is left, and each of these is one request and at most one page. One of several workers knows the
    answers of the others as far as the learner has published them, and nothing of their fetches in flight. So
    it takes the share of its partitions of what is left, and at least one, or the last one would wait for ever.
    Where the workers get answers at the same rate, the excess is less than one for each worker, plus what is
    not published yet; at worst it is all that the others have in flight, `fetch.connections` each.
    """

    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates
        #: The limits in force; 0 is no limit.
        self.pages = candidates.settings.budget
        self.requests = candidates.settings.requests
        #: The end of this run, set at its first choice; infinity without `frontier.time`.
        self._until: float | None = None
        self._over = False

    def limit(self, told: Limit) -> Limit:
        """Apply a limit, if the settings still have the budget that it replaced.

        Returns the record to publish: a new one has no setting, and gets the present one.
        """
        settings = self._candidates.settings
        setting = settings.budget if told.name == "pages" else settings.requests
        most = told.most if told.setting in (None, setting) else setting
        if told.name == "pages":
            self.pages = most
        else:
            self.requests = most
        return told if told.setting is not None else msgspec.structs.replace(told, setting=setting)

    def seconds(self, now: float) -> float:
        """Return the seconds left of this run, infinity without an end. The first call starts the run."""
        if self._until is None:
            self._until = now + (self._candidates.settings.time or math.inf)
        self._over = now >= self._until
        return max(0.0, self._until - now)

    @property
    def limited(self) -> bool:
        """Whether there is a limit of pages or of requests."""
        return bool(self.pages or self.requests)

    @property
    def spent(self) -> bool:
        """Whether a limit is reached, or the time is over."""
        return self._over or self.remaining == 0

    @property
    def left(self) -> bool:
        """Whether another page may be ordered: less is in flight than this worker's share of what is left."""
        left = self.remaining
        if left is None or self._over:
            return not self._over
        shards = self._candidates.shards
        return self._candidates.flights.pages * shards.partitions < left * len(shards)

    @property
    def remaining(self) -> int | None:
        """How many more pages or requests are allowed, the lesser number; None without a limit."""
        if not self.limited:
            return None
        left = [self.pages - self._candidates.judged] if self.pages else []
        if self.requests:
            revisits = self._candidates.shards.totals().revisits
            left.append(self.requests - self._candidates.answered - revisits)
        return max(0, min(left))


class Prices:
    """Keeps each predicate's bid price: the least priority that is worth a page of a scarce budget.

    Bid-price control, from revenue management (Talluri and van Ryzin, Management Science 44, 1998): an offer
    for a scarce good is accepted if it brings at least the good's marginal value. The good is a page, the
    candidates are the offers, and the price is that of the deterministic problem: with n pages left, the
    priority of the n-th best candidate on hosts that are ready soon. A host counts with as many candidates as
    its delay allows in the time left. Where that allows fewer than n, time is scarce, and a page costs nothing.
    """

    def __init__(self, candidates: Candidates, budget: Budget) -> None:
        self._candidates = candidates
        self._budget = budget
        self._learns = candidates.settings.learns
        self._at = 0
        self._time = -math.inf

    def look(self, now: float, seconds: float) -> bool:
        """Update the prices if due, ``seconds`` before the end of the run; return whether pages are scarce.

        They are due once in `PRICED` answers, or a fiftieth of the budget left where that is more. Where no
        candidate was worth its price, they are also due once nothing is in flight or a second has passed, and
        the best are rescored first: they may be worth less by now.
        """
        candidates, left = self._candidates, self._budget.remaining
        if not left or not self._learns:
            candidates.prices.clear()
            return left is not None and self._learns
        answered = candidates.answered
        again = candidates.refused and (not candidates.flights or now >= self._time + 1.0)
        if answered >= self._at or again or candidates.prices.keys() != candidates.queues.keys():
            self._at, self._time = answered + max(PRICED, left // 50), now
            share = math.ceil(left / max(1, len(candidates.queues)))
            for name in candidates.queues if again else ():
                candidates.freshen(name, share)
            candidates.refused = False
            candidates.prices = {name: self._price(name, share, now, seconds) for name in candidates.queues}
        return math.isinf(seconds) or any(price > -math.inf for price in candidates.prices.values())

    def _price(self, name: str, pages: int, now: float, seconds: float) -> float:
        queue, clocks = self._candidates.queues[name], self._candidates.clocks

        def each(host: str) -> float:
            if not clocks.soon(host, now, NEAR_SECONDS):
                return 0.0
            apart = clocks.apart(host)
            return seconds / apart if apart else math.inf

        return queue.nth(pages, each)


class _Heads:
    """The predicates' best candidates of ready hosts at one turn."""

    def __init__(self, candidates: Candidates, now: float) -> None:
        self._candidates = candidates
        self._now = now
        self._heads: dict[str, str] = {}

    def chance(self, name: str) -> float | None:
        url = self._candidates.glance(name, self._now)
        if url is None:
            return None
        self._heads[name] = url
        known = self._candidates
        return known.priorities.chance(known.renders.priority(name, known.queues[name], url))

    def head(self, name: str) -> Prospects:
        return self.of(self._heads[name])

    def best(self, name: str) -> Prospects:
        url = self._candidates.best(name, self._now)
        return {} if url is None else self.of(url)

    def of(self, url: str) -> Prospects:
        """Return the probability that a request for a URL brings a hit, for each predicate."""
        chance = self._candidates.priorities.chance
        return {name: chance(priority) for name, priority in self._candidates.priorities_of(url).items()}


class Selection:
    """Picks URLs, those of the predicates in turn and instant ones within their share, and orders them.

    At most `fetch.connections` fetches are in flight, slow ones included.
    """

    def __init__(
        self,
        candidates: Candidates,
        turns: ProportionalTurns,
        budget: Budget,
        leases: Leases,
        instant: Instant | None,
        revisits: Revisits | None,
        fetch: FetchSettings,
    ) -> None:
        self._settings = settings = candidates.settings
        self._learns, self._rule = settings.learns, settings.rule
        self._candidates = candidates
        self._turns = turns
        self._budget = budget
        self._leases = leases
        self._instant = instant
        self._revisits = revisits
        self._connections, self._delay = fetch.connections, fetch.delay_seconds
        self._prices = Prices(candidates, budget)
        #: When the room was last used up.
        self._filled = -math.inf
        self.pace = Pace(fetch.connections)
        #: Most pages in flight, as of the last choice.
        self.window = 1

    def choose(self, now: float) -> list[Rows]:
        """Order as many fetches as fit now; return the shards with changed rows."""
        changed: dict[int, Rows] = {}
        seconds = self._budget.seconds(now)
        scarce = self._prices.look(now, seconds)
        self.window = self._window(scarce=scarce)
        self._share_out(now, scarce=scarce)
        room = self.window - self._candidates.flights.prompt(now)
        room -= self._at_once(now, room, changed, spare=False)
        room -= self._put_off(now, room, changed)
        room -= self._again(now, room, changed, spare=False)
        room -= self._by_turns(now, room, changed)
        room -= self._at_once(now, room, changed, spare=True)
        room -= self._again(now, room, changed, spare=True)
        if room <= 0 or len(self._candidates.flights) >= self._connections:
            self._filled = now
        return list(changed.values())

    def _share_out(self, now: float, *, scarce: bool) -> None:
        """Set what owners share: the seconds of hosts, while nothing else is short.

        Where pages are ``scarce``, or this machine is full, each fetch of one owner is one less for the others.
        """
        short = scarce or now < self._filled + FULL_SECONDS
        hosts = () if short else [len(queue.hosts()) for queue in self._candidates.queues.values()]
        self._candidates.fairness.shares.look(now, max(hosts, default=0), self._delay)

    def _window(self, *, scarce: bool) -> int:
        """Return the most pages in flight: few for a policy that learns while pages are ``scarce``."""
        settings = self._settings
        most = settings.window_max or self._connections
        if not self._learns:
            return most
        if scarce:
            judged = self._candidates.shards.totals().judged
            return window(judged, settings.window_share, settings.window_max)
        return min(most, self.pace.window)

    def _by_turns(self, now: float, room: int, changed: dict[int, Rows]) -> int:
        names = set(self._candidates.queues)
        ordered = 0
        while names and self._fits(room - ordered):
            heads = _Heads(self._candidates, now)
            predicate = self._turns.next(names, heads)
            if predicate is None:
                break
            shard = self._pick(predicate, heads, now)
            if shard is None:
                names.discard(predicate)
                continue
            ordered += 1
            changed[shard.partition] = shard
            self._turns.charge(predicate)
            if self._instant is not None:
                self._instant.earn()
        return ordered

    def _pick(self, predicate: str, heads: _Heads, now: float) -> Rows | None:
        """Order the next fetch for a predicate; return its shard, None without a candidate."""
        picked = self._candidates.pick(predicate, now)
        if picked is None:
            return None
        shard, row, explored, probability = picked
        priority = self._candidates.renders.priority(predicate, self._candidates.queues[predicate], row.url)
        chances = self._candidates.priorities.choose(shard, row, predicate, explored)
        parts = self._turns.parts(heads.of(row.url))
        choice = Choice(predicate, self._rule, explored, probability, priority, now, *chances, parts)
        self._leases.order(shard, row, choice, now)
        if self._revisits is not None:
            self._revisits.earn(choice.promised)
        return shard

    def _put_off(self, now: float, room: int, changed: dict[int, Rows]) -> int:
        """Repeat orders put off, where they are all that is left of the budget; return their number."""
        if not self._candidates.flights.put_off or self._budget.left or self._budget.spent:
            return 0
        candidates, ordered = self._candidates, 0
        for url, flight in list(candidates.flights.put_off.items()):
            found = candidates.choosable(url)
            if found is None and now >= flight.since + SLOW_SECONDS:
                del candidates.flights.put_off[url]  # it may not be fetched any more
            if found is None or ordered >= room:
                continue
            shard, row = found
            if row.not_before <= now and candidates.clocks.ready(host(url), now) and row.choice is not None:
                self._leases.order(shard, row, row.choice, now)
                changed[shard.partition] = shard
                ordered += 1
        return ordered

    def _again(self, now: float, room: int, changed: dict[int, Rows], *, spare: bool) -> int:
        ordered = 0
        while self._revisits is not None and self._fits(room - ordered):
            picked = self._revisits.next(now, spare=spare)
            if picked is None:
                break
            self._revisits.order(*picked, now)
            ordered += 1
            changed[picked[0].partition] = picked[0]
        return ordered

    def _at_once(self, now: float, room: int, changed: dict[int, Rows], *, spare: bool) -> int:
        names = sorted(self._candidates.queues.keys() - self._candidates.paused or self._candidates.queues)
        ordered = 0
        while self._instant is not None and names and self._fits(room - ordered):
            picked = self._instant.next(now, spare=spare)
            if picked is None:
                break
            shard, row = picked
            if isinstance(row, HubRow):
                self._instant.order(shard, row, now)
            else:
                priorities = self._candidates.priorities_of(row.url)
                priority, predicate = max((priorities.get(name, 0.0), name) for name in names)
                choice = Choice(predicate, INSTANT, False, 1.0, priority, now)
                self._leases.order(shard, row, choice, now)
            ordered += 1
            changed[shard.partition] = shard
        return ordered

    def _fits(self, room: int) -> bool:
        free = len(self._candidates.flights) < self._connections and not self._candidates.renders.full
        return room > 0 and free and self._budget.left
