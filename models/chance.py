"""Telling texts that were made by chance, such as tokens and keys, from those that were written."""

import re

from models.pieces import pieces

_RUN = re.compile(r"[A-Za-z0-9_-]+")
_WHOLE = re.compile(r"[A-Za-z0-9]+")
#: Hexadecimal digests and UUIDs.
_HEXADECIMAL = re.compile(
    r"(?<![0-9A-Za-z])(?:[0-9a-f]{24,}|[0-9A-F]{24,}|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})"
    r"(?![0-9A-Za-z])"
)
#: Keys of services that begin alike: of Amazon, Slack, GitHub, GitLab, Stripe, Google and others.
_ISSUED = re.compile(
    r"(?<![0-9A-Za-z])(?:(?:AKIA|ASIA)[0-9A-Z]{16}|xox[a-z]-[0-9A-Za-z-]{10}|gh[a-z]_[0-9A-Za-z]{16}"
    r"|glpat-[0-9A-Za-z_-]{16}|[a-z]{2}_(?:live|test)_[0-9A-Za-z]{10}|AIza[0-9A-Za-z_-]{20}|sk-[0-9A-Za-z-]{16})"
)
#: Letters and digits of a text at least, and of a part of it that no "-" or "_" cuts.
LEAST = 16
_LEAST_WHOLE = 10
#: Mean length of a token's pieces of one kind, capitalised words being one. Random ones lie about 2, written
#: ones about 4.
_MEAN = 2.7


def by_chance(text: str, least: int = LEAST) -> bool:
    """Return whether a part of ``text`` looks as if it was drawn by chance, with ``least`` letters and digits.

    Digits alone and small letters alone never do.

    >>> [by_chance(text) for text in ("kQ3vX9sLm2Zr8TnB", "1e61e7b4c2a84d0f9e0b6a55", "QWxhZGRpbjpvcGVuc2Vz")]
    [True, True, True]
    >>> [by_chance(text) for text in ("ice-hockey-2024-final", "SilverLiningTestApp", "20240101123000456")]
    [False, False, False]
    """
    if len(text) < least:
        return False
    found = _HEXADECIMAL.search(text)
    if found is not None and not found[0].isdigit() and not found[0].isalpha():
        return True
    if _ISSUED.search(text) is not None:
        return True
    return any(_drawn(run, least) for run in _RUN.findall(text) if len(run) >= least)


def _drawn(run: str, least: int) -> bool:
    if run.isdigit() or (run.isalpha() and (run.islower() or run.isupper())):
        return False
    words = pieces(run)
    length = sum(map(len, words))
    whole = max(map(len, _WHOLE.findall(run)), default=0)
    return length >= least and whole >= min(least, _LEAST_WHOLE) and length <= _MEAN * len(words)
