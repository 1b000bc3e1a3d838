"""The rows of linking pages and of their judged link targets, packed: they are the longest, or written most."""

import msgspec

from scentline.models.page import Verdict
from scentline.models.policy.candidate import LinkWords
from scentline.models.url import IDENTIFIER_BYTES


class ParentRow(msgspec.Struct, array_like=True, tag="linking"):
    """What is known of a linking page: its words and verdict, and its links to targets here.

    ``text`` are its distinct words, with spaces between. Of each link ``targets`` has the target's identifier,
    one after the other, ``positions`` where it stands in the page, and ``said`` the distinct words in it,
    around it and of the heading above it, with tabs between. Words are there where candidates are scored by
    them. Packed so, a row is read in a quarter of the time that an object a link took, and takes half of the
    memory.

    ``linked`` is False until the page itself was told of. ``time`` is that of its verdict.
    """

    url: str = ""
    linked: bool = False
    verdict: Verdict = {}
    text: str = ""
    targets: bytes = b""
    positions: list[int] = []
    said: list[str] = []
    partitions: tuple[int, ...] = ()
    time: float = 0.0

    @property
    def words(self) -> frozenset[str]:
        """The words of the page."""
        return frozenset(self.text.split())

    def add(self, target: bytes, position: int, said: str) -> None:
        """Add a link, or put it in the place of an earlier one to the same target."""
        place = place_in(self.targets, target)
        if place is None:
            self.targets += target
            self.positions.append(position)
            self.said.append(said)
        else:
            self.positions[place], self.said[place] = position, said

    def place(self, target: bytes) -> int:
        """Return which of the links leads to a target; `KeyError` where none does."""
        return place_of(self.targets, target)

    def words_at(self, place: int) -> LinkWords:
        """Return the distinct words of a link."""
        return LinkWords(*map(str.split, self.said[place].split("\t")))


class ChildrenRow(msgspec.Struct, array_like=True, tag="children"):
    """The judged targets of a linking page, anywhere, in the order in which their verdicts came.

    ``targets`` are their identifiers, one after the other, ``positions`` those of the links, and ``kinds`` say
    which of the distinct ``verdicts`` each has: few differ. ``revised`` counts how often a verdict became
    another, the page's own included, or the page's links more.

    It is a row of its own because it changes with each of these verdicts, and `ParentRow`, which is long, does
    not; and packed because it is written with each of them.
    """

    targets: bytes = b""
    positions: list[int] = []
    kinds: list[int] = []
    verdicts: list[Verdict] = []
    revised: int = 0

    @property
    def noted(self) -> int:
        """What grows with each change."""
        return len(self.positions) + self.revised

    @property
    def judged(self) -> dict[bytes, Verdict]:
        """The verdicts by identifier."""
        verdicts = (self.verdicts[kind] for kind in self.kinds)
        return dict(zip(identifiers_in(self.targets), verdicts, strict=True))

    def note(self, target: bytes, verdict: Verdict, position: int) -> bool:
        """Note the verdict on a target as it stands; return whether that is new.

        Raises `ValueError` where ``target`` is no identifier.
        """
        if len(target) != IDENTIFIER_BYTES:
            raise ValueError(f"an identifier of {len(target)} bytes, expected {IDENTIFIER_BYTES}")
        place = place_in(self.targets, target)
        if place is None:
            self.targets += target
            self.positions.append(position)
            self.kinds.append(self._kind(verdict))
            return True
        new = self.verdicts[self.kinds[place]] != verdict
        if new:
            self.kinds[place] = self._kind(verdict)
            self.revised += 1
        return new

    def _kind(self, verdict: Verdict) -> int:
        if verdict not in self.verdicts:
            self.verdicts.append(verdict)
        return self.verdicts.index(verdict)


def place_in(identifiers: bytes, page: bytes) -> int | None:
    """Return which of some identifiers, one after the other, is that of a page; None where none is.

    >>> place_in(b"abcdefghijkl" b"mnopqrstuvwx", b"mnopqrstuvwx")
    1
    """
    at = identifiers.find(page)
    while at % IDENTIFIER_BYTES and at > 0:
        at = identifiers.find(page, at + 1)
    return None if at < 0 else at // IDENTIFIER_BYTES


def place_of(identifiers: bytes, page: bytes) -> int:
    """Return which of some identifiers is that of a page; `KeyError` where none is."""
    place = place_in(identifiers, page)
    if place is None:
        raise KeyError(page)
    return place


def identifiers_in(identifiers: bytes) -> list[bytes]:
    """Return identifiers that lie one after the other."""
    return [
        identifiers[begin : begin + IDENTIFIER_BYTES] for begin in range(0, len(identifiers), IDENTIFIER_BYTES)
    ]
