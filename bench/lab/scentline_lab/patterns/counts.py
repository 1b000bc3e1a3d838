"""What a site's users did, counted in memory as a log is read, within a bound."""

from collections.abc import Mapping
from hashlib import blake2b
from zlib import crc32

from scentline.models.patterns.counts import Behaviour

#: Part of the URLs, or transitions, that is forgotten at once when there are too many.
_FORGOTTEN = 4


class BehaviourCounts:
    """F_in, F_out and F_trans of one site's URLs, from records (URL, referrer, user) in any order.

    A record that was there before changes nothing: the same user going the same way counts once. Memory is
    bounded. Beyond ``urls`` URLs the quarter with the fewest visits and referrals is forgotten, and their
    transitions with them; beyond ``transitions`` the rarest quarter; ``forgotten`` says how many URLs. Whether
    a record was there before is known of the last ``records`` at least. Within these bounds the counts do not
    depend on the order of the records.

    >>> counts = BehaviourCounts()
    >>> [counts.add("ann", "http://a/2", "http://a/1") for _ in range(2)]
    [True, False]
    >>> counts.add("bob", "http://a/2", None)
    True
    >>> counts.snapshot().visits
    {'http://a/2': 2, 'http://a/1': 0}
    """

    def __init__(self, urls: int = 100_000, transitions: int = 200_000, records: int = 200_000) -> None:
        self.forgotten = 0
        self._urls = urls
        self._most_transitions = transitions
        self._records = records
        self._seen: set[bytes] = set()
        self._seen_before: set[bytes] = set()
        self._visits: dict[str, int] = {}
        self._referrals: dict[str, int] = {}
        self._transitions: dict[tuple[str, str], int] = {}

    def __len__(self) -> int:
        """Return the number of URLs known."""
        return len(self._visits)

    def add(self, user: str, url: str, referrer: str | None) -> bool:
        """Count a record and return whether it is new; ``referrer`` is None where it is not of the site."""
        if self._known(f"{user}\0{referrer}\0{url}"):
            return False
        visits = self._visits
        visits[url] = visits.get(url, 0) + 1
        if referrer is not None:
            visits.setdefault(referrer, 0)
            self._referrals[referrer] = self._referrals.get(referrer, 0) + 1
            way = (referrer, url)
            self._transitions[way] = self._transitions.get(way, 0) + 1
            if len(self._transitions) > self._most_transitions:
                self._forget_transitions()
        if len(visits) > self._urls:
            self._forget_urls()
        return True

    def snapshot(self) -> Behaviour:
        """Return the counts of this moment, which stay as they are."""
        return Behaviour(dict(self._visits), dict(self._referrals), dict(self._transitions))

    def _known(self, record: str) -> bool:
        digest = blake2b(record.encode(), digest_size=8).digest()
        if digest in self._seen or digest in self._seen_before:
            return True
        if len(self._seen) >= self._records:
            self._seen_before, self._seen = self._seen, set()
        self._seen.add(digest)
        return False

    def _forget_urls(self) -> None:
        weights = {url: visits + self._referrals.get(url, 0) for url, visits in self._visits.items()}
        gone = _rarest(weights, len(weights) // _FORGOTTEN + 1)
        self.forgotten += len(gone)
        self._visits = {url: count for url, count in self._visits.items() if url not in gone}
        self._referrals = {url: count for url, count in self._referrals.items() if url not in gone}
        self._transitions = {way: count for way, count in self._transitions.items() if gone.isdisjoint(way)}

    def _forget_transitions(self) -> None:
        weights = {f"{source} {target}": count for (source, target), count in self._transitions.items()}
        gone = _rarest(weights, len(weights) // _FORGOTTEN + 1)
        self._transitions = {
            way: count for way, count in self._transitions.items() if " ".join(way) not in gone
        }


def _rarest(weights: Mapping[str, int], number: int) -> set[str]:
    """Return those of least weight; among equals a checksum decides, so that none is favoured."""
    last = sorted(weights.values())[number - 1]
    gone = {name for name, weight in weights.items() if weight < last}
    equals = sorted((name for name, weight in weights.items() if weight == last), key=_checksum)
    return gone.union(equals[: number - len(gone)])


def _checksum(name: str) -> tuple[int, str]:
    return crc32(name.encode()), name
