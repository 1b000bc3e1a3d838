"""The one base of this program's own errors."""

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
