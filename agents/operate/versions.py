"""Which outcome of each page is its current one: as `record.judged_of` says, in some 50 bytes a page."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from scentline.models.page import Verdict, unknown
from scentline.models.published import Counted, read_as
from scentline.models.records import Finite, Natural, RecordError
from scentline.models.url import Url, identifier
from scentline.streams.transport.database import Entry

# What an outcome is: the first of a page, one of a revisit, later verdicts on a visit, or that the page left.
_FIRST, _AGAIN, _LATER, _LEFT = range(4)


class Listed(Counted, kw_only=True):
    """The fields of an outcome that an export needs, in place of all."""

    predicate: str
    priority: Finite
    expected: Finite | None
    depth: Natural
    left: str | msgspec.UnsetType = msgspec.UNSET
    referrer: Url | msgspec.UnsetType = msgspec.UNSET
    source: Url | msgspec.UnsetType = msgspec.UNSET


_decoder = msgspec.json.Decoder(Listed)


def read_listed(entry: Entry) -> Listed:
    """Return an outcome; raises `RecordError`.

    Its words and links are cut out where they stand as a crawl writes them, since reading over them takes most
    of the time; within a text these signs would be escaped.
    """
    value = entry.value or b""
    start, end = value.find(b',"words":['), value.rfind(b'],"origin":')
    return read_as(_decoder, value[:start] + value[end + 1 :] if 0 < start < end else value).facts[0][2]


class Places(NamedTuple):
    """Offsets of outcomes, ascending, and whole verdicts where an outcome does not have them."""

    offsets: npt.NDArray[np.int64]
    merged: dict[int, Verdict]


class Versions:
    """The pages in a partition of outcomes, in memory for each outcome that was read."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._pages, self._kinds = bytearray(), bytearray()
        self._offsets, self._times, self._verdicts = array("q"), array("d"), array("I")
        #: The distinct verdicts, and the end of the partition.
        self.verdicts: dict[tuple[tuple[str, bool], ...], int] = {}
        self.end = 0
        for entry in entries:
            self.end = entry.offset + 1
            with suppress(RecordError):  # an agent sends it to the dead letters
                self._note(entry.offset, read_listed(entry))

    def _note(self, offset: int, outcome: Listed) -> None:
        left, again = outcome.left is not msgspec.UNSET, outcome.again is not msgspec.UNSET
        self._pages += identifier(outcome.url)
        self._kinds.append(_LATER if outcome.later else _LEFT if left else _AGAIN if again else _FIRST)
        self._offsets.append(offset)
        self._times.append(outcome.time)
        self._verdicts.append(self.verdicts.setdefault(tuple(outcome.verdict.items()), len(self.verdicts)))

    def current(self, start: int, begin: float, chosen: Callable[[Verdict], bool]) -> Places:
        """Return the places of pages' current outcomes from ``start`` on.

        The last outcome that adds a later verdict stands for its page. Only pages fetched since ``begin`` count
        whose verdict is ``chosen``.
        """
        pages = np.frombuffer(self._pages, [("high", "<u8"), ("low", "<u4")])
        order = np.lexsort((pages["low"], pages["high"]))  # stable, so that each page's outcomes stay in order
        pages = pages[order]
        starts = np.flatnonzero(np.concatenate([[True], pages[1:] != pages[:-1]])[: len(pages)])
        sizes = np.diff(np.append(starts, len(pages)))
        alone = order[starts[sizes == 1]]
        kinds, times = np.frombuffer(self._kinds, np.uint8), np.frombuffer(self._times)
        known = [dict(verdict) for verdict in self.verdicts]
        wanted = np.array([chosen(verdict) for verdict in known], np.bool_)
        codes = np.frombuffer(self._verdicts, np.uint32)
        alone = alone[(kinds[alone] < _LATER) & (times[alone] >= begin) & wanted[codes[alone]]]
        found: list[int] = []
        merged: dict[int, Verdict] = {}
        for first, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
            place, last, verdict = self._folded(order[first : first + size].tolist(), known)
            if place >= 0 and kinds[place] != _LEFT and times[place] >= begin and chosen(verdict):
                found.append(last)
                merged[self._offsets[last]] = verdict
        offsets = np.frombuffer(self._offsets, np.int64)[np.append(alone, np.array(found, np.int64))]
        return Places(np.sort(offsets[offsets >= start]), merged)

    def _folded(self, places: Iterable[int], known: Sequence[Verdict]) -> tuple[int, int, Verdict]:
        """Return the current of a page's outcomes, the last that adds to its verdict, and this; -1 for none."""
        current, last = -1, -1
        verdict: Verdict = {}
        for place in places:
            kind, time, said = self._kinds[place], self._times[place], known[self._verdicts[place]]
            if kind == _LATER:
                if current >= 0 and time == self._times[current] and unknown(said, verdict):
                    verdict, last = said | verdict, place
            elif current < 0 or (kind != _FIRST and time > self._times[current]):
                current, last, verdict = place, place, said
        return current, last, verdict
