from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.crowd.trace import Step, Trace
from scentline.models.interest.features import split
from scentline.models.page import Link
from scentline.models.recount import FailedRequests, JudgedPage, recount
from tests.models.webs import FAILURES, PAGES, STEPS
from tests.reference.counting import Counting, GrowingTrace
from tests.reference.counts import Counts, plain

POLICIES = ["linkage", "collaborative", "combined", "learned", "breadth-first", "random"]


class Bounds(NamedTuple):
    parents: int
    reach: int
    visitors: int
    together: int
    window: int

    def trace(self, steps: list[Step]) -> Trace:
        return Trace(steps, reach=self.reach, users=self.visitors, others=self.together, window=self.window)

    def growing(self) -> GrowingTrace:
        return GrowingTrace(reach=self.reach, users=self.visitors, others=self.together, window=self.window)


BOUNDS = st.builds(
    Bounds, st.integers(1, 4), st.integers(1, 5), st.integers(1, 3), st.integers(1, 4), st.integers(1, 8)
)


Fact = JudgedPage | FailedRequests | Step


def mixed(
    pages: list[JudgedPage], steps: list[Step], random: Random, failures: Sequence[FailedRequests] = ()
) -> list[Fact]:
    """Return verdicts in any order and accesses in any order that is that of the log for each user.

    Failed requests for a page come before it.
    """
    before = {failed.url: failed for failed in failures}
    queues: list[Any] = [[*filter(None, [before.pop(page.url, None)]), page] for page in pages]
    queues += [[failed] for failed in before.values()]
    queues += [[step for step in steps if step.user == user] for user in sorted({step.user for step in steps})]
    facts: list[Fact] = []
    while queues := [queue for queue in queues if queue]:
        facts.append(random.choice(queues).pop(0))
    return facts


def take_in(counting: Counting, fact: Fact) -> set[str]:
    if isinstance(fact, FailedRequests):
        return counting.failed(fact)
    return counting.judged(fact) if isinstance(fact, JudgedPage) else counting.visit(fact)


def cells(counts: Counts) -> dict[tuple[str, str], tuple[int, int]]:
    return {(feature, predicate): (pages, hits) for feature, predicate, pages, hits in counts.items()}


@pytest.mark.parametrize("policy", POLICIES)
@given(PAGES, FAILURES, STEPS, BOUNDS, st.randoms(use_true_random=False))
def test_counts_equal_the_recount_at_any_time_in_whatever_order_answers_and_accesses_come(
    policy: str,
    pages: list[JudgedPage],
    failures: list[FailedRequests],
    steps: list[Step],
    bounds: Bounds,
    random: Random,
) -> None:
    failures = [failed._replace(silent=False) for failed in failures]
    counting = Counting(policy, **bounds._asdict())
    known_pages: list[JudgedPage] = []
    known_failures: list[FailedRequests] = []
    known_steps: list[Step] = []
    for fact in mixed(pages, steps, random, failures):
        before = cells(counting.counts)
        changed = take_in(counting, fact)
        if isinstance(fact, JudgedPage):
            known_pages.append(fact)
        elif isinstance(fact, FailedRequests):
            known_failures.append(fact)
        else:
            known_steps.append(fact)
        now = cells(counting.counts)
        assert {feature for (feature, _), _ in before.items() ^ now.items()} <= changed
        if random.random() < 0.2:
            trace = bounds.trace(known_steps)
            known = recount(known_pages, policy, trace, bounds.parents, failures=known_failures)
            assert counting.counts == plain(known)
    every = recount(pages, policy, bounds.trace(steps), bounds.parents, failures=failures)
    assert counting.counts == plain(every)


@given(STEPS, BOUNDS, st.randoms(use_true_random=False))
def test_a_growing_trace_is_at_the_end_that_of_the_whole_log(
    steps: list[Step], bounds: Bounds, random: Random
) -> None:
    whole, growing = bounds.trace(steps), bounds.growing()
    for fact in mixed([], steps, random):
        assert isinstance(fact, Step)
        growing.add(fact)
    assert growing.accesses == whole.accesses
    assert growing.visitors == whole.visitors
    assert growing.together == whole.together


def test_counts_equal_the_recount_where_more_signs_and_links_than_is_kept() -> None:
    random = Random(5)
    urls = [f"http://example.org/{number}" for number in range(60)]
    words = [f"word{number}" for number in range(300)]
    steps = [
        Step(f"user{random.randrange(50)}", random.choice(urls), float(time), random.choice([None, *urls]))
        for time in range(1500)
    ]
    pages = [
        JudgedPage(
            url,
            {"p": random.random() < 0.3},
            tuple(random.sample(words, 90)),
            tuple(Link(target, (random.choice(words),)) for target in random.sample(urls, 40)),
        )
        for url in urls
    ]
    trace = Trace(steps, users=20, others=30)
    for policy in ("combined", "learned"):
        expected = plain(recount(pages, policy, trace, 16))
        counting = Counting(policy, parents=16, visitors=20, together=30)
        for fact in mixed(pages, steps, random):
            take_in(counting, fact)
        assert counting.counts == expected


def test_a_repeated_line_and_a_second_verdict_change_nothing() -> None:
    counting = Counting("combined")
    page, step = JudgedPage("http://a.test/", {"p": True}), Step("ann", "http://a.test/", 1.0)
    assert counting.judged(page)
    assert counting.visit(step)
    before = cells(counting.counts)
    assert not counting.judged(JudgedPage(page.url, {"p": False}))
    assert not counting.visit(step)
    assert cells(counting.counts) == before


def test_a_page_leaves_a_region_when_a_late_line_moves_its_visit_away() -> None:
    counting = Counting("collaborative", reach=1)
    one, two, late = (f"http://{name}.test/" for name in "abc")
    counting.judged(JudgedPage(one, {"p": True}, ("snow",)))
    counting.judged(JudgedPage(two, {"p": False}))
    counting.visit(Step("ann", one, 1.0))
    assert {split(feature).kind for feature in counting.visit(Step("ann", two, 3.0))} == {
        "user", "signature", "region",
    }  # fmt: skip
    assert counting.counts.get("r:p", "p") == (1, 0)
    counting.visit(Step("ann", late, 2.0))
    assert counting.counts.get("r:p", "p") == (0, 0)
    assert counting.counts.get("s:snow", "p") == (0, 0)
