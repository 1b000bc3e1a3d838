"""Fairness between the owners of hosts: who had more than a share of the latest fetches stands back for others.

What tells of an owner is its registered domain, and the network of its server. A host name costs nothing, so
that a delay for each host is no brake on whoever has many. An owner that had more than its share stands back
for candidates of others that are worth about as much: the probability that its own bring a hit counts that much
less. Whom the seeds vouch for has a larger share, as a domain's budget goes by who links to it in Lee, Leonard,
Wang and Loguinov, IRLbot (WWW 2008), section 5.

While pages are scarce it is a share of the pages. While time is, it is one of all that could have been fetched,
and no less than one host's part: a second of a host that nobody else can use is taken from nobody.

Trust flows from the seeds along links from one owner to another: Gyöngyi, Garcia-Molina and Pedersen, Combating
web spam with TrustRank (VLDB 2004), here of owners, not pages. An owner hands on to another the part of its
pages' links that lead there. What leads to itself is handed on to nobody: pages that an owner makes up bring it
nothing, and however many owners link to each other, together they have no more than what others handed to them.

All is kept in memory: a restart begins a new window of fetches. Each worker sees to it among the hosts that it
holds.
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

#: Part of an owner's trust that its links hand on.
DAMPING = 0.85
#: Rounds of handing on: what is left to hand on after them is a fifth of the whole at most.
ROUNDS = 10
#: Hosts of seeds, and pairs of owners with links between them, that are counted.
SEEDS, PAIRS = 10_000, 50_000
#: Growth of what is known after which trust is worked out again.
GROWTH = 0.1


class Trust:
    """Counts seeds and links, and works out shares from them.

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
        """Whether so much is new that the shares are worth working out again."""
        return self._known > (1 + GROWTH) * self._worked_out

    def seeded(self, host: str, owner: str) -> None:
        """Count the host of a seed, once: who gave it vouches for its owner."""
        if host not in self._seeds and len(self._seeds) < SEEDS:
            self._seeds[host] = owner
            self._known += 1

    def linked(self, source: str, targets: Collection[str]) -> None:
        """Count one page's links: ``targets`` are the owners that they lead to, the page's own among them."""
        links = self._links.get(source, Counter())
        fresh = [target for target in targets if target not in links]
        if self._pairs + len(fresh) > PAIRS:
            return
        links.update(targets)
        self._links[source] = links
        self._pairs += len(fresh)
        self._known += 1

    def shares(self) -> dict[str, float]:
        """Return the part that each owner has of all trust; an owner without any is left out."""
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


#: The latest fetches that are looked at.
WINDOW = 200
#: Fetches that the shares are taken of at least, so that a crawl does not begin with them.
LEAST = 50
#: What a candidate counts for at least, however much its owner had: others that are worth less than a third of
#: it are no reason to stand back.
LEAST_WORTH = 1 / 3


class Shares:
    """The owners of the latest fetches: each may have ``share`` of them before it stands back; 1 switches off.

    Servers' addresses are known of ``limit`` hosts, those heard of longest ago are forgotten first.

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
        #: How many fetches there could have been since the first of the latest, and of one host.
        self._possible = self._of_one = 0.0
        self._fetched: Counter[str] = Counter()
        self._vouched: dict[str, float] = {}

    def serves(self, server: str, host: str) -> None:
        """Note the address that a host was found at."""
        found = network(server)
        if found:
            self._networks[host] = found
            self._networks.move_to_end(host)
            if len(self._networks) > self._limit:
                self._networks.popitem(last=False)

    def owners(self, host: str) -> tuple[str, ...]:
        """Return what tells a host's owner: its registered domain, and its network where that is known."""
        own, found = owner(host), self._networks.get(host)
        return (own, found) if found and found != own else (own,)

    def vouched(self, host: str) -> float:
        """Return the part of all trust that a host's owner has."""
        return self._vouched.get(owner(host), 0.0)

    def vouch(self, vouched: Mapping[str, float]) -> None:
        """Set the shares of those who are vouched for, where these are larger; a network has those in it."""
        self._vouched = dict(vouched)
        inside = {(found, owner(host)) for host, found in self._networks.items()}
        for found, own in inside:
            if found != own:
                self._vouched[found] = self._vouched.get(found, 0.0) + vouched.get(own, 0.0)

    def beyond(self, host: str, share: float) -> bool:
        """Return whether a host's owner had more than a ``share`` of the latest fetches, not vouched for."""
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
        """Note that so many ``hosts`` with candidates may be asked each ``delay`` seconds.

        0 hosts, or no delay, have the shares be of the fetches that there were.
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
        """Return the log of an owner's share over that which it had: 0 where it had less, of two the worse."""
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
            self._trust.linked(_owner(sighting.url), owners_of([link.url for link in sighting.links]))

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
