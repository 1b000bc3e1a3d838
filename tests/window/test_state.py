"""What a window reads of a crawl: its state in words, harvest curves, and what it asks of frontiers."""

from collections import Counter
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.window.now import together
from scentline.agents.window.recent import Points
from scentline.agents.window.state import REASONS, Facts, at_doors, said
from scentline.models.published import DoorStanding, HarvestPoint, Standing
from tests.cases import each_case

NOW = 1_000_000.0


def a_standing(**fields: Any) -> Standing:
    given_fields: dict[str, Any] = {"worker": "0", "time": NOW, "state": "running", "partitions": 1, "of": 1}
    return Standing(**given_fields | fields)


def at_rest(state: str, **fields: Any) -> Facts:
    return facts_of(a_standing(state=state, final=True, time=NOW - 7_200, **fields), running=False)


def facts_of(standing: Standing | None, **fields: Any) -> Facts:
    facts = Facts(now=NOW, begun=True, running=True, standing=standing, predicates=1)
    return facts._replace(**fields)


def running(**fields: Any) -> Facts:
    return facts_of(a_standing(**fields))


QUEUED = {"queued": {"p": 900, "q": 400}}
WAITING = {"delay": 40, "retry-after": 2}


@each_case(
    ("facts", "mood", "words"),
    [
        (Facts(NOW, begun=False, running=False), "rest", ["No crawl has begun"]),
        # at rest
        (at_rest("ended"), "rest", ["2 hours", "stopped", "same command goes on"]),
        (at_rest("spent", budget=500, judged=500), "rest", ["budget of 500 pages is spent", "larger"]),
        (at_rest("spent", requests_budget=600), "rest", ["budget of 600 requests is spent"]),
        (at_rest("done"), "rest", ["nothing was left to fetch"]),
        (at_rest("paused"), "rest", ["paused, and stopped"]),
        (facts_of(a_standing(time=NOW - 9_000), running=False, newest=NOW - 300), "bad", ["5 minutes", "kill"]),
        (facts_of(a_standing(time=NOW - 2), running=False), "bad", ["2 seconds ago, abruptly"]),
        (facts_of(None, running=False), "bad", ["The crawl ended, abruptly"]),
        (at_rest("done")._replace(newest=NOW - 60), "bad", ["1 minute ago, abruptly"]),  # it had gone on
        # no answer
        (facts_of(None), "waits", ["runs"]),
        (running(time=NOW - 125), "bad", ["no worker has answered for 2 minutes"]),
        (running(partitions=3, of=12), "bad", ["9 of 12 partitions"]),
        # it runs, and fetches nothing
        (running(state="paused", in_flight=2), "rest", ["Paused", "2 pages are still in flight"]),
        (running(state="starting", taken_up=0.4), "waits", ["Starting", "40 %"]),
        (running(state="spent", budget=500, judged=500, in_flight=1), "rest",
            ["500 pages is spent", "1 page is still"]),
        (running(state="spent", budget=500, judged=9, left=491), "rest", ["The time is over"]),
        (facts_of(a_standing(**QUEUED), predicates=0, paused=2), "rest", ["Every predicate is paused"]),
        (running(waiting=WAITING, next_ready=3.2, **QUEUED), "waits",
            ["42 hosts have pages, all wait", "in 3 s", "40 for the delay", "2 for the end of a Retry-After"]),
        (running(waiting={"robots": 1}, next_ready=0.25, **QUEUED), "waits", ["1 host has", "0.2 s", "robots"]),
        (running(waiting={"busy": 2_000}, seen=0.5, **QUEUED), "waits", ["About 2,000 hosts", "an answer"]),
        (running(ready=1, **QUEUED), "waits", ["1 host may be asked"]),
        (running(filling=True), "waits", ["looked through for candidates"]),
        (running(opening=True, taken_up=0.125), "waits", ["No candidate yet", "12 %"]),
        (running(retries=1, next_retry=90.0), "waits", ["1 page waits for another attempt", "1 minute"]),
        (running(state="done"), "rest", ["No candidate is left"]),
        # it runs, and fetches
        (running(in_flight=1, room=3, ready=9, **QUEUED), "good", ["1 page is in flight."]),
        (running(in_flight=16, room=0, revisits_in_flight=4, ready=9, **QUEUED), "good",
            ["16 pages are in flight", "4 of them visited again", "as many as may be"]),
        (running(in_flight=2, room=3, waiting={"delay": 7}, next_ready=0.5, **QUEUED), "good",
            ["2 pages are in flight", "7 hosts have pages, all wait", "0.5 s"]),
        (running(in_flight=2, room=3, slots=0.25, held_by="CPU", held=7), "good", ["25%", "7 wait for this"]),
        # answers come: it fetches as long as the next page is near
        (running(waiting=WAITING, next_ready=2.0, requests_a_second=2.0, **QUEUED), "good", ["2 s"]),
        (running(waiting=WAITING, next_ready=60.0, requests_a_second=2.0, **QUEUED), "waits", ["1 minute"]),
    ],
)  # fmt: skip
def test_every_state_has_its_sentence(facts: Facts, mood: str, words: list[str]) -> None:
    found = said(facts)
    assert found[0] == mood
    assert [word for word in words if word not in found[1]] == [], found[1]


