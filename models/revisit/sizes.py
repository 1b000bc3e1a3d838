"""What the sizes of a page's answers in an access log tell: whether it changed since it was visited.

A size that differs from the one at the visit is one sign of a change, however often it is seen: of a page whose
answers all differ it says no more than of one that changed once.
"""

from typing import TypeAlias

import msgspec

#: Bytes by which the answers of a page that did not change may differ: a cache adds headers of its own (Age,
#: X-Cache), a server cookies.
SLACK = 64

Answer: TypeAlias = tuple[float, int]
"""The time of an answer, in seconds since the epoch, and its size in bytes."""

_NONE: Answer = (0.0, 0)


class Sizes(msgspec.Struct, array_like=True, gc=False):
    """The answers that matter, of those told so far: neither their order nor repetition changes what is kept.

    ``at`` is the one that the others are held against: the last until the page was ``visited``, or else the
    first after it. ``last`` is the last after the visit.

    >>> sizes = Sizes()
    >>> for time, size in [(10.0, 5000), (30.0, 5000), (40.0, 6000)]:
    ...     _ = sizes.take(20.0, time, size)
    >>> sizes.differ
    True
    """

    visited: float = 0.0
    at: Answer = _NONE
    last: Answer = _NONE

    def take(self, visited: float, time: float, size: int) -> bool:
        """Take in an answer of a page that was visited last at a time; return whether it says anything new."""
        before = self.visited, self.at, self.last
        if visited > self.visited:
            self._revisit(visited)
        answer = time, size
        if time <= self.visited:
            if self.at[0] > self.visited or answer > self.at:
                self.at = answer
        else:
            if self.at == _NONE or (self.visited < self.at[0] and answer < self.at):
                self.at = answer
            self.last = max(self.last, answer)
        return (self.visited, self.at, self.last) != before

    def _revisit(self, visited: float) -> None:
        """Hold what comes against what was when the page was visited again."""
        self.visited = visited
        if self.last[0] <= visited:
            self.at, self.last = max(self.at, self.last), _NONE

    @property
    def differ(self) -> bool:
        """Whether the last answer is of another size than at the visit."""
        return self.last != _NONE and abs(self.last[1] - self.at[1]) > SLACK
