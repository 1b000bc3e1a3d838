"""The links of fetched pages in arrays: what each is worth to its target, as several predicates see it."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from models.learner.combiner import Vector
from models.learner.knowledge import Knowledge
from models.learner.words import LinkingWords

Places = npt.NDArray[np.intp]

#: Link positions within which siblings are near.
NEAR = 4
_STEPS = tuple((step, 1 / abs(step)) for step in range(-NEAR, NEAR + 1) if step)

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


class LinkingPage:
    """A fetched page: its links lie one after the other from place ``first`` on.

    ``places`` are those of its links by their positions, ``words`` the words of the page and its links.
    """

    __slots__ = ("first", "places", "words")

    def __init__(self, first: int, positions: Iterable[int], words: LinkingWords) -> None:
        self.first = first
        self.places = {position: place for place, position in enumerate(positions, first)}
        self.words = words

    @property
    def all(self) -> slice:
        """The places of all its links."""
        return slice(self.first, self.first + len(self.places))


class LinkTable:
    """Links of fetched pages, for as many ``predicates``; a link is a place.

    Word sums are taken when they are asked for and `models.learner.knowledge.STALE` of the pages are new.
    """

    def __init__(self, predicates: int) -> None:
        self._cells: Vector = np.zeros((predicates, _LEAST, COLUMNS))
        self._cells[:, NO_LINK, WEIGHED] = np.inf
        self._page_of: Places = np.zeros(_LEAST, np.intp)
        self._pages: list[LinkingPage] = []
        self._end = NO_LINK + 1

    @property
    def pages(self) -> int:
        """Pages that are in it."""
        return len(self._pages)

    @property
    def bytes(self) -> int:
        """Bytes that the links take, without their words."""
        return self._cells.nbytes

    def add(self, positions: Sequence[int], words: LinkingWords, satisfies: Vector) -> LinkingPage:
        """Take in a page and the distinct positions of its links; ``satisfies``: 1 or 0 a predicate."""
        page = LinkingPage(self._end, positions, words)
        self._end += len(positions)
        if self._end > len(self._page_of):
            self._grow()
        self._page_of[page.all] = len(self._pages)
        self._pages.append(page)
        self._cells[:, page.all, WEIGHED] = -1.0
        self.set_verdict(page, satisfies)
        return page

    def set_verdict(self, page: LinkingPage, satisfies: Vector) -> None:
        """Say of which predicates a page holds, where a verdict came later."""
        self._cells[:, page.all, SATISFIES] = satisfies[:, None]
        self._cells[:, page.all, NOT] = 1.0 - satisfies[:, None]

    def forget_judged(self, page: LinkingPage) -> None:
        """Forget the verdicts on a page's link targets: they are told anew."""
        self._cells[:, page.all, HITS] = self._cells[:, page.all, PAGES] = 0.0

    def judged(self, page: LinkingPage, position: int, verdict: Vector) -> None:
        """Take in a verdict on the link target at a position: of each predicate 1 or 0 pages, 1 or 0 hits."""
        self._cells[:, page.all, _ALL] += verdict[:, None, :]
        places = page.places
        near = [(places[position + step], worth) for step, worth in _STEPS if position + step in places]
        if near:
            found, worths = zip(*near, strict=True)
            self._cells[:, found, _NEAR] += np.array(worths)[:, None] * verdict[:, None, :]

    def take(self, places: Places, knowledge: Sequence[Knowledge]) -> Vector:
        """Return the columns of some links for the predicates known, shape (predicates, links, 12)."""
        found = self._cells.take(places, axis=1)
        fresh = np.array([known.fresh for known in knowledge])
        stale = (found[:, :, WEIGHED] < fresh[:, None]).any(axis=0)
        if not stale.any():
            return found
        for number in set(self._page_of.take(places[stale]).tolist()):
            self._weigh(self._pages[number], knowledge)
        return self._cells.take(places, axis=1)

    def _weigh(self, page: LinkingPage, knowledge: Sequence[Knowledge]) -> None:
        for cells, known in zip(self._cells, knowledge, strict=True):
            links = cells[page.all]
            of_page, of_links = page.words.weigh(known.words.weights)
            links[:, LINK_WORDS] = of_links
            links[:, PAGE_WORDS] = of_page
            links[:, WEIGHED] = known.pages

    def _grow(self) -> None:
        more = max(self._end, 2 * len(self._page_of)) - len(self._page_of)
        self._cells = np.concatenate((self._cells, np.zeros((len(self._cells), more, COLUMNS))), axis=1)
        self._page_of = np.concatenate((self._page_of, np.zeros(more, np.intp)))