counts = st.integers(0, 10**9)
seconds = st.none() | st.floats(0, 1e6)
standings = st.builds(
    Standing,
    worker=st.sampled_from("0123"),
    time=st.floats(NOW - 100, NOW),
    state=st.sampled_from(["starting", "running", "paused", "spent", "done", "ended", "unheard of"]),
    partitions=st.integers(1, 4),
    of=st.just(4),
    queued=st.dictionaries(st.sampled_from("pq"), counts),
    waiting=st.dictionaries(st.sampled_from([*REASONS, "unheard of"]), counts),
    left=st.none() | counts,
    **dict.fromkeys(("final", "opening", "filling"), st.booleans()),
    **dict.fromkeys(("in_flight", "ready", "retries"), counts),
    **dict.fromkeys(("next_ready", "next_retry", "pages_a_second"), seconds),
    **dict.fromkeys(("seen", "taken_up"), st.floats(0, 1)),
)


@given(
    st.builds(
        Facts, st.just(NOW), st.booleans(), st.booleans(), st.none() | standings, st.floats(0, NOW),
        st.integers(0, 3), st.integers(0, 3),
    )
)  # fmt: skip
def test_no_crawl_is_without_a_sentence(facts: Facts) -> None:
    mood, text = said(facts)
    assert mood in ("good", "waits", "rest", "bad")
    assert text.endswith(".")
    assert "  " not in text


@given(st.lists(standings, min_size=1, max_size=5))
def test_workers_stand_together_as_one_would(reported: list[Standing]) -> None:
    found = together(reported)
    assert found is not None
    for name in ("partitions", "in_flight", "ready", "retries"):
        assert getattr(found, name) == sum(getattr(each, name) for each in reported)
    assert Counter(found.waiting) == sum((Counter(each.waiting) for each in reported), Counter())
    for name in ("next_ready", "left"):
        known = [value for each in reported if (value := getattr(each, name)) is not None]
        assert getattr(found, name) == min(known, default=None)
    assert found.time == max(each.time for each in reported)
    assert 0 <= found.taken_up <= 1
    assert together([]) is None


# harvest curves

MOST = 20


def a_point(predicate: str, pages: int) -> HarvestPoint:
    return HarvestPoint(
        predicate=predicate, time=float(pages), pages=pages, hits=pages // 2, harvest_rate=0.5,
        rate_by_pages=0.5, rate_by_time=0.5, lift=None, policies={},
    )  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(["tea", "ski"]), st.integers(0, 40)), max_size=200))
def test_a_curve_is_thinned_and_ends_with_the_newest_point(steps: list[tuple[str, int]]) -> None:
    points, newest = Points(MOST), dict[str, int]()
    for predicate, more in steps:
        newest[predicate] = newest.get(predicate, 0) + more
        points.add([a_point(predicate, newest[predicate])])
    assert {name: curve[-1].pages for name, curve in points.curves.items()} == newest
    for curve in points.curves.values():
        assert len(curve) <= MOST
        pages = [point.pages for point in curve]
        assert pages == sorted(pages)


def test_a_long_curve_keeps_points_from_all_of_it() -> None:
    points = Points(MOST)
    points.add(a_point("tea", pages) for pages in range(10_000))
    pages = [point.pages for point in points.curves["tea"]]
    assert len(pages) >= MOST // 2
    assert max(later - earlier for earlier, later in pairwise(pages)) <= 4 * 10_000 / MOST


ONE = "At the door: 1 client"


def a_door(**fields: Any) -> DoorStanding:
    given_fields: dict[str, Any] = {"worker": "0", "time": NOW, "clients": 1, "leased": 0, "parked": 0}
    return DoorStanding(**given_fields | {"heard": NOW} | fields)


@each_case(
    ("doors", "standing", "said"),
    [
        ([], a_standing(), ""),
        ([a_door(clients=0)], None, "At the door: 0 clients have no page."),
        ([a_door(leased=4, parked=9)], a_standing(), f"{ONE} has 4 pages; 5 more wait for their turn."),
        ([a_door(leased=1, parked=1), a_door()], a_standing(room=3, ready=1),
            "At the doors: 2 clients have 1 page."),
        ([a_door()], a_standing(state="paused"), f"{ONE} has no page; no more come: the crawl is paused."),
        ([a_door()], a_standing(state="spent"), f"{ONE} has no page; no more come: the budget is spent."),
        ([a_door(leased=2, parked=2)], a_standing(room=0, ready=5),
            f"{ONE} has 2 pages; no more come before some are answered."),
        ([a_door()], a_standing(room=3, waiting=WAITING, **QUEUED),
            f"{ONE} has no page; no more come before a host's delay is over."),
        ([a_door()], a_standing(room=3), f"{ONE} has no page; no more are known."),
        ([a_door(leased=1, parked=1, heard=NOW - 300)], a_standing(room=3, ready=1),
            f"{ONE} has 1 page; nothing came back for 5 minutes."),
    ],
)  # fmt: skip
def test_what_is_at_a_door_is_said_and_why_no_more(
    doors: list[DoorStanding], standing: Standing | None, said: str
) -> None:
    assert at_doors(doors, standing, NOW) == said
