"""The verdict on a page: for each predicate that judged it, whether the page satisfies it."""

from typing import Final, TypeAlias

#: Predicate name to "does the page satisfy it". A predicate that did not judge the page is absent.
Verdict: TypeAlias = dict[str, bool]

#: The predicate of requests: that no page came that can be judged. No other predicate has such a name.
FAILED: Final = "!"


def unknown(verdict: Verdict, known: Verdict) -> Verdict:
    """Return what ``verdict`` says for predicates of which ``known`` says nothing.

    That a page came takes the place of what is known of requests that failed before.

    >>> unknown({"a": True, "b": False}, {"a": False})
    {'b': False}
    >>> unknown({FAILED: False}, {FAILED: True}), unknown({FAILED: True}, {FAILED: False})
    ({'!': False}, {})
    """
    return {
        name: holds
        for name, holds in verdict.items()
        if name not in known or (name == FAILED and known[name] and not holds)
    }


def keeps(which: str, verdict: Verdict) -> bool:
    """Tell whether a page with such a verdict is kept, where the setting `keep.pages` is ``which``.

    >>> keeps("matches", {"a": True}), keeps("matches", {"a": False}), keeps("all", {})
    (True, False, True)
    """
    return which == "all" or (which == "matches" and any(verdict.values()))
