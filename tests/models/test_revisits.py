"""When a visit pays: what it gains, how often pages change, how far signals are trusted, which page is due."""

import math
from collections.abc import Collection
from decimal import Decimal, localcontext
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from scentline.models.revisit.content import SLACK, Answer, Sizes
from scentline.models.revisit.queue import RATIO, DueQueue
from scentline.models.revisit.rate import (
    NOTHING,
    Group,
    History,
    Prior,
    Trust,
    gain,
    limit,
    rate,
    stale,
    steps,
    when,
)
from tests.cases import each_case

#: Changes in the mean that a page has had since its visit, from hardly any to very many.
CHANGES = st.floats(-12, 4).map(lambda power: 10**power)
RATES = st.floats(-9, 3).map(lambda power: 10**power)


RECALLS = st.just(0.0) | st.floats(0.001, 0.95)


def exact(rate: float, age: float, recall: float = 0.0) -> float:
    with localcontext() as context:
        context.prec = 60
        d, r, x = Decimal(rate), Decimal(recall), (1 - Decimal(recall)) * Decimal(rate) * Decimal(age)
        if not r:
            return float((1 - (-x).exp() - x * (-x).exp()) / d)
        return float((1 - (-x).exp() - (1 - r) * (1 - (-x / (1 - r)).exp())) / r / d)


@given(RATES, CHANGES, RECALLS, st.floats(1.001, 10))
def test_the_gain_is_what_the_formula_says_with_signals_and_without_and_grows_up_to_its_limit(
    rate: float, changes: float, recall: float, times: float
) -> None:
    age = changes / rate
    assert gain(2.0, rate, age, recall) == pytest.approx(
        2 * exact(rate, age, recall), rel=1e-7 if recall else 1e-9
    )
    assert gain(1.0, rate, age) <= gain(1.0, rate, times * age) <= limit(1.0, rate)
    assert gain(1.0, rate, math.inf) == limit(1.0, rate) == pytest.approx(1 / rate)
    assert stale(rate, age) == pytest.approx(-math.expm1(-changes))


@given(RATES, st.floats(-10, -1e-6).map(math.exp), RECALLS)
def test_a_gain_is_reached_when_it_is_said_to_be(rate: float, part: float, recall: float) -> None:
    wanted = part * limit(3.0, rate)
    age = when(3.0, rate, wanted, recall)
    assert 3 * exact(rate, age, recall) == pytest.approx(wanted, rel=1e-6 if recall else 1e-8)


ANY = st.floats(min_value=0, allow_nan=False, allow_infinity=False)


@given(ANY, ANY, ANY)
def test_any_number_is_answered_by_a_number(one: float, two: float, three: float) -> None:
    # What never changes or nobody asks for gains nothing.
    assert gain(one, 0.0, two) == gain(0.0, one, two) == gain(one, two, -5.0) == stale(0.0, one) == 0.0
    assert when(1.0, 0.0, 1e-9) == when(0.0, 1.0, 1e-9) == when(1.0, 1.0, 1.0) == limit(1.0, 0.0) == math.inf
    for function in (gain, when):
        assert not math.isnan(function(one, two, three))


INTERVALS = st.floats(-2, 7).map(lambda power: 10**power)
Visits = list[tuple[float, bool]]
VISITS = st.lists(st.tuples(INTERVALS, st.booleans()), max_size=30)
PRIOR = Prior(1.0, 5000.0)


def of(visits: Visits) -> History:
    history = History()
    for interval, changed in visits:
        history.seen(interval, changed)
    return history


def log_posterior(change: float, visits: Visits, prior: Prior) -> float:
    """Return the log density of log D, up to a constant, from each visit by itself."""
    seen = sum(
        math.log(-math.expm1(-change * interval)) if changed else -change * interval
        for interval, changed in visits
    )
    return seen + prior.shape * math.log(change) - 2 * prior.shape * math.log(prior.rate + change)


def greatest(visits: Visits, prior: Prior) -> float:
    low, high = math.log(1e-12), math.log(1e6)
    for _ in range(200):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if log_posterior(math.exp(left), visits, prior) < log_posterior(math.exp(right), visits, prior):
            low = left
        else:
            high = right
    return math.exp(low)


