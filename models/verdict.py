"""The verdict on a page: for each predicate that judged it, whether the page satisfies it."""

from typing import TypeAlias

#: Predicate name to "does the page satisfy it". A predicate that did not judge the page is absent.
Verdict: TypeAlias = dict[str, bool]


def unknown(verdict: Verdict, known: Verdict) -> Verdict:
    """Return what ``verdict`` says for predicates of which ``known`` says nothing.

    >>> unknown({"a": True, "b": False}, {"a": False})
    {'b': False}
    """
    return {name: holds for name, holds in verdict.items() if name not in known}
