"""Time in a virtual crawl: how late hosts answer, what they are spared, and which of their seconds are used."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import blake2b
from math import exp, log
from statistics import NormalDist
from typing import NamedTuple

from scentline.models.url import host

MEDIAN_SECONDS, LONGEST_SECONDS = 0.3, 5.0
#: Deviations of the logarithm of the seconds: of a host's from others', and of a page's from its host's.
_OF_HOSTS, _OF_PAGES = 0.6, 0.8
#: One host of so many hangs, and at least one does; its answers wait for longer than crawlers do.
_HOSTS_A_HANGING = 20
_HANGING_SECONDS = 600.0


class Latency:
    """Seconds that the answer at a URL waits: log-normal, by host and by URL; equal seeds give equal ones.

    >>> late = Latency(1, ["a.example", "b.example"])
    >>> sorted(late(f"http://{host}.example/") for host in "ab")[1]
    600.0
    """

    def __init__(self, seed: int, hosts: Iterable[str]) -> None:
        self._seed = seed
        known = sorted(set(hosts), key=self._deviation)
        self._hanging = frozenset(known[: max(1, len(known) // _HOSTS_A_HANGING)])

    def __call__(self, url: str) -> float:
        name = host(url)
        if name in self._hanging:
            return _HANGING_SECONDS
        exponent = _OF_HOSTS * self._deviation(name) + _OF_PAGES * self._deviation(url)
        return min(LONGEST_SECONDS, exp(log(MEDIAN_SECONDS) + exponent))

    def _deviation(self, name: str) -> float:
        digest = blake2b(f"{self._seed} {name}".encode(), digest_size=6).digest()
        return NormalDist().inv_cdf((int.from_bytes(digest, "big") + 0.5) / 2**48)


class Clock(NamedTuple):
    """What a crawl of so many ``seconds`` is held to, as the settings of the same names hold the real one.

    Requests to a host are ``delay`` seconds apart, and ``factor`` times its usual answer, of which one is
    waited for ``patience`` seconds. ``connections`` may be open. Reading and judging a page takes ``reading``
    seconds of this machine, one page at a time. ``paced`` says that no more pages are in flight than are judged
    in time (`models.frontier.window.Pace`), as of a policy that learns.
    """

    seconds: float
    latency: Callable[[str], float]
    delay: float = 1.0
    factor: float = 2.0
    patience: float = 10.0
    connections: int = 64
    reading: float = 0.015
    paced: bool = False


class Asked(NamedTuple):
    """A request: when it was made and when it was answered, in seconds since the crawl's start, and its URL."""

    came: float
    answered: float
    url: str


def slots_used(
    requests: Iterable[Asked],
    links: Mapping[str, Iterable[str]],
    seeds: Iterable[str],
    hosts: Collection[str],
    delay: float,
    end: float,
) -> float:
    """Return the share of ``hosts``' seconds up to ``end`` that were used, of those that might have been.

    A second of a host is used while a request to it is not answered or less than ``delay`` seconds old. It
    might be while a URL of it is known, from ``seeds`` or the ``links`` of a page that was answered, that was
    not asked for. 0 where there is no such second.
    """
    known, busy, asked = dict.fromkeys(seeds, 0.0), defaultdict(list), {}
    for request in sorted(requests, key=lambda request: request.answered):
        asked[request.url] = request.came
        busy[host(request.url)].append((request.came, max(request.answered, request.came + delay)))
        for url in links.get(request.url, ()):
            known.setdefault(url, request.answered)
    might = {name: list(busy[name]) for name in hosts}
    for url, since in known.items():
        if (name := host(url)) in might:
            might[name].append((since, asked.get(url, end)))
    used = sum(_length(busy[name], end) for name in hosts)
    return used / sum(_length(found, end) for found in might.values()) if used else 0.0


def _length(intervals: Iterable[tuple[float, float]], end: float) -> float:
    """Return how many seconds up to ``end`` lie in one of the intervals at least."""
    length = reached = 0.0
    for start, stop in sorted(intervals):
        length += max(0.0, min(stop, end) - max(start, reached))
        reached = max(reached, min(stop, end))
    return length