@given(VISITS, st.lists(st.tuples(st.sampled_from([0.5, 64.0, 1000.0]), st.booleans()), max_size=30))
def test_the_rate_is_where_the_posterior_is_greatest_exact_if_even(visits: Visits, even: Visits) -> None:
    # Intervals of one power of two are taken for equal: of thirty at both its ends that costs a tenth of a nat.
    rates = rate(of(visits), PRIOR), greatest(visits, PRIOR)
    found, best = (log_posterior(each, visits, PRIOR) for each in rates)
    assert best - found < 0.15
    assert rate(of(even), PRIOR) == pytest.approx(greatest(even, PRIOR), rel=1e-5)


def test_what_was_announced_tells_nothing_of_changes_that_were_not() -> None:
    announced = History()
    announced.seen(10.0, True, signals=1)
    assert rate(announced, Prior(2.0, 500.0)) == rate(of([]), Prior(2.0, 500.0)) == 2.0 / 500.0


@given(VISITS, VISITS, st.floats(allow_nan=False))
def test_facts_add_up_in_any_order_any_history_has_a_rate(one: Visits, two: Visits, interval: float) -> None:
    history, visits = of(one + two), one + two
    assert history == of(two + one)
    assert (history.visits, history.changes) == (len(visits), sum(changed for _, changed in visits))
    assert history.seconds == pytest.approx(sum(interval for interval, _ in visits), rel=0.05, abs=0.1)
    history.seen(interval, True)
    assert 0 < rate(history, PRIOR) < math.inf
    assert 0 < rate(history, NOTHING) < math.inf
    with pytest.raises(ValueError, match="NaN"):
        history.seen(math.nan, True)


def test_a_history_is_small_and_bounded() -> None:
    assert len(msgspec.msgpack.encode(History())) == 9
    rng, history = Random(1), History()
    for _ in range(10_000):
        history.seen(math.exp(rng.uniform(-20, 40)), rng.random() < 0.5, rng.randrange(3))
    assert len(history.found) <= 42
    assert len(msgspec.msgpack.encode(history)) < 700
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(history), type=History) == history


def test_a_page_without_visits_is_like_its_group_and_one_with_many_like_itself() -> None:
    host, prefix = Group(), Group()
    for _ in range(200):
        host.seen(3600.0, False)
    for _ in range(20):
        prefix.seen(3600.0, True)
        prefix.seen(3600.0, False)
    of_host = host.prior(NOTHING)
    of_prefix = prefix.prior(of_host)
    assert of_host.rate < NOTHING.rate < of_prefix.rate
    assert rate(History(), of_prefix) == of_prefix.rate
    alone = of([(3600.0, False)] * 500)
    assert rate(alone, of_prefix) < of_prefix.rate / 100


def visits(change: float, recall: float, false: float, interval: float, number: int) -> Trust:
    """Return what so many visits to ten pages show, of signals with a recall and a rate of false ones."""
    rng, trust = Random(3), Trust()
    histories = [History() for _ in range(10)]
    for visit in range(number):
        announced = arrivals(rng, recall * change * interval)
        hidden = arrivals(rng, (1 - recall) * change * interval)
        signals = announced + arrivals(rng, false * interval)
        history = histories[visit % 10]
        trust.seen(interval, signals, announced + hidden > 0, history)
        history.seen(interval, announced + hidden > 0, signals)
    return trust


def arrivals(rng: Random, mean: float) -> int:
    number, product = 0, rng.random()
    while product > math.exp(-mean):
        number += 1
        product *= rng.random()
    return number


@each_case("recall", [0.2, 0.5, 0.9])
@each_case("false", [0.0, 1e-4, 1e-3])
def test_recall_and_false_signals_are_learned(recall: float, false: float) -> None:
    change = 1e-3
    trust = visits(change, recall, false, 300.0, 5000)
    assert trust.recall == pytest.approx(recall, abs=0.08)
    assert trust.false == pytest.approx(false / (false + recall * change), abs=0.08)


