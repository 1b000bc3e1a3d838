"""Which outcome of a page is its current one; for a whole crawl, in some 50 bytes a page."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from scentline.models.page import Verdict
from scentline.models.published import Counted, Outcome, read_as
from scentline.models.records import Finite, Natural, Pack, RecordError
from scentline.models.url import IDENTIFIER_BYTES, Url, identifier
from scentline.streams.transport.database import Entry

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# What an outcome is: the first of a page, one of a revisit, that the page left, or later verdicts on a visit.
_FIRST, _AGAIN, _LEFT, _LATER = range(4)


class Listed(Counted, kw_only=True):
    """The fields of an outcome that people are shown, in place of all."""

    predicate: str
    probability: Finite
    priority: Finite
    expected: Finite | None
    depth: Natural
    left: str | msgspec.UnsetType = msgspec.UNSET
    referrer: Url | msgspec.UnsetType = msgspec.UNSET
    source: Url | msgspec.UnsetType = msgspec.UNSET


_listed = msgspec.json.Decoder(Listed)


def read_listed(value: bytes) -> Pack[Listed]:
    """Return an outcome as a pack of one fact; raises `RecordError`.

    Its words and links are cut out where they stand as a crawl writes them, since reading over them takes most
    of the time; within a text these signs would be escaped.
    """
    start, end = value.find(b',"words":['), value.rfind(b'],"origin":')
    return read_as(_listed, value[:start] + value[end + 1 :] if 0 < start < end else value)


class Version(msgspec.Struct):
    """What makes an outcome the current one of its page, and its place among those that were read."""

    place: int
    time: float
    verdict: Verdict
    later: bool
    again: bool | msgspec.UnsetType


Current = TypeVar("Current", bound=Version | Counted | Outcome)


def after(known: Current | None, told: Current) -> Current | None:
    """Return a page's current outcome once another is told; None as long as no visit is known.

    That is the last visit, on a tie the first, with later verdicts on it. A second answer to one order changes
    nothing.
    """
    if told.later:
        if known is None or told.time != known.time:
            return known
        return msgspec.structs.replace(known, verdict=told.verdict | known.verdict)
    again = told.again is not msgspec.UNSET
    return told if known is None or (again and told.time > known.time) else known


class Places(NamedTuple):
    """Offsets of outcomes, ascending, and whole verdicts where an outcome does not have them."""

    offsets: "npt.NDArray[np.int64]"
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
                ((_, _, outcome),) = read_listed(entry.value or b"").facts
                left, again = outcome.left is not msgspec.UNSET, outcome.again is not msgspec.UNSET
                self._pages += identifier(outcome.url)
                self._kinds.append(_LATER if outcome.later else _LEFT if left else _AGAIN if again else _FIRST)
                self._offsets.append(entry.offset)
                self._times.append(outcome.time)
                verdict = tuple(outcome.verdict.items())
                self._verdicts.append(self.verdicts.setdefault(verdict, len(self.verdicts)))

    def current(self, start: int, begin: float, chosen: Callable[[Verdict], bool]) -> Places:
        """Return the places of pages' current outcomes from ``start`` on.

        The last outcome that adds a later verdict stands for its page. Only pages fetched since ``begin`` count
        whose verdict is ``chosen``.
        """
        # Imported on use: who only asks which outcome is current needs no numpy.
        import numpy as np

        pages = np.frombuffer(self._pages, f"S{IDENTIFIER_BYTES}")
        order = np.argsort(pages, kind="stable")  # so that each page's outcomes stay in order
        pages = pages[order]
        starts = np.flatnonzero(np.concatenate([[True], pages[1:] != pages[:-1]])[: len(pages)])
        sizes = np.diff(np.append(starts, len(pages)))
        alone = order[starts[sizes == 1]]
        kinds, times = np.frombuffer(self._kinds, np.uint8), np.frombuffer(self._times)
        known = [dict(verdict) for verdict in self.verdicts]
        wanted = np.array([chosen(verdict) for verdict in known], np.bool_)
        codes = np.frombuffer(self._verdicts, np.uint32)
        alone = alone[(kinds[alone] < _LEFT) & (times[alone] >= begin) & wanted[codes[alone]]]
        found: list[int] = []
        merged: dict[int, Verdict] = {}
        for first, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True):
            page, last = self._folded(order[first : first + size].tolist(), known)
            if page and kinds[page.place] != _LEFT and page.time >= begin and chosen(page.verdict):
                found.append(last)
                merged[self._offsets[last]] = page.verdict
        offsets = np.frombuffer(self._offsets, np.int64)[np.append(alone, np.array(found, np.int64))]
        return Places(np.sort(offsets[offsets >= start]), merged)

    def _folded(self, places: Iterable[int], known: Sequence[Verdict]) -> tuple[Version | None, int]:
        """Return the current of a page's outcomes, and the last that changed it."""
        page, last = None, -1
        for place in places:
            kind, verdict = self._kinds[place], known[self._verdicts[place]]
            again = msgspec.UNSET if kind == _FIRST else True
            told = Version(place, self._times[place], verdict, kind == _LATER, again)
            if (now := after(page, told)) != page:
                page, last = now, place
        return page, last
