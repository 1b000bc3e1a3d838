"""What is counted equals a recount, in whatever order pages are judged and accesses come.

Some predicates come later: what they say of pages judged before counts as if it had been said then. Shards
that crash again and again count everything once, and tell each label once. Users and broken promises teach
besides.
"""

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scentline.models.facts import (
    Beside,
    Fetched,
    Found,
    Label,
    Missing,
    Moved,
    Neighbour,
    Together,
    Visited,
)
from scentline.models.frontier.answers import believed
from scentline.models.frontier.keys import PAGE_PREFIX, beside_of, page_key, totals_of
from scentline.models.frontier.rows import Choice, PageRow
from scentline.models.lessons import FailedRequests, JudgedPage, recount
from scentline.models.page import Link
from scentline.models.policy.priorities import LinkPromises
from scentline.models.url import identifier
from scentline.streams.inbox import Message
from scentline.streams.topics import SIGHTINGS
from tests.agents.forms import rejudged, relinked
from tests.agents.pipeline import TIME, Crawl, Part, Pipeline, Place, Told, told
from tests.agents.scenarios import NO, YES, Frontiers, Scenario, ended, labels, linked, seeded
from tests.agents.shards import DECODERS, emitted, write
from tests.cases import each_case
from tests.models.webs import FAILURES, SOME_SILENT
from tests.reference.counts import plain

POLICIES = ["linkage", "collaborative", "combined", "learned", "breadth-first", "random"]


def run(place: Place, policy: str, given: Told, failures: list[FailedRequests]) -> Pipeline:
    """Judge a part by p alone, then the rest by p and q, while q judges the first part too, some twice."""
    random = Random(given.seed)
    pipeline = Pipeline(place, given.crawl(policy), random)
    pages, steps = given.pages, given.steps
    cut, pause = random.randint(0, len(pages)), random.randint(0, len(steps))
    first, rest = pages[:cut], pages[cut:] * random.randint(1, 2)
    before = [failed for failed in failures if failed.url in {page.url for page in first}]

    def by(name: str) -> list[JudgedPage]:
        return [replace(page, verdict={n: v for n, v in page.verdict.items() if n == name}) for page in first]

    pipeline.run(by("p"), steps[:pause], before)
    for page in by("q") * random.randint(1, 2):
        for partition in {pipeline.partition(link.url) for link in page.links}:
            pipeline.sight("pages/0", relinked(page.url, page.verdict, TIME), partition)
        pipeline.sight("pages/0", rejudged(page.url, page.verdict, TIME, page.words, page.subject))
    pipeline.run(rest, steps[pause:], [failed for failed in failures if failed not in before])
    return pipeline


@pytest.mark.parametrize("policy", POLICIES)
@given(told(SOME_SILENT), FAILURES)
def test_evidence_is_the_recount(
    place: Place, policy: str, given: Told, failures: list[FailedRequests]
) -> None:
    pipeline = run(place, policy, given, failures)
    trace, parents = given.bounds.trace(given.steps), given.bounds.parents
    assert pipeline.counts == plain(recount(given.pages, policy, trace, parents, failures=failures))
    for shard in pipeline.shards:
        rows = [row for _, row in shard.scan(PAGE_PREFIX) if isinstance(row, PageRow)]
        assert totals_of(shard).requests == sum(row.requests for row in rows)
    for name in "pq":
        told_of = sum(totals_of(shard).verdicts.get(name, 0) for shard in pipeline.shards)
        assert told_of == sum(name in page.verdict for page in given.pages)


PAGE, Q = JudgedPage("http://a.org/1", {"p": True}, ("snow",), (Link("http://a.org/2"),)), {"q": True}


@each_case(("url", "time"), [(PAGE.url, TIME + 1), ("http://a.org/2", TIME)])
def test_what_is_said_of_a_page_never_judged_so_is_passed_over(place: Place, url: str, time: float) -> None:
    pipeline = Pipeline(place, Crawl("linkage"), Random(1))
    pipeline.run([PAGE], [])
    pipeline.sight("pages/0", rejudged(url, Q, time, ("snow",)))
    pipeline.sight("pages/0", relinked(url, Q, time))
    pipeline.run((), ())
    rows = [pipeline.page(PAGE.url), pipeline.page("http://a.org/2")]
    assert [row and row.verdict for row in rows] == [PAGE.verdict, None]
    assert rows[1] is not None and rows[1].links == {"p": [1, 1]}
    assert pipeline.counts == plain(recount([PAGE], "linkage", None, 32))


# crashes

INPUTS = (0.5, 1.0)


class Choosing(Pipeline):
    """Shards that crash, while pages are chosen for which labels are ``expected``.

    No page is chosen of which a verdict was absorbed that a crash undid, but ``late``: only one that was chosen
    before, by an order that is past its time, can be chosen then.
    """

    def __init__(self, place: Place, policy: str, given: Told, *, late: bool) -> None:
        super().__init__(place, given.crawl(policy), Random(given.seed), crashes=30)
        self.expected: Counter[Label] = Counter()
        self._pages, self._late = given.pages, late
        self._answered: set[str] = set()
        self.run(given.pages, given.steps)

    def read(self, part: Part) -> None:
        facts = self.logs[part][self.shard(part).mark.offset + 1].facts
        self._answered |= {fact.url for *_, fact in facts if isinstance(fact, Fetched)}
        super().read(part)

    def step(self, part: Part) -> None:
        super().step(part)
        if self._pages and self.random.random() < 0.2:
            choice = Choice(self.random.choice("pq"), "learned", self.random.random() < 0.5, 1.0, 0.0, 1.0)
            self.choose(self.random.choice(self._pages), choice)

    def choose(self, page: JudgedPage, choice: Choice) -> None:
        row, shard = self.page(page.url), self.shards[self.partition(page.url)]
        if (page.url in self._answered and not self._late) or row is None or row.state != "candidate":
            return
        row.state, row.attempts, row.choice = "leased", row.attempts + 1, choice
        row.inputs = {"p": INPUTS, "q": INPUTS}
        shard.put(page_key(page.url), row)
        self.send(write(shard))
        for predicate, holds in page.verdict.items() if not page.silent else ():
            chosen = "explored" if choice.explored else "selected"
            chosen = chosen if predicate == choice.predicate else "other"
            self.expected[Label(predicate, INPUTS, holds, chosen)] += 1


