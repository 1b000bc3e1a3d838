"""The counts of every policy in memory, kept up to date with each verdict and each access."""

from collections import defaultdict
from collections.abc import Iterable

from msgspec.structs import replace

from scentline.models.crowd.trace import Pair, Step, Visit, arrive
from scentline.models.interest.factors import kept, link_features
from scentline.models.interest.features import BASE
from scentline.models.lessons import LinkFrom, lessons
from scentline.models.page import Link
from scentline.models.recount import CrowdOf, FailedRequests, InLink, JudgedPage, crowd_of, links_of
from scentline.models.url import identifier
from scentline.models.verdict import FAILED, Verdict
from scentline_lab.simulation.tally import Places
from tests.reference.counts import Counts


class GrowingTrace:
    """Accesses, visitors and neighbours of pages: at any time those of a `Trace` of the steps so far.

    Bounds are those of a `Trace`. A neighbour that is displaced never returns, because those that displaced it
    stay: so what was known of it may be forgotten.

    >>> trace = GrowingTrace()
    >>> trace.add(Step("ann", "a", 1.0)), sorted(trace.add(Step("ann", "b", 2.0)))
    ({'a'}, ['a', 'b'])
    >>> trace.together["a"], trace.visitors["b"]
    ({'b': (1, 6)}, ('ann',))
    """

    def __init__(self, *, reach: int = 5, users: int = 32, others: int = 64, window: int = 64) -> None:
        self.accesses: dict[str, int] = {}
        self.visitors: dict[str, tuple[str, ...]] = {}
        self.together: dict[str, dict[str, tuple[int, int]]] = {}
        self._windows: dict[str, list[Visit]] = defaultdict(list)
        self._places = Places()
        self._reach = reach
        self._users = users
        self._others = others
        self._window = window

    def add(self, step: Step) -> set[str]:
        """Take in an access; return the pages of which more, or something else, is known now."""
        visit = Visit(step.time, step.url)
        pairs = arrive(self._windows[step.user], visit, step.referrer, limit=self._window, reach=self._reach)
        if pairs is None:
            return set()
        self.accesses[step.url] = self.accesses.get(step.url, 0) + 1
        users = {*self.visitors.get(step.url, ()), step.user}
        self.visitors[step.url] = tuple(sorted(users)[: self._users])
        for pair in pairs:
            self._tell(pair.url, pair.other, pair)
            self._tell(pair.other, pair.url, pair)
        return {step.url, *(pair.url for pair in pairs), *(pair.other for pair in pairs)}

    def _tell(self, url: str, other: str, pair: Pair) -> None:
        cells = self.together.setdefault(url, {})
        times, sixths = cells.get(other, (0, 0))
        cells[other] = (times + pair.times, sixths + pair.sixths)
        if len(cells) > self._others:
            places, place = self._places, self._places[url]
            del cells[max(cells, key=lambda name: places[name] ^ place)]


