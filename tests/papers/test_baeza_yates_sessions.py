"""Baeza-Yates and Castillo 2004, sections 3 and 4: sessions, depths and moves, worked by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.depth.trail import ELSEWHERE, FRAME, MAX_VIEWS, PAUSE
from scentline.models.depth.visits import Move, Session, Visits, move, moves
from scentline_lab.depth import site as module
from scentline_lab.depth.site import OPEN, Sessions
from tests.cases import each_case

#: A log has referrers from the first one seen on.
_SEARCHED = ("someone", 0.0, "/found", ELSEWHERE)


def sessions_of(*views: tuple[str, float, str, str | None]) -> list[Session]:
    sessions = Sessions()
    found = [session for view in views for session in sessions.view(*view)]
    return found + sessions.finish()


def levels_of(*clicks: tuple[str, str | None]) -> list[tuple[int, ...]]:
    """Return the levels of one visitor's sessions, who clicks every ten seconds."""
    views = [("visitor", 10.0 * number, page, referrer) for number, (page, referrer) in enumerate(clicks)]
    return [session.levels for session in sessions_of(*views)]


def test_the_seven_moves_of_the_figure() -> None:
    assert move(2, 3) is Move.NEXT
    assert move(2, 2) is Move.STAY
    assert move(2, 1) is Move.BACK
    assert move(2, 0) is Move.START
    assert move(3, 1) is Move.PREVIOUS
    assert move(2, 5) is Move.FORWARD
    assert list(moves([2])) == [(2, Move.JUMP)]


@each_case(
    ("clicks", "levels"),
    [
        # A link a page goes one level deeper.
        ([("/", None), ("/a", "/"), ("/b", "/a"), ("/c", "/b")], [(0, 1, 2, 3)]),
        # Depth is the shortest path seen in the session, even late: /c was one link away all the time.
        (
            [("/", None), ("/a", "/"), ("/b", "/a"), ("/c", "/b"), ("/", "/c"), ("/c", "/")],
            [(0, 1, 2, 1, 0, 1)],
        ),
        # Who comes from elsewhere begins another session.
        ([("/", None), ("/a", "/"), ("/b", ELSEWHERE)], [(0, 1), (0,)]),
        ([("/", None), ("/a", "/"), ("/a", ELSEWHERE)], [(0, 1), (0,)]),
        # In a log without referrers a view follows the last.
        ([("/", None), ("/a", None)], [(0, 1)]),
        # A page of the session is seen again: typed in, reloaded by its own script, or as a copy of it.
        ([("/", None), ("/a", "/"), ("/", None)], [(0, 1, 0)]),
        ([("/", None), ("/a", "/"), ("/a", "/a")], [(0, 1, 1)]),
        ([("/", None), ("/a", "/"), ("/b", "/a"), ("/", "/b")], [(0, 1, 2, 0)]),
    ],
)
def test_levels_of_one_visitors_sessions(
    clicks: list[tuple[str, str | None]], levels: list[tuple[int, ...]]
) -> None:
    assert levels_of(*clicks) == levels


def test_a_page_from_the_cache_is_put_back_from_the_referrer() -> None:
    # Back from /b to /a by the browser's button, which no line tells of, and on to /c.
    views = [("v", 0.0, "/", None), ("v", 10.0, "/a", "/"), ("v", 20.0, "/b", "/a"), ("v", 30.0, "/c", "/a")]
    (session,) = sessions_of(*views)
    assert session == Session((0, 1, 2, 1, 2), "/", 1)
    assert [made for _, made in moves(session.levels)] == [
        Move.NEXT, Move.NEXT, Move.BACK, Move.NEXT, Move.JUMP,
    ]  # fmt: skip


def test_a_referrer_never_seen_is_put_back() -> None:
    assert sessions_of(("v", 0.0, "/", None), ("v", 10.0, "/b", "/a")) == [Session((0, 1, 2), "/", 1)]
    assert sessions_of(("v", 0.0, "/b", "/a")) == [Session((0, 1), "/a", 1)]


def test_half_an_hour_without_an_access_ends_a_session() -> None:
    within = sessions_of(("v", 0.0, "/", None), ("v", PAUSE, "/a", "/"))
    beyond = sessions_of(("v", 0.0, "/", None), ("v", PAUSE + 1, "/a", "/"))
    assert [session.levels for session in within] == [(0, 1)]
    assert [session.levels for session in beyond] == [(0,), (0, 1)]


def test_another_agent_of_the_same_user_has_a_session_of_its_own() -> None:
    found = sessions_of(("user firefox", 0.0, "/", None), ("user opera", 1.0, "/a", "/"))
    assert sorted(session.levels for session in found) == [(0,), (0, 1)]


def test_in_a_log_with_referrers_a_view_without_one_begins_another_session() -> None:
    found = sessions_of(_SEARCHED, ("v", 0.0, "/", None), ("v", 10.0, "/a", None))
    assert sorted(session.levels for session in found) == [(0,), (0,), (0,)]


def test_frames_are_one_page_with_what_holds_them() -> None:
    views = [
        ("v", 0.0, "/", None),
        ("v", FRAME, "/menu", "/"),
        ("v", FRAME, "/text", "/"),
        ("v", 20.0, "/a", "/menu"),
    ]
    assert sessions_of(*views) == [Session((0, 1), "/", 0)]


def test_a_line_with_a_time_far_ahead_does_not_end_the_sessions_after_it() -> None:
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


def test_an_endless_session_is_cut() -> None:
    clicks = [(f"/{number}", f"/{number - 1}") for number in range(1, 3 * MAX_VIEWS)]
    assert max(map(len, levels_of(*clicks))) <= MAX_VIEWS + 1
    sessions = Sessions()  # and one of frames
    ended = sessions.view("v", 0.0, "/", None)
    for number in range(2 * MAX_VIEWS):
        ended += sessions.view("v", 0.0, f"/{number}", "/")
    assert ended


@given(st.lists(st.lists(st.integers(0, 6), max_size=8).map(lambda rest: (0, *rest)), min_size=1))
def test_counts_are_those_of_the_sessions(walks: list[tuple[int, ...]]) -> None:
    visits = Visits()
    for levels in walks:
        visits.add(Session(levels, "/", 0), home=len(levels) > 1)
    views = [level for levels in walks for level in levels]
    assert visits.views == [views.count(level) for level in range(max(views) + 1)]
    assert (visits.total, visits.levels, visits.sessions) == (len(views), sum(views), len(walks))
    assert visits.made(Move.JUMP, 0) == len(walks)
    assert [sum(made.values()) for made in visits.moves] == visits.views
    assert visits.homes == len(walks) - visits.singles
    assert visits.squares == (
        sum(len(levels) ** 2 for levels in walks),
        sum(len(levels) * sum(levels) for levels in walks),
        sum(sum(levels) ** 2 for levels in walks),
    )
    assert visits.reached()[visits.depth(0.9)] >= 0.9 - 1e-12
