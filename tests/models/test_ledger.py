"""Counts obey the laws of a commutative group; the ledger's arrays hold what plain dictionaries do."""

from collections.abc import Callable, Iterable
from random import Random
from typing import NamedTuple, Protocol

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.counts import Counts
from models.evaluate.tally import Tally
from models.interest.ratio import Base
from models.ledger import INT32, Cells, Change, Ledger
from models.verdict import Verdict

LAWS = settings(derandomize=True, deadline=None, max_examples=100)
PREDICATES = ("p", "q")
NAMES = ("", "p:a", "p:b", "x:a", "l:p:1")

State = dict[tuple[str, str], tuple[int, int]]


class Fact(NamedTuple):
    features: tuple[str, ...]
    verdict: Verdict
    times: int = 1

    @property
    def change(self) -> Change:
        return Change(self.features, self.verdict, np.full(len(self.features), self.times, INT32))


class Counter(Protocol):
    """Whatever counts verdicts under features."""

    def add(self, fact: Fact) -> None: ...

    def state(self) -> State: ...

    def again(self) -> "Counter":
        """Return what is read again from what it keeps."""


class Plain:
    """The twin: dictionaries."""

    def __init__(self, counts: Counts | None = None) -> None:
        self.counts = counts or Counts()

    def add(self, fact: Fact) -> None:
        self.counts.add(*fact)

    def state(self) -> State:
        return {(name, predicate): (pages, hits) for name, predicate, pages, hits in self.counts.items()}

    def again(self) -> "Plain":
        copy = Counts()
        copy.merge(self.counts)
        return Plain(copy)


class InArrays:
    """A ledger, kept as the cells of all its slots."""

    def __init__(self, ledger: Ledger | None = None) -> None:
        self.ledger = ledger or Ledger()

    def add(self, fact: Fact) -> None:
        self.ledger.count([fact.change])

    def state(self) -> State:
        return {(name, predicate): (pages, hits) for name, predicate, pages, hits in self.ledger.items()}

    def again(self) -> "InArrays":
        slots = np.arange(self.ledger.size)
        cells = self.ledger.take(slots)
        copy = Ledger()
        copy.restore(slots, Cells.of_bytes(cells.predicates, cells.names, *cells.as_bytes()))
        copy.restored()
        return InArrays(copy)


class Tallied:
    """What the paper's policies keep in `evaluate`: it is never taken back but by sets."""

    def __init__(self) -> None:
        self.tallies = {name: Tally(2.0, "binomial") for name in PREDICATES}

    def add(self, fact: Fact) -> None:
        for predicate, holds in fact.verdict.items():
            tally = self.tallies[predicate]
            bits = sum(1 << int(number) for number in tally.numbers_of(list(fact.features)))
            tally.add_sets([bits], holds, fact.times)

    def state(self) -> State:
        return {
            (name, predicate): (pages, hits)
            for predicate, tally in self.tallies.items()
            for name, pages, hits in tally.items()
        }

    def again(self) -> "Tallied":
        copy = Tallied()
        for predicate, tally in self.tallies.items():
            copy.tallies[predicate].start({name: (pages, hits) for name, pages, hits in tally.items()})
            copy.tallies[predicate].work_out(Base(1, 0))
        return copy


COUNTERS: list[Callable[[], Counter]] = [Plain, InArrays, Tallied]
FACTS = st.builds(
    Fact,
    st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=4).map(tuple),
    st.dictionaries(st.sampled_from(PREDICATES), st.booleans(), min_size=1),
    st.integers(1, 3),
)
LISTS = st.lists(FACTS, max_size=12)


def counted(make: Callable[[], Counter], facts: Iterable[Fact]) -> Counter:
    counter = make()
    for fact in facts:
        counter.add(fact)
    return counter


