"""The inputs of many candidates at once, for several predicates, and the links of fetched pages in arrays."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scentline.models.ledger import distinct, joined, longer
from scentline.models.policy.candidate import SAID, Candidate
from scentline.models.policy.combiner import Vector
from scentline.models.policy.features import PRIOR_PAGES, USER, log_lifts
from scentline.models.policy.inputs import INPUTS, MOST
from scentline.models.policy.knowledge import Knowledge, lifts_of, prefix_ratios
from scentline.models.policy.vocabulary import ANCHOR, CONTEXT, HEADING, KINDS, PAGE, URL, Numbers

Places = npt.NDArray[np.intp]
#: What the table keeps: half the bytes of the floats computed with, and exact for counts.
_Columns = npt.NDArray[np.float32]

#: Link positions within which siblings are near.
NEAR = 4
#: Near candidates that one verdict rescores, at most.
NEAR_AT_MOST = 30
#: The weight of a link target for another one, by the difference of their positions.
_NEARNESS = np.array((0.0, *(1 / step for step in range(1, NEAR + 1))))

#: The columns of a link for a predicate, the first ten in the order of the inputs that are summed over links:
#: whether its page satisfies the predicate; the hits among its page's judged link targets, all and near ones by
#: their nearness; the six sums of its words; the mean of its page's words; whether its page does not satisfy;
#: the judged link targets, all and near.
SUMMED = slice(0, 10)
SATISFIES, NOT = 0, 10
HITS, PAGES = slice(1, 3), slice(11, 13)
COLUMNS = 13

# Many are the page's, the same for all its links. So pages and links have columns of their own, in an order
# that joins them with few copies.
_PAGE_COLUMNS = 6
_SATISFIES, _HITS, _MEAN, _NOT, _PAGES, _PAGE_WEIGHED = range(_PAGE_COLUMNS)
_LINK_COLUMNS = 10
_NEAR_HITS, _NEAR_PAGES, _WEIGHED, _NAMED = 0, 7, 8, 9
_LINK_WORDS = slice(1, 7)
# The kinds that words in, around and above a link are weighed as.
_AS = (ANCHOR, CONTEXT, HEADING)

#: Initial room for links, pages and words.
_LEAST = 1024
#: Where the words of a link start while they are unknown.
_SILENT = -1
#: The place that stands for no link, and its page: they weigh nothing.
NO_LINK = 0


class LinkingPage(NamedTuple):
    """A fetched page: its ``number``, and the number of its ``links``, at consecutive places from ``first``."""

    number: int
    first: int
    links: int

    @property
    def all(self) -> slice:
        """The places of all its links."""
        return slice(self.first, self.first + self.links)


class LinkTable:
    """Links of fetched pages, for as many ``predicates``; a link is a place.

    Words of links and of their pages are weighed when read, once the share `models.policy.knowledge.STALE` of
    the judged pages is new.
    """

    def __init__(self, predicates: int) -> None:
        self._of_links: _Columns = np.zeros((predicates, _LEAST, _LINK_COLUMNS), np.float32)
        self._of_links[:, NO_LINK, _WEIGHED] = np.inf
        # By link: its page and position there; where its words start, and how many are in, around and above it.
        self._page_of, self._positions, self._starts = (np.zeros(_LEAST, np.int32) for _ in range(3))
        self._sizes: npt.NDArray[np.int32] = np.zeros((len(_AS), _LEAST), np.int32)
        self._links = NO_LINK + 1
        self._of_pages: _Columns = np.zeros((predicates, _LEAST, _PAGE_COLUMNS), np.float32)
        self._of_pages[:, NO_LINK, _PAGE_WEIGHED] = np.inf
        self._page_starts, self._page_sizes = (np.zeros(_LEAST, np.int32) for _ in range(2))
        self._pages = NO_LINK + 1
        self._words: Numbers = np.zeros(_LEAST, np.int32)
        self._said = 0

    @property
    def bytes(self) -> int:
        """Bytes that links, pages and their words take."""
        arrays = (each for each in vars(self).values() if isinstance(each, np.ndarray))
        return sum(array.nbytes for array in arrays)

    def add(self, positions: Sequence[int], words: Numbers, satisfies: Vector) -> LinkingPage:
        """Absorb a page: the distinct positions of its links, its words; ``satisfies``: 1 or 0 a predicate.

        `say` adds the words of its links.
        """
        page = LinkingPage(self._pages, self._links, len(positions))
        self._pages += 1
        self._links += len(positions)
        self._make_room()
        self._page_of[page.all] = page.number
        self._positions[page.all] = positions
        self._starts[page.all] = _SILENT
        self._of_links[:, page.all, _WEIGHED] = -1.0
        self._of_pages[:, page.number, _PAGE_WEIGHED] = -1.0
        self._page_starts[page.number], self._page_sizes[page.number] = self._add_words(words), len(words)
        self.set_verdict(page, satisfies)
        return page

    def _make_room(self) -> None:
        self._of_links, self._of_pages = (
            longer(self._of_links, self._links),
            longer(self._of_pages, self._pages),
        )
        self._page_of, self._positions, self._starts = (
            longer(each, self._links) for each in (self._page_of, self._positions, self._starts)
        )
        self._sizes = longer(self._sizes, self._links)
        self._page_starts, self._page_sizes = (
            longer(each, self._pages) for each in (self._page_starts, self._page_sizes)
        )

    def _add_words(self, words: Numbers) -> int:
        start, self._said = self._said, self._said + len(words)
        self._words = longer(self._words, self._said)
        self._words[start : self._said] = words
        return start

    def silent(self, links: Sequence[int]) -> list[int]:
        """Return those of some links whose words are unknown."""
        return [link for link in links if self._starts[link] == _SILENT]

    def say(self, links: Sequence[int], words: Numbers, sizes: Sequence[int]) -> None:
        """Add the words of silent links: ``words`` in, around and above each, one after the other.

        ``sizes`` are their numbers, three a link. Words are read only on demand: most links lead to pages that
        are never scored by them.
        """
        by_part = np.array(sizes, np.int32).reshape(-1, len(_AS)).T
        places, together = np.array(links, np.intp), by_part.sum(axis=0)
        self._sizes[:, places] = by_part
        self._starts[places] = self._add_words(words) + np.cumsum(together) - together
        self._of_links[:, places, _WEIGHED] = -1.0

    # verdicts

    def set_verdict(self, page: LinkingPage, satisfies: Vector) -> None:
        """Set which predicates a page satisfies, after a later verdict."""
        self._of_pages[:, page.number, _SATISFIES] = satisfies
        self._of_pages[:, page.number, _NOT] = 1.0 - satisfies

    def forget_judged(self, page: LinkingPage) -> None:
        """Forget the verdicts on a page's link targets, for `judged` to absorb them again."""
        self._of_pages[:, page.number, [_HITS, _PAGES]] = 0.0
        self._of_links[:, page.all, _NEAR_HITS] = self._of_links[:, page.all, _NEAR_PAGES] = 0.0

    def judged(self, pages: Sequence[LinkingPage], positions: Sequence[int], verdicts: Vector) -> None:
        """Absorb verdicts on link targets: for each page, on the target at its position.

        ``verdicts``: 1 or 0 pages, 1 or 0 hits, shape (predicates, pages, 2).
        """
        numbers, firsts, sizes = np.array(pages, np.intp).reshape(-1, 3).T
        links, told = joined(firsts, sizes), np.repeat(np.arange(len(pages)), sizes)
        steps = np.abs(self._positions[links] - np.array(positions)[told])
        near = np.flatnonzero((steps > 0) & (steps <= NEAR))
        links, told, nearness = links[near], told[near], _NEARNESS[steps[near]]
        # Predicate by predicate: numpy adds at places of one axis in half the time.
        for of_pages, of_links, found in zip(self._of_pages, self._of_links, verdicts, strict=True):
            for count, of_page, of_link in ((0, _PAGES, _NEAR_PAGES), (1, _HITS, _NEAR_HITS)):
                np.add.at(of_pages[:, of_page], numbers, found[:, count])
                np.add.at(of_links[:, of_link], links, nearness * found[told, count])

    # what links are worth

    def take(self, places: Places, knowledge: Sequence[Knowledge]) -> Vector:
        """Return the columns of links for the predicates known, shape (predicates, links, `COLUMNS`)."""
        pages = self._page_of.take(places)
        self._bring_up(places, pages, knowledge)
        of_pages, of_links = self._of_pages.take(pages, axis=1), self._of_links.take(places, axis=1)
        found = np.empty((len(knowledge), len(places), COLUMNS))
        found[:, :, 0:2] = of_pages[:, :, _SATISFIES : _HITS + 1]
        found[:, :, 2:9] = of_links[:, :, _NEAR_HITS:_NEAR_PAGES]
        found[:, :, 9:12] = of_pages[:, :, _MEAN : _PAGES + 1]
        found[:, :, 12] = of_links[:, :, _NEAR_PAGES]
        return found

    def named(self, places: Places, knowledge: Sequence[Knowledge]) -> Vector:
        """Return what phrases of the predicates known add for each link."""
        self._bring_up(places, self._page_of.take(places), knowledge)
        return self._of_links[:, places, _NAMED].astype(float)

    def _bring_up(self, places: Places, pages: npt.NDArray[np.int32], knowledge: Sequence[Knowledge]) -> None:
        """Weigh the stale ones of some links and their pages."""
        fresh = np.array([[known.fresh] for known in knowledge])
        stale = (self._of_links[:, places, _WEIGHED] < fresh).any(axis=0)
        behind = (self._of_pages[:, pages, _PAGE_WEIGHED] < fresh).any(axis=0)
        if stale.any() or behind.any():
            self._weigh(places[stale], distinct(pages[behind]), knowledge)

    def _weigh(self, links: Places, pages: npt.NDArray[np.int32], knowledge: Sequence[Knowledge]) -> None:
        """Weigh pages by the mean of their words, links by the sum over the root of their words' number.

        Words in a link are weighed as anchors, around it as context, above it as headings; all as page words.
        """
        parts = self._sizes[:, links]
        sizes = np.concatenate((self._page_sizes[pages], *parts, *parts))
        starts = self._starts[links] + np.cumsum(parts, axis=0) - parts
        words = self._words[joined(np.concatenate((self._page_starts[pages], *starts, *starts)), sizes)]
        of_parts = slice(self._page_sizes[pages].sum(), -parts.sum() or None)
        places = words.astype(np.intp) * KINDS + PAGE
        places[of_parts] += np.repeat(_AS, parts.sum(axis=1)) - PAGE
        scale = np.maximum(sizes, 1).astype(float)
        scale[len(pages) :] **= 0.5
        scale, groups = (sizes > 0) / scale, np.cumsum(sizes) - sizes
        # One extra weight for an empty last group to start at; an empty group weighs nothing.
        weights = np.zeros(len(places) + 1)
        for of_links, of_pages, known in zip(self._of_links, self._of_pages, knowledge, strict=True):
            # All indices are valid: `clip` keeps numpy from working in a copy of the weights.
            known.words.weights.take(places, out=weights[:-1], mode="clip")
            sums = np.add.reduceat(weights, groups) * scale
            of_pages[pages, _MEAN], of_pages[pages, _PAGE_WEIGHED] = sums[: len(pages)], known.pages
            by_part = sums[len(pages) :].reshape(2, len(_AS), -1)  # as their own kind, and as a page's
            of_links[links, _LINK_WORDS] = by_part.T.reshape(-1, 2 * len(_AS))
            of_links[links, _WEIGHED] = known.pages
            if known.named.any:
                of_links[links, _NAMED] = known.named.in_links(words[of_parts], parts)

    # letting go

    def keep(self, pages: Iterable[LinkingPage]) -> list[LinkingPage]:
        """Drop all pages but these; return them with their new numbers and places."""
        numbers, firsts, sizes = np.array([(NO_LINK, NO_LINK, 1), *pages], np.intp).T
        links = joined(firsts, sizes)
        ends = np.cumsum(sizes)
        self._of_links, self._of_pages = self._of_links[:, links], self._of_pages[:, numbers]
        self._positions, self._sizes = self._positions[links], self._sizes[:, links]
        self._page_of = np.repeat(np.arange(len(numbers), dtype=np.int32), sizes)
        self._page_sizes = self._page_sizes[numbers]
        starts = np.concatenate((self._page_starts[numbers], self._starts[links]))
        silent = starts == _SILENT
        of_words = np.concatenate((self._page_sizes, self._sizes.sum(axis=0)))
        self._words = self._words[joined(starts, of_words)]
        starts = np.where(silent, _SILENT, np.cumsum(of_words) - of_words).astype(np.int32)
        self._page_starts, self._starts = starts[: len(numbers)], starts[len(numbers) :]
        self._pages, self._links, self._said = len(numbers), len(links), len(self._words)
        found = zip(range(len(numbers)), (ends - sizes).tolist(), sizes.tolist(), strict=True)
        return [LinkingPage(*each) for each in found][1:]


