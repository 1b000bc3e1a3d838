"""What viewers look at: while there are any, the frontiers of a crawl are asked to report how they stand."""

from collections.abc import Callable, Iterable

from scentline.streams.published import MOST_HOSTS, Watch

#: Seconds for which a request holds, and after which it is renewed.
HOLDS, RENEWED = 12.0, 5.0
#: Seconds between two requests at least, where what is wanted changes.
SHORTEST = 0.5


class Watching:
    """What views want to know beside what lies in the directory.

    ``request`` sends the request. What was wanted is forgotten after the time for which a request holds.
    """

    def __init__(self, request: Callable[[Watch], object]) -> None:
        self._request = request
        self._predicate = ("", 0.0)
        self._hosts: dict[str, float] = {}
        self._sent = Watch(0.0)
        self._when = float("-inf")
        self._now = 0.0
        #: Since when views are made, one soon after the other.
        self.since = 0.0

    def begin(self, now: float) -> None:
        """Begin a view."""
        if not self._now <= now < self._now + HOLDS:
            self.since = now
        self._now = now

    def want(self, predicate: str = "", hosts: Iterable[str] = ()) -> None:
        """Want a predicate's best candidates, and how hosts stand."""
        if predicate:
            self._predicate = predicate, self._now
        self._hosts.update(dict.fromkeys(hosts, self._now))

    def end(self) -> None:
        """End a view: request what is wanted, where it is time to."""
        now = self._now
        if self._when <= now < self._when + SHORTEST:
            return
        self._hosts = {name: when for name, when in self._hosts.items() if now < when + HOLDS}
        newest = sorted(self._hosts, key=self._hosts.__getitem__, reverse=True)[:MOST_HOSTS]
        predicate, when = self._predicate
        wanted = Watch(now + HOLDS, predicate if now < when + HOLDS else "", tuple(sorted(newest)))
        same = (wanted.predicate, wanted.hosts) == (self._sent.predicate, self._sent.hosts)
        if same and self._when <= now < self._when + RENEWED:
            return
        self._sent, self._when = wanted, now
        self._request(wanted)
