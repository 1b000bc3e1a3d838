"""The verdict on a page: for each predicate that judged it, whether the page satisfies it."""

from typing import TypeAlias

#: Predicate name to "does the page satisfy it". A predicate that did not judge the page is absent.
Verdict: TypeAlias = dict[str, bool]
