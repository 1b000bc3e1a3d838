"""Fairness between the owners of hosts: an owner above its share of the latest fetches yields to others.

An owner is identified by its registered domain and by its server's network. A host name costs nothing, so a
delay per host does not slow an owner that has many. An owner above its share yields to candidates of others
that are worth about as much: the probability that its own bring a hit is lowered accordingly. Owners that the
seeds vouch for have a larger share, as a domain's budget depends on who links to it in Lee, Leonard, Wang and
Loguinov, IRLbot (WWW 2008), section 5.

While pages are scarce, it is a share of the pages. While time is, it is a share of all possible fetches, and at
least one host's part: time on a host that no other owner can use costs no other owner anything.

Trust flows from the seeds along links between owners: Gyöngyi, Garcia-Molina and Pedersen, Combating web spam
with TrustRank (VLDB 2004), here of owners, not pages. An owner passes trust to another by the share of its
pages' links that lead there. Links to itself pass nothing on: made-up pages gain an owner nothing, and however
many owners link to each other, together they have no more than others passed to them.

All is kept in memory: a restart begins a new window of fetches. Each worker applies it to the hosts it holds.
"""

import math
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from scentline.models.facts import Found
from scentline.models.frontier.keys import Rows, is_first, parent_of, start_of
from scentline.models.frontier.politeness import HostClocks
from scentline.models.frontier.queue import CandidateQueue
from scentline.models.frontier.rows import PageRow
from scentline.models.url import host, network, owner, owners_of

#: Share of an owner's trust that its links pass on.
DAMPING = 0.85
#: Rounds of passing trust on: at most a fifth of the whole is left to pass on after them.
ROUNDS = 10
#: Most hosts of seeds, and most pairs of linked owners, that are counted.
SEEDS, PAIRS = 10_000, 50_000
#: Growth of the counts after which trust is computed again.
GROWTH = 0.1


class Trust:
    """Counts seeds and links, and computes shares of trust from them.

    >>> trust = Trust()
    >>> trust.seeded("www.a.org", "a.org")
    >>> trust.linked("a.org", {"a.org", "b.org"})
    >>> trust.linked("c.org", {"c.org", "d.org"})
    >>> {owner: round(share, 2) for owner, share in trust.shares().items()}
    {'a.org': 0.7, 'b.org': 0.3}
    """

    def __init__(self) -> None:
        self._seeds: dict[str, str] = {}
        self._links: dict[str, Counter[str]] = {}
        self._pairs = 0
        self._known = 0
        self._worked_out = 0

    @property
    def grown(self) -> bool:
        """Whether the counts grew enough to compute the shares again."""
        return self._known > (1 + GROWTH) * self._worked_out

    def seeded(self, host: str, owner: str) -> None:
        """Count the host of a seed, once: a seed vouches for its owner."""
        if host not in self._seeds and len(self._seeds) < SEEDS:
            self._seeds[host] = owner
            self._known += 1

    def linked(self, source: str, targets: Collection[str]) -> None:
        """Count one page's links by the owners of their ``targets``, the page's own included."""
        links = self._links.get(source, Counter())
        fresh = [target for target in targets if target not in links]
        if self._pairs + len(fresh) > PAIRS:
            return
        links.update(targets)
        self._links[source] = links
        self._pairs += len(fresh)
        self._known += 1

    def shares(self) -> dict[str, float]:
        """Return each owner's share of all trust; owners without any are left out."""
        self._worked_out = self._known
        given = {owner: count / len(self._seeds) for owner, count in Counter(self._seeds.values()).items()}
        parts = {source: _parts(source, links) for source, links in self._links.items()}
        trust = given
        for _ in range(ROUNDS):
            handed = dict(given)
            for own, amount in trust.items():
                for target, part in parts.get(own, ()):
                    handed[target] = handed.get(target, 0.0) + DAMPING * amount * part
            trust = handed
        total = sum(trust.values())
        return {owner: amount / total for owner, amount in trust.items()}


