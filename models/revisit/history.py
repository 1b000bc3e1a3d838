"""What the visits to a page showed: exact facts, which add up in any order."""

import msgspec

#: What a second is in the units that intervals are summed in, and the longest interval: a hundred years.
UNITS, _LONGEST = 1000, 100 * 365 * 86_400


def milliseconds(interval: float) -> int:
    """Return an interval in whole milliseconds, at least one; raises ValueError for what is no number."""
    return max(1, round(min(max(interval, 0.0), _LONGEST) * UNITS))


class History(msgspec.Struct, array_like=True, gc=False):
    """Visits of a page that was seen before: each tells whether it changed since the visit before it, no more.

    Before most visits nothing said that the page might have changed. Of those that found nothing new
    (``still``) the number and the sum of their intervals are all that matters. The others are kept by the
    length of their interval: ``found`` has for each power of two of milliseconds their number and the sum.

    Before others ``signals`` came (`models.revisit.signals`): those that found a change were ``told`` of it,
    those that did not were called for by ``wrong`` ones. Whether there was another change can't be seen.

    Intervals are summed in whole milliseconds: a sum is the same in any order.

    >>> history = History()
    >>> for interval, changed in [(60.0, False), (90.0, True), (100.0, True), (200.0, True)]:
    ...     history.seen(interval, changed)
    >>> history.visits, history.changes, history.found
    (4, 3, {16: [2, 190000], 17: [1, 200000]})
    """

    still: int = 0
    still_time: int = 0
    found: dict[int, list[int]] = {}
    told: int = 0
    told_time: int = 0
    signals: int = 0
    wrong: int = 0
    wrong_time: int = 0

    def seen(self, interval: float, changed: bool, signals: int = 0) -> None:
        """Take in a visit, ``interval`` seconds and so many signals after the one before.

        An interval of no length, as a clock set back would have it, counts as a millisecond (`milliseconds`).
        """
        time = milliseconds(interval)
        self.signals += signals
        if signals and changed:
            self.told += 1
            self.told_time += time
        elif signals:
            self.wrong += 1
            self.wrong_time += time
        elif not changed:
            self.still += 1
            self.still_time += time
        else:
            bucket = self.found.setdefault(time.bit_length() - 1, [0, 0])
            bucket[0] += 1
            bucket[1] += time

    @property
    def changes(self) -> int:
        """The visits that found the page changed."""
        return self.told + sum(number for number, _ in self.found.values())

    @property
    def visits(self) -> int:
        """All visits but the first, which tells nothing."""
        return self.still + self.wrong + self.changes

    @property
    def still_seconds(self) -> float:
        """The sum of the intervals without a signal, and without a change."""
        return self.still_time / UNITS

    @property
    def seconds(self) -> float:
        """The seconds between the first visit and the last."""
        found = sum(time for _, time in self.found.values())
        return (self.still_time + self.told_time + self.wrong_time + found) / UNITS

    @property
    def intervals(self) -> list[tuple[int, float]]:
        """The visits that found a change unannounced: number and mean interval in seconds, by powers of two."""
        return [(number, total / number / UNITS) for number, total in self.found.values()]