# candidates

#: Places of inputs, in the order of `models.policy.inputs.INPUTS`.
_URL_WORDS, _URL_PAGE_WORDS, _USERS = 10, 11, 12
_CROWD = slice(13, 15)
_POSITIVE, _PREFIX, _LINKS, _ACCESSES, _NO_LINK, _NO_ACCESS, _DEPTH, _FOREIGN, _BIAS = range(15, 24)

#: Pages at the base rate added to all link targets of a page, and to the near ones.
_SIBLING_PRIORS = np.array((PRIOR_PAGES, 1.0))


def inputs_of(knowledge: Sequence[Knowledge], links: LinkTable, candidates: Sequence[Candidate]) -> Vector:
    """Return the inputs of candidates, shape (predicates, candidates, `INPUTS`).

    ``knowledge``, ``links`` and each candidate have the same predicates, in the same order.
    """
    found = np.zeros((len(knowledge), len(candidates), len(INPUTS)))
    rates = np.array([known.rate for known in knowledge])[:, None, None]
    found[:, :, SUMMED] = _of_links(knowledge, links, candidates, rates)
    _of_url(found, knowledge, candidates)
    _of_counts(found, candidates, rates)
    _of_crowds(found, knowledge, candidates, rates)
    found[:, :, _BIAS] = 1.0
    return np.minimum(MOST, np.maximum(-MOST, found, out=found), out=found)


