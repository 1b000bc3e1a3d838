"""URLs that nobody is to ask for: those that begin with a text, or match a regular expression of RE2."""

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

from scentline.models.predicate.syntax import regex


class Exclusions:
    """What is excluded, each under a name; to look a prefix up takes no longer where there are many.

    >>> excluded = Exclusions()
    >>> excluded.put("shop", "https://example.org/shop/", "")
    >>> excluded.put("print", "", "[?&]print=")
    >>> excluded.of("https://example.org/shop/tea"), excluded.of("https://example.org/tea?print=1")
    ('shop', 'print')
    >>> excluded.of("https://example.org/tea")
    ''
    """

    def __init__(self) -> None:
        self._prefixes: dict[str, str] = {}
        self._expressions: dict[str, Any] = {}
        #: The prefixes in order, those left out that begin with another one.
        self._shortest: list[str] | None = []

    def __len__(self) -> int:
        return len(self._prefixes) + len(self._expressions)

    def put(self, name: str, prefix: str, expression: str) -> None:
        """Exclude what begins with ``prefix`` or, without one, what matches ``expression``.

        Raises ValueError for an expression that is none of RE2, or too large.
        """
        self.discard(name)
        if prefix:
            self._prefixes[name] = prefix
            self._shortest = None
        else:
            self._expressions[name] = regex(expression)

    def discard(self, name: str) -> bool:
        """Exclude something no longer; return whether it was."""
        self._shortest = None
        return self._prefixes.pop(name, None) is not None or self._expressions.pop(name, None) is not None

    def of(self, url: str) -> str:
        """Return the name of what excludes a URL, one of them where there are several; empty without any."""
        for name, expression in self._expressions.items():
            if expression.search(url) is not None:
                return name
        found = self._prefix_of(url)
        return next((name for name, prefix in self._prefixes.items() if prefix == found), "") if found else ""

    def has(self, url: str) -> bool:
        """Return whether a URL is excluded."""
        return bool(self._prefix_of(url)) or any(
            expression.search(url) is not None for expression in self._expressions.values()
        )

    def _prefix_of(self, url: str) -> str:
        """Return the shortest prefix of a URL, empty without one: the last that sorts before it, if any is."""
        if self._shortest is None:
            self._shortest = _shortest(self._prefixes.values())
        place = bisect_right(self._shortest, url)
        return self._shortest[place - 1] if place and url.startswith(self._shortest[place - 1]) else ""


def _shortest(prefixes: Iterable[str]) -> list[str]:
    found: list[str] = []
    for prefix in sorted(prefixes):
        if not found or not prefix.startswith(found[-1]):
            found.append(prefix)
    return found
