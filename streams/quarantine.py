"""Quarantine: what raises while one item is taken in is that item's failure, and not the end of the process.

The item, a message or one of its facts, goes to the dead letters and the work goes on. That is safe where the
failure lies in the item and what was half done can be taken back. It is not where the failure lies in the
machine: the next item would fail too, and with each one that was passed over something would be lost.
"""

import traceback
from pathlib import Path

from streams.transport.database import StorageError

#: Failures of the machine: a disk, a socket, a file that can't be opened, memory that is used up.
MACHINE = (OSError, MemoryError, StorageError)

_ROOT = Path(__file__).parents[1]


def quarantinable(error: BaseException) -> bool:
    """Tell whether an error is the failure of what was being taken in.

    >>> quarantinable(ValueError("no number")), quarantinable(OSError("no space left on device"))
    (True, False)
    """
    return isinstance(error, Exception) and not isinstance(error, MACHINE)


def cause(error: BaseException) -> str:
    """Return the kind of an error and the line of this program it came from; its text may quote anybody.

    >>> from streams.records import encode
    >>> try:
    ...     encode(object())
    ... except TypeError as error:
    ...     cause(error)
    'TypeError in streams/records.py, encode'
    """
    kind = type(error).__name__
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(_ROOT) and "site-packages" not in path.parts:
            return f"{kind} in {path.relative_to(_ROOT)}, {frame.name}"
    return kind
