"""Sessions kept with their user: counts of levels, view by view, add up to those of whole sessions."""

from collections import Counter
from typing import NamedTuple

import networkx
from hypothesis import example, given
from hypothesis import strategies as st

from scentline.models.depth.trail import ELSEWHERE, MAX_VIEWS, MOST_SITES, PAUSE, Browsing, Changes
from scentline.models.depth.visits import Visits
from scentline_lab.depth.site import Sessions


class View(NamedTuple):
    """A view ``pause`` seconds after the one before."""

    pause: float
    page: str
    referrer: str | None


#: The level of a page, whether a session began, and changes of the number of views.
Told = tuple[int, bool, Changes]

pages = st.sampled_from("abcdef")
views = st.lists(
    st.builds(
        View,
        st.sampled_from([0.5, 30.0, 60.0, PAUSE, PAUSE + 1, -20.0]),
        pages,
        pages | st.just(ELSEWHERE) | st.none(),
    ),
    max_size=25,
)


class Walk:
    """A whole session: the pages viewed, and the links between them, whose shortest paths are the levels."""

    def __init__(self, page: str) -> None:
        self.views, self.links, self.last, self.shown = [page], networkx.DiGraph(), 0.0, 0.0
        self.frames = {page: page}
        self.links.add_node(page)

    def follow(self, page: str) -> None:
        self.links.add_edge(self.views[-1], self.frames.setdefault(page, page))
        self.views.append(self.frames[page])

    def arrive(self, page: str) -> None:
        if page in self.frames:
            self.views.append(self.frames[page])
        else:
            self.follow(page)

    def levels(self) -> list[int]:
        depths = networkx.single_source_shortest_path_length(self.links, self.views[0])
        return [depths[page] for page in self.views]


def by_sessions(found: list[View]) -> tuple[Counter[int], int]:
    """Return the views of each level and the sessions, by the rules of the paper's section 4 word for word."""
    walks: list[Walk] = []
    now, referrers = 0.0, False
    for view in found:
        now += view.pause
        referrers = referrers or view.referrer is not None
        page, source = view.page, view.referrer if view.referrer != view.page else None
        walk = walks[-1] if walks else None
        goes_on = walk is not None and abs(now - walk.last) <= PAUSE and view.referrer != ELSEWHERE
        full = walk is not None and max(len(walk.views), len(walk.frames)) >= MAX_VIEWS
        typed = view.referrer is None and referrers and walk is not None and page not in walk.frames
        if walk is None or not goes_on or full or typed:
            walk = Walk(source or page)
            walks.append(walk)
            if source:
                walk.follow(page)
        elif not source:
            walk.arrive(page)
        elif (
            page not in walk.frames and walk.frames.get(source) == walk.views[-1] and 0 <= now - walk.shown <= 1
        ):
            walk.frames[page] = walk.views[-1]
            walk.last = now
            continue
        else:
            if walk.frames.get(source) != walk.views[-1]:
                walk.arrive(source)
            walk.follow(page)
        walk.last = walk.shown = now
    return Counter(level for walk in walks for level in walk.levels()), len(walks)


def of_log(found: list[View]) -> tuple[Counter[int], int]:
    visits, sessions, now = Visits(), Sessions(), 0.0
    for view in found:
        now += view.pause
        for session in sessions.view("user", now, view.page, view.referrer):
            visits.add(session, home=False)
    for session in sessions.finish():
        visits.add(session, home=False)
    return +Counter(dict(enumerate(visits.views))), visits.sessions


def told(browsing: Browsing, found: list[View], site: str = "a.org") -> list[Told]:
    """Return what is told of views on a site."""
    now, referrers, all_told = 0.0, False, []
    for view in found:
        now += view.pause
        referrers = referrers or view.referrer is not None
        referrer = view.referrer.encode() if view.referrer else view.referrer
        one = browsing.view(site, now, view.page.encode(), referrer, referrers=referrers)
        all_told += [one] if one is not None else []
    return all_told


def summed(found: list[Told]) -> tuple[Counter[int], int]:
    levels: Counter[int] = Counter()
    for one in found:
        for level, change in one[2]:
            levels[level] += change
    return +levels, sum(begun for _, begun, _ in found)


#: The page reached over two others is one link away from the first, as is seen late.
SHORT_CUT = [
    *(View(60.0, "a", None), View(60.0, "b", "a"), View(60.0, "c", "b"), View(60.0, "d", "c")),
    *(View(60.0, "a", "d"), View(60.0, "c", "a")),
]


@given(views)
@example(SHORT_CUT)
def test_what_is_told_view_by_view_adds_up_to_the_sessions_of_the_paper(found: list[View]) -> None:
    assert summed(told(Browsing(), found)) == of_log(found) == by_sessions(found)


def test_a_session_that_is_too_long_goes_on_as_another() -> None:
    found = [View(1.0, f"{number}", None) for number in range(2 * MAX_VIEWS)]
    assert summed(told(Browsing(), found)) == by_sessions(found)


def test_the_sessions_of_sites_are_kept_apart() -> None:
    browsing = Browsing()
    first = told(browsing, [View(1.0, "a", None), View(1.0, "b", None)], "a.org")
    second = told(browsing, [View(1.0, "a", None), View(1.0, "b", None)], "b.org")
    assert first == second == [(0, True, [(0, 1)]), (1, False, [(1, 1)])]


def test_of_many_sites_the_one_without_a_view_for_longest_is_forgotten() -> None:
    browsing = Browsing()
    for number in range(MOST_SITES + 1):
        told(browsing, [View(1.0, "a", None)], f"h{number}.org")
    assert list(browsing.trails) == [f"h{number}.org" for number in range(1, MOST_SITES + 1)]
    [again] = told(browsing, [View(2.0, "b", None)], "h0.org")
    assert again == (0, True, [(0, 1)])
