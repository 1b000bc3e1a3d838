"""What the frontier has of the visits to pages, but for the facts that were quarantined there."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

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
from tests.cases import each_case

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


SEA, SNOW = (NO, ("sea",)), (YES, ("snow",))


@each_case(
    ("gone", "verdict", "links", "linked_to"),
    [
        ([], NO, {NEAR, FAR}, {NEAR: SEA, FAR: SEA}),
        # A visit whose verdict was quarantined changed none, and a page whose first one was has none.
        ([(of(PAGE), ended(PAGE, NO, AGAIN.time))], YES, {NEAR, FAR}, {NEAR: SEA, FAR: SEA}),
        ([(of(PAGE), ended(PAGE, YES, FIRST.time))], None, set(), {NEAR: SEA, FAR: SEA}),
        # A partition that heard of no visit has the page as it was, and no links that it never heard of.
        ([(of(FAR), told(AGAIN, FAR))], NO, {NEAR, FAR}, {NEAR: SEA, FAR: SNOW}),
        ([(of(FAR), told(FIRST, FAR))], NO, {NEAR}, {NEAR: SEA}),
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
