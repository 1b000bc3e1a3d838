"""The laws that hold of whatever counts verdicts, and of whatever policies make of the counts.

Counts are those of plain dictionaries: so the order in which verdicts come is of no account, what is taken back
leaves no trace, and two that counted apart add up. Who starts again from what was kept goes on as if nothing
had been.
"""

import math
from collections.abc import Callable, Iterable
from random import Random
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.agent import FrontierShard
from scentline.models.frontier.ledger import FrontierLedger
from scentline.models.frontier.rows import FrontierRow
from scentline.models.ledger import INT32, Cells, Change, Ledger
from scentline.models.lessons import lessons
from scentline.models.page import FAILED, Verdict
from scentline.models.parts import Part
from scentline.models.policy.features import (
    BASE,
    MOST,
    PAGE_WORD,
    TOKEN,
    URL_WORD,
    Base,
    Shrunk,
    always_kept,
    base_rate,
    log_lift,
)
from scentline.models.policy.learned import LearnedScorer
from scentline.models.policy.priorities import Scorer
from scentline.models.policy.scoring import PaperScorer
from scentline.models.policy.vocabulary import WORDS
from scentline.models.records import Interests
from scentline.models.settings import LearnSettings
from scentline.streams.inbox import Codec, Shard
from scentline_lab.simulation.core import Memory
from tests.models.teaching import significant_log
from tests.patience import more
from tests.reference.counts import Counts

LAWS = more(2)  # what every count rests on
#: Two predicates, and that a request brought no page.
PREDICATES = ("p", "q", FAILED)
NAMES = (BASE, "p:a", "p:b", "x:a", "t:a", "l:p:1")

ScorerT = TypeVar("ScorerT", bound=Scorer)
#: Pages and hits by feature and predicate.
State = dict[tuple[str, str], tuple[int, int]]
#: Weights by feature and predicate.
Weighed = dict[tuple[str, str], float]


class Fact(NamedTuple):
    """A verdict counted ``times`` over under each of ``features``."""

    features: tuple[str, ...]
    verdict: Verdict
    times: int = 1

    @property
    def change(self) -> Change:
        return Change(self.features, self.verdict, np.full(len(self.features), self.times, INT32))

    @property
    def back(self) -> "Fact":
        return self._replace(times=-self.times)


FACTS = st.builds(
    Fact,
    st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=4).map(tuple),
    st.dictionaries(st.sampled_from(PREDICATES), st.booleans(), min_size=1),
    st.integers(1, 3),
)
LISTS = st.lists(FACTS, max_size=12)


# counters


def state_of(ledger: Ledger) -> State:
    return {(name, predicate): (pages, hits) for name, predicate, pages, hits in ledger.items()}


def plain(facts: Iterable[Fact]) -> Counts:
    counts = Counts()
    for fact in facts:
        counts.add(*fact)
    return counts


class InArrays:
    """A ledger, kept as the cells of all its slots."""

    def __init__(self, ledger: Ledger | None = None) -> None:
        self.ledger = ledger or Ledger()

    def add(self, fact: Fact) -> None:
        self.ledger.add(self.ledger.slots_of(fact.features), fact.verdict, fact.times)

    def state(self) -> State:
        return state_of(self.ledger)

    def again(self) -> "InArrays":
        cells = self.ledger.take(np.arange(self.ledger.size))
        copy = Ledger()
        copy.put(copy.slots_of(map(str, cells.names)), Cells.of_bytes(*cells[:2], cells.as_bytes()))
        return InArrays(copy)


class Stored:
    """A frontier that counts a partition, a group a fact, and keeps the rows."""

    def __init__(self, rows: Memory | None = None, partition: int = 0, partitions: int = 1) -> None:
        self.rows, self.place = rows or Memory(), (partition, partitions)
        self.shard: FrontierShard = Shard(partition, "", self.rows, Codec(FrontierRow), 100)
        self.scorer = a_paper_scorer()
        self.ledger = FrontierLedger(self.scorer, 1_000, 1_000, partitions)
        self.ledger.open(self.shard)

    def add(self, fact: Fact) -> None:
        self.ledger.count(self.shard.partition, [fact.change])
        self.shard.begin(self.shard.mark.offset + 1)
        self.rows.put(self.shard.close_group().rows)
        self.shard.landed()
        self.ledger.committed(self.shard.partition)

    def state(self) -> State:
        return state_of(self.scorer.ledger)

    def again(self) -> "Stored":
        return Stored(self.rows, *self.place)


