"""What the frontier has of the visits to pages, but for the facts that were quarantined there."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from scentline.agents.crawl.connect import open_journal
from scentline.agents.operate.quarantined import Quarantined, Seen, seen_of
from scentline.models.facts import Fetched, Linked
from scentline.models.page import Link, Verdict
from scentline.models.published import Outcome
from scentline.models.records import DeadLetter, Pack, encode, partition_of
from scentline.models.url import host, identifier
from scentline.streams.settings import Settings
from scentline.streams.topics import DEAD_LETTERS, OUTCOMES, SIGHTINGS
from tests.agents.scenarios import NO, YES, ended

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


def told(visit: Outcome, target: str) -> Linked:
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


def test_without_a_quarantine_a_page_is_as_it_stands(tmp_path: Path) -> None:
    found = seen(tmp_path, [])
    assert found.judged[PAGE].verdict == NO
    assert linking(found) == {NEAR: (NO, ("sea",)), FAR: (NO, ("sea",))}


def test_a_visit_whose_verdict_was_quarantined_changed_none(tmp_path: Path) -> None:
    found = seen(tmp_path, [(of(PAGE), ended(PAGE, NO, AGAIN.time))])
    assert found.judged[PAGE].verdict == YES
    assert linking(found) == {NEAR: (NO, ("sea",)), FAR: (NO, ("sea",))}


def test_a_page_whose_first_verdict_was_quarantined_has_none(tmp_path: Path) -> None:
    found = seen(tmp_path, [(of(PAGE), ended(PAGE, YES, FIRST.time))])
    assert not found.judged
    assert linking(found).keys() == {NEAR, FAR}


def test_a_partition_that_did_not_hear_of_a_visit_has_the_page_as_it_was(tmp_path: Path) -> None:
    found = seen(tmp_path, [(of(FAR), told(AGAIN, FAR))])
    assert of(FAR) != of(NEAR)
    assert found.judged[PAGE].verdict == NO
    assert linking(found) == {NEAR: (NO, ("sea",)), FAR: (YES, ("snow",))}
    assert {link.url for link in found.judged[PAGE].links} == {NEAR, FAR}


def test_links_that_a_partition_never_heard_of_are_none_there(tmp_path: Path) -> None:
    found = seen(tmp_path, [(of(FAR), told(FIRST, FAR))])
    assert linking(found) == {NEAR: (NO, ("sea",))}
    assert {link.url for link in found.judged[PAGE].links} == {NEAR}
