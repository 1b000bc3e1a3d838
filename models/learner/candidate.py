"""What the learned policy is told of a candidate: its in-links, its URL, and what the crowd did."""

from collections.abc import Sequence
from typing import NamedTuple

from models.learner.words import LinkingWords


class Parent:
    """A fetched page that links to candidates, as one predicate sees it.

    ``satisfies`` is its verdict, ``words`` the words of the page and its links, ``sums`` what they weighed when
    ``weighed`` pages had been judged. ``children`` are the verdicts on its judged link targets by link
    position, ``hits`` of them satisfy the predicate. ``noted`` is up to which of the page's verdicts they go.
    """

    __slots__ = ("children", "hits", "noted", "satisfies", "sums", "weighed", "words")

    def __init__(self, satisfies: bool, words: LinkingWords) -> None:
        self.satisfies = satisfies
        self.words = words
        self.sums: list[float] = []
        self.weighed = -1.0
        self.children: dict[int, bool] = {}
        self.hits = 0
        self.noted = 0

    def judged(self, position: int, satisfies: bool) -> None:
        """Take in the verdict on the link target at ``position``; each position has one."""
        if position not in self.children:
            self.children[position] = satisfies
            self.hits += satisfies


class InLink(NamedTuple):
    """A link to a candidate: from which page, the ``number``-th of `Parent.words`, at which position there."""

    parent: Parent
    number: int
    position: int


class Crowd(NamedTuple):
    """What users did with a candidate.

    ``covisits`` and ``covisit_hits``: the weight of judged pages visited within three steps, and of those
    among them that satisfy the predicate. ``near`` and ``near_hits``: the accesses of judged pages within the
    region of temporal locality, and of those that satisfy.
    """

    accesses: int = 0
    visitors: tuple[str, ...] = ()
    covisits: float = 0.0
    covisit_hits: float = 0.0
    near: int = 0
    near_hits: int = 0


NOBODY = Crowd()


class Candidate(NamedTuple):
    """All that the inputs of a candidate are made of.

    ``url_words`` are the words of its URL, ``url_numbers`` the same as places in the table of words.
    ``links`` are the in-links kept; ``parents`` of the judged in-linking pages there are in all,
    ``positive_parents`` of them satisfy the predicate.
    """

    url_words: tuple[str, ...]
    url_numbers: Sequence[int]
    prefixes: tuple[str, ...]
    links: Sequence[InLink] = ()
    parents: int = 0
    positive_parents: int = 0
    crowd: Crowd = NOBODY
