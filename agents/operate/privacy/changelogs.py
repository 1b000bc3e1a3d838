"""The tables of a crawl on Kafka, by their changelogs: one writer, and the replacement of a user in them.

All changelogs are claimed, as by a worker: what an earlier writer still sends is refused. Then every partition
gets a mark, with which no worker continues, the *deciding* partition last and with the replacement. So without
the mark in the deciding partition nothing is replaced yet, or everything is; with it, only the replacement has
been written since, and any later call completes it. At the end the deciding partition's mark is removed first.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from scentline.agents.operate.privacy.plan import Replacement
from scentline.streams.settings import Settings
from scentline.streams.transport.kafka.admin import kept
from scentline.streams.transport.kafka.four_steps import FORGETTING, ChangelogWriter
from scentline.streams.transport.partition import Entry, Place

#: No record has this offset: whoever claims with it is given none to read.
_ALL_KNOWN = 2**63 - 1

#: Whether a record (key, value) is looked for.
Wanted = Callable[[bytes, bytes], bool]


class Changelogs:
    """The partitions ``places`` of changelogs, the last of which is the deciding one: best a small one."""

    def __init__(self, settings: Settings, publisher: ChangelogWriter, places: Sequence[Place]) -> None:
        self._settings = settings
        self._publisher = publisher
        self.places = places

    async def claim(self) -> None:
        """Become the one writer of all of them."""
        await asyncio.gather(*(self._publisher.claim(*place, _ALL_KNOWN) for place in self.places))

    async def replacement(self) -> Replacement | None:
        """Return the replacement that is under way: it was begun, and maybe not completed."""
        found = await asyncio.to_thread(find, self._settings, self.places[-1], lambda key, _: key == FORGETTING)
        return next((msgspec.msgpack.decode(raw, type=Replacement) for raw in found.values()), None)

    async def hold(self, replacement: Replacement) -> None:
        """Put the mark everywhere: from then on no worker goes on, and the replacement is that one."""
        *others, deciding = self.places
        await self._put_mark(others, b"")
        await self._put_mark([deciding], msgspec.msgpack.encode(replacement))

    async def release(self) -> None:
        """Take the mark away everywhere, where there is one."""
        *others, deciding = self.places
        await self._put_mark([deciding], None)
        await self._put_mark(others, None)

    async def replace(self, place: Place, replacement: Replacement) -> int:
        """Write the rows that hold the pseudonym anew, a row at once or not at all; return how many they are.

        The mark stays as it is, though it holds it.
        """
        rows = await asyncio.to_thread(find, self._settings, place, replacement.concerns)
        rows.pop(FORGETTING, None)
        append = self._publisher.append_batch
        await asyncio.gather(*(append(*place, replacement.of(key, value)) for key, value in rows.items()))
        return len(rows)

    async def _put_mark(self, places: Iterable[Place], mark: bytes | None) -> None:
        await asyncio.gather(*(self._publisher.append_batch(*place, [(FORGETTING, mark)]) for place in places))


def find(settings: Settings, place: Place, wanted: Wanted) -> dict[bytes, bytes]:
    """Return the newest values of a compacted topic's partition that are wanted, by their keys."""
    return newest(kept(settings, *place), wanted)


def newest(entries: Iterator[Entry], wanted: Wanted) -> dict[bytes, bytes]:
    """Return the newest values that are wanted, by their keys; what is not wanted takes no memory.

    >>> changes = [Entry(0, 0.0, b"a", b"1"), Entry(1, 0.0, b"b", b"1"), Entry(2, 0.0, b"a", None)]
    >>> newest(iter(changes), lambda key, value: value == b"1")
    {b'b': b'1'}
    """
    found: dict[bytes, bytes] = {}
    for _, _, key, value in entries:
        if key is None:
            continue
        if value is not None and wanted(key, value):
            found[key] = value
        else:
            found.pop(key, None)
    return found
