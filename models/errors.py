"""The one base of this program's own errors, and whose failure an error is."""

import traceback
from pathlib import Path
from typing import ClassVar


class ScentlineError(Exception):
    """An error that this program raises by itself.

    Where it ``explains_itself``, its text is all that people need: what was done, the value, and what was
    expected. A command ends with that as one line, and a log shows no traceback. Where it does not, it is meant
    for the program: nobody should see it, and who does needs the traceback.

    >>> class MapError(ScentlineError):
    ...     "A map that can't be read."
    >>> MapError("map.txt: empty; expected one line a place").explains_itself
    True
    """

    explains_itself: ClassVar[bool] = True


class StorageError(ScentlineError):
    """The disk does not take what is written, or what it holds is damaged; the text says which and where."""


#: Failures of the machine: a disk, a socket, a file that can't be opened, memory that is used up.
MACHINE = (OSError, MemoryError, StorageError)

_ROOT = Path(__file__).parents[1]


def quarantinable(error: BaseException) -> bool:
    """Tell whether an error is the failure of what was being taken in."""
    return isinstance(error, Exception) and not isinstance(error, MACHINE)


def cause(error: BaseException) -> str:
    """Return the kind of an error and the line of this program it came from; its text may quote anybody.

    >>> from scentline.models.records import encode
    >>> try:
    ...     encode(object())
    ... except TypeError as error:
    ...     cause(error)
    'TypeError in models/records.py, encode'
    """
    kind = type(error).__name__
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(_ROOT):
            return f"{kind} in {path.relative_to(_ROOT)}, {frame.name}"
    return kind
