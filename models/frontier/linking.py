"""The rows of linking pages and of their judged targets, packed: they are the longest, or written most."""

from collections.abc import Collection, Iterable

import msgspec

from scentline.models.page import Verdict
from scentline.models.policy.candidate import LinkWords
from scentline.models.url import IDENTIFIER_BYTES


class ParentRow(msgspec.Struct, array_like=True, tag="linking"):
    """A linking page: its words and verdict, and its links to targets in this partition.

    ``text`` has its distinct words, separated by spaces. Of its links, ``targets`` has the identifiers of the
    targets, concatenated, ``positions`` the positions in the page, and ``said`` the distinct words in each,
    around it and of the heading above it, separated by tabs. Words are kept only where candidates are scored by
    them. Compared with an object for each link, a packed row takes a quarter of the time to read, and half of
    the memory.

    ``linked`` is False until the page itself is absorbed. ``time`` is that of its verdict.
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

    def add(self, targets: Iterable[bytes], positions: Iterable[int], said: Iterable[str]) -> None:
        """Add links; each replaces an earlier one to the same target."""
        known = {target: place for place, target in enumerate(identifiers_in(self.targets))}
        for target, position, words in zip(targets, positions, said, strict=True):
            place = known.setdefault(target, len(known))
            self.positions[place : place + 1], self.said[place : place + 1] = [position], [words]
        self.targets = b"".join(known)

    def place(self, target: bytes) -> int:
        """Return the index of the link to a target; `KeyError` where there is none."""
        return places_of(self.targets, (target,))[0]

    def words_at(self, places: Iterable[int]) -> list[LinkWords]:
        """Return the distinct words of links."""
        return [LinkWords(*map(str.split, self.said[place].split("\t"))) for place in places]


class ChildrenRow(msgspec.Struct, array_like=True, tag="children"):
    """The judged targets of a linking page, in any partition, in the order in which their verdicts came.

    ``targets`` has their identifiers, concatenated, ``positions`` those of the links, and ``kinds`` the index
    of each verdict in the distinct ``verdicts``: few differ. ``revised`` counts changes of these verdicts, and
    of the page's own verdict, words or links.

    It is a separate row because each of these verdicts changes it, but not `ParentRow`, which is long; and
    packed because it is written with each of them.
    """

    targets: bytes = b""
    positions: list[int] = []
    kinds: list[int] = []
    verdicts: list[Verdict] = []
    revised: int = 0

    @property
    def noted(self) -> int:
        """A number that grows with each change."""
        return len(self.positions) + self.revised

    @property
    def judged(self) -> dict[bytes, Verdict]:
        """The verdicts by identifier."""
        verdicts = (self.verdicts[kind] for kind in self.kinds)
        return dict(zip(identifiers_in(self.targets), verdicts, strict=True))

    def note(self, target: bytes, verdict: Verdict, position: int) -> bool:
        """Note the current verdict on a target; return whether it is new.

        Raises `ValueError` where ``target`` is not an identifier.
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
    """Return the index of a page in concatenated identifiers; None where it is not among them.

    >>> place_in(b"baaaaaaaaaaa" b"aaaaaaaaaaaa", b"aaaaaaaaaaaa")
    1
    """
    at = identifiers.find(page)
    while at % IDENTIFIER_BYTES and at > 0:
        at = identifiers.find(page, at + 1)
    return None if at < 0 else at // IDENTIFIER_BYTES


def places_of(identifiers: bytes, pages: Collection[bytes]) -> list[int]:
    """Return the indices of pages in concatenated identifiers; `KeyError` where one is not among them."""
    found = [place for page in pages if (place := place_in(identifiers, page)) is not None]
    if len(found) < len(pages):
        raise KeyError(pages)
    return found


def links_to(parents: Iterable[ParentRow], target: bytes) -> list[LinkWords]:
    """Return the words of the link to a target from each of its linking pages."""
    return [words for parent in parents for words in parent.words_at((parent.place(target),))]


def identifiers_in(identifiers: bytes) -> list[bytes]:
    """Return concatenated identifiers as a list."""
    return [
        identifiers[begin : begin + IDENTIFIER_BYTES] for begin in range(0, len(identifiers), IDENTIFIER_BYTES)
    ]
