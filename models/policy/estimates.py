"""Estimates of pages beside the rows: an importance, and the URL patterns of sites (Liu 2011).

A site is a host: its pages, and the ways of users to them, lie in one partition.
"""

from collections.abc import Iterable, Iterator
from heapq import nsmallest
from itertools import islice
from random import Random

from scentline.models.facts import Access, Visited
from scentline.models.frontier.book import Book
from scentline.models.frontier.candidates import Candidates
from scentline.models.frontier.keys import WAYS_PREFIX, Rows, ways_key, ways_prefix
from scentline.models.frontier.rows import AccessRow, PageRow
from scentline.models.papers.patterns import Patterns, mine
from scentline.models.papers.ways import RANKINGS, VISITS, Behaviour, Pattern, Ways, behaviour, score
from scentline.models.policy.ordering import (
    BacklinkOrder,
    HotOrder,
    Informed,
    LocationOrder,
    Ordering,
    Ranks,
    SimilarityOrder,
    WeightedOrder,
)
from scentline.models.policy.priorities import Scorer, scorer
from scentline.models.semantic import SemanticTable
from scentline.models.settings import CrawlSettings, FrontierSettings
from scentline.models.url import host

#: A site is mined again once its records have grown by this share.
GROWTH = 0.5
#: Pages of a site that patterns are mined from, at most: in the order of identifiers, a random sample.
PAGES = 50_000
#: Sites whose patterns are kept in memory: above it, the tenth with the fewest records loses them for a while.
SITES = 10_000
#: Records of users' ways to a page that are kept; above that, a sample.
WAYS = 64
#: Rows read in one step, between which other work runs.
STEP = 500


