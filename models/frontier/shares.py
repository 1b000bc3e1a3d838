"""How much of the latest fetches each owner of hosts had: its registered domain, and the network of its server.

A host name costs nothing, so that a delay for each host is no brake on whoever has many. An owner that had more
than its share stands back for candidates of others that are worth about as much: the probability that its own
bring a hit counts that much less. Whom the seeds vouch for (`models.frontier.trust`) has a larger share, as a
domain's budget goes by who links to it in Lee, Leonard, Wang and Loguinov, IRLbot (WWW 2008), section 5.

While pages are scarce it is a share of the pages. While time is, it is one of all that could have been fetched,
and no less than one host's part: a second of a host that nobody else can use is taken from nobody.
"""

import math
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Mapping

from scentline.models.url import network, owner

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
