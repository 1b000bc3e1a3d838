"""What of a crawl was quarantined, and so is in none of its counts."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from agents.harvest.agent import Counted, read_counted
from agents.operate.inspect.record import accesses_of, entries, harvested_of, outcomes_of
from streams.records import (
    Access,
    AccessPack,
    DeadLetter,
    Decoder,
    EvidencePack,
    Judged,
    Linked,
    Outcome,
    Pack,
    RecordError,
    SightingPack,
    UnknownFactsError,
    encode,
)
from streams.topics import ACCESSES, DEAD_LETTERS, EVIDENCE, OUTCOMES, SIGHTINGS
from streams.transport.journal import Journal
from streams.transport.layout import Entry

#: Origins of the facts of one message that were quarantined; None stands for all of them.
_Facts = set[tuple[int, int] | None]

_DECODERS: dict[str, Decoder[Any]] = {
    ACCESSES.name: Decoder[Any](AccessPack),
    SIGHTINGS.name: Decoder[Any](SightingPack),
    EVIDENCE.name: Decoder[Any](EvidencePack),
}


class Quarantined:
    """The messages and facts that the dead letters name; the messages themselves lie in the journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._facts: dict[tuple[str, int], dict[int, _Facts]] = defaultdict(dict)
        decode = Decoder[DeadLetter](DeadLetter)
        for entry in entries(journal, DEAD_LETTERS.name, 0):
            try:
                letter = decode(entry.value or b"")
            except RecordError:
                continue
            if letter.why == "quarantine":
                places = self._facts[letter.topic, letter.partition]
                places.setdefault(letter.offset, set()).add(letter.origin)

    def __len__(self) -> int:
        return sum(len(facts) for places in self._facts.values() for facts in places.values())

    def entries(self, topic: str, partition: int) -> Iterator[Entry]:
        """Yield a partition's records without what was quarantined of them."""
        places = self._facts.get((topic, partition), {})
        for entry in entries(self._journal, topic, partition):
            if entry.offset not in places:
                yield entry
            elif (rest := self._cut(topic, entry, places[entry.offset])) is not None:
                yield entry._replace(value=rest)

    def accesses(self) -> Iterator[Access]:
        """Yield the accesses that browse has taken in."""
        partitions = range(self._journal.partitions(ACCESSES.name))
        return accesses_of(self.entries(ACCESSES.name, partition) for partition in partitions)

    def harvested(self) -> dict[str, Counted]:
        """Return what harvest has counted of the judged pages that it has taken in."""
        partitions = range(self._journal.partitions(OUTCOMES.name))
        found = (self.entries(OUTCOMES.name, partition) for partition in partitions)
        return harvested_of(outcomes_of(chain.from_iterable(found), read_counted))

    def facts(self, topic: str) -> Iterator[Any]:
        """Yield the facts of a topic that were quarantined."""
        for (name, partition), places in self._facts.items():
            for offset in places if name == topic else ():
                for entry in self._journal.read(topic, partition, offset, 1):
                    if entry.offset == offset:
                        yield from (
                            fact for *origin, fact in _facts(topic, entry) if _among(origin, places[offset])
                        )

    def _cut(self, topic: str, entry: Entry, gone: _Facts) -> bytes | None:
        """Return a message without the facts that are gone; None where it is gone whole."""
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
    """The judged pages as the frontier has taken them in.

    Of those in ``judged`` it has the verdicts; ``linking`` are all, each with the links that it has.
    ``uncounted`` is how many other facts it has not, whose part in the counts can't be told.
    """

    judged: dict[str, Outcome]
    linking: dict[str, Outcome]
    uncounted: int


def seen_of(pages: dict[str, Outcome], quarantined: Quarantined) -> Seen:
    """Return what the frontier has of judged pages, but for what was quarantined there."""
    linking, unjudged, uncounted = dict(pages), set(), 0
    for fact in quarantined.facts(SIGHTINGS.name):
        if isinstance(fact, Judged):
            unjudged.add(fact.url)
        elif isinstance(fact, Linked) and fact.url in linking:
            gone = {link.url for link in fact.links}
            page = linking[fact.url]
            left = tuple(link for link in page.links if link.url not in gone)
            linking[fact.url] = msgspec.structs.replace(page, links=left)
        else:
            uncounted += 1
    judged = {url: page for url, page in linking.items() if url not in unjudged}
    return Seen(judged, linking, uncounted)
