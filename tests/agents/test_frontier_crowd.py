"""What choices and users teach: labels, neighbours, what partitions pass on, and promises that were broken."""

from collections.abc import Callable
from typing import Any

import pytest

from scentline.agents.frontier.keys import beside_of, page_key
from scentline.agents.frontier.priorities import LinkPromises
from scentline.agents.frontier.rows import Choice
from scentline.models.frontier.promises import believed
from scentline.models.url import identifier
from scentline.streams.facts import (
    Beside,
    EvidencePack,
    Failed,
    Inherited,
    Judged,
    Label,
    Met,
    Redirected,
    Seeded,
    Together,
    Visited,
)
from scentline.streams.outbox import Message
from scentline.streams.records import Decoder, Pack
from scentline.streams.topics import EVIDENCE, SIGHTINGS
from tests.agents.scenarios import NO, YES, Frontiers, Scenario, labels, linked
from tests.agents.shards import emitted
from tests.cases import each_case


def url(number: int) -> str:
    return f"http://h{number % 4}.org/{number}"


# labels


def choose(front: Scenario, url: str) -> None:
    """Order a fetch for the predicate p, as under the learned policy."""
    choice = Choice("p", "learned", False, 1.0, 1.0, 1.0, expected=0.9)
    front.lease(url, choice=choice, inputs={"p": (1.0,), "q": (2.0,), "r": (3.0,)})


def test_a_chosen_page_gives_one_label_for_each_predicate_that_it_was_chosen_by(frontier: Frontiers) -> None:
    front = frontier(policy="learned")
    front.hear(Seeded(url(1)), Visited(url(2), "u", 1.0), Visited(url(3), "u", 1.0))
    choose(front, url(1))
    assert not labels(front.hear(*(Judged(url(n), YES, 1.0) for n in (1, 2)))), "a seed, one not chosen"
    choose(front, url(3))
    verdict = {"p": True, "q": False, "new": True}
    messages = front.hear(Judged(url(3), verdict, 1.0), Judged(url(3), verdict, 2.0))
    assert labels(messages) == [Label("p", (1.0,), True, "selected"), Label("q", (2.0,), False, "other")]
    assert front.page(url(3)).inputs == {}


def test_counts_have_the_same_origins_whether_or_not_there_is_a_label(frontier: Frontiers) -> None:
    def origins(messages: list[Message]) -> dict[str, tuple[int, int]]:
        (value,) = (value or b"" for topic, _, _, value in messages if topic == EVIDENCE.name)
        facts = Decoder[Pack[Any]](EvidencePack)(value).facts
        return {type(fact).__name__: (offset, index) for offset, index, fact in facts}

    front = frontier(policy="learned")
    front.hear(Visited(url(1), "u", 1.0))
    without = origins(front.absorb(Judged(url(1), YES, 1.0)))
    again = front.restart()  # as after a crash
    choose(again, url(1))
    assert origins(again.absorb(Judged(url(1), YES, 1.0))) == without | {"Label": (without["Count"][0], 0)}


# the crowd


def together(page: str, *others: str, times: int = 1) -> Together:
    return Together(page, tuple(Beside(identifier(other), 0, times, 6) for other in others))


def test_a_page_is_beside_those_alone_that_are_kept_of_it(frontier: Frontiers) -> None:
    front = frontier(policy="combined", together=2)
    others = [url(number) for number in range(2, 12)]
    front.hear(*(together(url(1), other) for other in others))
    front.hear(*(together(url(0), other) for other in reversed(others)), together(url(0), *others))
    for other in map(identifier, others):
        pages = beside_of(front.shards[0], other).pages
        keepers = [identifier(url(n)) for n in (0, 1) if identifier(url(n)) in pages]
        assert keepers == [identifier(url(n)) for n in (0, 1) if other in front.page(url(n)).together]


