"""The factors of Aggarwal 2004 for one predicate: of links (section 3) and of a log (equations 8 to 14)."""

import math
from collections.abc import Iterator
from heapq import nlargest
from typing import TypeAlias

from scentline.models.crowd.evidence import SIGNERS, WORDS, region_log
from scentline.models.crowd.evidence import region as near_pages
from scentline.models.crowd.trace import Trace
from scentline.models.interest import features
from scentline.models.interest.factors import LinkTable, sibling_log
from scentline.models.interest.ratio import Base, Denominator
from scentline.models.page import Page
from scentline.models.url import tokens
from scentline_lab.simulation.tally import NAME, Counted, OwnFeatures, Places, Tally, Unions

#: What the logs of words, tokens, links and siblings are multiplied by (PriorityValue, section 3).
Weights: TypeAlias = tuple[float, float, float, float]
#: Link positions up to which the other targets of a page are near siblings.
NEAR = 4


class Linked:
    """Words of in-linking pages, URL tokens, link locality and siblings. Judged pages are numbered, and a set
    of them is the bits of an integer: the judged targets of a page, and so the judged siblings of a candidate,
    distinct over its kept in-linking pages.
    """

    def __init__(
        self, parents: int, t: float, denominator: Denominator, places: Places, weights: Weights
    ) -> None:
        self._weights = weights
        self._words = Tally(t, denominator)
        self._tokens = OwnFeatures(Tally(t, denominator), tokens)
        self._content = Unions(self._words, parents, places)
        self._table, self._base, self._logs = LinkTable(), Base(), (0.0, 0.0)
        self._judged: dict[str, tuple[int, bool]] = {}
        self._hits = 0
        self._targets: dict[str, list[str]] = {}
        self._judged_targets: dict[str, int] = {}
        self._inlinks: dict[str, list[str]] = {}
        self._satisfying: dict[str, int] = {}

    def start(self, counts: Counted) -> None:
        """Start with the counts of an earlier crawl, as if this one were its second half."""
        self._words.start(counts.of(features.WORD))
        self._tokens.tally.start(counts.of(features.TOKEN))
        links = counts.of(features.LINK)
        self._table = LinkTable(*(links.get(f"{NAME}:{end}", (0, 0)) for end in "10"))

    def judged(self, page: Page, holds: bool, base: Base) -> None:
        """Count a judged page; ``base`` includes it."""
        url, number = page.url, len(self._judged)
        self._judged[url] = (number, holds)
        self._hits |= holds << number
        targets = self._targets[url] = list(dict.fromkeys(link.url for link in page.links if link.url != url))
        self._tokens.judge(url, holds)
        self._content.judge(url, holds)
        self._content.contribute(url, list(page.words), targets)
        self._count_links(url, number, holds, targets)
        self._base = base
        self._logs = math.log(self._table.p(base)), math.log(self._table.q(base))

    def touched(self, url: str) -> Iterator[str]:
        """Yield the link targets of a page just judged, and its near siblings."""
        yield from self._targets[url]
        for parent in self._content.sources(url):
            targets = self._targets[parent]
            place = targets.index(url)
            yield from targets[max(0, place - NEAR) : place + NEAR + 1]

    def work_out(self, base: Base) -> None:
        self._content.work_out(base)
        self._tokens.work_out(base)

    def log(self, url: str) -> float:
        """Return log I^L of a candidate."""
        linking, satisfying = len(self._inlinks.get(url, ())), self._satisfying.get(url, 0)
        p, q = self._logs
        links = satisfying * p + (linking - satisfying) * q
        siblings = 0
        for parent in self._content.sources(url):
            siblings |= self._judged_targets[parent]
        near = sibling_log(siblings.bit_count(), (siblings & self._hits).bit_count(), self._base)
        content, of_tokens, of_links, of_siblings = self._weights
        own = content * self._content.log(url) + of_tokens * self._tokens.log(url)
        return own + of_links * links + of_siblings * near

    def counts(self, predicate: str) -> Iterator[tuple[str, int, int]]:
        self._content.settle()
        yield from ((features.word(name), pages, hits) for name, pages, hits in self._words.items())
        yield from ((features.token(name), pages, hits) for name, pages, hits in self._tokens.tally.items())
        yield features.link(predicate, True), *self._table.satisfying
        yield features.link(predicate, False), *self._table.failing

    def _count_links(self, url: str, number: int, holds: bool, targets: list[str]) -> None:
        """Count each link between ``url`` and judged pages: the target's verdict, by the source's."""
        rows = {True: list(self._table.satisfying), False: list(self._table.failing)}

        def count(source: bool, target: bool) -> None:
            rows[source][0] += 1
            rows[source][1] += target

        for source in self._inlinks.get(url, ()):
            count(self._judged[source][1], holds)
            self._judged_targets[source] |= 1 << number
        visited = 0
        for target in targets:
            self._inlinks.setdefault(target, []).append(url)
            self._satisfying[target] = self._satisfying.get(target, 0) + holds
            if target in self._judged:
                other, satisfies = self._judged[target]
                visited |= 1 << other
                count(holds, satisfies)
        self._judged_targets[url] = visited
        (sources, hits), (others, other_hits) = rows[True], rows[False]
        self._table = LinkTable((sources, hits), (others, other_hits))


