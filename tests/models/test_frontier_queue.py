"""The queue of candidates, and what is excluded from it, against what plain dictionaries say."""

import itertools
import math
import random
import re
import tracemalloc
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from scentline.models.frontier.queue import CandidateQueue
from scentline.models.frontier.steered import Exclusions
from tests.cases import each_case

LIMIT = 40
HOSTS = [f"h{number}.org" for number in range(6)]
hosts = st.sampled_from(HOSTS)
urls = st.integers(0, 89).map("http://x.org/{}".format)
priorities = st.sampled_from([-1.5, 0.0, 0.25, 1.0, 2.0, 7.0]) | st.floats(-10, 10)
ready_hosts = st.frozensets(hosts)


class QueueAgainstDictionary(RuleBasedStateMachine):
    """The model: URL to negated priority, order, URL and host; sorted, it is the candidates best first."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = CandidateQueue(LIMIT)
        self.model: dict[str, tuple[float, int, str, str]] = {}
        self.order = 0
        self.evicted: list[float] = []
        self.cut: tuple[float, int, str, str] | None = None
        self.refused = 0

    def put(self, url: str, host: str, priority: float, order: int) -> None:
        self.queue.put(url, host, priority, order)
        item = (-priority, order, url, host)
        known = url in self.model
        if not known and self.cut is not None and item > self.cut and len(self.model) > LIMIT - LIMIT // 10:
            self.refused += 1
        else:
            self.model[url] = item
        if len(self.model) + self.refused > LIMIT:
            worst = sorted(self.model.values())[LIMIT - LIMIT // 10 + 1 :]
            self.refused, self.cut = 0, min(worst, default=None)
            for item in worst:
                del self.model[item[2]]
                self.evicted.append(-item[0])

    @rule(batch=st.lists(st.tuples(urls, hosts, priorities, st.booleans()), max_size=60))
    def discovered(self, batch: list[tuple[str, str, float, bool]]) -> None:
        """Some that are known change their hosts, and some their orders."""
        for url, host, priority, later in batch:
            known = None if later else self.model.get(url)
            self.put(url, host, priority, known[1] if known else self.order)
            self.order += 1

    @rule(last=ready_hosts, count=st.integers(1, 8))
    def heads(self, last: frozenset[str], count: int) -> None:
        best: dict[str, str] = {}
        for item in sorted(self.model.values()):
            best.setdefault(item[3], item[2])
        expected = []
        for host, url in best.items():
            expected.append(url)
            if host in last:
                break
        assert self.queue.heads(count) == list(best.values())[:count]
        asked: list[str] = []

        def meets(host: str) -> bool:
            asked.append(host)
            return host in last

        assert self.queue.heads(meets=meets) == expected
        assert len(asked) == len(set(asked))

    @rule(seed=st.integers(0, 1000), rounds=st.integers(1, 8))
    def rescored(self, seed: int, rounds: int) -> None:
        rng = random.Random(seed)
        for _ in range(rounds):
            for url, (_, order, _, host) in list(self.model.items()):
                self.put(url, host, rng.choice([-3.0, 0.5, 4.0]), order)

    @rule(url=urls)
    def discarded(self, url: str) -> None:
        self.queue.discard(url)
        self.model.pop(url, None)

    @rule(count=st.integers(1, 60), ready=ready_hosts)
    def best_taken(self, count: int, ready: frozenset[str]) -> None:
        for url in self.queue.best(count, ready.__contains__)[: count // 2]:
            self.queue.discard(url)
            del self.model[url]

    @rule(count=st.integers(0, 60), closed=ready_hosts, failing=ready_hosts)
    def best_is_sorted_dictionary(self, count: int, closed: frozenset[str], failing: frozenset[str]) -> None:
        """Hosts are asked once, best first and none behind the last candidate; one that fails loses none."""
        expected: list[str] = []
        to_ask: dict[str, None] = {}
        for _, _, url, host in sorted(self.model.values()):
            if len(expected) < count:
                to_ask[host] = None
                expected += [url] if host not in closed else []
        asked: list[str] = []

        def ready(host: str) -> bool:
            asked.append(host)
            if host in failing:
                raise LookupError(host)
            return host not in closed

        if failing & to_ask.keys():
            with pytest.raises(LookupError):
                self.queue.best(count, ready)
        failing, asked = frozenset(), []
        assert self.queue.best(count, ready) == expected
        assert asked == list(to_ask)

    @rule(seed=st.integers(0, 1000), ready=ready_hosts)
    def sample_is_of_a_ready_host(self, seed: int, ready: frozenset[str]) -> None:
        drawn = self.queue.sample(random.Random(seed), ready.__contains__)
        possible = {item[2] for item in self.model.values() if item[3] in ready}
        assert drawn in possible if possible else drawn is None

    @rule()
    def floor_reset(self) -> None:
        self.queue.reset_floor()
        self.evicted.clear()
        self.cut = None

    @rule(number=st.integers(1, 50), most=st.sampled_from([0.0, 0.5, 1.0, 2.5, math.inf]), counting=ready_hosts)
    def the_nth_of_the_best_of_each_host_is_found(
        self, number: int, most: float, counting: frozenset[str]
    ) -> None:
        found: list[float] = []
        for host in counting:
            own = sorted(item[0] for item in self.model.values() if item[3] == host)
            found += own if math.isinf(most) else own[: math.ceil(most)]
        expected = -sorted(found)[number - 1] if number <= len(found) else -math.inf
        assert self.queue.nth(number, lambda host: most if host in counting else 0.0) == expected

    @invariant()
    def holds_what_the_dictionary_holds(self) -> None:
        assert len(self.queue) == len(self.model)
        assert all(url in self.queue for url in self.model)
        assert all(self.queue.priority(url) == -item[0] for url, item in self.model.items())
        # No best() here: it tidies the heaps, and would hide what the rules leave behind.
        assert self.queue.floor == max(self.evicted, default=None)


QueueAgainstDictionary.TestCase.settings = settings(stateful_step_count=40)
TestQueueAgainstDictionary = QueueAgainstDictionary.TestCase


def filled(sizes: dict[str, int], limit: int = 10_000) -> CandidateQueue:
    queue = CandidateQueue(limit)
    found = ((host, number) for host, size in sizes.items() for number in range(size))
    for order, (host, number) in enumerate(found):
        queue.put(f"http://{host}/{number}", host, float(number), order)
    return queue


def test_sample_is_uniform_over_the_candidates_of_ready_hosts() -> None:
    queue = filled({"a.org": 2, "b.org": 6, "c.org": 40})
    for url in ("http://b.org/4", "http://b.org/5"):
        queue.discard(url)
    for number in range(30):
        queue.put("http://a.org/0", "a.org", 10.0 + number, 0)
    rng = random.Random(7)
    drawn = Counter(queue.sample(rng, lambda host: host != "c.org") for _ in range(6000))
    assert set(drawn) == {f"http://a.org/{n}" for n in range(2)} | {f"http://b.org/{n}" for n in range(4)}
    # A binomial of 6,000 at 1/6 has a standard deviation of 29: five of them.
    assert all(abs(count - 1000) < 145 for count in drawn.values())


def test_sample_ends_when_most_of_a_heap_is_stale() -> None:
    class Last(random.Random):
        """Draws the newest slot of a heap, always."""

        def random(self) -> float:
            return 0.999

        def getrandbits(self, k: int) -> int:
            return (1 << k) - 1 if k < 2 else 2

    queue = filled({"a.org": 1})
    for priority in (3.0, 2.0):
        queue.put("http://a.org/0", "a.org", priority, 0)
    assert queue.sample(Last(), lambda host: True) == "http://a.org/0"


@each_case("rising", [0, 1])
def test_rescoring_again_and_again_takes_no_more_memory(rising: int) -> None:
    queue = filled({"a.org": 500, "b.org": 3})
    rng = random.Random(1)
    step = itertools.count()

    def rescore(rounds: int) -> int:
        for _ in range(rounds):
            for number in range(500):
                queue.put(f"http://a.org/{number}", "a.org", rising * next(step) + rng.random(), number)
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        once = rescore(5)
        assert rescore(100) < 2 * once
    finally:
        tracemalloc.stop()


def test_what_is_no_limit_no_candidate_and_no_number_is_refused_without_naming_the_page() -> None:
    with pytest.raises(ValueError, match="limit is 0, expected at least 1"):
        CandidateQueue(0)
    queue = CandidateQueue(10)
    with pytest.raises(KeyError):
        queue.priority("http://a.org/")
    with pytest.raises(ValueError, match=r"priority of a\.org order 4 is nan, expected a number"):
        queue.put("http://a.org/?secret", "a.org", float("nan"), 4)
    assert len(queue) == 0


@example([(0, 0, True), (1, 0, True), (2, 0, True), (0, 0, False), (3, 0, True)])
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.booleans()), max_size=60))
def test_an_owner_has_no_more_hosts_than_allowed_others_lose_none(steps: list[tuple[int, int, bool]]) -> None:
    queue, kept = CandidateQueue(1000, hosts=3), set[str]()
    for number, page, comes in steps:
        host = f"{number}.farm.org" if number < 8 else f"{number}.org"
        url = f"http://{host}/{page}"
        if comes:
            queue.put(url, host, float(page), number)
            room = len({known.split("/")[2] for known in kept if "farm" in known} | {host}) <= 3
            if number >= 8 or room:
                kept.add(url)
            else:
                assert queue.floor is not None and queue.floor >= page
        else:
            queue.discard(url)
            kept.discard(url)
        assert set(queue) == kept
    assert sorted(queue.best(1000, lambda host: True)) == sorted(kept)


# Few signs, so that prefixes begin with each other and URLs with them.
texts = st.text("ab/", max_size=5).map("http://a.org/{}".format)
names = st.sampled_from("stuvwxyz")
prefixes = texts.map(lambda text: (text, ""))
expressions = st.sampled_from(["a+b", "/$", "(?i)B", "b/b"]).map(lambda text: ("", text))
changes = st.lists(st.tuples(names, prefixes | expressions | st.none()), max_size=20)


@given(changes, st.lists(texts, min_size=1, max_size=10))
def test_exclusions_hold_as_each_says(told: list[tuple[str, tuple[str, str] | None]], urls: list[str]) -> None:
    excluded, known = Exclusions(), dict[str, tuple[str, str]]()
    for name, what in told:
        if what is None:
            assert excluded.discard(name) == (known.pop(name, None) is not None)
        else:
            excluded.put(name, *what)
            known[name] = what
        assert len(excluded) == len(known)
        for url in urls:
            holding = {
                each
                for each, (prefix, expression) in known.items()
                if (url.startswith(prefix) if prefix else re.search(expression, url))
            }
            assert excluded.has(url) == bool(holding)
            assert excluded.of(url) in (holding or {""})


@each_case("expression", ["(", "a{1001}", r"(?=a)", "(" * 2000, "[" * 10])
def test_what_is_no_expression_of_re2_is_an_error_and_excludes_nothing(expression: str) -> None:
    excluded = Exclusions()
    with pytest.raises(ValueError, match=r"."):
        excluded.put("x", "", expression)
    assert not excluded
