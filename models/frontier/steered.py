"""People's commands in force, and which known URLs may be fetched at all.

Every frontier reads the commands from the topic `control`. They stay in the topic, so a crawl that was killed
reads them again before it orders anything.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Container, Iterable
from typing import Any, Protocol

from scentline.models.errors import EventLog
from scentline.models.frontier.depth import Stops
from scentline.models.frontier.keys import Rows, host_of
from scentline.models.frontier.rows import PageRow
from scentline.models.lessons import Lessons, lessons
from scentline.models.predicate.syntax import regex
from scentline.models.published import Exclusion, Pausing, Slowing, Steering, control_key, defines
from scentline.models.records import JsonDecoder, RecordError, reason_of
from scentline.models.settings import FrontierSettings
from scentline.models.traps import space
from scentline.models.url import host


class Exclusions:
    """Exclusions by name; `has` stays fast with many prefixes.

    >>> excluded = Exclusions()
    >>> excluded.put("shop", "https://example.org/shop/", "")
    >>> excluded.put("print", "", "[?&]print=")
    >>> excluded.of("https://example.org/shop/tea"), excluded.of("https://example.org/tea?print=1")
    ('shop', 'print')
    >>> excluded.of("https://example.org/tea")
    ''
    """

    def __init__(self) -> None:
        self._prefixes: dict[str, str] = {}
        self._expressions: dict[str, Any] = {}
        #: The sorted prefixes, without those that begin with another one; None while out of date.
        self._shortest: list[str] | None = []

    def __len__(self) -> int:
        return len(self._prefixes) + len(self._expressions)

    def put(self, name: str, prefix: str, expression: str) -> None:
        """Exclude what begins with ``prefix`` or, without one, what matches ``expression``.

        Raises ValueError for an expression that is not RE2, or too large.
        """
        self.discard(name)
        if prefix:
            self._prefixes[name] = prefix
            self._shortest = None
        else:
            self._expressions[name] = regex(expression)

    def discard(self, name: str) -> bool:
        """Remove an exclusion; return whether it was there."""
        self._shortest = None
        return self._prefixes.pop(name, None) is not None or self._expressions.pop(name, None) is not None

    def of(self, url: str) -> str:
        """Return the name of an exclusion of a URL, one of several if need be; empty without any."""
        for name, expression in self._expressions.items():
            if expression.search(url) is not None:
                return name
        found = self._prefix_of(url)
        return next((name for name, prefix in self._prefixes.items() if prefix == found), "") if found else ""

    def has(self, url: str) -> bool:
        """Return whether a URL is excluded."""
        return bool(self._prefix_of(url)) or any(
            expression.search(url) is not None for expression in self._expressions.values()
        )

    def _prefix_of(self, url: str) -> str:
        """Return the shortest prefix of a URL, empty without one: only the last that sorts before it can be."""
        if self._shortest is None:
            self._shortest = _shortest(self._prefixes.values())
        place = bisect_right(self._shortest, url)
        return self._shortest[place - 1] if place and url.startswith(self._shortest[place - 1]) else ""


def _shortest(prefixes: Iterable[str]) -> list[str]:
    found: list[str] = []
    for prefix in sorted(prefixes):
        if not found or not prefix.startswith(found[-1]):
            found.append(prefix)
    return found


class Scope:
    """Rejects URLs that are excluded, too deep, in a spent space, on a spent host, or where no user was.

    With ``frontier.candidates = "paper"`` it also rejects URLs that the paper would not crawl (`descends`).

    A seed, requested by name, is only rejected where it is excluded or too deep, or its host's budget is spent.
    ``flying`` are the URLs in flight.
    """

    def __init__(self, settings: FrontierSettings, flying: Collection[str]) -> None:
        self._lessons = lessons(settings.rule) if settings.candidates == "paper" else None
        self._max_depth = settings.max_depth
        self._host_budget = settings.host_budget
        self._flying = flying
        #: People's exclusions.
        self.exclusions = Exclusions()
        #: Spaces of URLs not worth another fetch (`models.frontier.pages`).
        self.spent: Container[bytes] = ()
        #: Returns whether a page is a new link to news, in the mode "instant" (`models.frontier.news`).
        self.news: Callable[[PageRow], bool] | None = None
        #: Returns the pattern of a URL if that has no visits, where such URLs are rejected.
        self.unvisited: Callable[[str], str] | None = None
        #: Decides which pages lie too deep in their sites, where these are stopped (`models.frontier.depth`).
        self.stops: Stops | None = None

    def has(self, shard: Rows, row: PageRow) -> bool:
        """Return whether a URL may be fetched."""
        if self.exclusions and self.exclusions.has(row.url):
            return False
        if not row.seed and not self._is_free(row):
            return False
        if self._max_depth and row.depth > self._max_depth:
            return False
        if self.stops is not None and self.stops.beyond(shard, row):
            return False
        return not self._host_budget or self._fetches(shard, host(row.url)) < self._host_budget

    def of(self, shard: Rows, rows: Iterable[PageRow]) -> list[PageRow]:
        """Return the rows of URLs that may be fetched."""
        return [row for row in rows if self.has(shard, row)]

    def why_stopped(self, shard: Rows, name: str) -> str:
        """Return why no page of a host, or none deeper, may be fetched; empty where any may."""
        if self._host_budget and self._fetches(shard, name) >= self._host_budget:
            return f"its {self._host_budget} pages are spent (frontier.host_budget)"
        depth = None if self.stops is None else self.stops.depth(shard, name)
        return "" if depth is None else f"it is crawled to level {depth} (frontier.depth)"

    def _is_free(self, row: PageRow) -> bool:
        if self._is_spent(row) or (self.unvisited is not None and self.unvisited(row.url)):
            return False
        return self._lessons is None or descends(row, self._lessons)

    def _is_spent(self, row: PageRow) -> bool:
        if not self.spent or space(row.url) not in self.spent:
            return False
        return self.news is None or not self.news(row)  # no hub links to an endless space

    def _fetches(self, shard: Rows, name: str) -> int:
        return host_of(shard, name).judged + sum(host(url) == name for url in self._flying)


def descends(row: PageRow, policy: Lessons) -> bool:
    """Return whether a URL is a descendant of a judged page, as a policy of the paper defines it.

    For linkage, descendants are link targets; for collaborative, the pages of the log, "instead of using the
    set of hyperlinks"; for combined, these and the links of pages that satisfy any predicate (Aggarwal 2004,
    Figure 1, sections 2 and 4). The target of such a URL's redirect replaces it.
    """
    if row.inherited or (policy.users and row.visits):
        return True
    if policy.users:
        return policy.links and any(satisfying for _, satisfying in row.links.values())
    return bool(row.links)


log = EventLog("steering")

_decode = JsonDecoder[Steering](Steering)


def read_steering(value: bytes) -> Steering:
    """Return a steering record of the topic `control`; raises `RecordError`."""
    told = _decode(value)
    if isinstance(told, Exclusion):
        try:
            Exclusions().put(told.name, told.prefix, told.expression)
        except ValueError as error:
            raise RecordError(f"not an exclusion: {reason_of(error)}") from error
    return told


class Entry(Protocol):
    """A message of the topic."""

    @property
    def key(self) -> bytes | None:
        """The kind of the record, and its name."""

    @property
    def value(self) -> bytes | None:
        """The record."""


class Steered:
    """The newest record of each kind and name, in force or not."""

    def __init__(self, found: Iterable[Entry] = ()) -> None:
        self._records: dict[str, Steering] = {}
        self._logs = False
        for entry in found:
            if not defines(entry.key):
                self.hear(entry.value)

    def tell(self) -> None:
        """Log that earlier commands are in force, and from now on each new command."""
        self._logs = True
        if self.in_force:
            log.info(
                "steered as before", paused=self.paused, exclusions=len(self.exclusions),
                delays=len(self.delays),
            )  # fmt: skip

    def hear(self, value: bytes | None) -> Steering | None:
        """Apply a record and return it; log an unreadable one and return None."""
        try:
            told = read_steering(value or b"")
        except RecordError as error:
            log.warning("skipped what can't be read", reason=str(error))
            return None
        self._records[control_key(told)] = told
        if self._logs:
            _log_command(told)
        return told

    def heard(self, told: Steering) -> bool:
        """Return whether a record, or a newer one that replaced it, was applied."""
        known = self._records.get(control_key(told))
        return known is not None and known.time >= told.time

    @property
    def paused(self) -> bool:
        """Whether the crawl is paused."""
        return any(isinstance(each, Pausing) for each in self.in_force)

    @property
    def exclusions(self) -> list[Exclusion]:
        """The exclusions in force."""
        return [each for each in self.in_force if isinstance(each, Exclusion)]

    def exclusion(self, name: str) -> Exclusion | None:
        """Return the exclusion of a name, in force or not, None for an unknown name."""
        found = self._records.get(f"excluded:{name}")
        return found if isinstance(found, Exclusion) else None

    def excludes(self, url: str) -> Exclusion | None:
        """Return an exclusion of a URL, one of several if need be; None without any."""
        found = Exclusions()
        for each in self.exclusions:
            found.put(each.name, each.prefix, each.expression)
        return self.exclusion(found.of(url))

    @property
    def delays(self) -> list[Slowing]:
        """The longer delays in force."""
        return [each for each in self.in_force if isinstance(each, Slowing)]

    @property
    def in_force(self) -> list[Steering]:
        """The commands in force, in the order of the first of each kind and name.

        They include budgets, although a run with another budget in its settings goes by that one.
        """
        return [each for each in self._records.values() if _holds(each)]


def _holds(told: Steering) -> bool:
    if isinstance(told, Pausing | Exclusion):
        return told.on
    return not isinstance(told, Slowing) or told.seconds > 0


def _log_command(told: Steering) -> None:
    """Log a command, and of an exclusion by expression only its name, as the expression may hold a secret."""
    if isinstance(told, Pausing):
        log.info("the crawl is paused" if told.on else "the crawl goes on")
    elif isinstance(told, Exclusion):
        what = "URLs are excluded" if told.on else "URLs are no longer excluded"
        log.info(what, exclusion=told.name, prefix=told.prefix)
    elif isinstance(told, Slowing):
        log.info("a host has another delay", host=told.name, seconds=told.seconds)
    elif told.setting is not None:  # as published by a frontier
        log.info("the budget is another", of=told.name, most=told.most, setting=told.setting)
