"""What the learned policy is told of a candidate: its in-links, its URL, and what the crowd did."""

from collections.abc import Sequence
from typing import NamedTuple


class CoVisits(NamedTuple):
    """The judged pages that users visited beside a candidate, as a predicate sees them.

    ``covisits`` and ``covisit_hits``: the weight of judged pages visited within three steps, and of those
    among them that satisfy the predicate. ``near`` and ``near_hits``: the accesses of judged pages within the
    region of temporal locality, and of those that satisfy.
    """

    covisits: float = 0.0
    covisit_hits: float = 0.0
    near: int = 0
    near_hits: int = 0


class Crowd(NamedTuple):
    """What users did with a candidate: how often they visited it, who did, and what they visited beside it.

    ``beside`` is for each predicate, empty where none of these pages is judged.
    """

    accesses: int
    visitors: Sequence[str] = ()
    beside: Sequence[CoVisits] = ()


class Candidate(NamedTuple):
    """All that the inputs of a candidate are made of, for each of some predicates.

    ``url_words`` are the words of its URL as places in the tables of words, as words of pages. ``links`` are
    the in-links kept, as places in a `models.learner.linking.LinkTable`. ``parents`` are for each predicate
    the judged in-linking pages there are in all, and those of them that satisfy it; ``crowd`` is None where
    the log does not know the candidate. ``depth`` is in links from a seed; a ``foreign`` one is linked to from
    other hosts than its own alone.
    """

    url_words: Sequence[int]
    prefixes: tuple[str, ...]
    links: Sequence[int]
    parents: Sequence[Sequence[int]]
    crowd: Crowd | None = None
    depth: int = 0
    foreign: bool = False