def test_trust_worked_by_hand() -> None:
    trust = Trust()
    assert (trust.false, trust.recall) == pytest.approx((1 / 2, 1 / 3))
    assert visits(1e-3, 0.0, 1e-3, 1000.0, 5000).false > 0.95, "noise is not believed"
    for _ in range(8):
        trust.seen(100.0, 1, True, History())
    trust.seen(100.0, 1, False, History())
    # A signal of nine was false, and one more of each is assumed: 2 of 11. So 9 x 9 / 11 were true; one more
    # announced change and two hidden ones are assumed.
    assert trust.false == pytest.approx(2 / 11, rel=0.01)
    assert trust.recall == pytest.approx((9 * 9 / 11 + 1) / (9 * 9 / 11 + 1 + 2), rel=0.01)
    assert steps(trust, 1e-3) == pytest.approx(-math.log(trust.false) / 1e-3)
    # After the step the copy is as likely right as no signal in so many seconds would have it.
    assert math.exp(-1e-3 * steps(trust, 1e-3)) == pytest.approx(trust.false)


@given(
    st.lists(st.tuples(st.floats(0, 1e9), st.integers(0, 1000), st.booleans()), max_size=20),
    st.floats(min_value=0, allow_nan=False),
)
def test_whatever_is_seen_a_step_is_bounded(seen: list[tuple[float, int, bool]], rate: float) -> None:
    trust = Trust()
    for interval, signals, changed in seen:
        trust.seen(interval, signals, changed, History())
    assert 0 < trust.false <= 1
    assert 0 < trust.recall < 1
    assert 0 <= steps(trust, rate) <= 100 * 365 * 86_400


#: Few times and sizes, so that they meet.
ANSWERS = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from([5000, 5000 + SLACK, 5001 + SLACK])), max_size=8
)


def at_and_last(answers: list[Answer], visited: float) -> tuple[Answer | None, Answer | None]:
    """Return what is to be kept of all answers so far: the twin."""
    before = [answer for answer in answers if answer[0] <= visited]
    after = [answer for answer in answers if answer[0] > visited]
    first = min(after, default=None)
    return max(before, default=first), max(after, default=None)


@given(st.lists(ANSWERS, min_size=1, max_size=4), st.data())
def test_what_is_kept_is_of_all_answers(intervals: list[list[tuple[int, int]]], data: st.DataObject) -> None:
    sizes, known = Sizes(), list[Answer]()
    for number, interval in enumerate(intervals):
        visited = 10.0 * number
        known += [(visited + 1 + time, size) for time, size in interval]
        # Those of earlier intervals come again, or late for the first time.
        told = data.draw(st.permutations(known + known))
        for time, size in told:
            sizes.take(visited, time, size)
        assert not any(sizes.take(visited, time, size) for time, size in told), "nothing new is said twice"
        at, last = at_and_last(known, visited)
        if told:
            assert (sizes.at, sizes.last) == (at, last or (0.0, 0))
            assert sizes.differ == (at is not None and last is not None and abs(at[1] - last[1]) > SLACK)


def test_a_cache_s_own_headers_are_no_change() -> None:
    sizes = Sizes()
    for time, size in [(11.0, 783), (12.0, 789), (13.0, 782)]:  # of a miss, a hit and a refresh of one page
        sizes.take(10.0, time, size)
    assert not sizes.differ


def test_a_page_that_gains_all_that_it_can_is_found() -> None:
    queue = DueQueue(limit=10)
    queue.put("u", "a.org", 0.001, 0.001, 0.0, 1e9, 0.0)  # its limit is 1, the lowest gain of a level
    assert queue.best(0.0, lambda host: True, 0.0) == ("u", 1.0)


# which is due: the queue against a twin that works out every gain at every choice


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
        number=st.integers(0, 30), host=st.sampled_from(HOSTS),
        importance=st.sampled_from([0.0, 0.001, 0.3, 1.0, 40.0]),
        rate=st.sampled_from([0.0, 1e-9, 1e-5, 1e-3, 0.1, 10.0]), before=st.sampled_from([0.0, 1.0, 1e4]),
        aged=st.sampled_from([0.0, 0.0, 100.0, 1e9]), recall=st.sampled_from([0.0, 0.3, 0.95]),
    )  # fmt: skip
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
