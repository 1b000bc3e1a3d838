"""How many pages need scripts, what it brought to render some, and what is expected of others like them.

That is counted for a host, a prefix and a pattern of its URLs (`models.frontier.freshness`). The estimate of
the smaller group is shrunk towards that of the larger.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

#: Seconds that a plain request takes, beside its host's delay.
PLAIN_SECONDS = 0.1
#: What is expected of a rendering before there was any: its seconds and its requests.
SECONDS, REQUESTS = 1.0, 3.0
#: Pages that what is expected of a group counts for.
_PRIOR = 1.0
# What is expected of a host: that pages need scripts, that others bring more if they are rendered, and that
# those which need it do.
_NEED, _HIDDEN, _BRINGS = 0.1, 0.02, 0.9


class Needs(msgspec.Struct, array_like=True):
    """How many pages of a group need scripts, and what it brought to render some of them.

    ``seen`` pages came, ``shells`` of these need scripts. Of ``rendered`` shells, ``filled`` got text or links;
    of ``tried`` other pages, ``gained`` got more. These took ``seconds`` and ``requests``.
    """

    seen: int = 0
    shells: int = 0
    rendered: int = 0
    filled: int = 0
    tried: int = 0
    gained: int = 0
    seconds: float = 0.0
    requests: int = 0

    def came(self, *, needed: bool) -> None:
        """Count a page as it came without scripts."""
        self.seen += 1
        self.shells += needed

    def took(self, seconds: float, requests: int, *, needed: bool, brought: bool) -> None:
        """Count a rendering: of a page that needed it or of another, and whether it ``brought`` anything."""
        self.seconds += seconds
        self.requests += requests
        if needed:
            self.rendered += 1
            self.filled += brought
        else:
            self.tried += 1
            self.gained += brought


class Outlook(NamedTuple):
    """What is expected of a page: the probabilities that it needs scripts and that rendering it brings them.

    A rendering takes ``seconds`` and ``requests`` to the page's host; ``tried`` pages like it were rendered
    without need.
    """

    need: float
    brings: float
    seconds: float
    requests: float
    tried: int

    def pays(self, delay: float, waiting: float) -> bool:
        """Return whether to render a page before it was seen.

        That saves a request if the page needs scripts, else it wastes a slot's seconds and further requests.
        Hosts have ``delay`` seconds between two requests, and ``waiting`` of them wait for each slot.
        """
        wasted = (self.requests - 1) * delay + self.seconds * max(1.0, waiting)
        return self.need * delay > (1 - self.need) * wasted

    def part(self, delay: float) -> float:
        """Return what rendering a page is worth beside a plain request for one that is as likely a hit.

        That is its probability to bring something for the time of host and slot, beside that of the request.
        """
        plain = delay + PLAIN_SECONDS
        return min(1.0, self.brings * plain / (self.requests * delay + self.seconds))


def outlook(groups: Iterable[Needs]) -> Outlook:
    """Return what is expected of a page by its groups, the largest first.

    >>> host = Needs()
    >>> round(outlook([host]).need, 2)
    0.12
    >>> for _ in range(9):
    ...     host.came(needed=True)
    >>> round(outlook([host]).need, 2)
    0.91
    """
    need, hidden, brings, seconds, requests, tried = _NEED, _HIDDEN, _BRINGS, SECONDS, REQUESTS, 0
    for group in groups:
        need = _towards(need, group.shells, group.seen)
        hidden = _towards(hidden, group.gained, group.tried)
        brings = _towards(brings, group.filled, group.rendered)
        rendered, tried = group.rendered + group.tried, group.tried
        seconds = _towards(seconds, group.seconds, rendered)
        requests = _towards(requests, group.requests, rendered)
    return Outlook(need + (1 - need) * hidden, brings, seconds, max(1.0, requests), tried)


def _towards(usual: float, found: float, of: int) -> float:
    """Return the mean of ``of`` numbers that sum up to ``found``, shrunk towards the ``usual`` one."""
    return (found + _PRIOR * usual) / (of + _PRIOR)