@pytest.mark.parametrize("make", COUNTERS)
@LAWS
@given(facts=LISTS, order=st.randoms(use_true_random=False))
def test_the_order_in_which_verdicts_come_is_of_no_account(
    make: Callable[[], Counter], facts: list[Fact], order: Random
) -> None:
    other = list(facts)
    order.shuffle(other)
    assert counted(make, facts).state() == counted(make, other).state()


@pytest.mark.parametrize("make", COUNTERS)
@LAWS
@given(facts=LISTS, back=LISTS)
def test_what_is_taken_back_leaves_no_trace(
    make: Callable[[], Counter], facts: list[Fact], back: list[Fact]
) -> None:
    taken = [fact._replace(times=-fact.times) for fact in back]
    assert counted(make, [*facts, *back, *taken]).state() == counted(make, facts).state()


@pytest.mark.parametrize("make", COUNTERS)
@LAWS
@given(facts=LISTS, more=LISTS)
def test_whoever_starts_again_from_what_was_kept_goes_on_as_if_nothing_had_been(
    make: Callable[[], Counter], facts: list[Fact], more: list[Fact]
) -> None:
    again = counted(make, facts).again()
    for fact in more:
        again.add(fact)
    assert again.state() == counted(make, [*facts, *more]).state()


@pytest.mark.parametrize("make", COUNTERS)
@LAWS
@given(facts=LISTS)
def test_counts_are_those_of_plain_dictionaries(make: Callable[[], Counter], facts: list[Fact]) -> None:
    found, plain = counted(make, facts).state(), counted(Plain, facts).state()
    assert found == plain


# the ledger alone


@LAWS
@given(facts=LISTS, other=LISTS)
def test_two_ledgers_merge_by_their_counts(facts: list[Fact], other: list[Fact]) -> None:
    one, two = Ledger(), Ledger()
    one.count(fact.change for fact in facts)
    one.count(fact.change for fact in other)
    two.count(fact.change for fact in [*facts, *other])
    assert sorted(one.items()) == sorted(two.items())
    two.count(fact._replace(times=-fact.times).change for fact in other)
    one = Ledger()
    one.count(fact.change for fact in facts)
    assert sorted(one.items()) == sorted(two.items())


@LAWS
@given(facts=LISTS, told=LISTS)
def test_counts_that_are_set_are_those_and_no_others(facts: list[Fact], told: list[Fact]) -> None:
    ledger, other = Ledger(), Ledger()
    ledger.count(fact.change for fact in facts)
    cells = other.take(other.count(fact.change for fact in told))
    ledger.put(ledger.slots_of([name for name in cells.names if name is not None]), cells)
    features = {name for fact in told for name in fact.features}
    for name in NAMES:
        for predicate in PREDICATES:
            source = other if name in features else counted(InArrays, facts).ledger  # type: ignore[attr-defined]
            assert ledger.get(name, predicate) == source.get(name, predicate)


@LAWS
@given(facts=LISTS, number=st.integers(0, 6), more=LISTS)
def test_the_rarest_are_forgotten_and_their_slots_are_used_again(
    facts: list[Fact], number: int, more: list[Fact]
) -> None:
    ledger = Ledger()
    ledger.count(fact.change for fact in facts)
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
    assert InArrays(ledger).again().state() == InArrays(ledger).state()


def test_counts_of_another_number_than_the_names_are_none() -> None:
    with pytest.raises(ValueError, match="cannot reshape"):
        Cells.of_bytes(("p",), ("w:a", "w:b"), b"\0\0\0\0", b"\0\0\0\0")
    with pytest.raises(ValueError, match="buffer size"):
        Cells.of_bytes(("p",), ("w:a",), b"\0\0\0", b"\0\0\0\0")


@LAWS
@given(facts=LISTS)
def test_after_it_is_floored_no_count_is_below_zero_nor_are_there_more_hits_than_pages(
    facts: list[Fact],
) -> None:
    ledger = Ledger()
    slots = ledger.count(fact._replace(times=(-1) ** place).change for place, fact in enumerate(facts))
    ledger.floor(slots)
    assert all(0 <= hits <= pages for _, _, pages, hits in ledger.items())
