"""In what state a crawl is, in words: every state has its sentence, and no crawl is without one."""

from collections import Counter
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.window.screens.now import together
from scentline.agents.window.state import REASONS, Facts, said
from scentline.streams.published import Standing
from tests.cases import each_case

NOW = 1_000_000.0


def a_standing(**told: Any) -> Standing:
    given_fields: dict[str, Any] = {"worker": "0", "time": NOW, "state": "running", "partitions": 1, "of": 1}
    return Standing(**given_fields | told)


def of(standing: Standing | None, **told: Any) -> Facts:
    facts = Facts(now=NOW, begun=True, running=True, standing=standing, asked=NOW, predicates=1)
    return facts._replace(**told)


ENDED = a_standing(state="ended", final=True, time=NOW - 7_200)
QUEUED = {"queued": {"p": 900, "q": 400}}
WAITING = {"delay": 40, "retry-after": 2}


@each_case(
    ("facts", "mood", "text"),
    [
        (Facts(NOW, begun=False, running=False), "rest", "No crawl has begun in this directory yet."),
        # at rest
        (
            of(ENDED, running=False),
            "rest",
            "No crawl has run on this directory for 2 hours: it was stopped. The same command goes on with it.",
        ),
        (
            of(msgspec.structs.replace(ENDED, state="spent", budget=500, judged=500), running=False),
            "rest",
            "No crawl has run on this directory for 2 hours: the budget of 500 pages is spent. "
            "A larger budget goes on with it.",
        ),
        (
            of(msgspec.structs.replace(ENDED, state="spent", requests_budget=600, judged=500), running=False),
            "rest",
            "No crawl has run on this directory for 2 hours: the budget of 600 requests is spent. "
            "A larger budget goes on with it.",
        ),
        (
            of(msgspec.structs.replace(ENDED, state="done"), running=False),
            "rest",
            "No crawl has run on this directory for 2 hours: nothing was left to fetch.",
        ),
        (
            of(msgspec.structs.replace(ENDED, state="paused"), running=False),
            "rest",
            "No crawl has run on this directory for 2 hours: it was paused, and stopped. "
            "The same command goes on with it.",
        ),
        (
            of(a_standing(time=NOW - 9_000), running=False, newest=NOW - 300),
            "bad",
            "No crawl has run on this directory for 5 minutes: it ended without a word, as by a kill. "
            "The same command goes on with it.",
        ),
        (
            of(a_standing(time=NOW - 2), running=False),
            "waits",
            "The crawl has just ended: how is being read.",
        ),
        (
            of(None, running=False),
            "bad",
            "No crawl runs on this directory: it ended without a word, as by a kill. "
            "The same command goes on with it.",
        ),
        # no answer
        (of(None), "waits", "The crawl runs: how it stands is asked for."),
        (of(a_standing(time=NOW - 25)), "waits", "The crawl runs: how it stands is asked for."),
        (
            of(a_standing(time=NOW - 25), asked=NOW - 22),
            "bad",
            "The crawl runs, and no worker has answered for 22 seconds.",
        ),
        (
            of(a_standing(partitions=3, of=12)),
            "bad",
            "No answer from a worker: nobody tells of 9 of 12 partitions.",
        ),
        # it runs, and fetches nothing
        (
            of(a_standing(state="paused", in_flight=2)),
            "rest",
            "Paused, 2 pages are still in flight: nothing is ordered until the crawl is resumed.",
        ),
        (
            of(a_standing(state="starting", taken_up=0.4)),
            "waits",
            "Starting: candidates are read, 40 % so far.",
        ),
        (
            of(a_standing(state="spent", budget=500, judged=500, in_flight=1)),
            "rest",
            "The budget of 500 pages is spent, 1 page is still in flight.",
        ),
        (of(a_standing(**QUEUED), predicates=0, paused=2), "rest", "Every predicate is paused."),
        (
            of(a_standing(waiting=WAITING, next_ready=3.2, **QUEUED)),
            "waits",
            "42 hosts have pages, all wait: the next in 3 s (40 for the delay between two requests, "
            "2 for the end of a Retry-After).",
        ),
        (
            of(a_standing(waiting={"robots": 1}, next_ready=0.25, **QUEUED)),
            "waits",
            "1 host has pages, and waits: the next in 0.2 s (for the delay that robots.txt asks for).",
        ),
        (
            of(a_standing(waiting={"busy": 2_000}, seen=0.5, **QUEUED)),
            "waits",
            "About 2,000 hosts have pages, all wait (for an answer).",
        ),
        (
            of(a_standing(ready=1, **QUEUED)),
            "waits",
            "1 host may be asked: the next page is about to be ordered.",
        ),
        (
            of(a_standing(filling=True)),
            "waits",
            "Nothing is in flight: all that is known is looked through for candidates.",
        ),
        (
            of(a_standing(opening=True, taken_up=0.125)),
            "waits",
            "No candidate yet: they are read, 12 % so far.",
        ),
        (
            of(a_standing(retries=1, next_retry=90.0)),
            "waits",
            "No candidate is left but 1 page waits for another attempt: the next in 1 minute.",
        ),
        (
            of(a_standing(state="done")),
            "rest",
            "No candidate is left: what comes from a log, a seed or a revisit is waited for.",
        ),
        # it runs, and fetches
        (of(a_standing(in_flight=1, room=3, ready=9, **QUEUED)), "good", "1 page is in flight."),
        (
            of(a_standing(in_flight=16, room=0, revisits_in_flight=4, ready=9, **QUEUED)),
            "good",
            "16 pages are in flight, 4 of them visited again, as many as may be.",
        ),
        (
            of(a_standing(in_flight=2, room=3, waiting={"delay": 7}, next_ready=0.5, **QUEUED)),
            "good",
            "2 pages are in flight; 7 hosts have pages, all wait: the next in 0.5 s "
            "(for the delay between two requests).",
        ),
    ],
)
def test_every_state_has_its_sentence(facts: Facts, mood: str, text: str) -> None:
    assert said(facts) == (mood, text)