@each_case(("policy", "partitions"), [("combined", [1, 2]), ("linkage", [])])
def test_a_verdict_is_told_once_to_each_partition_with_pages_beside_where_the_policy_counts_users(
    frontier: Frontiers, policy: str, partitions: list[int]
) -> None:
    front = frontier(policy=policy, streams={"partitions": 3})
    beside = tuple(Beside(identifier(url(n)), n % 3, 1, 6) for n in range(2, 9))
    judged = Judged(url(1), YES, 1.0, words=tuple(f"w{n}" for n in range(100)))
    facts = Together(url(1), beside[:5]), judged, judged, Together(url(1), beside)
    told = emitted(front.hear(*facts, at=0), SIGHTINGS)
    assert sorted(partition for partition, _ in told) == partitions
    assert all(fact == Met(identifier(url(1)), YES, judged.words[:64]) for _, fact in told)


def test_candidates_beside_a_judged_page_are_scored_again_nearest_first(frontier: Frontiers) -> None:
    front = frontier(policy="learned")
    front.hear(*(together(url(number), url(1), times=number) for number in range(10, 60)))
    assert front.touched == {page_key(url(number)) for number in range(10, 60)}, "they are candidates"
    front.hear(Judged(url(1), YES, 1.0))
    assert front.touched == {page_key(url(number)) for number in range(30, 60)}


# links that looked good and were not, or led to nothing, lower what the same owner's links promise later

FARM, GOOD = "http://farm.net/", "http://good.org/"


def pages(name: str, count: int = 60) -> list[str]:
    return [f"http://{name}/{number}" for number in range(count)]


@pytest.fixture
def front(frontier: Frontiers) -> Scenario:
    """Return a frontier for which an owner's links kept what they promised."""
    found = frontier(policy="learned")
    found.hear(linked(GOOD, pages("good.org")))
    for good in pages("good.org")[1:]:
        choose(found, good)
        found.hear(Judged(good, YES, 1.0))
    return found


def belief(front: Scenario, url: str, promises: LinkPromises | None = None) -> float:
    """Return the logit that is left of one of 0."""
    promises = promises or front.agent.book.promises
    return believed(0.0, promises.belief(front.shards[0], front.page(url)))


ENDS: dict[str, Callable[[str], Judged | Failed | Redirected]] = {
    "miss": lambda url: Judged(url, NO, 1.0),
    "gone": lambda url: Failed(url, 1, "gone", "HTTP 404", 1.0),
    "refused": lambda url: Failed(url, 1, "refused", "robots.txt", 1.0),
    "redirect": lambda url: Redirected(url, 1, "http://elsewhere.net/", 1.0),
    "circle": lambda url: Redirected(url, 1, "http://farm.net/again", 1.0),
}


def break_promises(front: Scenario, source: str, targets: list[str], kind: str) -> None:
    front.hear(linked(source, targets))
    for target in targets[1:]:
        choose(front, target)
        front.hear(ENDS[kind](target))


@pytest.mark.parametrize("kind", ENDS)
def test_an_owner_whose_links_come_to_nothing_is_believed_less_for_good(front: Scenario, kind: str) -> None:
    first, *_ = targets = pages("farm.net")
    front.hear(linked(FARM, targets))
    assert belief(front, first) == 0
    break_promises(front, FARM, targets, kind)
    before = belief(front, first)
    assert before < -1
    assert belief(front, pages("good.org")[0]) == 0
    again = LinkPromises()
    again.open(front.restart().shards[0])
    assert belief(front, first, again) == pytest.approx(before)
    front.agent.book.promises.close([])  # its partition is another worker's now
    assert belief(front, first) == 0


def test_who_links_to_a_page_answers_for_it_and_not_who_is_linked_to(front: Scenario) -> None:
    victims = pages("victim.org")
    break_promises(front, FARM, ["http://farm.net/first", *victims[1:]], "gone")
    front.hear(linked("http://victim.org/", victims[:1]))
    assert belief(front, victims[0]) == 0
    front.hear(linked("http://farm.net/other", ["http://victim.org/more"]))
    assert belief(front, "http://victim.org/more") < -1


def test_a_chain_of_redirects_that_leads_nowhere_breaks_what_was_promised(front: Scenario) -> None:
    for url in pages("farm.net", 30):
        front.hear(Inherited(url, 1, {"p": 1.0}, hops=5))
        choose(front, url)
        front.hear(ENDS["circle"](url))
    front.hear(Inherited("http://farm.net/new", 1, {"p": 1.0}))
    assert belief(front, "http://farm.net/new") < -1