#: Pages near one just judged that are looked at again: those of most common accesses.
NEAREST = 30


class Visited:
    """User affinity, signature features and the temporal locality region of one predicate."""

    def __init__(self, trace: Trace, t: float, denominator: Denominator, places: Places) -> None:
        self._trace = trace
        users = Tally(t, denominator, sample="pages")
        self._users = OwnFeatures(users, lambda url: trace.visitors.get(url, ()))
        self._words = Tally(t, denominator, sample="pages")
        self._signatures = Unions(self._words, SIGNERS, places)
        self._judged: dict[str, bool] = {}
        self._within: set[str] = set()
        self._region, self._logs = (0, 0), (0.0, 0.0)

    def start(self, counts: Counted) -> None:
        self._users.tally.start(counts.of(features.USER))
        self._words.start(counts.of(features.SIGNATURE))
        self._region = counts.of(features.REGION).get(NAME, (0, 0))

    def judged(self, page: Page, holds: bool, base: Base) -> None:
        url = page.url
        self._judged[url] = holds
        self._users.judge(url, holds)
        near = list(near_pages(self._trace.keepers.get(url, {})))
        self._signatures.judge(url, holds)
        self._signatures.contribute(url, list(page.words[:WORDS]), near)
        entered = {url} & self._within
        if holds:
            fresh = set(near) - self._within
            self._within |= fresh
            entered |= fresh & self._judged.keys()
        pages, hits = self._region
        self._region = (pages + len(entered), hits + sum(self._judged[other] for other in entered))
        self._logs = region_log(False, self._region, base), region_log(True, self._region, base)

    def touched(self, url: str) -> list[str]:
        """Return the pages not judged that are most often visited near one just judged, where it satisfies."""
        near = self._trace.keepers.get(url, {}) if self._judged[url] else {}
        fresh = (
            (times, other) for other, (times, _) in near.items() if times > 0 and other not in self._judged
        )
        return [other for _, other in nlargest(NEAREST, fresh)]

    def work_out(self, base: Base) -> None:
        self._signatures.work_out(base)
        self._users.work_out(base)

    def log(self, url: str) -> float:
        """Return log I^C of a candidate: 0 for one that the log does not know."""
        if url not in self._trace.accesses:
            return 0.0
        return self._users.log(url) + self._signatures.log(url) + self._logs[url in self._within]

    def counts(self, predicate: str) -> Iterator[tuple[str, int, int]]:
        self._signatures.settle()
        yield from ((features.user(name), pages, hits) for name, pages, hits in self._users.tally.items())
        yield from ((features.signature(name), pages, hits) for name, pages, hits in self._words.items())
        yield features.region(predicate), *self._region
