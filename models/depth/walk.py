"""One user's session on one site, while it goes on."""

from typing import NamedTuple

#: Views of a session, and pages; a longer one is cut, and goes on as another.
MAX_VIEWS = 500


class Session(NamedTuple):
    """A finished session: the level of each view, the page it began with, and the views put back into it."""

    levels: tuple[int, ...]
    start: str
    put_back: int


class Walk:
    """The views of a session and the links that led from one to the next.

    Baeza-Yates and Castillo 2004, section 3: the depth of a page in a session is the length of the shortest
    path from the start page through the pages seen during the session. So it is known at the session's end:
    a link followed late may be a short cut to a page that was reached the long way before.

    >>> walk = Walk("/")
    >>> for page in ("/a", "/b", "/c"):
    ...     walk.follow(page)
    >>> walk.see("/")
    >>> walk.follow("/c")
    >>> walk.end().levels
    (0, 1, 2, 1, 0, 1)
    """

    __slots__ = ("_links", "_numbers", "_put_back", "_start", "_views")

    def __init__(self, start: str) -> None:
        self._start = start
        self._numbers = {start: 0}
        self._views = [0]
        self._links: list[set[int]] = [set()]
        self._put_back = 0

    @property
    def full(self) -> bool:
        """Tell whether it has as many views or pages as it may have."""
        return max(len(self._views), len(self._numbers)) >= MAX_VIEWS

    def __contains__(self, page: str) -> bool:
        return page in self._numbers

    def at(self, page: str) -> bool:
        """Tell whether the last view is of this page."""
        return self._numbers.get(page) == self._views[-1]

    def follow(self, page: str) -> None:
        """View a page by a link on the page of the last view."""
        number = self._numbers.setdefault(page, len(self._links))
        if number == len(self._links):
            self._links.append(set())
        self._links[self._views[-1]].add(number)
        self._views.append(number)

    def see(self, page: str) -> None:
        """View a page of this session again, without a link."""
        self._views.append(self._numbers[page])

    def arrive(self, page: str) -> None:
        """View a page again where the session has it, else by a link on that of the last view."""
        if page in self:
            self.see(page)
        else:
            self.follow(page)

    def put_back(self) -> None:
        """Note that the last view stood in no line: it was put back."""
        self._put_back += 1

    def contain(self, page: str) -> None:
        """Take a page for a part of that of the last view, as a frame is."""
        self._numbers[page] = self._views[-1]

    def end(self) -> Session:
        """Return the session."""
        depths = self._depths()
        return Session(tuple(depths[number] for number in self._views), self._start, self._put_back)

    def _depths(self) -> list[int]:
        """Return the depth of each page: breadth-first from the start page, over the links followed."""
        depths = [-1] * len(self._links)
        depths[0] = 0
        reached = [0]
        for page in reached:
            for target in self._links[page]:
                if depths[target] < 0:
                    depths[target] = depths[page] + 1
                    reached.append(target)
        return depths