counts = st.integers(0, 10**9)
seconds = st.none() | st.floats(0, 1e6)


def test_a_crawl_that_had_answers_fetches_as_long_as_the_next_page_is_near() -> None:
    for seconds, mood in ((2.0, "good"), (60.0, "waits")):
        standing = a_standing(waiting=WAITING, next_ready=seconds, requests_a_second=2.0, **QUEUED)
        assert said(of(standing)).mood == mood


standings = st.builds(
    Standing,
    worker=st.sampled_from("0123"),
    time=st.floats(NOW - 100, NOW),
    state=st.sampled_from(["starting", "running", "paused", "spent", "done", "ended", "unheard of"]),
    final=st.booleans(),
    partitions=st.integers(1, 4),
    of=st.just(4),
    in_flight=counts,
    queued=st.dictionaries(st.sampled_from("pq"), counts),
    ready=counts,
    waiting=st.dictionaries(st.sampled_from([*REASONS, "unheard of"]), counts),
    next_ready=seconds,
    seen=st.floats(0, 1),
    retries=counts,
    next_retry=seconds,
    opening=st.booleans(),
    filling=st.booleans(),
    taken_up=st.floats(0, 1),
    left=st.none() | counts,
    pages_a_second=seconds,
)


@given(
    st.builds(
        Facts, st.just(NOW), st.booleans(), st.booleans(), st.none() | standings, st.floats(0, NOW),
        st.floats(NOW - 100, NOW), st.integers(0, 3), st.integers(0, 3),
    )
)  # fmt: skip
def test_no_crawl_is_without_a_sentence(facts: Facts) -> None:
    mood, text = said(facts)
    assert mood in ("good", "waits", "rest", "bad")
    assert text.endswith(".")
    assert "  " not in text


@given(st.lists(standings, min_size=1, max_size=5))
def test_workers_stand_together_as_one_would(told: list[Standing]) -> None:
    found = together(told)
    assert found is not None
    assert (found.partitions, found.in_flight) == (
        sum(each.partitions for each in told),
        sum(each.in_flight for each in told),
    )
    assert Counter(found.waiting) == sum((Counter(each.waiting) for each in told), Counter())
    assert found.next_ready == min(
        (each.next_ready for each in told if each.next_ready is not None), default=None
    )
    assert found.left == min((each.left for each in told if each.left is not None), default=None)
    assert found.time == max(each.time for each in told)
    assert 0 <= found.taken_up <= 1
    assert together([]) is None
