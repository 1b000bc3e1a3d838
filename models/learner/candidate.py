"""What the learned policy is told of a candidate: its in-links, its URL, and what the crowd did."""

from collections.abc import Sequence
from typing import NamedTuple


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


class Candidate(NamedTuple):
    """All that the inputs of a candidate are made of, for each of some predicates.

    ``url_words`` are the words of its URL as places in the tables of words, as words of pages. ``links`` are
    the in-links kept, as places in a `models.learner.linking.LinkTable`. ``parents`` are for each predicate
    the judged in-linking pages there are in all, and those of them that satisfy it; ``crowds`` what users did
    as each predicate sees it, empty where the log does not know the candidate. ``depth`` is in links from a
    seed; a ``foreign`` one is linked to from other hosts than its own alone.
    """

    url_words: Sequence[int]
    prefixes: tuple[str, ...]
    links: Sequence[int]
    parents: Sequence[Sequence[int]]
    crowds: Sequence[Crowd] = ()
    depth: int = 0
    foreign: bool = False
