"""The candidates in memory: what is offered, what waits, what is chosen, and that nothing is lost."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.facts import Beside, Found, Missing, Together, Visited
from scentline.models.frontier.flights import Retries
from scentline.models.frontier.keys import host_key, page_key
from scentline.models.frontier.queue import SWEPT
from scentline.models.frontier.rows import HostRow
from scentline.models.page import FAILED, Link
from scentline.models.policy.combiner import usual_chance_of_page
from scentline.models.policy.features import BASE
from scentline.models.policy.inputs import INPUTS, inputs_with
from scentline.models.published import PredicateDefinition
from scentline.models.url import host
from tests.agents.cells import a_cells, teach
from tests.agents.scenarios import NO, NOW, YES, Frontiers, ended, linked, seeded, urls
from tests.cases import each_case


def visited(*found: str) -> list[Visited]:
    return [Visited(url, "u", 1.0) for url in found]


def test_the_best_candidate_is_chosen_first_each_predicate_by_its_own_scores(frontier: Frontiers) -> None:
    front = frontier()
    front.follow("q")
    found = [f"http://a.org/{name}/{number}" for name in ("x", "good", "better") for number in "12"]
    front.hear(seeded("http://b.org/"), *visited(*found))
    assert front.queued("p") == front.queued("q") == {"http://b.org/", *found}
    front.hear(ended("http://b.org/", YES, NOW))
    front.like(good=60, better=80)
    front.like(better=60, good=80, predicate="q")
    paths = ("better/1", "good/1", "better/2", "good/2", "x/1", "x/2")
    assert [front.choose(predicate) for predicate in "pqpqpq"] == [f"http://a.org/{path}" for path in paths]
    assert front.choose() is None
    assert [flight.predicate for flight in front.agent.core.candidates.flights.values()] == list("pqpqpq")


def test_breadth_first_takes_the_least_depth_and_then_the_first_discovered(frontier: Frontiers) -> None:
    front = frontier(policy="breadth-first")
    front.like(good=90)
    front.hear(*visited("http://a.org/good"), seeded("http://a.org/2"), seeded("http://a.org/1"))
    front.hear(Found("http://a.org/moved", 2, {"p": -2.0}))  # before what the log alone knows
    assert front.choices() == [f"http://a.org/{path}" for path in ("2", "1", "moved", "good")]


def test_candidates_below_the_threshold_are_set_aside_until_more_is_known(frontier: Frontiers) -> None:
    front = frontier(threshold=0.5)
    front.like(good=60)
    front.hear(seeded("http://a.org/seed"), *visited("http://a.org/good", "http://a.org/x"))
    assert front.state("http://a.org/x") == "candidate"
    assert front.choices() == ["http://a.org/good", "http://a.org/seed"]
    front.like(good=60, x=80)
    front.sweep()
    assert front.queued() == {"http://a.org/x"}
    front.like(good=60, x=1)
    front.hear(*visited("http://a.org/x"))
    assert front.queued() == set()
    front.like(good=60, x=80)
    front.sweep()
    assert front.choices() == ["http://a.org/x"]


def test_a_host_gets_no_more_pages_than_its_budget_failed_requests_apart(frontier: Frontiers) -> None:
    front = frontier(host_budget=3)
    front.shards[0].put(host_key("h0.org"), HostRow(1))
    front.hear(*map(seeded, urls(20, hosts=2)))
    chosen = front.choices()
    front.sweep()
    chosen += front.choices()
    assert sorted(map(host, chosen)) == ["h0.org"] * 2 + ["h1.org"] * 3
    first, second = (url for url in chosen if host(url) == "h0.org")
    front.hear(ended(first, Missing("gone", "404"), NOW), ended(second, YES, NOW))
    front.sweep()
    assert len(front.choices()) == 1


def test_a_page_is_too_deep_until_a_shorter_way_is_found(frontier: Frontiers) -> None:
    front = frontier(max_depth=1)
    front.hear(linked("http://b.org/", ["http://a.org/"], depth=1))
    assert front.choices() == []
    front.hear(*visited("http://a.org/"))
    assert front.choices() == ["http://a.org/"]


def test_a_url_waits_once_for_its_retry_and_is_then_chosen_again(frontier: Frontiers) -> None:
    front = frontier(retry_seconds=10.0)
    front.hear(seeded("http://a.org/"))
    assert front.choose() == "http://a.org/"
    front.hear(ended("http://a.org/", Missing("retry", "timeout"), front.now))
    for _ in range(5):
        front.sweep()
    retries = front.agent.core.candidates.retries
    assert (retries.urls, front.choose(), retries.next) == (1, None, front.now + 10.0)
    assert [front.ordered(after=after) for after in (9.9, 0.1)] == [[], ["http://a.org/"]]
    assert retries.next is None


@each_case("restarts", [(), (1,), (2, 20, 200)])
def test_all_urls_are_fetched_though_few_are_in_memory(frontier: Frontiers, restarts: tuple[int, ...]) -> None:
    """Each URL is answered with a failure first, and must come again."""
    front = frontier(queue=5, window_max=1, streams={"partitions": 2})
    front.follow("q")
    found = urls(40, hosts=7)
    front.hear(*map(seeded, found))
    failed, answered = list[str](), list[str]()
    for step in range(10_000):
        for order in front.order(after=50.0, looks=True):
            if order.url in failed:
                answered.append(order.url)
                front.answer(order, verdict=NO)
            else:
                failed.append(order.url)
                wait = 1e4 + 7.0 * (len(failed) // 3)
                front.hear(ended(order.url, Missing("retry", "503"), front.now, order.order, retry_after=wait))
        if step in restarts:
            front.agent.core.candidates.note_start()
            front.commit()
            front = front.restart()
            front.follow("q")
        candidates = front.agent.core.candidates
        assert max(candidates.retries.urls, *map(len, candidates.queues.values())) <= 5
        if front.agent.core.finished:
            break
    assert sorted(answered) == sorted(found)


WAITS = st.lists(st.tuples(st.sampled_from("abcdefghij"), st.integers(1, 9), st.integers(0, 2)), max_size=80)


@given(st.integers(1, 6), WAITS)
def test_what_waits_is_in_memory_or_known_to_be_on_disk(most: int, steps: list[tuple[str, int, int]]) -> None:
    """The twin are the rows: who waits until when. Rows are looked through whenever it is said to be time."""
    retries, rows, now = Retries(most), dict[str, float](), 0.0
    for url, wait, elapsed in steps:
        now += elapsed
        taken = set(retries.due(now))
        if retries.passed(now):
            retries.look_again()
            for name, until in rows.items():
                if until > now:
                    retries.put(name, until)
            taken.update(name for name, until in rows.items() if until <= now)
        assert {name for name, until in rows.items() if until <= now} <= taken
        rows = {name: until for name, until in rows.items() if until > now}
        if rows.get(url, 0.0) < now + wait:
            rows[url] = now + wait
            retries.put(url, now + wait)
        assert retries.urls <= most
        assert bool(retries) or not rows
        assert retries.next is not None
        assert retries.next <= min(rows.values())


def test_a_sweep_ends_when_each_shard_was_gone_through_once(frontier: Frontiers) -> None:
    front = frontier(streams={"partitions": 3})
    found = [f"http://h{number % 40}.org/{number}" for number in range(2500)]
    front.hear(*map(seeded, found))
    assert front.sweep() <= len(found) // SWEPT + 1


PLACES = st.sampled_from(urls(6))
ACCESSES = st.one_of(
    st.builds(Visited, PLACES, st.sampled_from("uvw"), st.just(1.0)),
    st.builds(
        lambda url, others: Together(url, tuple(Beside(page_key(other)[1:], 0, 1, 6) for other in others)),
        PLACES,
        st.sets(PLACES, min_size=1, max_size=4),
    ),
    st.builds(lambda url, hit: ended(url, {"p": hit}, 1.0, words=("ski",)), PLACES, st.booleans()),
)


@pytest.mark.parametrize("policy", ["learned", "collaborative"])
@given(facts=st.lists(ACCESSES, max_size=25), together=st.integers(1, 4))
def test_users_leave_scores_as_of_now(
    frontier: Frontiers, policy: str, facts: list[Any], together: int
) -> None:
    front = frontier(policy=policy, threshold=-1e9, together=together)
    front.agent.core.ledger.count = lambda *_: None  # type: ignore[method-assign]  # by what is taught alone
    cells = {BASE: (1000, 100), "r:p": (100, 60), "s:ski": (100, 50), "u:u": (100, 5)}
    teach(front.agent.core.candidates.scorer, a_cells({name: {"p": cell} for name, cell in cells.items()}))
    for fact in facts:
        front.hear(fact)
    queue = front.agent.core.candidates.queues["p"]
    found = [row for row in map(front.page, queue) if row.state == "candidate"]
    now = front.agent.core.candidates.priorities.of(front.shards[0], found, ["p"])
    assert [queue.priority(row.url) for row in found] == [pytest.approx(each["p"]) for each in now]


@each_case(("delay", "chosen", "chance"), [(0.0, 0, 1 / 8), (1.0, 1, 1 / 4)])
def test_an_explored_choice_has_its_chance(
    frontier: Frontiers, delay: float, chosen: int, chance: float
) -> None:
    front = frontier(policy="random", fetch={"delay_seconds": delay})
    front.hear(*map(seeded, urls(8, hosts=2)))
    for _ in range(chosen):
        front.choose()  # of its host none may be chosen now
    assert (front.agent.core.candidates.pick("p", NOW) or ())[2:] == (True, chance)


def test_about_the_set_share_of_the_choices_is_left_to_chance(frontier: Frontiers) -> None:
    front = frontier(explore=0.25)
    front.hear(*map(seeded, urls(100)))
    picks = [front.agent.core.candidates.pick("p", NOW) for _ in range(1000)]
    explored = [picked[3] for picked in picks if picked is not None and picked[2]]
    best = {picked[1].url for picked in picks if picked is not None and not picked[2]}
    assert 200 < len(explored) < 300
    assert (set(explored), best) == ({0.25 / 100}, {urls(1)[0]})


@each_case("fails", [True, False])
def test_a_learned_choice_notes_inputs_and_what_is_expected(frontier: Frontiers, fails: bool) -> None:
    front = frontier(policy="learned")
    front.follow("q")
    scorer = front.agent.core.candidates.scorer
    if not fails:  # where next to no request fails, none is foretold
        scorer.ledger.add(scorer.ledger.slots_of([BASE]), {FAILED: False}, 1000)
        scorer.learn(scorer.ledger.slots_of([BASE]))
    (url,) = urls(1)
    front.hear(Visited(url, "u", NOW))
    front.order()
    row = front.page(url)
    assert row.choice is not None and row.choice.expected is not None and row.choice.comes is not None
    assert 0 < row.choice.expected < 1
    assert 0 < row.choice.comes < 1 if fails else row.choice.comes == usual_chance_of_page(1000, 0)
    assert set(row.inputs) == ({"p", "q", FAILED} if fails else {"p", "q"})
    assert {len(inputs) for inputs in row.inputs.values()} == {len(inputs_with(meaning=False))}


def test_a_page_chosen_for_what_redirects_to_it_keeps_the_inputs_handed_on(frontier: Frontiers) -> None:
    front = frontier(policy="learned")
    better, worse = urls(2, hosts=2)
    handed = {"p": (0.25,) * len(INPUTS)}
    front.hear(Found(better, 1, {"p": 9.0}, False, handed), Found(worse, 1, {"p": -99.0}, False, handed))
    front.exhaust()
    assert [front.page(url).inputs["p"] == handed["p"] for url in (better, worse)] == [True, False]


@each_case(
    ("policy", "rest"),
    [
        ("linkage", {"http://b.org/target", "http://b.org/other"}),
        ("collaborative", {"http://b.org/visited"}),
        ("combined", {"http://b.org/visited", "http://b.org/other"}),
    ],
)
def test_by_the_letter_candidates_are_the_policys(frontier: Frontiers, policy: str, rest: set[str]) -> None:
    seed = "http://a.org/"
    front = frontier(policy=policy, candidates="paper")
    front.hear(linked("http://c.org/", ["http://b.org/target", seed], NO), *visited("http://b.org/visited"))
    front.hear(seeded(seed), linked("http://d.org/", ["http://b.org/other"]))
    first, *others = front.restart().choices()
    assert (first, set(others)) == (seed, rest)


def test_by_the_papers_letter_a_page_opens_its_links_while_it_satisfies(frontier: Frontiers) -> None:
    page, target = "http://a.org/", "http://a.org/target"
    front = frontier(policy="combined", candidates="paper")
    for time, holds in ((1.0, False), (2.0, True), (3.0, False), (4.0, True)):
        front.hear(linked(page, [target], {"p": holds}, time=time, visit="again"))
        assert front.agent.core.candidates.queued == holds
        assert (front.agent.core.candidates.choosable(target) is not None) == holds
    front.hear(Found("http://b.org/", 1, {"p": 0.5}))
    assert front.choices() == ["http://b.org/", target], "what a candidate redirects to takes its place"


@each_case("policy", ["linkage", "collaborative", "combined"])
def test_before_its_first_hit_a_predicate_goes_by_words_not_the_paper(frontier: Frontiers, policy: str) -> None:
    found = [f"http://a.org/{name}" for name in ("first", "said", "around", "jazz", "last")]
    said = Link(found[1], anchor=("jazz", "music")), Link(found[2], context=("more", "jazz"))

    def chosen(links: tuple[Link, ...], hit: bool = False, **changed: str) -> list[str]:
        front = frontier(policy=policy, **changed)
        front.agent.heard_predicate(PredicateDefinition(name="q", expression='"jazz"'))
        front.hear(*visited(*found), linked("http://b.org/", [], {"q": False}, links=links))
        if hit:
            teach(front.agent.core.candidates.scorer, a_cells({BASE: {"q": (10, 1)}}))
            front.agent.core.candidates.learned()
        return front.choices("q")

    assert chosen(said) == [found[1], found[3], found[2], found[0], found[4]]
    assert chosen(said, hit=True) == found, "ratios that say nothing leave the order of discovery"
    assert chosen(tuple(map(Link, found)), candidates="paper") == found, "by the letter words say nothing"