class Counting:
    """Counts what ``policy`` learns of pages, failed requests and accesses, in whatever order they come.

    ``counts`` are at any time what `models.recount.recount` makes of the ``pages`` judged so far, as
    they stand, the requests that failed and the ``log`` so far. ``parents`` bounds the in-linking pages that
    count for a page; ``reach``, ``visitors``, ``together`` and ``window`` bound the log as in
    `models.crowd.trace.Trace`.

    >>> counting = Counting("combined")
    >>> counting.judged(JudgedPage("http://a.test/", {"ski": True})) == {"", "t:a", "t:test"}
    True
    >>> counting.visit(Step("ann", "http://a.test/", 1.0))
    {'u:ann'}
    >>> counting.counts.get("u:ann", "ski")
    (1, 1)
    """

    def __init__(
        self,
        policy: str,
        *,
        parents: int = 32,
        reach: int = 5,
        visitors: int = 32,
        together: int = 64,
        window: int = 64,
    ) -> None:
        self._lessons = lessons(policy)
        self._bound = parents
        self._log_bounds = {"reach": reach, "users": visitors, "others": together, "window": window}
        self._told: list[FailedRequests | Step] = []
        self._changed: set[str] = set()
        self._begin()

    def _begin(self) -> None:
        self.counts = Counts()
        self.pages: dict[str, JudgedPage] = {}
        self._answers: dict[str, Verdict] = {}
        self.log = GrowingTrace(**self._log_bounds)
        self._inlinks: dict[str, dict[bytes, InLink]] = {}
        self._of_crowd: dict[str, frozenset[str]] = {}

    def judged(self, page: JudgedPage) -> set[str]:
        """Take in a judged page; return the features counted anew. A second verdict is passed over."""
        url = page.url
        if url in self.pages:
            return set()
        if url in self._answers:
            self._teach(JudgedPage(url, {}), self._answers[url], -1)
        self.pages[url] = page
        answer = self._answers[url] = page.verdict | {FAILED: False}
        self._count(frozenset({BASE}), answer)
        self._of_crowd[url] = self._lessons.of_crowd(*self.crowd(url))
        self._teach(page, answer)
        for target, link in links_of(page).items():
            self._link(target, link)
        self._bring_up(other for other in self._answers if url in self.log.together.get(other, {}))
        return self._take_changed()

    def again(self, page: JudgedPage) -> set[str]:
        """Take in what a page is now that was judged before: all is counted from nothing, with all its links.

        Return the features that may be counted anew.
        """
        links: dict[str, Link] = {}
        for link in self.pages[page.url].links + page.links:
            links.setdefault(link.url, link)
        pages = self.pages | {page.url: replace(page, links=tuple(links.values()))}
        told, self._told = self._told, []
        changed = {feature for feature, *_ in self.counts.items()}
        self._begin()
        for fact in told:
            changed |= self.failed(fact) if isinstance(fact, FailedRequests) else self.visit(fact)
        for each in pages.values():
            changed |= self.judged(each)
        return changed

    def failed(self, requests: FailedRequests) -> set[str]:
        """Take in requests for a URL that brought no page, before one that did; return what is counted anew."""
        self._told.append(requests)
        url = requests.url
        self._count(frozenset({BASE}), {FAILED: True}, requests.requests)
        answer = self._lessons.answer(None, failed=True)
        if requests.ended and answer is not None and url not in self._answers:
            self._answers[url] = answer
            self._of_crowd[url] = self._lessons.of_crowd(*self.crowd(url))
            self._teach(JudgedPage(url, {}), answer)
        return self._take_changed()

    def _teach(self, page: JudgedPage, answer: Verdict, times: int = 1) -> None:
        """Count an answer under all that its URL is, or take it back."""
        url = page.url
        features = self._lessons.own(url, page.words, page.subject) - {BASE}
        self._count(features | self._lessons.of_links(self._found(url)) | self._of_crowd[url], answer, times)
        for source in self.sources(url):
            self._count_link(source, answer, times)

    def visit(self, step: Step) -> set[str]:
        """Take in an access, those of a user in the order of the log; return the features counted anew."""
        self._told.append(step)
        self._bring_up(self.log.add(step))
        return self._take_changed()

    def sources(self, url: str) -> list[JudgedPage]:
        """Return all judged pages that link to a page."""
        return [link.source for link in self._inlinks.get(url, {}).values()]

    def parents(self, url: str) -> list[InLink]:
        """Return the links to a page that are kept, lowest rank first."""
        links = self._inlinks.get(url, {})
        return [links[name] for name in kept(links, identifier(url), self._bound)]

    def crowd(self, url: str) -> CrowdOf:
        """Return what the log so far says of a page."""
        return crowd_of(url, self.pages, self.log)

    def _found(self, url: str) -> list[LinkFrom]:
        return [link.found for link in self.parents(url)]

    def _link(self, url: str, link: InLink) -> None:
        """Take in a link to ``url`` and correct what that page is counted under, if it is judged."""
        before = self._found(url)
        self._inlinks.setdefault(url, {})[identifier(link.source.url)] = link
        answer = self._answers.get(url)
        if answer is not None:
            added, removed = self._lessons.change_of_links(before, self._found(url))
            self._count(added, answer)
            self._count(removed, answer, times=-1)
            self._count_link(link.source, answer)

    def _count_link(self, source: JudgedPage, answer: Verdict, times: int = 1) -> None:
        if self._lessons.counts_links:
            self._count(link_features(source.verdict), answer, times)

    def _bring_up(self, urls: Iterable[str]) -> None:
        """Correct what the crowd says of URLs, where there is an answer."""
        for url in urls:
            answer = self._answers.get(url)
            if answer is not None:
                before = self._of_crowd[url]
                after = self._of_crowd[url] = self._lessons.of_crowd(*self.crowd(url))
                self._count(after - before, answer)
                self._count(before - after, answer, times=-1)

    def _count(self, features: frozenset[str], verdict: Verdict, times: int = 1) -> None:
        self.counts.add(features, verdict, times)
        self._changed |= features

    def _take_changed(self) -> set[str]:
        changed, self._changed = self._changed, set()
        return changed
