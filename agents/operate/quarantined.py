"""A crawl's quarantined messages and facts, which no count includes."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from scentline.agents.operate.record import (
    accesses_of,
    entries,
    harvested_of,
    judged_of,
    judged_pages,
    outcomes,
    outcomes_of,
    records,
)
from scentline.models.facts import Access, AccessPack, Fetched, Linked, Page, SightingPack
from scentline.models.published import Counted, Outcome, read_counted
from scentline.models.records import (
    DeadLetter,
    Decoder,
    Pack,
    RecordError,
    UnknownFactsError,
    encode,
    partition_of,
)
from scentline.models.url import host
from scentline.streams.topics import ACCESSES, DEAD_LETTERS, OUTCOMES, SIGHTINGS
from scentline.streams.transport.database import Entry
from scentline.streams.transport.journal import Journal

#: Origins of a message's quarantined facts; None stands for all of them.
_Facts = set[tuple[int, int] | None]

_DECODERS: dict[str, Decoder[Any]] = {
    ACCESSES.name: Decoder[Any](AccessPack),
    SIGHTINGS.name: Decoder[Any](SightingPack),
}


class Quarantined:
    """The messages and facts that the dead letters name; the messages themselves are in the journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._facts: dict[tuple[str, int], dict[int, _Facts]] = defaultdict(dict)
        for letter in records(entries(journal, DEAD_LETTERS.name, 0), Decoder[DeadLetter](DeadLetter)):
            if letter.why == "quarantine":
                places = self._facts[letter.topic, letter.partition]
                places.setdefault(letter.offset, set()).add(letter.origin)

    def __len__(self) -> int:
        return sum(len(facts) for places in self._facts.values() for facts in places.values())

    def entries(self, topic: str, partition: int) -> Iterator[Entry]:
        """Yield a partition's records without what was quarantined."""
        places = self._facts.get((topic, partition), {})
        for entry in entries(self._journal, topic, partition):
            if entry.offset not in places:
                yield entry
            elif (rest := self._cut(topic, entry, places[entry.offset])) is not None:
                yield entry._replace(value=rest)

    def accesses(self) -> Iterator[Access]:
        """Yield the accesses that browse has absorbed."""
        partitions = range(self._journal.partitions(ACCESSES.name))
        return accesses_of(self.entries(ACCESSES.name, partition) for partition in partitions)

    def harvested(self) -> dict[str, Counted]:
        """Return the judged pages that harvest has counted, by URL."""
        partitions = range(self._journal.partitions(OUTCOMES.name))
        found = (self.entries(OUTCOMES.name, partition) for partition in partitions)
        return harvested_of(outcomes_of(chain.from_iterable(found), read_counted))

    def facts(self, topic: str) -> Iterator[tuple[int, Any]]:
        """Yield a topic's quarantined facts, each with its partition."""
        for (name, partition), places in self._facts.items():
            for offset in places if name == topic else ():
                for entry in self._journal.read(topic, partition, offset, 1):
                    if entry.offset == offset:
                        yield from (
                            (partition, fact)
                            for *origin, fact in _facts(topic, entry)
                            if _among(origin, places[offset])
                        )

    def _cut(self, topic: str, entry: Entry, gone: _Facts) -> bytes | None:
        """Return a message without the facts that are gone; None if all are."""
        if topic not in _DECODERS or None in gone:
            return None
        facts = [fact for fact in _facts(topic, entry) if not _among(fact[:2], gone)]
        source = msgspec.msgpack.decode(entry.value or b"", type=Pack[msgspec.Raw]).source
        return encode(Pack(source=source, facts=facts))


def _among(origin: Any, gone: _Facts) -> bool:
    return None in gone or tuple(origin) in gone


def _facts(topic: str, entry: Entry) -> list[tuple[int, int, Any]]:
    try:
        found: list[tuple[int, int, Any]] = _DECODERS[topic](entry.value or b"").facts
    except UnknownFactsError as error:
        return error.known.facts
    except RecordError:
        return []
    return found


class Seen(NamedTuple):
    """The judged pages as the frontier has them: ``judged`` with their verdicts, ``linking`` with their links.

    A page may be in ``linking`` repeatedly: with its links to partitions that absorbed its newest visit, and
    with those to others. ``told`` pages have an outcome; ``uncounted`` other quarantined facts have an unknown
    effect.
    """

    judged: dict[str, Outcome]
    linking: list[Outcome]
    told: int
    uncounted: int


def seen_of(journal: Journal, quarantined: Quarantined) -> Seen:
    """Return the judged pages as the frontier has them, without what was quarantined there.

    A visit without its verdict changed no verdict; one without its links in a partition changed none there.
    """
    unjudged: defaultdict[str, set[float]] = defaultdict(set)
    unlinked: defaultdict[str, set[tuple[int, float]]] = defaultdict(set)
    uncounted = 0
    pages = judged_pages(journal)
    for partition, fact in quarantined.facts(SIGHTINGS.name):
        if isinstance(fact, Fetched) and isinstance(fact.result, Page) and fact.visit != "kept":
            unjudged[fact.url].add(fact.time)
        elif isinstance(fact, Linked) and fact.judged and fact.url in pages:
            unlinked[fact.url].add((partition, fact.time))
        else:
            uncounted += 1
    judged, linking = dict(pages), list(pages.values())
    concerned = unjudged.keys() | unlinked.keys()
    told: dict[str, list[Outcome]] = {url: [] for url in concerned & pages.keys()}
    for outcome in outcomes(journal) if told else ():
        if outcome.url in told:
            told[outcome.url].append(outcome)
    if told:
        linking = [page for page in linking if page.url not in told]
    for url, found in told.items():
        links = _linking(found, unlinked[url], journal.partitions(SIGHTINGS.name))
        linking += links
        taken = [outcome for outcome in found if outcome.time not in unjudged[url]]
        if all(outcome.later or outcome.again for outcome in taken):  # no first verdict: not a page
            del judged[url]
        else:
            every = tuple(link for page in links for link in page.links)
            judged[url] = msgspec.structs.replace(judged_of(taken)[url], links=every)
    return Seen(judged, linking, len(pages), uncounted)


def _linking(told: Sequence[Outcome], unlinked: set[tuple[int, float]], partitions: int) -> list[Outcome]:
    """Return a page once per partition with links from it, as of the visits absorbed there."""
    found = []
    for partition in range(partitions):
        heard = [outcome for outcome in told if (partition, outcome.time) not in unlinked]
        for page in judged_of(heard).values():
            links = tuple(link for link in page.links if partition_of(host(link.url), partitions) == partition)
            found.append(msgspec.structs.replace(page, links=links))
    return [page for page in found if page.links]