@pytest.mark.parametrize("policy", ["linkage", "combined", "learned"])
@given(told(SOME_SILENT), st.booleans())
def test_no_crash_changes_a_count_or_a_label(place: Place, policy: str, given: Told, late: bool) -> None:
    found = Choosing(place, policy, given, late=late)
    trace, parents = given.bounds.trace(given.steps), given.bounds.parents
    assert found.counts == plain(recount(given.pages, policy, trace, parents))
    assert found.labels == found.expected or (late and not found.labels - found.expected)


# what choices and users teach, as it comes


def url(number: int) -> str:
    return f"http://h{number % 4}.org/{number}"


# labels of choices


def choose(front: Scenario, url: str) -> None:
    choice = Choice("p", "learned", False, 1.0, 1.0, 1.0, expected=0.9)
    front.lease(url, choice=choice, inputs={"p": (1.0,), "q": (2.0,), "r": (3.0,)})


def test_a_chosen_page_gives_one_label_for_each_predicate_that_it_was_chosen_by(frontier: Frontiers) -> None:
    front = frontier(policy="learned")
    front.hear(seeded(url(1)), Visited(url(2), "u", 1.0), Visited(url(3), "u", 1.0))
    choose(front, url(1))
    assert not labels(front.hear(*(ended(url(n), YES, 1.0) for n in (1, 2)))), "a seed, one not chosen"
    choose(front, url(3))
    verdict = {"p": True, "q": False, "new": True}
    messages = front.hear(ended(url(3), verdict, 1.0), ended(url(3), verdict, 2.0))
    assert labels(messages) == [Label("p", (1.0,), True, "selected"), Label("q", (2.0,), False, "other")]
    assert front.page(url(3)).inputs == {}


def test_facts_have_the_same_origins_whether_or_not_there_is_a_label(frontier: Frontiers) -> None:
    def origins(messages: list[Message]) -> dict[str, tuple[int, int]]:
        packs = (DECODERS[topic](value or b"") for topic, _, _, value in messages if topic in DECODERS)
        return {type(fact).__name__: (offset, index) for pack in packs for offset, index, fact in pack.facts}

    front = frontier(policy="learned", streams={"partitions": 2})
    at = front.partition_of(Visited(url(1), "u", 1.0))
    front.hear(Visited(url(1), "u", 1.0), Together(url(1), (Beside(identifier(url(2)), 1 - at, 1, 6),)), at=at)
    without = origins(front.absorb(ended(url(1), YES, 1.0)))
    assert without.keys() == {"Neighbour"}
    again = front.restart()  # as after a crash
    choose(again, url(1))
    assert origins(again.absorb(ended(url(1), YES, 1.0))) == without | {"Label": (without["Neighbour"][0], 0)}


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
def test_partitions_beside_hear_of_it_once(frontier: Frontiers, policy: str, partitions: list[int]) -> None:
    front = frontier(policy=policy, streams={"partitions": 3})
    beside = tuple(Beside(identifier(url(n)), n % 3, 1, 6) for n in range(2, 9))
    words = tuple(f"w{n}" for n in range(100))
    judged = ended(url(1), YES, 1.0, words=words)
    facts = Together(url(1), beside[:5]), judged, judged, Together(url(1), beside)
    told = emitted(front.hear(*facts, at=0), SIGHTINGS)
    assert sorted(partition for partition, _ in told) == partitions
    assert all(fact == Neighbour(identifier(url(1)), YES, words[:64]) for _, fact in told)


def test_candidates_beside_a_judged_page_are_scored_again_nearest_first(frontier: Frontiers) -> None:
    front = frontier(policy="learned")
    front.hear(*(together(url(number), url(1), times=number) for number in range(10, 60)))
    assert front.touched == {page_key(url(number)) for number in range(10, 60)}, "they are candidates"
    front.hear(ended(url(1), YES, 1.0))
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
        found.hear(ended(good, YES, 1.0))
    return found


def belief(front: Scenario, url: str, promises: LinkPromises | None = None) -> float:
    """Return the logit that is left of one of 0."""
    promises = promises or front.agent.core.book.promises
    return believed(0.0, promises.belief(front.shards[0], front.page(url)))


ENDS: dict[str, Callable[[str], Fetched]] = {
    "miss": lambda url: ended(url, NO, 1.0),
    "gone": lambda url: ended(url, Missing("gone", "HTTP 404"), 1.0),
    "refused": lambda url: ended(url, Missing("refused", "robots.txt"), 1.0),
    "redirect": lambda url: ended(url, Moved("http://elsewhere.net/"), 1.0),
    "circle": lambda url: ended(url, Moved("http://farm.net/again"), 1.0),
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
    front.agent.core.book.promises.close([])  # its partition is another worker's now
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
        front.hear(Found(url, 1, {"p": 1.0}, hops=5))
        choose(front, url)
        front.hear(ENDS["circle"](url))
    front.hear(Found("http://farm.net/new", 1, {"p": 1.0}))
    assert belief(front, "http://farm.net/new") < -1
