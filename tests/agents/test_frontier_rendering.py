"""Pages that need scripts: what is left of them, and which the frontier has rendered."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from scentline.models.facts import Missing, Rendering
from scentline.models.frontier.rendering import AHEAD, outlook_of
from scentline.models.page import NEEDS_SCRIPTS
from scentline.models.records import FetchOrder
from scentline.models.settings import CrawlSettings
from tests.agents.scenarios import NO, NOW, YES, Frontiers, Scenario, ended, labels, seeded

SHELL = Missing("refused", NEEDS_SCRIPTS)
FILLED, IN_VAIN = Rendering(0.5, True, True), Rendering(0.5, False, False)
HOST, DELAY, SLOTS = "app.org", 10.0, 1


def page(number: int, section: str = "list") -> str:
    return f"http://{HOST}/{section}/{number}"


def rendering(frontier: Frontiers, pages: str = "where-needed", chance: float = 0.0, **more: Any) -> Scenario:
    section = {"pages": pages, "chance": chance, "slots": SLOTS}
    return frontier(policy="learned", render=section, fetch={"delay_seconds": DELAY}, **more)


def one(front: Scenario, after: float = DELAY) -> FetchOrder:
    [order] = front.order(after)
    return order


def answer(front: Scenario, order: FetchOrder) -> None:
    """Answer an order as a host does all of whose pages are shells."""
    if order.render:
        front.hear(ended(order.url, YES, front.now, order.order, rendering=FILLED, elapsed=0.1, requests=3))
    else:
        front.hear(ended(order.url, SHELL, front.now, order.order, elapsed=0.1))


def test_a_page_that_needs_scripts_teaches_nothing(frontier: Frontiers) -> None:
    front = rendering(frontier, "never")
    front.hear(seeded(page(1)))
    order, before = one(front), copy.deepcopy(front.counts())
    messages = front.hear(ended(page(1), SHELL, NOW, order.order, elapsed=0.2))
    row = front.page(page(1))
    assert (row.state, row.reason, row.requests, row.shells) == ("refused", NEEDS_SCRIPTS, 1, 1)
    assert (front.counts(), labels(messages)) == (before, [])
    assert front.totals().requests == front.host(HOST).requests == 1
    assert front.host(HOST).causes[NEEDS_SCRIPTS].count == 1


def test_where_pages_are_rendered_it_is_ordered_again(frontier: Frontiers) -> None:
    front = rendering(frontier)
    front.hear(seeded(page(1)))
    answer(front, one(front))
    assert front.state(page(1)) == "candidate"
    order = one(front.restart())
    assert (order.url, order.order, order.render) == (page(1), 2, True)


def test_an_order_to_render_is_known_after_a_restart_and_its_slot_is_taken(frontier: Frontiers) -> None:
    front = rendering(frontier)
    front.hear(*(seeded(f"http://h{number}.org/") for number in range(6)))
    for order in front.order(DELAY):
        answer(front, order)
    ordered = front.order(DELAY)
    assert [order.render for order in ordered] == [True] * AHEAD * SLOTS, "no more than there are slots for"
    heir = front.restart()
    assert heir.order(DELAY) == []
    answer(heir, ordered[0])
    assert [order.render for order in heir.order(DELAY)] == [True]


def test_an_order_that_was_sent_and_not_stored_has_its_slot_too(frontier: Frontiers) -> None:
    front = rendering(frontier, "always")
    front.hear(seeded(page(1)))
    order = one(front)
    heir = rendering(frontier)
    heir.hear(seeded(page(1)))
    heir.agent.expect(order)
    assert (heir.page(page(1)).render, heir.agent.core.candidates.flights.rendering) == (True, 1)


def test_a_judged_page_that_has_become_a_shell_stays_and_is_rendered_the_next_time(frontier: Frontiers) -> None:
    front = rendering(frontier, revisit=0.5)
    front.hear(seeded(page(1)), ended(page(1), YES, NOW, content=b"1"))
    front.lease_visit(page(1))
    front.hear(ended(page(1), SHELL, front.now, 1, "again", elapsed=0.1))
    assert front.state(page(1)) == "judged"
    again = next(order for _ in range(400) for order in front.order(3_600.0))
    assert (again.visit, again.render, front.agent.core.candidates.flights.rendering) == ("again", True, 1)


def test_after_many_shells_pages_like_them_are_rendered_before_they_are_seen(frontier: Frontiers) -> None:
    front = rendering(frontier)
    front.hear(*(seeded(page(number)) for number in range(60)))
    early = 0
    for _ in range(100):
        for order in front.order(3 * DELAY):
            early += order.render and order.order == 1
            answer(front, order)
    assert early > 40
    assert front.totals().judged == 60
    assert front.totals().requests == 120 - early, "each saves a request"
    front.hear(*(seeded(f"http://plain.org/text/{number}") for number in range(9)))
    other = one(front)
    assert not other.render
    explained = {url: front.agent.core.explainer.explain(url) for url in (page(59), other.url)}
    assert [found.rendering.partition(":")[0] for found in explained.values() if found] == [
        "rendered unseen", "not rendered",
    ]  # fmt: skip


def test_where_pages_came_as_they_are_chance_alone_renders_and_seldom(frontier: Frontiers) -> None:
    def crawl(chance: float) -> int:
        front = rendering(frontier, chance=chance)
        front.hear(*(seeded(page(number)) for number in range(40)))
        rendered = 0
        for _ in range(80):
            for order in front.order(DELAY):
                rendered += order.render
                how = IN_VAIN if order.render else None
                front.hear(ended(order.url, NO, front.now, order.order, rendering=how, elapsed=0.1))
        return rendered

    assert crawl(0.0) == 0
    assert 1 <= crawl(1.0) <= 20, "the more in vain, the fewer"


def test_a_rendering_in_vain_costs_its_seconds_and_is_expected_to(frontier: Frontiers) -> None:
    front = rendering(frontier)
    front.hear(seeded(page(1)))
    answer(front, one(front))
    before = outlook_of(front.shard(page(1)), page(1))
    failed = Missing("refused", "rendering over 15 seconds")
    order = one(front)
    took = Rendering(15.0, needed=False, brought=False)
    front.hear(ended(order.url, failed, front.now, order.order, rendering=took, elapsed=0.1, requests=3))
    after = outlook_of(front.shard(page(1)), page(1))
    assert after.seconds > 5 > before.seconds
    assert after.brings < before.brings
    assert front.host(HOST).causes["rendering failed"].count == 1


def test_hosts_that_wait_for_the_browser_alone_are_said_to(frontier: Frontiers) -> None:
    front = rendering(frontier)
    front.hear(*(seeded(f"http://h{number}.org/") for number in range(6)))
    for order in front.order():
        answer(front, order)
    assert [order.render for order in front.order(DELAY)] == [True] * AHEAD * SLOTS
    standing = front.agent.core.standing.take(front.now, final=False)
    left = 6 - AHEAD * SLOTS
    assert (standing.waiting, standing.ready) == ({"browser": left}, 0)
    assert (standing.queued, standing.hosts) == ({"p": left}, {"p": left})


def test_a_command_without_the_crawl_s_settings_explains_what_was_rendered(frontier: Frontiers) -> None:
    front = rendering(frontier)
    front.hear(seeded(page(1)))
    answer(front, one(front))
    explainer = replace(front.agent.core.explainer, settings=CrawlSettings())
    found = explainer.explain(page(1))
    assert found is not None and found.rendering.startswith("rendered, as it needs its scripts")


@pytest.mark.parametrize("pages", ["never", "always"])
def test_all_or_none_is_rendered(frontier: Frontiers, pages: str) -> None:
    front = rendering(frontier, pages)
    front.hear(*(seeded(f"http://h{number}.org/") for number in range(6)))
    ordered = front.order()
    assert [order.render for order in ordered] == ([True] * AHEAD * SLOTS if pages == "always" else [False] * 6)


def test_the_requests_of_a_rendered_page_are_waited_for_after_a_restart_too(frontier: Frontiers) -> None:
    front = rendering(frontier, "always")
    front.hear(seeded(page(1)), seeded(page(2)))
    answer(front, one(front, 0.0))
    for each in (front, front.restart()):
        assert not each.agent.core.candidates.clocks.ready(HOST, front.now + 2.9 * DELAY)
        assert each.agent.core.candidates.clocks.ready(HOST, front.now + 3 * DELAY)
