"""What people asked of a crawl that is in force, and which of the URLs known may be fetched at all.

Every frontier hears on the topic `control` what people ask. It is in the log: a crawl that was killed hears it
again before it orders anything.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable
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
    """What is excluded, each under a name; to look a prefix up takes no longer where there are many.

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
        #: The prefixes in order, those left out that begin with another one.
        self._shortest: list[str] | None = []

    def __len__(self) -> int:
        return len(self._prefixes) + len(self._expressions)

    def put(self, name: str, prefix: str, expression: str) -> None:
        """Exclude what begins with ``prefix`` or, without one, what matches ``expression``.

        Raises ValueError for an expression that is none of RE2, or too large.
        """
        self.discard(name)
        if prefix:
            self._prefixes[name] = prefix
            self._shortest = None
        else:
            self._expressions[name] = regex(expression)

    def discard(self, name: str) -> bool:
        """Exclude something no longer; return whether it was."""
        self._shortest = None
        return self._prefixes.pop(name, None) is not None or self._expressions.pop(name, None) is not None

    def of(self, url: str) -> str:
        """Return the name of what excludes a URL, one of them where there are several; empty without any."""
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
        """Return the shortest prefix of a URL, empty without one: the last that sorts before it, if any is."""
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
    """Leaves out what is excluded, too deep, in a space or on a host that is spent, or where no user was.

    With ``frontier.candidates = "paper"`` it leaves out what is none by the paper's letter (`descends`).

    A seed was asked for by name: it is left out where it is excluded, too deep, or its host's budget is spent.
    ``flying`` are the URLs in flight.
    """

    def __init__(self, settings: FrontierSettings, flying: Collection[str]) -> None:
        self._lessons = lessons(settings.rule) if settings.candidates == "paper" else None
        self._max_depth = settings.max_depth
        self._host_budget = settings.host_budget
        self._flying = flying
        #: What people excluded.
        self.exclusions = Exclusions()
        #: Spaces of URLs that are worth no more fetches (`models.frontier.pages`).
        self.spent: set[bytes] = set()
        #: Tells whether a page is a new link to news, in the mode "instant" (`models.frontier.news`).
        self.news: Callable[[PageRow], bool] | None = None
        #: Tells of a URL which pattern it has, if that has no visits, where such URLs are left out.
        self.unvisited: Callable[[str], str] | None = None
        #: Tells which pages lie too deep in their sites, where these are stopped (`models.frontier.depth`).
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
        """Return those of some URLs that may be fetched."""
        return [row for row in rows if self.has(shard, row)]

    def why_stopped(self, shard: Rows, name: str) -> str:
        """Return why no page of a host is fetched, or none that is deeper; empty where any may be."""
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
        return self.news is None or not self.news(row)  # an endless space has no hub that tells of it

    def _fetches(self, shard: Rows, name: str) -> int:
        return host_of(shard, name).judged + sum(host(url) == name for url in self._flying)


def descends(row: PageRow, policy: Lessons) -> bool:
    """Return whether a URL is a descendant of a judged page as a policy of the paper has it.

    Those of linkage are link targets, those of collaborative the pages of the log, "instead of using the set of
    hyperlinks", those of combined these and the links of pages that satisfy any predicate (Aggarwal 2004,
    Figure 1, sections 2 and 4). What such a URL redirects to takes its place.
    """
    if row.inherited or (policy.users and row.visits):
        return True
    if policy.users:
        return policy.links and any(satisfying for _, satisfying in row.links.values())
    return bool(row.links)


log = EventLog("steering")

_decode = JsonDecoder[Steering](Steering)


def read_steering(value: bytes) -> Steering:
    """Return a record of the topic `control` that steers; raises `RecordError`."""
    told = _decode(value)
    if isinstance(told, Exclusion):
        try:
            Exclusions().put(told.name, told.prefix, told.expression)
        except ValueError as error:
            raise RecordError(f"not an exclusion: {reason_of(error)}") from error
    return told


class Entry(Protocol):
    """A message of the topic, as a log has it."""

    @property
    def key(self) -> bytes | None:
        """What it is of, and its name."""

    @property
    def value(self) -> bytes | None:
        """The record."""


class Steered:
    """The newest record of each kind and name, in force or not."""

    def __init__(self, found: Iterable[Entry] = ()) -> None:
        self._records: dict[str, Steering] = {}
        self._telling = False
        for entry in found:
            if not defines(entry.key):
                self.hear(entry.value)

    def tell(self) -> None:
        """Say in the log what was asked earlier and is in force, and from now on what is heard."""
        self._telling = True
        if self.in_force:
            log.info(
                "steered as before", paused=self.paused, exclusions=len(self.exclusions),
                delays=len(self.delays),
            )  # fmt: skip

    def hear(self, value: bytes | None) -> Steering | None:
        """Absorb a record and return it; None where it can't be read, which is said in the log."""
        try:
            told = read_steering(value or b"")
        except RecordError as error:
            log.warning("skipped what can't be read", reason=str(error))
            return None
        self._records[control_key(told)] = told
        if self._telling:
            _tell(told)
        return told

    def heard(self, told: Steering) -> bool:
        """Return whether a record was heard, or a newer one that took its place."""
        known = self._records.get(control_key(told))
        return known is not None and known.time >= told.time

    @property
    def paused(self) -> bool:
        """Whether the crawl is paused."""
        return any(isinstance(each, Pausing) for each in self.in_force)

    @property
    def exclusions(self) -> list[Exclusion]:
        """What is excluded."""
        return [each for each in self.in_force if isinstance(each, Exclusion)]

    def exclusion(self, name: str) -> Exclusion | None:
        """Return what has ever been excluded under a name, None for a name that is none."""
        found = self._records.get(f"excluded:{name}")
        return found if isinstance(found, Exclusion) else None

    def excludes(self, url: str) -> Exclusion | None:
        """Return what excludes a URL, one of them where there are several; None where nothing does."""
        found = Exclusions()
        for each in self.exclusions:
            found.put(each.name, each.prefix, each.expression)
        return self.exclusion(found.of(url))

    @property
    def delays(self) -> list[Slowing]:
        """The hosts that are asked more seldom than usual."""
        return [each for each in self.in_force if isinstance(each, Slowing)]

    @property
    def in_force(self) -> list[Steering]:
        """What holds now, in the order in which it was first asked for.

        A budget is among it that was set, although a run whose settings have another one goes by that.
        """
        return [each for each in self._records.values() if _holds(each)]


def _holds(told: Steering) -> bool:
    if isinstance(told, Pausing | Exclusion):
        return told.on
    return not isinstance(told, Slowing) or told.seconds > 0


def _tell(told: Steering) -> None:
    """Log what people asked for; an expression is named, for it may have a secret in it."""
    if isinstance(told, Pausing):
        log.info("the crawl is paused" if told.on else "the crawl goes on")
    elif isinstance(told, Exclusion):
        what = "URLs are excluded" if told.on else "URLs are no longer excluded"
        log.info(what, exclusion=told.name, prefix=told.prefix)
    elif isinstance(told, Slowing):
        log.info("a host has another delay", host=told.name, seconds=told.seconds)
    elif told.setting is not None:  # a frontier tells it with the setting
        log.info("the budget is another", of=told.name, most=told.most, setting=told.setting)
