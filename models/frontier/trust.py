"""Which owners of hosts are vouched for: trust flows from the seeds along links from one owner to another.

Gyöngyi, Garcia-Molina and Pedersen, Combating web spam with TrustRank (VLDB 2004), here of owners, not pages.
An owner hands on to another the part of its pages' links that lead there. What leads to itself is handed on to
nobody: pages that an owner makes up bring it nothing, and however many owners link to each other, together they
have no more than what others handed to them.
"""

from collections import Counter
from collections.abc import Collection

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
            for owner, amount in trust.items():
                for target, part in parts.get(owner, ()):
                    handed[target] = handed.get(target, 0.0) + DAMPING * amount * part
            trust = handed
        total = sum(trust.values())
        return {owner: amount / total for owner, amount in trust.items()}


def _parts(source: str, links: Counter[str]) -> list[tuple[str, float]]:
    total = links.total()
    return [(target, count / total) for target, count in links.items() if target != source]
