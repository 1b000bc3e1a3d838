"""All counts, worked out at once from answers and a log: what the incremental counts must equal."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from scentline.models.interest.factors import kept, link_features, region, signers
from scentline.models.interest.features import BASE
from scentline.models.interest.trace import Trace
from scentline.models.learner.candidate import LinkWords
from scentline.models.ledger import Ledger
from scentline.models.lessons import LinkFrom, lessons
from scentline.models.page import Link
from scentline.models.url import identifier
from scentline.models.verdict import FAILED, Verdict


class JudgedPage(msgspec.Struct, frozen=True):
    """A judged page as the learner uses it: canonical URL, verdict, distinct words in order, and links.

    ``subject`` says what it is about (`models.learner.semantic.page_subject`), where word meanings count,
    A ``silent`` page is counted as
    judged, and under nothing else.

    A page that was visited again is one page: its verdict, words and subject are those of the newest visit,
    ``links`` are all that it ever had, each as it was first told of, and it is silent where its
    first order was. A page that left has an empty verdict and no words.
    """

    url: str
    verdict: Verdict
    words: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    subject: str = ""
    silent: bool = False


class FailedRequests(NamedTuple):
    """The requests for a URL that brought no page; it ``ended`` by the last where it is a candidate no more.

    A page may have come all the same, later. A ``silent`` URL is counted as requested, and under nothing else.
    """

    url: str
    requests: int = 1
    ended: bool = True
    silent: bool = False


class InLink(NamedTuple):
    """A link from a judged page, and what it says of its target."""

    source: JudgedPage
    found: LinkFrom


class Log(Protocol):
    """What counts of a log: visitors and neighbours kept of each page (`models.interest.trace.Trace`)."""

    @property
    def visitors(self) -> Mapping[str, Sequence[str]]:
        """The users kept, by URL."""

    @property
    def together(self) -> Mapping[str, Mapping[str, tuple[int, int]]]:
        """The other pages kept, by URL: (access pairs within the region, sixths of co-visits)."""


class CrowdOf(NamedTuple):
    """What a log says of a page: visitors, words of its signing pages, predicates in whose regions it lies."""

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
    """Return all that ``policy`` counts over ``pages``, the first of each URL; their order is of no account.

    ``failures`` are the requests that brought none, those of a URL once.
    ``trace`` is the log, None where there is none. ``parents`` bounds the in-linking pages that count for a
    page. Link features count without bound, each distinct target once, and not to the page itself. Pages that
    are ``linking`` alone count as sources of links, and for nothing themselves.
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
    """Return what ``log`` says of a page, given the ``judged`` pages by URL."""
    near = log.together.get(url, {})
    pages = {identifier(other): judged[other] for other in region(near) if other in judged}
    names = {page.url: name for name, page in pages.items()}
    return CrowdOf(
        log.visitors.get(url, ()),
        [pages[name].words for name in signers(near, names, identifier(url))],
        frozenset(name for page in pages.values() for name, holds in page.verdict.items() if holds),
    )


def _in_links(
    judged: Mapping[str, JudgedPage], sources: Iterable[JudgedPage]
) -> dict[str, dict[bytes, InLink]]:
    """Return the links from ``sources`` to judged pages: for each those to it, by the source's identifier."""
    found: dict[str, dict[bytes, InLink]] = {url: {} for url in judged}
    for page in sources:
        name = identifier(page.url)
        for target, link in links_of(page).items():
            if target in found:
                found[target][name] = link
    return found