class SitePatterns(Informed):
    """Keeps users' ways in the rows, and the patterns of each site in memory.

    ``visitors`` bounds the records kept of a page.
    """

    def __init__(self, visitors: int = WAYS) -> None:
        self._visitors = visitors
        self._sites: dict[str, Patterns] = {}
        self._shards: dict[str, Rows] = {}
        self._records: dict[str, int] = {}
        self._fresh: dict[str, int] = {}
        self._due: dict[str, None] = {}
        self._first: set[str] = set()
        #: By site being read or mined: its shard, its fresh records and its rows.
        self._reading: dict[str, tuple[Rows, int, int]] = {}

    @property
    def due(self) -> list[str]:
        """The sites whose patterns are out of date."""
        return list(self._due)

    @property
    def starting(self) -> bool:
        """Whether a site known when its partition was opened has no patterns yet."""
        return bool(self._first)

    def pattern_of(self, url: str) -> Pattern | None:
        """Return the pattern of a canonical URL, None if its site has none yet."""
        site = self._sites.get(host(url))
        return None if site is None else site.pattern_of(url)

    def expected_visits(self, shard: Rows, row: PageRow) -> float:
        """Return the expected visits of a page (`Patterns.expected_visits`), 0 on a site without patterns."""
        name = host(row.url)
        site = self._sites.get(name)
        if site is None:
            return 0.0
        found = shard.get(ways_key(name, row.url)) if row.visits else None
        ways = found.ways if isinstance(found, AccessRow) else None
        return site.expected_visits(row.url, 0 if ways is None else ways.visits)

    def unvisited(self, url: str) -> str:
        """Return the pattern of a URL if that pattern has no visits, else an empty string."""
        pattern = self.pattern_of(url)
        if pattern is not None and pattern.leaf and pattern.visits:
            return ""
        return pattern.name if pattern is not None else url[: url.index("/", url.index("://") + 3)] + "/**"

    # partitions and sightings

    def open(self, shard: Rows) -> None:
        """Mark the sites of a partition as due."""
        for site in sites(shard):
            self._first.add(site)
            self._note(shard, site)

    def close(self, shard: Rows) -> None:
        """Forget the sites of a partition that another worker has now."""
        for site in [site for site, held in self._shards.items() if held is shard]:
            for known in (self._shards, self._sites, self._records, self._fresh, self._due):
                known.pop(site, None)
            self._first.discard(site)

    def absorb(self, shard: Rows, sighting: object) -> None:
        """Absorb an access; the same user going the same way within the site counts once."""
        if not isinstance(sighting, Visited):
            return
        site = host(sighting.url)
        key = ways_key(site, sighting.url)
        row = shard.get(key)
        known = row if isinstance(row, AccessRow) else AccessRow(sighting.url)
        known.ways = known.ways or Ways()
        if known.ways.add(sighting.user, within(sighting), self._visitors):
            shard.put(key, known)
            self._note(shard, site)

    def _note(self, shard: Rows, site: str) -> None:
        self._shards[site] = shard
        fresh = self._fresh[site] = self._fresh.get(site, 0) + 1
        if fresh > GROWTH * self._records.get(site, 0) and site not in self._due:
            self._due[site] = None

    # mining

    def read(self, site: str) -> Iterator[Behaviour | None]:
        """Yield the behaviour of users on a due site, after None for each step: rows may change meanwhile.

        No behaviour is yielded if its rows are not on disk yet, or its partition went to another worker.
        """
        shard, rows = self._shards.get(site), list[AccessRow]()
        if shard is None:
            return
        for step in steps(shard, site):
            rows += step
            yield None
        if rows and self._shards.get(site) is shard:
            self._reading[site] = shard, self._fresh[site], len(rows)
            yield _behaviour(rows)

    def mined(self, site: str, found: Patterns) -> None:
        """Apply the patterns mined from what `read` last yielded of a site."""
        shard, fresh, rows = self._reading.pop(site)
        if self._shards.get(site) is not shard:
            return
        self._sites[site] = found
        # Of a site of a partition just opened it is only known that there are records.
        self._records[site] = max(self._records.get(site, 0) + fresh, rows)
        self._fresh[site] -= fresh
        del self._due[site]
        self._first.discard(site)
        if len(self._sites) > SITES:
            for least in nsmallest(SITES // 10, self._sites, key=self._records.__getitem__):
                del self._sites[least]

    def mine_now(self, shard: Rows, site: str) -> None:
        """Mine one site at once."""
        rows = [row for step in steps(shard, site) for row in step]
        if rows:
            self._sites[site] = mine(_behaviour(rows))


class BehaviourOrder(Ordering):
    """Pages by one of the seven rankings of their site's patterns (Liu 2011, sections 4.1 and 4.2).

    A page without a pattern comes last. Scores of two sites are compared as they are.
    """

    def __init__(self, name: str, patterns: SitePatterns) -> None:
        self._ranking = RANKINGS[name]
        self._patterns = patterns

    def value(self, shard: Rows, row: PageRow, topic: tuple[str, ...]) -> float:
        """Return the score of the page's pattern, -1 where it has none."""
        pattern = self._patterns.pattern_of(row.url)
        return -1.0 if pattern is None else score(self._ranking, pattern)


class VisitsOrder(Ordering):
    """Pages by their own visits, shrunk to those of their pattern and of their site."""

    def __init__(self, patterns: SitePatterns) -> None:
        self._patterns = patterns

    def value(self, shard: Rows, row: PageRow, topic: tuple[str, ...]) -> float:
        """Return the expected visits of the page."""
        return self._patterns.expected_visits(shard, row)


def sites(shard: Rows) -> Iterator[str]:
    """Yield the sites of a partition that users visited: one disk seek each, however many pages."""
    key = next(shard.scan(WAYS_PREFIX), (None, None))[0]
    while key is not None:
        site = key[len(WAYS_PREFIX) :].partition(b"\0")[0]
        yield site.decode()
        key = next(shard.scan(WAYS_PREFIX, after=WAYS_PREFIX + site + b"\x01"), (None, None))[0]


def steps(shard: Rows, site: str) -> Iterator[list[AccessRow]]:
    """Yield the rows of a site, `STEP` at a time: between two steps rows may change."""
    after: bytes | None = None
    for _ in range(PAGES // STEP):
        found = list(islice(shard.scan(ways_prefix(site), after), STEP))
        yield [row for _, row in found if isinstance(row, AccessRow)]
        if len(found) < STEP:
            return
        after = found[-1][0]


def _behaviour(rows: Iterable[AccessRow]) -> Behaviour:
    return behaviour((row.url, row.ways) for row in rows if row.ways is not None)


def within(visit: Access | Visited) -> str | None:
    """Return the page of the same site that a user came from, or None."""
    referrer = visit.referrer
    return referrer if referrer is not None and host(referrer) == host(visit.url) else None


#: The orderings without an importance: by the policy, or by depth.
BY_DEPTH = ("predicates", "breadth-first")
#: The importances that `FrontierSettings.weights` weigh.
PARTS = ("backlink", "pagerank", "similarity", "location")


class Estimates:
    """Keeps the estimates that the settings need; ``table`` has the word vectors, if any."""

    def __init__(self, settings: CrawlSettings, table: SemanticTable | None) -> None:
        self.patterns = SitePatterns() if settings.behaviour else None
        self.ordering = ordering(settings.frontier, self.patterns)
        rule, printed = settings.frontier.rule, settings.frontier.candidates == "paper"
        self.scorer: Scorer = scorer(rule, settings.learn, table, self.ordering, printed=printed)
        self._settings = settings
        kept = (self.patterns, self.ordering)
        self._kept: list[Informed] = [each for each in kept if each is not None]

    def candidates(self, book: Book, random: Random) -> Candidates:
        """Return the candidates, which leave out what the book's rows rule out."""
        found = Candidates(self._settings, self.scorer, random)
        found.scope.spent, found.scope.stops = book.spaces.spent, book.stops
        found.priorities.promises = book.promises
        if self.patterns is not None and self._settings.frontier.visited_patterns_only:
            found.scope.unvisited = self.patterns.unvisited
        return found

    def open(self, shard: Rows) -> None:
        """Open a shard."""
        for each in self._kept:
            each.open(shard)

    def close(self, shard: Rows) -> None:
        """Forget a shard that another worker has now."""
        for each in self._kept:
            each.close(shard)

    def absorb(self, shard: Rows, sighting: object) -> None:
        """Absorb a sighting, before the rows do."""
        for each in self._kept:
            each.absorb(shard, sighting)

    def sweep(self, shard: Rows) -> bool:
        """Do periodic work; return whether the order of candidates may have changed.

        Under the learned policy rows are rescored little by little in any case.
        """
        swept = [each.sweep(shard) for each in self._kept]  # all must sweep: no short circuit
        return any(swept) and self.ordering is not None


def ordering(settings: FrontierSettings, patterns: SitePatterns | None) -> Ordering | None:
    """Return the ordering of the candidates, None if their depth or a policy orders them."""
    if settings.ordering in BY_DEPTH:
        return None
    found = _importance(settings.ordering, settings, patterns)
    return HotOrder(settings.query, found) if settings.hot else found


def _importance(name: str, settings: FrontierSettings, patterns: SitePatterns | None) -> Ordering:
    if patterns is not None and name in RANKINGS:
        return BehaviourOrder(name, patterns)
    if patterns is not None and name == VISITS:
        return VisitsOrder(patterns)
    if name == "backlink":
        return BacklinkOrder()
    if name == "location":
        return LocationOrder(settings.wanted)
    if name == "weighted":
        parts = [(weight, part) for weight, part in zip(settings.weights, PARTS, strict=True) if weight]
        return WeightedOrder([(weight, _importance(part, settings, patterns)) for weight, part in parts])
    return SimilarityOrder(settings.query) if name == "similarity" else Ranks()
