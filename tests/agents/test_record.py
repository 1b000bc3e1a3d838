"""What a crawl's outcomes come to: what holds of each page now, and what was harvested first."""

from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.crawl.connect import open_journal
from scentline.agents.harvest.agent import Counted
from scentline.agents.operate.record import current_pages, harvested_of, judged_of, outcomes
from scentline.models.page import Link, Verdict
from scentline.models.published import Outcome
from scentline.streams.settings import Settings
from scentline.streams.topics import OUTCOMES
from tests.agents.cells import an_outcome

URL = "http://a.org/1"


def told_at(time: float, verdict: Verdict, *links: Link, again: bool = False, **said: Any) -> Outcome:
    given = {"title": f"title at {time:g}", "words": (f"word{time:g}",), "origin": f"pages/0@{time:.0f}"}
    visit = {"time": time, "again": again or msgspec.UNSET}
    return an_outcome(said.pop("url", URL), verdict, links, **visit | given | said)


def counted(outcome: Outcome) -> Counted:
    return msgspec.json.decode(msgspec.json.encode(outcome), type=Counted)


def a_link(number: int, anchor: str = "") -> Link:
    return Link(f"http://b.org/{number}", (anchor,))


class Visit(NamedTuple):
    """A visit to the page, with what a predicate that came later said of it, if anything."""

    hit: bool
    links: tuple[int, ...]
    left: bool
    later: bool | None


LINKS = st.lists(st.integers(0, 4), max_size=3).map(tuple)
A_VISIT = st.builds(Visit, st.booleans(), LINKS, st.booleans(), st.none() | st.booleans())
VISITS = st.lists(A_VISIT, min_size=1, max_size=5)


def outcomes_of(visits: list[Visit]) -> list[Outcome]:
    """Return what is told of visits at the times 1, 2 and so on; at the first one no page left."""
    told = []
    for time, visit in enumerate(visits, 1):
        if visit.left and time > 1:
            told.append(told_at(time, {}, again=True, left="status 410"))
            continue
        links = [a_link(number, f"at {time}") for number in visit.links]
        told.append(told_at(time, {"p": visit.hit}, *links, again=time > 1))
        if visit.later is not None:
            told.append(told_at(time, {"q": visit.later}, later=True))
    return told


@given(VISITS)
def test_of_all_that_was_told_of_a_page_the_newest_holds_its_links_are_all_it_had(visits: list[Visit]) -> None:
    told = outcomes_of(visits)
    page = judged_of(told)[URL]
    assert judged_of([*told, *told, *reversed(told)])[URL] == page, "what is told again or late changes nothing"
    last, left = visits[-1], visits[-1].left and len(visits) > 1
    verdict = {} if left else {"p": last.hit} | ({} if last.later is None else {"q": last.later})
    assert page.time == len(visits)
    assert page.verdict == verdict
    assert (page.left == "status 410") == left
    first: dict[int, Link] = {}
    for time, visit in enumerate(visits, 1):
        for number in visit.links if time == 1 or not visit.left else ():
            first.setdefault(number, a_link(number, f"at {time}"))
    assert {link.url: link for link in reversed(page.links)} == {link.url: link for link in first.values()}


@given(VISITS)
def test_each_page_is_harvested_once_as_it_was_judged_first(visits: list[Visit]) -> None:
    harvested = harvested_of(map(counted, outcomes_of(visits)))[URL]
    first = visits[0]
    assert harvested.time == 1
    assert harvested.verdict == {"p": first.hit} | ({} if first.later is None else {"q": first.later})


def test_a_page_of_which_only_a_later_visit_is_known_was_not_harvested() -> None:
    told = [told_at(2, {"p": True}, again=True), told_at(3, {}, again=True, left="status 404")]
    assert not harvested_of(map(counted, told))


def test_pages_that_left_are_not_among_those_that_hold_until_they_are_judged_again(tmp_path: Path) -> None:
    other = told_at(1, {"p": True}, url="http://a.org/2")
    with open_journal(Settings(data=tmp_path)) as journal:

        def tell(*told: Outcome) -> dict[str, Outcome]:
            journal.append_all([(OUTCOMES.name, 0, None, msgspec.json.encode(each)) for each in told], 0.0)
            return current_pages(outcomes(journal))

        assert {*tell(told_at(1, {"p": True}), other)} == {URL, other.url}
        assert {*tell(told_at(2, {}, again=True, left="status 410"))} == {other.url}
        assert tell(told_at(3, {"p": False}, again=True))[URL].verdict == {"p": False}
