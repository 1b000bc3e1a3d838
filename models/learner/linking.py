"""The links of fetched pages in arrays: what each is worth to its target, as several predicates see it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from models.arrays import longer
from models.learner.combiner import Vector
from models.learner.knowledge import Knowledge
from models.learner.words import LinkingWords, joined

Places = npt.NDArray[np.intp]
#: Places of groups and words, kept in half the memory.
Numbers = npt.NDArray[np.int32]

#: Link positions within which siblings are near.
NEAR = 4
#: What a link target counts for another one, by the difference of their positions.
_NEARNESS = np.array((0.0, *(1 / step for step in range(1, NEAR + 1)), 0.0))

#: The columns of a link for a predicate, the first eight in the order of the inputs that are summed over links:
#: whether its page satisfies the predicate; the hits among its page's judged link targets, all and near ones by
#: their nearness; the four sums of its words; the mean of its page's; whether its page does not satisfy it; the
#: judged link targets, all and near; the pages that had been judged when the words were weighed.
SUMMED = slice(0, 8)
SATISFIES, NOT = 0, 8
HITS, PAGES = slice(1, 3), slice(9, 11)
LINK_WORDS, PAGE_WORDS = slice(3, 7), 7
WEIGHED = 11
COLUMNS = 12
#: Pages and hits of all judged link targets, of near ones.
_ALL, _NEAR = slice(9, 0, -8), slice(10, 1, -8)

#: Links that there is room for at first.
_LEAST = 1024
#: The place that stands for no link: it is worth nothing.
NO_LINK = 0


@dataclass(frozen=True, eq=False, slots=True)
class LinkingPage:
    """A fetched page: its links lie one after the other from place ``first`` on; ``positions`` are theirs."""

    first: int
    positions: Places

    @property
    def all(self) -> slice:
        """The places of all its links."""
        return slice(self.first, self.first + len(self.positions))


class LinkTable:
    """Links of fetched pages, for as many ``predicates``; a link is a place.

    Words of links and of their pages are weighed when they are asked for and a part of the judged pages is new,
    `models.learner.knowledge.STALE`.
    """

    def __init__(self, predicates: int) -> None:
        self._cells: Vector = np.zeros((predicates, _LEAST, COLUMNS))
        self._cells[:, NO_LINK, WEIGHED] = np.inf
        self._end = NO_LINK + 1
        self._page_of: Numbers = np.zeros(_LEAST, np.int32)
        # Of pages the mean weight of their words, and the pages that had been judged when it was taken.
        self._means: Vector = np.zeros((predicates, _LEAST, 2))
        self._pages = 0
        # Words lie in groups (`LinkingWords`): by page the first one, by link the first of its own.
        self._page_group: Numbers = np.zeros(_LEAST, np.int32)
        self._group: Numbers = np.zeros(_LEAST, np.int32)
        self._starts: Numbers = np.zeros(_LEAST, np.int32)
        self._sizes: Numbers = np.zeros(_LEAST, np.int32)
        self._groups = 0
        self._words: Numbers = np.zeros(_LEAST, np.int32)
        self._said = 0

    @property
    def bytes(self) -> int:
        """Bytes that links and their words take, about."""
        return self._cells.nbytes + self._words.nbytes + self._starts.nbytes + self._sizes.nbytes

    def add(self, positions: Sequence[int], words: LinkingWords, satisfies: Vector) -> LinkingPage:
        """Take in a page and the distinct positions of its links; ``satisfies``: 1 or 0 a predicate."""
        page = LinkingPage(self._end, np.array(positions, np.intp))
        self._end += len(positions)
        self._cells = longer(self._cells, self._end)
        self._page_of, self._group = (longer(each, self._end) for each in (self._page_of, self._group))
        self._page_of[page.all] = self._pages
        self._group[page.all] = self._groups + 1 + 4 * np.arange(len(positions))
        self._add_page()
        self._add_words(words)
        self._cells[:, page.all, WEIGHED] = -1.0
        self.set_verdict(page, satisfies)
        return page

    def _add_page(self) -> None:
        self._pages += 1
        self._means = longer(self._means, self._pages)
        self._page_group = longer(self._page_group, self._pages)
        self._page_group[self._pages - 1] = self._groups
        self._means[:, self._pages - 1] = 0.0, -1.0

    def _add_words(self, words: LinkingWords) -> None:
        groups, said = self._groups, self._said
        self._groups += len(words.sizes)
        self._said += len(words.places)
        self._starts, self._sizes = (longer(each, self._groups) for each in (self._starts, self._sizes))
        self._words = longer(self._words, self._said)
        self._sizes[groups : self._groups] = words.sizes
        self._starts[groups : self._groups] = said + np.cumsum(words.sizes) - words.sizes
        self._words[said : self._said] = words.places

    def set_verdict(self, page: LinkingPage, satisfies: Vector) -> None:
        """Say of which predicates a page holds, where a verdict came later."""
        self._cells[:, page.all, SATISFIES] = satisfies[:, None]
        self._cells[:, page.all, NOT] = 1.0 - satisfies[:, None]

    def forget_judged(self, page: LinkingPage) -> None:
        """Forget the verdicts on a page's link targets: they are told anew."""
        self._cells[:, page.all, HITS] = self._cells[:, page.all, PAGES] = 0.0

    def judged(self, page: LinkingPage, positions: Sequence[int], verdicts: Vector) -> None:
        """Take in verdicts on the link targets at some positions.

        ``verdicts``: 1 or 0 pages, 1 or 0 hits, shape (predicates, positions, 2).
        """
        steps = np.abs(page.positions[:, None] - np.array(positions))
        nearness = _NEARNESS.take(np.minimum(steps, NEAR + 1))
        self._cells[:, page.all, _ALL] += verdicts.sum(axis=1)[:, None, :]
        self._cells[:, page.all, _NEAR] += np.matmul(nearness, verdicts)

    def take(self, places: Places, knowledge: Sequence[Knowledge]) -> Vector:
        """Return the columns of some links for the predicates known, shape (predicates, links, 12)."""
        found = self._cells.take(places, axis=1)
        fresh = np.array([[known.fresh] for known in knowledge])
        stale = (found[:, :, WEIGHED] < fresh).any(axis=0)
        if not stale.any():
            return found
        links = places[stale]
        pages = self._page_of.take(links)
        behind = (self._means[:, pages, 1] < fresh).any(axis=0)
        self._weigh(links, np.unique(pages[behind]), knowledge)
        self._cells[:, links, PAGE_WORDS] = self._means[:, pages, 0]
        return self._cells.take(places, axis=1)

    def _weigh(self, links: Places, pages: Places, knowledge: Sequence[Knowledge]) -> None:
        """Sum the words of some links, over the root of their number, and take the mean of some pages'."""
        of_links = (self._group.take(links)[:, None] + np.arange(4)).ravel()
        groups = np.concatenate((self._page_group.take(pages), of_links))
        sizes = self._sizes.take(groups)
        words = self._words.take(joined(self._starts.take(groups), sizes))
        # One weight more, so that an empty last group has one to start at; an empty one weighs nothing.
        weights = np.zeros((len(knowledge), len(words) + 1))
        for row, known in zip(weights, knowledge, strict=True):
            row[:-1] = known.words.weights.take(words)
        scale = np.maximum(sizes, 1).astype(float)
        scale[len(pages) :] **= 0.5
        sums = np.add.reduceat(weights, np.cumsum(sizes) - sizes, axis=1) * ((sizes > 0) / scale)
        judged = np.array([[known.pages] for known in knowledge])
        self._means[:, pages, 0], self._means[:, pages, 1] = sums[:, : len(pages)], judged
        self._cells[:, links, LINK_WORDS] = sums[:, len(pages) :].reshape(len(sums), -1, 4)
        self._cells[:, links, WEIGHED] = judged