def _parts(source: str, links: Counter[str]) -> list[tuple[str, float]]:
    total = links.total()
    return [(target, count / total) for target, count in links.items() if target != source]


#: How many of the latest fetches count.
WINDOW = 200
#: Least number of fetches that the shares are of, so that they do not bind at a crawl's start.
LEAST = 50
#: Least factor of a candidate's worth, however much its owner had: it does not yield to others worth less than
#: a third of it.
LEAST_WORTH = 1 / 3


class Shares:
    """Counts the latest fetches by owner: one with more than ``share`` of them yields; 1 switches this off.

    Servers' networks are kept of ``limit`` hosts; those noted longest ago are dropped first.

    >>> shares = Shares(0.1, limit=1000)
    >>> for number in range(50):
    ...     shares.fetched(f"{number}.farm.org", now=number / 5)
    >>> shares.handicap("60.farm.org"), shares.handicap("example.org")
    (-1.0986122886681098, 0.0)
    >>> shares.look(now=10.0, hosts=1000, delay=1.0)
    >>> shares.handicap("60.farm.org")
    0.0
    """

    def __init__(self, share: float, limit: int) -> None:
        if not 0 < share <= 1:
            raise ValueError(f"shares: share is {share}, expected more than 0 and at most 1")
        self._share = share
        self._limit = limit
        self._networks: OrderedDict[str, str] = OrderedDict()
        self._latest: deque[tuple[float, tuple[str, ...]]] = deque()
        #: How many fetches were possible since the first of the latest: of all hosts, and of one.
        self._possible = self._of_one = 0.0
        self._fetched: Counter[str] = Counter()
        self._vouched: dict[str, float] = {}

    def serves(self, server: str, host: str) -> None:
        """Note the address of a host's server."""
        found = network(server)
        if found:
            self._networks[host] = found
            self._networks.move_to_end(host)
            if len(self._networks) > self._limit:
                self._networks.popitem(last=False)

    def owners(self, host: str) -> tuple[str, ...]:
        """Return a host's owners: its registered domain, and its network where known."""
        own, found = owner(host), self._networks.get(host)
        return (own, found) if found and found != own else (own,)

    def vouched(self, host: str) -> float:
        """Return a host's owner's share of all trust."""
        return self._vouched.get(owner(host), 0.0)

    def vouch(self, vouched: Mapping[str, float]) -> None:
        """Set the owners' shares of trust, which count where larger; a network has the sum of its owners'."""
        self._vouched = dict(vouched)
        inside = {(found, owner(host)) for host, found in self._networks.items()}
        for found, own in inside:
            if found != own:
                self._vouched[found] = self._vouched.get(found, 0.0) + vouched.get(own, 0.0)

    def beyond(self, host: str, share: float) -> bool:
        """Return whether a host's owner had more than ``share`` of the latest fetches, and no such trust."""
        most = share * max(len(self._latest), LEAST)
        had = (
            self._fetched.get(each, 0) for each in self.owners(host) if self._vouched.get(each, 0.0) <= share
        )
        return any(number > most for number in had)

    def fetched(self, host: str, now: float) -> None:
        """Count a fetch."""
        owners = self.owners(host)
        self._latest.append((now, owners))
        self._fetched.update(owners)
        if len(self._latest) > WINDOW:
            self._leave(self._latest.popleft()[1])

    def look(self, now: float, hosts: int, delay: float) -> None:
        """Note that ``hosts`` hosts with candidates allow a request each in ``delay`` seconds.

        With 0 hosts, or no delay, the shares are of the fetches made.
        """
        seconds = now - self._latest[0][0] if self._latest else 0.0
        self._of_one = seconds / delay if hosts and delay else 0.0
        self._possible = hosts * self._of_one

    def _leave(self, owners: Iterable[str]) -> None:
        for each in owners:
            self._fetched[each] -= 1
            if not self._fetched[each]:
                del self._fetched[each]

    def handicap(self, host: str) -> float:
        """Return the log of an owner's due over what it had: 0 where it had less, of two owners the worse."""
        if self._share == 1 or not self._fetched:
            return 0.0
        return min(self._of(each) for each in self.owners(host))

    def _of(self, each: str) -> float:
        had = self._fetched.get(each, 0)
        whole = max(len(self._latest), LEAST, self._possible)
        due = max(self._of_one, max(self._share, self._vouched.get(each, 0.0)) * whole)
        return math.log(max(due / had, LEAST_WORTH)) if had > due else 0.0

    @property
    def largest(self) -> float:
        """The largest share of the latest fetches that one owner had."""
        most = Counter(owners[0] for _, owners in self._latest).most_common(1)
        return most[0][1] / len(self._latest) if most else 0.0


