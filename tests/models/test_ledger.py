"""The ledger's arrays: counts add up, are set, forgotten and kept; `tests.agents.test_laws` has the laws."""

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.ledger import Cells, Ledger
from tests.models.facts import LAWS, LISTS, NAMES, PREDICATES, Fact


def a_ledger(facts: Iterable[Fact]) -> Ledger:
    ledger = Ledger()
    ledger.count(fact.change for fact in facts)
    return ledger


@LAWS
@given(facts=LISTS, number=st.integers(0, 6), more=LISTS)
def test_the_rarest_are_forgotten_and_slots_reused(facts: list[Fact], number: int, more: list[Fact]) -> None:
    ledger = a_ledger(facts)
    pages = {name: max(ledger.get(name, each)[0] for each in PREDICATES) for name in NAMES if name in ledger}
    slots = ledger.rarest(number, lambda name: name == "")
    gone = ledger.forget(slots)
    assert len(slots) == len(gone) == min(number, len(pages.keys() - {""}))
    left = [pages[name] for name in pages if name not in gone and name]
    assert max((pages[name] for name in gone), default=0) <= min(left, default=10**6)
    assert all(ledger.get(name, each) == (0, 0) for name in gone for each in PREDICATES)
    size = ledger.size
    ledger.count(fact.change for fact in more)
    assert ledger.size == max(size, len(ledger))
    slots = np.arange(ledger.size)
    cells, again = ledger.take(slots), Ledger()
    again.restore(slots, Cells.of_bytes(cells.predicates, cells.names, *cells.as_bytes()))
    again.restored()
    assert list(again.items()) == list(ledger.items())


def test_counts_of_another_number_than_the_names_are_none() -> None:
    for names, data in ((("w:a", "w:b"), b"\0" * 4), (("w:a",), b"\0" * 3)):
        with pytest.raises(ValueError, match=r"cannot reshape|buffer size"):
            Cells.of_bytes(("p",), names, data, b"\0" * 4)


@LAWS
@given(facts=LISTS)
def test_once_floored_no_count_is_negative_nor_hits_more_than_pages(facts: list[Fact]) -> None:
    ledger = Ledger()
    slots = ledger.count(fact._replace(times=(-1) ** place).change for place, fact in enumerate(facts))
    ledger.floor(slots)
    assert all(0 <= hits <= pages for _, _, pages, hits in ledger.items())
