"""What each partition of `outcomes` adds to the harvest of the crawl: the newest part of each.

A part is all that a partition had counted of a predicate, not what came since an earlier one. So parts may come
twice, late and in any order: the one of the greatest offset says all that the others do.
"""

from collections.abc import Iterator, Mapping

from models.harvest import Harvest, merged
from streams.logging import EventLog
from streams.outbox import Message
from streams.records import Decoder, HarvestPart, RecordError, encode
from streams.topics import HARVEST_PARTS

log = EventLog("harvest")


class HarvestParts:
    """The newest parts of each predicate, by partition; there are ``partitions`` of them at most."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._parts: dict[str, dict[int, HarvestPart]] = {}
        self._decode = Decoder[HarvestPart](HarvestPart)

    def hear(self, key: bytes | None, value: bytes | None) -> None:
        """Take in a part that was told; what is none is passed over."""
        try:
            part = self._decode(value or b"")
        except RecordError as error:
            log.warning("skipped a part of the harvest that can't be read", reason=str(error))
            return
        if 0 <= part.partition < self._partitions:
            self.take(part)

    def take(self, part: HarvestPart) -> None:
        """Take in a part, unless a newer one of its partition is known."""
        if self.newer(part):
            self._parts.setdefault(part.predicate, {})[part.partition] = part

    def newer(self, part: HarvestPart) -> bool:
        """Return whether a part says more than what is known of its partition."""
        known = self._parts.get(part.predicate, {}).get(part.partition)
        return known is None or known.offset < part.offset

    def adds(self, part: HarvestPart) -> bool:
        """Return whether a part says of more pages than what is known of its partition."""
        known = self._parts.get(part.predicate, {}).get(part.partition)
        return known is None or known.state.pages < part.state.pages

    def __iter__(self) -> Iterator[str]:
        """Yield the predicates that a partition has pages of."""
        return iter(self._parts)

    def of(self, predicate: str) -> dict[int, HarvestPart]:
        """Return the newest parts of a predicate, by partition."""
        return dict(sorted(self._parts.get(predicate, {}).items()))


def message(part: HarvestPart) -> Message:
    """Return the message that tells a part; a newer one of the same partition takes its place."""
    key = f"{part.partition} {part.predicate}".encode()
    return HARVEST_PARTS.name, 0, key, encode(part)


def whole(parts: Mapping[int, Harvest]) -> Harvest:
    """Return the statistics of the crawl from those of its partitions, one or more."""
    return merged([parts[partition] for partition in sorted(parts)])
