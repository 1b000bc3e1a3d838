"""Choosing what takes the place of a pseudonym on Kafka, from what the topics there hold."""

from collections.abc import Iterator, Mapping

import msgspec

from agents.frontier.keys import page_key
from agents.frontier.rows import FrontierRow, PageRow
from agents.inspect.record import accesses_of
from agents.privacy.bounds import bounds, pages_of, visitors_of
from agents.privacy.changelogs import find
from agents.privacy.plan import Replacement, choose
from streams.records import Access
from streams.settings import Settings
from streams.topics import ACCESSES, APP_ID, changelog_of
from streams.transport.kafka.admin import kept

_CHANGELOG = changelog_of(APP_ID, "frontier")


def choose_there(old: str, settings: Settings, partitions: Mapping[str, int]) -> Replacement:
    """Return a random replacement that changes nothing else; ``partitions`` is how many each topic has.

    The accesses are read twice, so that only what concerns the pages of ``old`` is kept in memory.
    """
    count = partitions[ACCESSES.name]

    def accesses() -> Iterator[Access]:
        return accesses_of(kept(settings, ACCESSES.name, partition) for partition in range(count))

    visitors = visitors_of(pages_of(old, accesses()), accesses())
    keys = frozenset(map(page_key, visitors))
    rows = (
        row for partition in range(partitions[_CHANGELOG]) for row in _pages(settings, partition, old, keys)
    )
    return choose(old, bounds(old, visitors, rows, settings.frontier.visitors), count)


def _pages(settings: Settings, partition: int, old: str, keys: frozenset[bytes]) -> Iterator[PageRow]:
    """Yield the rows of pages that have the pseudonym among their visitors, or one of the keys."""
    held = old.encode()
    decode = msgspec.msgpack.Decoder(FrontierRow).decode
    found = find(settings, (_CHANGELOG, partition), lambda key, value: key in keys or held in value)
    for raw in found.values():
        row = decode(raw)
        if isinstance(row, PageRow):
            yield row
