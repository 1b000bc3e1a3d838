"""The due queue against a twin that works out every gain at every choice."""

import math
from collections.abc import Collection

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from scentline.models.revisit.gain import gain
from scentline.models.revisit.queue import RATIO, DueQueue

HOSTS = ("a.org", "b.org", "c.org")
#: A rounding more than what is promised.
NEAR = RATIO * (1 + 1e-6)


class Queues(RuleBasedStateMachine):
    """A queue, and the gain of every page worked out anew, as time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.queue, self.now = DueQueue(limit=1000), 0.0
        #: Host, importance, rate, since when, and recall.
        self.pages: dict[str, tuple[str, float, float, float, float]] = {}

    def gain(self, url: str, now: float) -> float:
        _, importance, rate, since, recall = self.pages[url]
        return gain(importance, rate, now - since, recall)

    def greatest(self, now: float, hosts: Collection[str] = HOSTS) -> float:
        return max((self.gain(url, now) for url, page in self.pages.items() if page[0] in hosts), default=0.0)

    @rule(
        number=st.integers(0, 30),
        host=st.sampled_from(HOSTS),
        importance=st.sampled_from([0.0, 0.001, 0.3, 1.0, 40.0]),
        rate=st.sampled_from([0.0, 1e-9, 1e-5, 1e-3, 0.1, 10.0]),
        before=st.sampled_from([0.0, 1.0, 1e4]),
        aged=st.sampled_from([0.0, 0.0, 100.0, 1e9]),
        recall=st.sampled_from([0.0, 0.3, 0.95]),
    )
    def put(
        self, number: int, host: str, importance: float, rate: float, before: float, aged: float, recall: float
    ) -> None:
        since = self.now - before
        self.queue.put(f"u{number}", host, importance, rate, since, aged, recall)
        self.pages[f"u{number}"] = (host, importance, rate, since - aged, recall)

    @rule(number=st.integers(0, 30))
    def discard(self, number: int) -> None:
        self.queue.discard(f"u{number}")
        self.pages.pop(f"u{number}", None)

    @rule(seconds=st.sampled_from([0.1, 1.0, 30.0, 1000.0, 1e5]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(
        hosts=st.sets(st.sampled_from(HOSTS)),
        least=st.sampled_from([0.0, 0.0, 1e-9, 1e-3, 1.0, 50.0]),
        visit=st.booleans(),
    )
    def choose(self, hosts: set[str], least: float, visit: bool) -> None:
        exact = self.greatest(self.now, hosts)
        found = self.queue.best(self.now, hosts.__contains__, least)
        if found is None:
            assert exact <= least * NEAR
            return
        url, gained = found
        assert self.pages[url][0] in hosts
        assert gained == self.gain(url, self.now)
        assert gained * NEAR >= exact
        assert gained * (1 + 1e-6) >= least
        if visit:
            host, importance, rate, _, recall = self.pages[url]
            self.queue.put(url, host, importance, rate, self.now, recall=recall)
            self.pages[url] = (host, importance, rate, self.now, recall)

    @precondition(lambda self: self.pages)
    @rule(least=st.sampled_from([1e-9, 1e-3, 1.0, 50.0]))
    def sleep(self, least: float) -> None:
        """Look when it is said to be time: nothing came due much before, and at last something does."""
        while (due := self.queue.next(self.now, least)) > self.now:
            if due == math.inf:
                assert self.greatest(1e30) <= least * NEAR
                return
            assert self.greatest(math.nextafter(due, 0)) <= least * NEAR
            self.now = due
        assert self.queue.best(self.now, HOSTS.__contains__, least) is not None

    @invariant()
    def same(self) -> None:
        assert len(self.queue) == len(self.pages)
        assert all(url in self.queue for url in self.pages)


TestQueues = Queues.TestCase
TestQueues.settings = settings(stateful_step_count=60)


def test_a_host_is_asked_once_and_a_busy_one_is_passed_over() -> None:
    queue, asked = DueQueue(100), []
    for number in range(20):
        queue.put(f"a{number}", "a.org", 9.0, 1e-3, 0.0)
        queue.put(f"b{number}", "b.org", 1.0, 1e-3, 0.0)

    def ready(host: str) -> bool:
        asked.append(host)
        return host == "b.org"

    assert queue.best(5.0, lambda host: False) is None
    for now in (10.0, 500.0):
        asked.clear()
        found = queue.best(now, ready)
        assert found is not None
        assert found[0].startswith("b")
        assert sorted(asked) == ["a.org", "b.org"]


def test_those_that_come_due_last_leave_when_there_are_too_many() -> None:
    queue = DueQueue(limit=100)
    for number in range(101):
        queue.put(f"u{number}", f"h{number % 7}", 1.0, 1e-4 if number % 10 else 1e-12, float(-number))
    assert len(queue) == 90
    assert not any(f"u{number}" in queue for number in range(0, 101, 10))


@given(st.lists(st.floats(), min_size=3, max_size=4))
def test_no_number_breaks_it(numbers: list[float]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        DueQueue(0)
    queue = DueQueue(2)
    try:
        queue.put("a", "a.org", *numbers)
    except ValueError:
        assert len(queue) == 0
    else:
        for number in range(3):
            queue.put(f"b{number}", "b.org", 1.0, 1e-3, 0.0)
        found = queue.best(1e9, lambda host: True)
        assert found is not None
        assert found[1] > 0
