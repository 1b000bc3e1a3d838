"""How many candidates an exclusion would leave out, counted a piece at a time before it is requested."""

import time
from typing import NamedTuple

import msgspec

from scentline.models.frontier.exclusions import Exclusions
from scentline.models.frontier.keys import PAGE_PREFIX
from scentline.streams.transport.database import TableMissingError
from scentline.streams.transport.journal import Journal

#: Rows between two looks at the clock, and seconds of a step.
ROWS_AT_ONCE, STEP_SECONDS = 200, 0.02
_KEYS = 1 << 64


class _Row(msgspec.Struct, array_like=True, gc=False, tag="page"):
    """The first fields of a `PageRow`."""

    url: str
    depth: int
    discovered: int
    state: str = "candidate"


_decode = msgspec.msgpack.Decoder(_Row).decode


class Tried(NamedTuple):
    """How far a trial is: ``found`` of the ``read`` candidates, of ``of``, an estimate until it is ``done``."""

    found: int
    read: int
    of: int
    done: bool


class CandidateTrial:
    """An exclusion, tried on all candidates of the frontier's table.

    Its keys are hashes: the number of candidates is estimated from the part of the keys that was read.
    """

    def __init__(self, journal: Journal, prefix: str, expression: str) -> None:
        exclusions = Exclusions()
        exclusions.put("", prefix, expression)
        self._excludes = exclusions.has
        self._found = self._read = 0
        try:
            self._parts = list(journal.table("frontier").values())
        except TableMissingError:
            self._parts = []
        self._all = len(self._parts)
        self._cursor: bytes | None = None

    @property
    def done(self) -> bool:
        """Whether all candidates were read."""
        return not self._parts

    def step(self) -> None:
        """Read candidates for a moment."""
        until = time.perf_counter() + STEP_SECONDS
        while self._parts:
            self._rows()
            if time.perf_counter() >= until:
                return

    def _rows(self) -> None:
        rows = self._parts[0].scan(PAGE_PREFIX, self._cursor)
        for number, (key, raw) in enumerate(rows, 1):
            row = _decode(raw)
            if row.state == "candidate":
                self._read += 1
                self._found += self._excludes(row.url)
            if number == ROWS_AT_ONCE:
                self._cursor = key
                return
        self._cursor = None
        del self._parts[0]

    def told(self) -> Tried:
        """Return how far it is."""
        begun = 0.0 if self._cursor is None else int.from_bytes(self._cursor[len(PAGE_PREFIX) :][:8]) / _KEYS
        part = self._all - len(self._parts) + begun
        of = self._read if self.done or not part else round(self._read * self._all / part)
        return Tried(self._found, self._read, of, self.done)
