"""Statistics of hosts' answers: response times, causes of missing pages, and hits promised and found.

An owner of hosts that promises more hits than it delivers is believed less. A link's promise is the probability
of a hit by which its target was chosen; a page that does not come counts as a miss.
"""

import math
import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import Final

import msgspec

from scentline.models.formats import MEDIA_TYPES
from scentline.models.page import NEEDS_SCRIPTS

#: Upper bounds of the buckets of response times, in seconds; a last bucket has the slower answers.
BOUNDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)


class Waits(msgspec.Struct, array_like=True):
    """A histogram of response times: their sum in ``seconds``, and the ``counts`` of the buckets.

    >>> waits = Waits()
    >>> for elapsed in (0.08, 0.07, 0.09, 3.0):
    ...     waits.take(elapsed)
    >>> round(waits.mean, 2), waits.within(0.5), waits.within(0.95)
    (0.81, 0.1, 5.0)
    """

    seconds: float = 0.0
    counts: list[int] = []

    def take(self, elapsed: float) -> None:
        """Count an answer that took ``elapsed`` seconds."""
        self.seconds += elapsed
        if not self.counts:
            self.counts = [0] * (len(BOUNDS) + 1)
        self.counts[bisect_left(BOUNDS, elapsed)] += 1

    @property
    def mean(self) -> float | None:
        """The mean in seconds, None before the first answer."""
        return self.seconds / sum(self.counts) if self.counts else None

    def within(self, part: float) -> float | None:
        """Return the bound that the share ``part`` of answers met; None without answers, or past the last."""
        wanted = part * sum(self.counts)
        for bound, count in zip(BOUNDS, self.counts, strict=False):
            wanted -= count
            if wanted <= 0:
                return bound
        return None


#: Most causes that are counted of a host, `REST` included; later ones count as `REST`.
MOST_CAUSES = 12
#: All other causes.
REST = "other"
_STATUS = re.compile(r"status ([1-5][0-9]{2})$")
# The cause by the prefix of a reason given by fetcher or judge. The longest prefix that matches wins.
_CAUSES: Final = {
    "no content": "HTTP 204",
    "timeout": "timed out",
    "dns": "name not found",
    "connection": "no connection",
    "proxy": "proxy not reached",
    "tls": "TLS failed",
    "certificate": "certificate not trusted",
    "broken": "broken answer",
    "body cut short": "broken answer",
    "body over": "too large",
    "compressed over": "too large",
    "over": "took too much to read",
    "it ended the process": "took too much to read",
    "its answer": "took too much to read",
    "content encoding": "unknown content encoding",
    "content type": "not HTML or text",
    "not HTML": "not HTML or text",
    "X-Robots-Tag": "asks not to be indexed",
    "the page asks": "asks not to be indexed",
    "robots.txt": "robots.txt forbids",
    "robots.txt ": "robots.txt not to be had",
    "address": "address not allowed",
    "host denied": "host not allowed",
    "port": "port not allowed",
    "contact": "no contact in fetch.user_agent",
    "url": "no URL to ask for",
    "redirect": "redirect that is not followed",
    "more than": "redirect that is not followed",
    "soft 404": "soft 404",
    NEEDS_SCRIPTS: "needs scripts",
    "rendering": "rendering failed",
    **{f"{form}:": "document that can't be read" for form in MEDIA_TYPES},
    "near-duplicate": "near-duplicate",
    "quarantined": "quarantined",
    "error": "error of the fetcher",
}
#: All values of `cause_of`, except HTTP statuses.
KNOWN: Final = frozenset({REST, *_CAUSES.values()})
_LONGEST_FIRST: Final = sorted(_CAUSES, key=len, reverse=True)


