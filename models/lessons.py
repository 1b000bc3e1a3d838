"""The features that a page's verdict is counted under, by policy.

They have three parts: the page itself, the links to it, and the crowd's accesses. Each is a function of sets,
so that the order of verdicts and accesses does not matter. When a part changes after the verdict, the
difference is counted, or taken back.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from scentline.models.ledger import Ledger
from scentline.models.page import FAILED, Link, Verdict
from scentline.models.policy.candidate import IN_LINKS, LinkWords, change_of_links, link_lessons, own_lessons
from scentline.models.policy.factors import correction, kept, link_features, signers, union
from scentline.models.policy.factors import region as region_of
from scentline.models.policy.factors import signature as signature_of
from scentline.models.policy.features import BASE, region, signature, token, user, word
from scentline.models.trace import Trace
from scentline.models.url import identifier, tokens

NOTHING: frozenset[str] = frozenset()


class LinkFrom(NamedTuple):
    """A kept in-link: the distinct words of the linking page, and those of the link."""

    page_words: frozenset[str]
    words: LinkWords = LinkWords()


class Lessons(NamedTuple):
    """The features of one policy: of ``links``, of ``users``, or those of the ``learned`` policy.

    >>> sorted(lessons("linkage").own("http://example.org/ski", ["snow"]))
    ['', 't:example', 't:org', 't:ski']
    >>> sorted(lessons("breadth-first").own("http://example.org/ski", ["snow"]))
    ['']
    """

    links: bool = False
    users: bool = False
    learned: bool = False

    @property
    def counts_links(self) -> bool:
        """Whether links are counted by the verdicts at their two ends."""
        return self.links or self.learned

    @property
    def counts_crowd(self) -> bool:
        """Whether users' accesses are counted."""
        return self.users or self.learned

    def answer(self, verdict: Verdict | None, *, failed: bool) -> Verdict | None:
        """Return the verdict to count for a URL's request: the page's, and that the request did not fail.

        Only the learned policy learns from a request that ``failed`` for good. None if there is nothing to
        count.

        >>> lessons("learned").answer({"sports": True}, failed=False)
        {'sports': True, '!': False}
        >>> lessons("learned").answer(None, failed=True), lessons("linkage").answer(None, failed=True)
        ({'!': True}, None)
        """
        if verdict is not None:
            return {**verdict, FAILED: False}
        return {FAILED: True} if failed and self.learned else None

    @property
    def in_links(self) -> int | None:
        """How many of a page's kept in-links count, those of lowest rank; None for all of them."""
        if self.learned:
            return IN_LINKS
        return None if self.links else 0

    def own(self, url: str, words: Iterable[str], subject: str = "") -> frozenset[str]:
        """Return the features of a page itself, from its distinct ``words``.

        ``subject`` says what it is about; empty if word meanings do not count.
        """
        if self.learned:
            return own_lessons(url, words, subject)
        return frozenset({BASE, *map(token, tokens(url))} if self.links else {BASE})

    def of_links(self, found: Sequence[LinkFrom]) -> frozenset[str]:
        """Return the features of its kept in-links, which are in order of rank."""
        if self.learned:
            return link_lessons(link.words for link in found[: self.in_links])
        return frozenset(map(word, union(link.page_words for link in found))) if self.links else NOTHING

    def change_of_links(
        self, before: Sequence[LinkFrom], after: Sequence[LinkFrom]
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Return the features that a change of the kept in-links adds, and those that it takes back."""
        old, new = before[: self.in_links], after[: self.in_links]
        if self.learned:
            return change_of_links([link.words for link in old], [link.words for link in new])
        return correction([link.page_words for link in old], [link.page_words for link in new])

    def of_crowd(
        self, visitors: Iterable[str], signers: Iterable[Sequence[str]], regions: Iterable[str]
    ) -> frozenset[str]:
        """Return the crowd's features: kept visitors, words of the signing pages, predicates of the regions."""
        if not self.counts_crowd:
            return NOTHING
        words = signature_of(signers) if self.users else ()
        return frozenset((*map(user, visitors), *map(signature, words), *map(region, regions)))


_LESSONS = {
    "linkage": Lessons(links=True),
    "collaborative": Lessons(users=True),
    "combined": Lessons(links=True, users=True),
    "learned": Lessons(learned=True),
}


def lessons(policy: str) -> Lessons:
    """Return the features of a policy; one that does not learn counts only pages and hits."""
    return _LESSONS.get(policy, Lessons())


class JudgedPage(msgspec.Struct, frozen=True):
    """A judged page as the learner uses it: canonical URL, verdict, distinct words in order, and links.

    ``subject`` says what it is about (`models.semantic.page_subject`) if word meanings count. A ``silent``
    page is counted as judged, and under no other feature.

    All visits are one page: verdict, words and subject are those of the newest visit, ``links`` all that it
    ever had, each as first reported, and it is silent if its first order was. A page that is gone has an empty
    verdict and no words.
    """

    url: str
    verdict: Verdict
    words: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    subject: str = ""
    silent: bool = False


class FailedRequests(NamedTuple):
    """The failed requests for a URL; ``ended`` if the last of them made it a candidate no more.

    A later request may have brought a page. A ``silent`` URL is counted as requested, and under no other
    feature.
    """

    url: str
    requests: int = 1
    ended: bool = True
    silent: bool = False


class InLink(NamedTuple):
    """A link from a judged page, with the words that count for its target."""

    source: JudgedPage
    found: LinkFrom


class Log(Protocol):
    """The part of a log that counts: kept visitors and neighbours of each page (`models.trace.Trace`)."""

    @property
    def visitors(self) -> Mapping[str, Sequence[str]]:
        """The users kept, by URL."""

    @property
    def together(self) -> Mapping[str, Mapping[str, tuple[int, int]]]:
        """The other pages kept, by URL: (access pairs within the region, sixths of co-visits)."""


class CrowdOf(NamedTuple):
    """The crowd of a page: visitors, words of its signing pages, predicates whose regions it lies in."""

    visitors: Sequence[str]
    signers: list[tuple[str, ...]]
    regions: frozenset[str]


def recount(
    pages: Iterable[JudgedPage],
    policy: str,
    trace: Trace | None,
    parents: int,
    linking: Iterable[JudgedPage] = (),
    failures: Iterable[FailedRequests] = (),
) -> Ledger:
    """Return the ledger of ``policy`` over ``pages``, the first of each URL; their order does not matter.

    ``failures`` has the failed requests, one entry for a URL. ``trace`` is the log, if there is one.
    ``parents`` bounds the in-linking pages that count for a page. Link features have no bound: each distinct
    target counts once, the page itself never. Pages in ``linking`` count only as sources of links.
    """
    judged: dict[str, JudgedPage] = {}
    for page in pages:
        judged.setdefault(page.url, page)
    found, log = lessons(policy), trace or Trace(())
    counts = Ledger()
    answered = dict(judged)
    for failed in failures:
        _count(counts, frozenset({BASE}), {FAILED: True}, failed.requests)
        if failed.ended and failed.url not in judged:
            answered[failed.url] = JudgedPage(failed.url, {}, silent=failed.silent)
    inlinks = _in_links(answered, [*judged.values(), *linking])
    for url, page in answered.items():
        answer = found.answer(page.verdict if url in judged else None, failed=url not in judged)
        if url in judged:
            _count(counts, frozenset({BASE}), page.verdict | {FAILED: False})
        if answer is None or page.silent:
            continue
        sources = inlinks[url]
        nearest = [sources[name].found for name in kept(sources, identifier(url), parents)]
        _count(counts, found.own(url, page.words, page.subject) - {BASE}, answer)
        _count(counts, found.of_links(nearest), answer)
        _count(counts, found.of_crowd(*crowd_of(url, judged, log)), answer)
        if found.counts_links:
            for source, _ in sources.values():
                _count(counts, link_features(source.verdict), answer)
    return counts


def _count(counts: Ledger, features: frozenset[str], verdict: Verdict, times: int = 1) -> None:
    counts.add(counts.slots_of(features), verdict, times)


def links_of(page: JudgedPage) -> dict[str, InLink]:
    """Return a page's links by target, the first to each, without those to the page itself."""
    words = frozenset(page.words)
    links: dict[str, InLink] = {}
    for link in page.links:
        if link.url != page.url and link.url not in links:
            links[link.url] = InLink(page, LinkFrom(words, LinkWords.of(link)))
    return links


def crowd_of(url: str, judged: Mapping[str, JudgedPage], log: Log) -> CrowdOf:
    """Return the crowd of a page from ``log`` and the ``judged`` pages by URL."""
    near = log.together.get(url, {})
    pages = {identifier(other): judged[other] for other in region_of(near) if other in judged}
    names = {page.url: name for name, page in pages.items()}
    return CrowdOf(
        log.visitors.get(url, ()),
        [pages[name].words for name in signers(near, names, identifier(url))],
        frozenset(name for page in pages.values() for name, holds in page.verdict.items() if holds),
    )


def _in_links(
    judged: Mapping[str, JudgedPage], sources: Iterable[JudgedPage]
) -> dict[str, dict[bytes, InLink]]:
    """Return the in-links of each judged page from ``sources``, by the source's identifier."""
    found: dict[str, dict[bytes, InLink]] = {url: {} for url in judged}
    for page in sources:
        name = identifier(page.url)
        for target, link in links_of(page).items():
            if target in found:
                found[target][name] = link
    return found
