"""What a crawl's outcomes come to: what holds now, what was harvested, what a quarantine left out."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.operate.quarantined import Quarantined, Seen, seen_of
from scentline.agents.operate.record import current_pages, harvested_of, judged_of, outcomes
from scentline.agents.worker.connect import open_journal
from scentline.models.facts import Fetched, Linked
from scentline.models.page import Link, Verdict
from scentline.models.published import Counted, Outcome
from scentline.models.records import DeadLetter, Pack, encode, partition_of
from scentline.models.url import host, identifier
from scentline.streams.settings import Settings
from scentline.streams.topics import DEAD_LETTERS, OUTCOMES, SIGHTINGS
from tests.agents.cells import an_outcome
from tests.agents.scenarios import NO, YES, ended
from tests.cases import each_case

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


PARTITIONS = 3
PAGE, NEAR, FAR = "http://a.org/1", "http://a.org/2", "http://e.org/3"
Fact = Fetched | Linked


def of(url: str) -> int:
    return partition_of(host(url), PARTITIONS)


def visited(time: float, verdict: Verdict, word: str, *targets: str) -> Outcome:
    return Outcome(
        url=PAGE, time=time, title="", verdict=verdict, predicate="p", policy="", explored=False,
        probability=1.0, priority=0.0, expected=None, depth=0, words=(word,), links=tuple(map(Link, targets)),
        origin=f"pages/0@{time:.0f}", again=time > 1 or msgspec.UNSET,
    )  # fmt: skip


def heard(visit: Outcome, target: str) -> Linked:
    links = tuple(link for link in visit.links if of(link.url) == of(target))
    return Linked(identifier(PAGE), PAGE, 0, visit.verdict, visit.words, links, (), visit.time)


FIRST, AGAIN = visited(1, YES, "snow", NEAR, FAR), visited(2, NO, "sea", NEAR)


def seen(data: Path, gone: Sequence[tuple[int, Fact]]) -> Seen:
    """Return what the frontier has of the two visits, without the facts that are ``gone``."""
    with open_journal(
        Settings.model_validate({"data": data, "streams": {"partitions": PARTITIONS}})
    ) as journal:
        entries = [(OUTCOMES.name, 0, None, msgspec.json.encode(visit)) for visit in (FIRST, AGAIN)]
        for partition, fact in gone:
            pack: Pack[Fact] = Pack(source="pages/0", facts=[(1, 0, fact)])
            letter = DeadLetter(
                topic=SIGHTINGS.name, partition=partition, offset=0, reason="", value=b"", time=0.0,
                why="quarantine",
            )  # fmt: skip
            entries += [(SIGHTINGS.name, partition, None, encode(pack))]
            entries += [(DEAD_LETTERS.name, 0, None, encode(letter))]
        journal.append_all(entries, 0.0)
        return seen_of(journal, Quarantined(journal))


def linking(found: Seen) -> dict[str, tuple[Verdict, tuple[str, ...]]]:
    """Return the verdict and the words of the linking page by the target of each link."""
    return {link.url: (page.verdict, page.words) for page in found.linking for link in page.links}


SEA, SNOW = (NO, ("sea",)), (YES, ("snow",))


@each_case(
    ("gone", "verdict", "links", "linked_to"),
    [
        ([], NO, {NEAR, FAR}, {NEAR: SEA, FAR: SEA}),
        # A visit whose verdict was quarantined changed none, and a page whose first one was has none.
        ([(of(PAGE), ended(PAGE, NO, AGAIN.time))], YES, {NEAR, FAR}, {NEAR: SEA, FAR: SEA}),
        ([(of(PAGE), ended(PAGE, YES, FIRST.time))], None, set(), {NEAR: SEA, FAR: SEA}),
        # A partition that heard of no visit has the page as it was, and no links that it never heard of.
        ([(of(FAR), heard(AGAIN, FAR))], NO, {NEAR, FAR}, {NEAR: SEA, FAR: SNOW}),
        ([(of(FAR), heard(FIRST, FAR))], NO, {NEAR}, {NEAR: SEA}),
    ],
)
def test_what_was_quarantined_is_as_if_it_had_not_been_told(
    gone: Sequence[tuple[int, Fact]],
    verdict: Verdict | None,
    links: set[str],
    linked_to: dict[str, tuple[Verdict, tuple[str, ...]]],
) -> None:
    assert of(FAR) != of(NEAR)
    with TemporaryDirectory() as directory:
        found = seen(Path(directory), gone)
    judged = found.judged.get(PAGE)
    assert (judged and judged.verdict) == verdict
    assert {link.url for link in (judged.links if judged else ())} == links
    assert linking(found) == linked_to