def named_of(knowledge: Sequence[Knowledge], links: LinkTable, candidates: Sequence[Candidate]) -> Vector:
    """Return what the phrases of each predicate add to the logit of a hit, shape (predicates, candidates).

    The best of a candidate's links and its URL counts (`models.policy.candidate`).
    """
    found = np.zeros((len(knowledge), len(candidates)))
    if any(known.named.any for known in knowledge):
        places, starts, _ = _gathered([candidate.links or (NO_LINK,) for candidate in candidates])
        found[:] = np.maximum.reduceat(links.named(places, knowledge), starts, axis=1)
        places, starts, scale = _of_url_words(candidates)
        for row, known in zip(found, knowledge, strict=True):
            parts = np.add.reduceat(known.named.by_word.take(places // KINDS, mode="clip"), starts)
            np.maximum(row, SAID * np.minimum(1.0, parts * (scale > 0)), out=row)
    return found


def _of_links(
    knowledge: Sequence[Knowledge], links: LinkTable, candidates: Sequence[Candidate], rates: Vector
) -> Vector:
    """Return the inputs summed over each candidate's in-links, divided by the root of their number."""
    places, starts, scale = _gathered([candidate.links or (NO_LINK,) for candidate in candidates])
    cells = links.take(places, knowledge)
    cells[:, :, HITS] = log_lifts(cells[:, :, PAGES], cells[:, :, HITS], rates, _SIBLING_PRIORS)
    holds, not_holds = (
        np.array([[known.verdicts[verdict]] for known in knowledge]) for verdict in (True, False)
    )
    cells[:, :, SATISFIES] = cells[:, :, SATISFIES] * holds + cells[:, :, NOT] * not_holds
    return np.add.reduceat(cells[:, :, SUMMED], starts, axis=1) * scale[:, None]


def _gathered(groups: Sequence[Sequence[int]]) -> tuple[Places, Places, Vector]:
    """Return all numbers in sequence, where each group starts, and one over the root of its size."""
    return np.fromiter(chain.from_iterable(groups), np.intp), *_grouped(groups)


def _grouped(groups: Iterable[Sequence[object]]) -> tuple[Places, Vector]:
    sizes = np.array([len(group) for group in groups])
    return np.cumsum(sizes) - sizes, 1 / np.sqrt(sizes)


def _of_url_words(candidates: Sequence[Candidate]) -> tuple[Places, Places, Vector]:
    """Return the words of URLs as `_gathered` does; a URL without words has place 0, at scale 0."""
    places, starts, scale = _gathered([candidate.url_words or (0,) for candidate in candidates])
    return places, starts, scale * [bool(candidate.url_words) for candidate in candidates]


def _of_url(found: Vector, knowledge: Sequence[Knowledge], candidates: Sequence[Candidate]) -> None:
    places, starts, scale = _of_url_words(candidates)
    both = np.array((places + URL, places))
    weights = np.array([known.words.weights.take(both) for known in knowledge])
    sums = np.add.reduceat(weights, starts, axis=2) * scale
    found[:, :, _URL_WORDS], found[:, :, _URL_PAGE_WORDS] = sums[:, 0], sums[:, 1]
    distinct: dict[tuple[str, ...], int] = {}  # many candidates share a directory
    prefixes = [distinct.setdefault(candidate.prefixes, len(distinct)) for candidate in candidates]
    found[:, :, _PREFIX] = prefix_ratios(knowledge, list(distinct))[:, prefixes]


def _of_counts(found: Vector, candidates: Sequence[Candidate], rates: Vector) -> None:
    links = np.zeros((*found.shape[:2], 2))
    linked = [place for place, candidate in enumerate(candidates) if candidate.parents]
    if linked:
        links[:, linked] = np.array([candidates[place].parents for place in linked], float).transpose(1, 0, 2)
    found[:, :, _POSITIVE] = log_lifts(links[:, :, :1], links[:, :, 1:], rates, 1.0)[:, :, 0]
    found[:, :, _LINKS] = np.log1p(links[:, :, 0]) / 3
    found[:, :, _NO_LINK] = links[:, :, 0] == 0
    found[:, :, _DEPTH] = np.log1p([candidate.depth for candidate in candidates])
    found[:, :, _FOREIGN] = [candidate.foreign for candidate in candidates]


def _of_crowds(
    found: Vector, knowledge: Sequence[Knowledge], candidates: Sequence[Candidate], rates: Vector
) -> None:
    crowds = [candidate.crowd for candidate in candidates]
    accesses = np.array([crowd.accesses if crowd else 0 for crowd in crowds], float)
    found[:, :, _ACCESSES] = np.log1p(accesses) / 3
    found[:, :, _NO_ACCESS] = accesses == 0
    visited = {place: crowd.visitors for place, crowd in enumerate(crowds) if crowd and crowd.visitors}
    if visited:
        starts, scale = _grouped(visited.values())
        lifts = lifts_of(knowledge, [USER + name for name in chain.from_iterable(visited.values())])
        found[:, list(visited), _USERS] = np.add.reduceat(lifts, starts, axis=1) * scale
    beside = {place: crowd.beside for place, crowd in enumerate(crowds) if crowd and crowd.beside}
    if beside:
        seen = list(beside)
        cells = np.array(list(beside.values()), float).transpose(1, 0, 2)
        found[:, seen, _CROWD] = log_lifts(cells[:, :, 0::2], cells[:, :, 1::2], rates, 1.0)
