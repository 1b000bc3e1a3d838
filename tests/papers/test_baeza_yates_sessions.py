"""Baeza-Yates and Castillo 2004, sections 3 and 4: sessions, depths and moves, by hand and view by view."""

from collections import Counter
from typing import NamedTuple

import networkx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scentline.models.papers.trail import ELSEWHERE, FRAME, MAX_VIEWS, MOST_SITES, PAUSE, Browsing, Changes
from scentline_lab.depth import site as module
from scentline_lab.depth.site import OPEN, Counted, Move, Session, Sessions, move, moves
from tests.cases import each_case


class View(NamedTuple):
    """A view ``pause`` seconds after the one before."""

    pause: float
    page: str
    referrer: str | None


def sessions_of(*views: View) -> list[Session]:
    sessions, now, ended = Sessions(), 0.0, list[Session]()
    for view in views:
        now += view.pause
        ended += sessions.view("visitor", now, view.page, view.referrer)
    return ended + sessions.finish()


def test_the_seven_moves_of_the_figure() -> None:
    found = [move(*levels) for levels in ((2, 3), (2, 2), (2, 1), (2, 0), (3, 1), (2, 5))]
    assert found == [Move.NEXT, Move.STAY, Move.BACK, Move.START, Move.PREVIOUS, Move.FORWARD]
    assert list(moves([2])) == [(2, Move.JUMP)]


@each_case(("clicks", "levels"))
def test_levels_of_one_visitors_sessions(clicks: list[tuple[str, str | None]], levels: list[list[int]]) -> None:
    assert [[*session.levels] for session in sessions_of(*(View(10.0, *click) for click in clicks))] == levels


def test_pauses_frames_and_pages_from_the_cache_worked_by_hand() -> None:
    home = View(0.0, "/", None)
    for pause, levels in ((PAUSE, [(0, 1)]), (PAUSE + 1, [(0,), (0, 1)])):
        assert [session.levels for session in sessions_of(home, View(pause, "/a", "/"))] == levels
    # Frames are one page with what holds them.
    frames = View(FRAME, "/menu", "/"), View(0.0, "/text", "/"), View(20.0, "/a", "/menu")
    assert sessions_of(home, *frames) == [Session((0, 1), "/", 0)]
    # A referrer never seen is put back; back from /b to /a goes the browser's button, which no line tells of.
    assert sessions_of(home, View(10.0, "/b", "/a")) == [Session((0, 1, 2), "/", 1)]
    assert sessions_of(View(10.0, "/b", "/a")) == [Session((0, 1), "/a", 1)]
    cached = View(10.0, "/a", "/"), View(10.0, "/b", "/a"), View(10.0, "/c", "/a")
    assert sessions_of(home, *cached) == [Session((0, 1, 2, 1, 2), "/", 1)]
    made = [made for _, made in moves((0, 1, 2, 1, 2))]
    assert made == [Move.NEXT, Move.NEXT, Move.BACK, Move.NEXT, Move.JUMP]


def test_visitors_have_sessions_of_their_own_and_a_line_with_a_time_far_ahead_ends_none_after_it() -> None:
    sessions = Sessions()
    ended = [*sessions.view("v", 0.0, "/", None), *sessions.view("clock", 1e12, "/", None)]
    for number in range(5):
        ended += sessions.view("w", 10.0 * number, f"/{number}", f"/{number - 1}" if number else None)
    ended += sessions.finish()
    assert sorted(session.levels for session in ended) == [(0,), (0,), (0, 1, 2, 3, 4)]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert OPEN == 10_000
    monkeypatch.setattr(module, "OPEN", 3)
    sessions = Sessions()
    ended = [session for number in range(10) for session in sessions.view(f"v{number}", 0.0, "/", None)]
    assert len(ended) == 7
    assert len(sessions.finish()) == 3


@given(st.lists(st.lists(st.integers(0, 6), max_size=8).map(lambda rest: (0, *rest)), min_size=1))
def test_counts_are_those_of_the_sessions(walks: list[tuple[int, ...]]) -> None:
    visits = Counted()
    for levels in walks:
        visits.add(Session(levels, "/", 0), home=len(levels) > 1)
    views = [level for levels in walks for level in levels]
    assert visits.views == [views.count(level) for level in range(max(views) + 1)]
    assert (visits.total, visits.levels, visits.sessions) == (len(views), sum(views), len(walks))
    assert sum(made.get(Move.JUMP, 0) for made in visits.moves) == len(walks)
    assert [sum(made.values()) for made in visits.moves] == visits.views
    assert visits.homes == len(walks) - visits.singles
    assert visits.squares == (
        sum(len(levels) ** 2 for levels in walks),
        sum(len(levels) * sum(levels) for levels in walks),
        sum(sum(levels) ** 2 for levels in walks),
    )
    assert visits.reached()[visits.depth(0.9)] >= 0.9 - 1e-12


# view by view

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
    visits = Counted()
    for session in sessions_of(*found):
        visits.add(session, home=False)
    return +Counter(dict(enumerate(visits.views))), visits.sessions


def told(browsing: Browsing, found: list[View], site: str = "a.org") -> list[Told]:
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
    View(60.0, *way) for way in (("a", None), ("b", "a"), ("c", "b"), ("d", "c"), ("a", "d"), ("c", "a"))
]
#: A session that is too long goes on as another, one of frames too.
ENDLESS = [View(1.0, f"{number}", None) for number in range(2 * MAX_VIEWS)]
FRAMES = [View(0.0, "a", None), *(View(0.0, f"{number}", "a") for number in range(2 * MAX_VIEWS))]


@given(views)
@example(SHORT_CUT)
@example([View(60.0, "a", None), View(-20.0, "b", "a")])
@example(ENDLESS)
@example(FRAMES)
def test_what_is_told_view_by_view_adds_up_to_the_sessions_of_the_paper(found: list[View]) -> None:
    assert summed(told(Browsing(), found)) == of_log(found) == by_sessions(found)


def test_of_many_sites_the_one_without_a_view_for_longest_is_forgotten() -> None:
    browsing = Browsing()
    for number in range(MOST_SITES + 1):
        found = told(browsing, [View(1.0, "a", None), View(1.0, "b", None)], f"h{number}.org")
        assert found == [(0, True, [(0, 1)]), (1, False, [(1, 1)])], "sites are kept apart"
    assert list(browsing.trails) == [f"h{number}.org" for number in range(1, MOST_SITES + 1)]
    assert told(browsing, [View(2.0, "b", None)], "h0.org") == [(0, True, [(0, 1)])]