class Heard:
    """A frontier that counts a partition, and hears now and then of what another counts; one of them judges."""

    def __init__(self, own: Stored | None = None, other: Stored | None = None) -> None:
        self.own, self.other = own or Stored(None, 0, 2), other or Stored(None, 1, 2)
        self.added = 0

    def add(self, fact: Fact) -> None:
        # What takes it back comes from where it was judged.
        (self.own if crc32(repr(fact[:2]).encode()) % 2 else self.other).add(fact)
        self.added += 1
        if self.added % 3 == 0:
            self.hear()

    def hear(self) -> None:
        for block in self.other.ledger.tell(math.inf)[0]:
            self.own.ledger.hear(Interests(block=block))

    def state(self) -> State:
        self.hear()
        return self.own.state()

    def again(self) -> "Heard":
        return Heard(self.own.again(), self.other.again())


COUNTERS = [InArrays, Stored, Heard]


def counted(counter: Any, facts: Iterable[Fact]) -> Any:
    for fact in facts:
        counter.add(fact)
    return counter


def state(facts: Iterable[Fact]) -> State:
    return {(name, predicate): (pages, hits) for name, predicate, pages, hits in plain(facts).items()}


@pytest.mark.parametrize("make", COUNTERS)
@LAWS
@given(facts=LISTS, back=LISTS, order=st.randoms(use_true_random=False))
def test_counts_in_any_order_are_those_of_plain_dictionaries_and_what_is_taken_back_leaves_no_trace(
    make: Callable[[], Any], facts: list[Fact], back: list[Fact], order: Random
) -> None:
    mixed = [*facts, *back]
    order.shuffle(mixed)
    assert counted(make(), [*mixed, *(fact.back for fact in back)]).state() == state(facts)


@pytest.mark.parametrize("make", COUNTERS)
@LAWS
@given(facts=LISTS, more=LISTS)
def test_a_restart_changes_nothing(make: Callable[[], Any], facts: list[Fact], more: list[Fact]) -> None:
    assert counted(counted(make(), facts).again(), more).state() == state([*facts, *more])


# a ledger's arrays: what is forgotten, kept and floored


@LAWS
@given(facts=LISTS, number=st.integers(0, 6), more=LISTS)
def test_the_rarest_are_forgotten_and_slots_reused(facts: list[Fact], number: int, more: list[Fact]) -> None:
    ledger = counted(InArrays(), facts).ledger
    pages = {name: max(ledger.get(name, each)[0] for each in PREDICATES) for name in NAMES if name in ledger}
    slots = ledger.rarest(number, np.ones(ledger.size, np.bool_), lambda name: name == "")
    gone = ledger.forget(slots)
    assert len(slots) == len(gone) == min(number, len(pages.keys() - {""}))
    left = [pages[name] for name in pages if name not in gone and name]
    assert max((pages[name] for name in gone), default=0) <= min(left, default=10**6)
    assert all(ledger.get(name, each) == (0, 0) for name in gone for each in PREDICATES)
    size = ledger.size
    counted(InArrays(ledger), more)
    assert ledger.size == max(size, len(ledger))


def test_counts_of_another_number_than_the_names_are_none() -> None:
    for names, data in ((("w:a", "w:b"), b"\0" * 8), (("w:a",), b"\0" * 7)):
        with pytest.raises(ValueError, match=r"cannot reshape|buffer size"):
            Cells.of_bytes(("p",), names, data)


@LAWS
@given(facts=LISTS)
def test_no_count_of_a_part_is_negative_nor_hits_more_than_pages(facts: list[Fact]) -> None:
    ledger = Ledger()
    part = Part(ledger)
    part.begin()
    part.count([fact._replace(times=(-1) ** place).change for place, fact in enumerate(facts)])
    assert all(0 <= hits <= pages for _, _, pages, hits in ledger.items())


# policies: what they make of counts is a function of the counts


def with_predicates(scorer: ScorerT) -> ScorerT:
    for predicate in PREDICATES:
        scorer.add_predicate(predicate)
    return scorer


def a_paper_scorer() -> PaperScorer:
    return with_predicates(PaperScorer(LearnSettings(t=0.5), lessons("combined"), drift=0.0))


def weighed_by_paper(scorer: PaperScorer) -> Weighed:
    return {
        (TOKEN + name, predicate): log
        for predicate in PREDICATES
        for name in "ab"
        if (log := scorer.weights(predicate).sum(TOKEN, [name]))
    }