#: Most hosts whose servers' networks are kept.
SERVERS = 100_000
#: Most links from page to owner counted when partitions are opened: more take too much memory.
TAKEN_UP = 300_000
#: Least share of all trust with which an owner is stored: a thousand owners at most.
NOTED = 0.001
#: Most hosts searched for one of another owner.
OTHERS = 100
#: A host's candidates are waited for if it is ready within these seconds, as while its own delay passes.
NEAR_SECONDS = 2.0


class Fairness:
    """Chooses between the best candidates of all owners; ``worth`` maps a priority to the log of a worth.

    ``waits`` says that the last choice left a slot free for a candidate whose host is ready soon.
    """

    def __init__(self, share: float, clocks: HostClocks, worth: Callable[[float], float]) -> None:
        self.shares = Shares(share, SERVERS)
        self.waits = False
        self._trust = Trust()
        self._vouched: dict[str, float] = {}
        self._taken_up: set[int] = set()
        self._clocks = clocks
        self._worth = worth

    # trust

    def absorb(self, shard: Rows, sighting: object) -> None:
        """Count a seed, or the links of a judged page: once, before its row has them."""
        if isinstance(sighting, Found) and sighting.seed:
            self._trust.seeded(host(sighting.url), _owner(sighting.url))
        elif is_first(sighting, shard):
            self._trust.linked(_owner(sighting.url), owners_of([link.url for link in sighting.links]))

    def open(self, shard: Rows) -> None:
        """Load the shares of trust stored when the partition was held last."""
        start = start_of(shard)
        if start is not None:
            self._vouch(self._vouched | start.vouched)

    def take_up(self, shard: Rows, row: PageRow) -> None:
        """Count the seed and the links in a row of an opened partition."""
        own = _owner(row.url)
        if row.seed:
            self._trust.seeded(host(row.url), own)
        for parent in row.parents:
            link = hash((parent, own))
            if len(self._taken_up) < TAKEN_UP and link not in self._taken_up:
                self._taken_up.add(link)
                self._trust.linked(_owner(parent_of(shard, parent).url), {own})

    def settle(self) -> None:
        """Compute trust again if the counts grew enough."""
        if self._trust.grown:
            self._vouch(self._trust.shares())

    def _vouch(self, shares: dict[str, float]) -> None:
        self._vouched = shares
        self.shares.vouch(shares)

    def vouched(self) -> dict[str, float]:
        """Return the largest shares of all trust, by owner."""
        return {own: share for own, share in self._vouched.items() if share >= NOTED}

    # choosing

    def choose(self, queue: CandidateQueue, best: str, now: float, price: float) -> str | None:
        """Return ``best``, the best candidate of a ready host, or that of an owner that had less.

        None where none is worth its ``price``, and where the owners of all ready hosts had more than their
        shares while a better candidate of an owner that had less is ready soon.
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
        """Return the best candidates of hosts that are ready, and of those that soon are.

        The search ends at the first ready host of an owner below its share.
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
    """A host's best candidate: the log of its worth after the handicap, and its owner's handicap."""

    worth: float
    handicap: float
    url: str


def _owner(url: str) -> str:
    return owner(host(url))
