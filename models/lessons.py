"""What a judged page teaches under each policy: the features that its verdict is counted under.

Three parts, each a function of sets, so that it does not matter in which order pages are judged and accesses
come: what the page is by itself, what the links to it say, and what the crowd did with it. When a part changes
after the verdict, the difference is counted, or taken back.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scentline.models.interest.factors import correction, union
from scentline.models.interest.factors import signature as signature_of
from scentline.models.interest.features import BASE, region, signature, token, user, word
from scentline.models.learner.candidate import IN_LINKS, LinkWords, change_of_links, link_lessons, own_lessons
from scentline.models.url import tokens
from scentline.models.verdict import FAILED, Verdict

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
        """Whether anything is counted by what users did."""
        return self.users or self.learned

    def answer(self, verdict: Verdict | None, *, failed: bool) -> Verdict | None:
        """Return what a URL's request is counted under: the page's verdict, and that a page came.

        One that ``failed`` for good brought none, which the learned policy alone learns from. None where it
        teaches nothing.

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
        """Return what a page is counted under by itself: ``words`` are its own, distinct.

        ``subject`` says what it is about, and is empty where that is of no account.
        """
        if self.learned:
            return own_lessons(url, words, subject)
        return frozenset({BASE, *map(token, tokens(url))} if self.links else {BASE})

    def of_links(self, found: Sequence[LinkFrom]) -> frozenset[str]:
        """Return what its kept in-links, lowest rank first, add."""
        if self.learned:
            return link_lessons(link.words for link in found[: self.in_links])
        return frozenset(map(word, union(link.page_words for link in found))) if self.links else NOTHING

    def change_of_links(
        self, before: Sequence[LinkFrom], after: Sequence[LinkFrom]
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Return what a change of the kept in-links adds, and takes back."""
        old, new = before[: self.in_links], after[: self.in_links]
        if self.learned:
            return change_of_links([link.words for link in old], [link.words for link in new])
        return correction([link.page_words for link in old], [link.page_words for link in new])

    def of_crowd(
        self, visitors: Iterable[str], signers: Iterable[Sequence[str]], regions: Iterable[str]
    ) -> frozenset[str]:
        """Return what the crowd adds: kept visitors, words of the signing pages, predicates of the regions.

        All three may change after the page was judged: the difference is then counted, or taken back.
        """
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
    """Return what a policy counts; one that learns nothing counts pages and hits alone."""
    return _LESSONS.get(policy, Lessons())
