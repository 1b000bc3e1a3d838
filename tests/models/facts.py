"""Verdicts counted under features, for tests of whatever counts them."""

from typing import NamedTuple

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from scentline.models.interest.features import BASE
from scentline.models.ledger import INT32, Change
from scentline.models.verdict import FAILED, Verdict

LAWS = settings(max_examples=100)  # what every count rests on
#: Two predicates, and that a request brought no page.
PREDICATES = ("p", "q", FAILED)
NAMES = (BASE, "p:a", "p:b", "x:a", "t:a", "l:p:1")


class Fact(NamedTuple):
    """A verdict counted ``times`` over under each of ``features``."""

    features: tuple[str, ...]
    verdict: Verdict
    times: int = 1

    @property
    def change(self) -> Change:
        """What a ledger is told of it."""
        return Change(self.features, self.verdict, np.full(len(self.features), self.times, INT32))

    @property
    def back(self) -> "Fact":
        """What takes it back."""
        return self._replace(times=-self.times)


FACTS = st.builds(
    Fact,
    st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=4).map(tuple),
    st.dictionaries(st.sampled_from(PREDICATES), st.booleans(), min_size=1),
    st.integers(1, 3),
)
LISTS = st.lists(FACTS, max_size=12)
