"""What was learned, as the bytes of a file (`models.sealed`)."""

from collections.abc import Sequence

import msgspec

from models.reuse.checks import LearnedStateError, check
from models.reuse.learned import Learned
from models.sealed import Kind, SealedError, seal, unseal
from models.verdict import FAILED

#: What a file says it is, and the version of its format.
KIND = Kind("scentline state", 1, "scentline state export")


class State(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a crawl with ``policy`` has learned of its predicates; of requests as one named `FAILED`."""

    policy: str
    learned: Sequence[Learned]


def sizes(state: State) -> tuple[dict[str, int], int]:
    """Return how many features a state has of each predicate, and of requests."""
    found = {learned.name: len(learned.features) for learned in state.learned}
    requests = found.pop(FAILED, 0)
    return found, requests


def pack(state: State, made_by: str) -> bytes:
    """Return the bytes of a state."""
    return seal(KIND, state, made_by)


def unpack(data: bytes) -> tuple[State, str]:
    """Return the state of bytes that `pack` returned, and its checksum in hexadecimal digits.

    Raises `LearnedStateError` for any others, before much memory is taken.
    """
    try:
        state, checksum = unseal(KIND, data, State)
    except SealedError as error:
        raise LearnedStateError(str(error)) from error
    check(state.learned)
    return state, checksum