def weighed_by_learned(scorer: LearnedScorer) -> Weighed:
    found: Weighed = {}
    for predicate in PREDICATES:
        knowledge = scorer.known(predicate)
        # To 0.5 and back: all words are weighed at the rate of now.
        knowledge.words.rebase(Shrunk(0.5))
        knowledge.words.rebase(Shrunk(knowledge.rate))
        vocabulary = knowledge.words.vocabulary
        for name in "ab":
            for feature in (PAGE_WORD, URL_WORD):
                places = vocabulary.numbers([name], WORDS[feature])
                found[feature + name, predicate] = float(knowledge.words.weights[places].sum())
    return {key: weight for key, weight in found.items() if weight}


def logs_of(counts: Counts) -> Weighed:
    found = {
        (name, predicate): significant_log(pages, hits, Base(*counts.get(BASE, predicate)), 0.5)
        for name, predicate, pages, hits in counts.items()
        if name.startswith(TOKEN)
    }
    return {key: log for key, log in found.items() if log}


def lifts_of(counts: Counts) -> Weighed:
    found = {
        (name, predicate): log_lift(pages, hits, base_rate(*counts.get(BASE, predicate)))
        for name, predicate, pages, hits in counts.items()
        if name[:2] in (PAGE_WORD, URL_WORD)
    }
    return {key: max(-MOST, min(MOST, lift)) for key, lift in found.items() if lift}


class Policy(NamedTuple):
    scorer: Callable[[], Scorer]
    weighed: Callable[..., Weighed]
    plain: Callable[[Counts], Weighed]


POLICIES = [
    Policy(a_paper_scorer, weighed_by_paper, logs_of),
    Policy(lambda: with_predicates(LearnedScorer()), weighed_by_learned, lifts_of),
]


def told(policy: Policy, facts: Iterable[Fact], limit: int = 1_000) -> Any:
    """Return a scorer whose frontier has counted, and known so many features at most."""
    scorer = policy.scorer()
    ledger = FrontierLedger(scorer, limit, limit)
    ledger.begin(0)
    for fact in facts:
        ledger.count(0, [fact.change])
    return scorer


def weights(policy: Policy, facts: Iterable[Fact]) -> Weighed:
    return policy.weighed(told(policy, facts))


@pytest.mark.parametrize("policy", POLICIES)
@LAWS
@given(facts=LISTS, back=LISTS, order=st.randoms(use_true_random=False))
def test_policies_weigh_by_formula(policy: Policy, facts: list[Fact], back: list[Fact], order: Random) -> None:
    mixed = [*facts, *back]
    order.shuffle(mixed)
    expected = pytest.approx(policy.plain(plain(facts)), abs=1e-12)
    assert weights(policy, [*mixed, *(fact.back for fact in back)]) == expected


@pytest.mark.parametrize("policy", POLICIES)
@LAWS
@given(facts=LISTS, more=LISTS)
def test_what_is_forgotten_weighs_nothing(policy: Policy, facts: list[Fact], more: list[Fact]) -> None:
    scorer, left = told(policy, [*facts, *more], limit=2), Counts()
    for name, predicate, pages, hits in scorer.ledger.items():
        left.add([name], {predicate: True}, hits)
        left.add([name], {predicate: False}, pages - hits)
    assert policy.weighed(scorer) == pytest.approx(policy.plain(left), abs=1e-12)


@pytest.mark.parametrize("policy", POLICIES)
@LAWS
@given(facts=LISTS, back=LISTS)
def test_weights_are_numbers_whatever_is_taken_back(
    policy: Policy, facts: list[Fact], back: list[Fact]
) -> None:
    words = [fact.back for fact in back if not any(map(always_kept, fact.features))]
    assert all(map(math.isfinite, weights(policy, [*words, *facts, *words]).values()))
    assert weights(policy, words) == {}


@pytest.mark.parametrize("policy", POLICIES)
@LAWS
@given(facts=LISTS)
def test_a_policy_that_starts_with_counts_weighs_as_if_it_saw_them(policy: Policy, facts: list[Fact]) -> None:
    heard, scorer = counted(Stored(), facts).scorer.ledger, policy.scorer()
    cells = heard.take(slots := np.arange(heard.size))
    scorer.ledger.put(scorer.ledger.slots_of(map(str, cells.names)), cells)
    scorer.learn(np.arange(len(slots)))
    assert policy.weighed(scorer) == pytest.approx(weights(policy, facts), abs=1e-12)
