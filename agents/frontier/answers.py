"""The frontier's HTTP answers about its partitions: the standing, why a URL, and learned features.

``GET /standing?predicate=&host=``, ``/explain?url=`` and ``/features?predicate=&kind=&side=`` return a
`Standing`, an `Explanation` or `Features` in MessagePack, or nil.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from scentline.models.frontier.core import Frontier
from scentline.models.published import MOST_HOSTS

#: The values of each name in a query.
Query: TypeAlias = Mapping[str, Sequence[str]]

#: After an answer that took t seconds of CPU time, no other for this times t: a twentieth of a core at most.
RESTS = 20
#: Seconds for which an answer is cached, and how many are.
FRESH_SECONDS, REMEMBERED = 1.0, 16

_encode = msgspec.msgpack.Encoder().encode


class Answers:
    """Answers on the event loop, between two steps of the frontier's own work; one request at a time."""

    def __init__(self, core: Frontier, clock: Callable[[], float]) -> None:
        self._core = core
        self._clock = clock
        self._answers: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._turn = asyncio.Lock()
        self._rests = 0.0
        self.paths: Mapping[str, Callable[[Query], Iterator[object]]] = {
            "/standing": self._of_standing,
            "/explain": self._of_url,
            "/features": self._of_features,
        }

    async def answer(self, path: str, query: Query) -> bytes:
        """Return the answer to a path of ``paths``."""
        key = f"{path} {query}"
        async with self._turn:
            until, known = self._answers.get(key, (0.0, b""))
            if time.monotonic() < until:
                return known
            await asyncio.sleep(self._rests - time.monotonic())
            spent, found, begun = 0.0, None, time.thread_time()
            for step in self.paths[path](query):
                found = step
                spent += time.thread_time() - begun
                await asyncio.sleep(0)
                begun = time.thread_time()
            data = _encode(found)
            spent, now = spent + time.thread_time() - begun, time.monotonic()
            self._rests = now + RESTS * spent
            self._answers[key] = max(now + FRESH_SECONDS, self._rests), data
            if len(self._answers) > REMEMBERED:
                self._answers.popitem(last=False)
            return data

    def _of_standing(self, query: Query) -> Iterator[object]:
        predicate, hosts = _first(query, "predicate"), query.get("host", ())[:MOST_HOSTS]
        yield from self._core.standing.steps(self._clock(), predicate, hosts)

    def _of_url(self, query: Query) -> Iterator[object]:
        yield self._core.explainer.explain(_first(query, "url"))

    def _of_features(self, query: Query) -> Iterator[object]:
        yield self._core.explainer.features(*(_first(query, name) for name in ("predicate", "kind", "side")))


def _first(query: Query, name: str) -> str:
    return next(iter(query.get(name, ())), "")