def cause_of(reason: str) -> str:
    """Return the cause of a missing page by its reason; it never contains text from outside.

    >>> cause_of("status 404"), cause_of("content type image/png"), cause_of("robots.txt status 503")
    ('HTTP 404', 'not HTML or text', 'robots.txt not to be had')
    >>> cause_of("a demon")
    'other'
    """
    status = _STATUS.match(reason)
    if status is not None:
        return f"HTTP {status[1]}"
    begins = next((words for words in _LONGEST_FIRST if reason.startswith(words)), None)
    return REST if begins is None else _CAUSES[begins]


class Cause(msgspec.Struct, array_like=True):
    """How often a cause occurred, when last, and the identifier of the page then."""

    count: int = 0
    time: float = 0.0
    page: bytes = b""


def count_cause(causes: dict[str, Cause], cause: str, time: float, page: bytes) -> None:
    """Count a cause, or count it as `REST` where `MOST_CAUSES` are known; no count is lost."""
    if cause not in causes and len(causes) >= MOST_CAUSES - (REST not in causes):
        cause = REST
    found = causes.setdefault(cause, Cause())
    found.count += 1
    if time >= found.time:
        found.time, found.page = time, page


#: Above it, a probability counts as 1; below its negative, a logit is the log of the probability.
MOST_LOGIT = 30.0
#: Promised hits that every owner is assumed to have kept at the overall rate.
PRIOR = 10.0
#: Belief from which on an owner is believed in full.
TOLERANCE = 0.9


class Promised(msgspec.Struct, array_like=True):
    """The sum of the promised probabilities of hits, and the hits found."""

    promised: float = 0.0
    kept: int = 0

    def add(self, expected: float, hit: bool) -> None:
        """Count a promise."""
        self.promised += expected
        self.kept += hit


class Promises:
    """Counts the promises of owners, and how far each owner is believed.

    >>> promises = Promises()
    >>> for number in range(100):
    ...     promises.ended("good.org", 0.8, hit=number % 5 > 0)
    ...     promises.ended("farm.net", 0.8, hit=number % 10 == 0)
    >>> [round(promises.belief([owner]), 2) for owner in ("good.org", "farm.net", "new.org")]
    [1.0, 0.3, 1.0]
    """

    def __init__(self) -> None:
        self._owners: dict[str, Promised] = {}
        self._all = Promised()

    def __bool__(self) -> bool:
        """Return whether any owner may be believed less."""
        return len(self._owners) > 1

    def take_up(self, owner: str, promised: Promised) -> None:
        """Add earlier counts of an owner."""
        own = self._owners.setdefault(owner, Promised())
        for each in (own, self._all):
            each.promised += promised.promised
            each.kept += promised.kept

    def ended(self, owner: str, expected: float, hit: bool) -> None:
        """Count the outcome of a promise."""
        self._owners.setdefault(owner, Promised()).add(expected, hit)
        self._all.add(expected, hit)

    def belief(self, owners: Iterable[str]) -> float:
        """Return the factor for the probability of a hit that some owners promise: that of the best of them.

        An owner's rate of kept promises is shrunk towards the overall rate, so that a few misses count little.
        A sole owner is believed: there is no other to compare it with.
        """
        if not self:
            return 1.0
        usual = (self._all.kept + PRIOR) / (self._all.promised + PRIOR)
        found = 0.0
        for name in owners:
            own = self._owners.get(name)
            if own is None:  # nothing speaks against it
                return 1.0
            found = max(found, (own.kept / usual + PRIOR) / (own.promised + PRIOR))
            if found >= TOLERANCE:
                return 1.0
        return found or 1.0


def believed(logit: float, belief: float) -> float:
    """Return the logit of a probability multiplied by the factor ``belief``.

    >>> believed(0.0, 1.0), round(believed(0.0, 0.5), 3)
    (0.0, -1.099)
    """
    if belief == 1:
        return logit
    if logit < -MOST_LOGIT:  # it is the log of its probability
        return logit + math.log(belief)
    probability = belief / (1 + math.exp(-logit))
    return math.log(probability / (1 - probability))
