"""The lifts of words and other features, and roots of topics, beside plain Python that says what they are."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.interest.features import ANCHOR, BASE, PAGE_WORD, URL_WORD, USER
from scentline.models.learner import words
from scentline.models.learner.knowledge import TOPIC_PAGES, Knowledge
from scentline.models.learner.lifts import Lifts
from scentline.models.learner.words import (
    AKIN_PAGES,
    DRIFT,
    KINDS,
    LEAST,
    Roots,
    Vocabulary,
    WordLifts,
    root,
    roots,
)
from scentline.models.ledger import Ledger
from tests.models.teaching import CELLS, KIND_NAMES, SOME_WORDS, WORDS, Cell, put, teach, word_lift

NEARLY = 1e-12
RATES = st.floats(0.01, 0.9)


# lifts


class Put(NamedTuple):
    kind: int
    word: str
    cell: Cell


def put_words(lifts: WordLifts, counts: dict[tuple[int, str], Cell]) -> None:
    vocabulary = lifts.vocabulary
    slots = put(vocabulary.ledger, {KIND_NAMES[kind] + word: cell for (kind, word), cell in counts.items()})
    lifts.take(vocabulary.places_in(slots))


@given(
    started=st.dictionaries(st.sampled_from(WORDS), st.integers(1, 4), max_size=2),
    steps=st.lists(
        st.builds(Put, st.integers(0, KINDS - 1), st.sampled_from(WORDS), CELLS)
        | st.sampled_from(WORDS)
        | RATES,
        max_size=25,
    ),
)
def test_words_weigh_the_clipped_lift_of_every_count_wherever_it_lies(
    started: dict[str, int], steps: list[Put | str | float]
) -> None:
    vocabulary = Vocabulary(Ledger())
    lifts = WordLifts(vocabulary, "p")
    counts: dict[tuple[int, str], Cell] = {}
    rate = 0.1
    for word, given_hits in started.items():
        lifts.start(word, given_hits)
    for step in steps:
        if isinstance(step, Put):
            put_words(lifts, {(step.kind, step.word): step.cell})
            counts[step.kind, step.word] = step.cell
        elif isinstance(step, str):  # forgotten: its slots go to others
            slots = vocabulary.ledger.slots_of([kind + step for kind in KIND_NAMES])
            lifts.take(vocabulary.forget(slots))
            vocabulary.ledger.forget(slots)
            counts = {key: cell for key, cell in counts.items() if key[1] != step}
        else:
            lifts.rebase(step)
            rate = step if abs(step - rate) > DRIFT * min(rate, 1 - rate) else rate
    for kind in range(KINDS):
        for word in WORDS:
            pages, hits = counts.get((kind, word), (0, 0))
            start = started.get(word, 0)
            expected = word_lift((pages + start, hits + start), rate)
            assert lifts.sum(vocabulary.numbers([word], kind)) == pytest.approx(expected, abs=NEARLY)


@given(
    counts=st.lists(st.dictionaries(st.sampled_from(WORDS), CELLS), max_size=3),
    asked=st.lists(st.sampled_from(WORDS)),
    rates=st.lists(RATES, min_size=1, max_size=2),
)
def test_the_sum_is_that_of_the_clipped_lifts_of_the_names_that_were_counted(
    counts: list[dict[str, Cell]], asked: list[str], rates: list[float]
) -> None:
    ledger = Ledger()
    lifts = Lifts(ledger, "p", USER)
    known: dict[str, Cell] = {}
    for rate in rates:
        lifts.rebase(rate)
        for cells in counts:
            known |= cells
            put(ledger, {USER + name: cell for name, cell in cells.items()})
            lifts.renew()
            expected = sum(word_lift(known.get(name, (0, 0)), rate) for name in asked)
            assert lifts.sum(asked) == pytest.approx(expected, abs=NEARLY)


@given(
    counted=st.dictionaries(
        st.sampled_from([k + w for k in (PAGE_WORD, ANCHOR, URL_WORD) for w in WORDS]), CELLS
    ),
    met=SOME_WORDS,
    topic=st.lists(st.sampled_from(WORDS), unique=True, max_size=2),
    gone=st.lists(st.sampled_from([PAGE_WORD + word for word in WORDS]), unique=True),
    earlier=st.dictionaries(st.sampled_from(WORDS), CELLS, max_size=2),
    later=st.dictionaries(st.sampled_from([PAGE_WORD + word for word in WORDS]), CELLS),
)
def test_words_that_are_left_weigh_what_they_did_when_others_are_forgotten(
    counted: dict[str, Cell],
    met: list[str],
    topic: list[str],
    gone: list[str],
    earlier: dict[str, Cell],
    later: dict[str, Cell],
) -> None:
    ledger = Ledger()
    vocabulary = Vocabulary(ledger)
    vocabulary.words(met)
    knowledge = Knowledge("p", vocabulary, topic)
    knowledge.inherit([(PAGE_WORD + word, *cell) for word, cell in earlier.items()] + [(BASE, 100, 10)])
    teach(knowledge, {**counted, BASE: (50, 20)}, "p")
    slots = ledger.slots_of([name for name in gone if name in ledger])
    places = vocabulary.forget(slots)
    ledger.forget(slots)
    knowledge.learn(places)

    def weights() -> dict[str, list[float]]:
        found = ((word, [vocabulary.numbers([word], kind)[0] for kind in range(4)]) for word in WORDS)
        return {word: knowledge.words.weights[places].tolist() for word, places in found}

    lifts, expected = knowledge.words, weights()
    lifts.renumber(vocabulary.compact(lifts.beside))
    assert len(vocabulary) <= len({*topic, *earlier, *(name[2:] for name in counted if name not in gone)})
    assert weights() == expected
    # What changes later is found under its new place.
    teach(knowledge, {**later, BASE: (50, 20)}, "p")
    fresh = Knowledge("p", Vocabulary(Ledger()), topic)
    fresh.inherit([(PAGE_WORD + word, *cell) for word, cell in earlier.items()] + [(BASE, 100, 10)])
    kept = {name: cell for name, cell in counted.items() if name not in gone}
    teach(fresh, {**kept, **later, BASE: (50, 20)}, "p")
    for word in WORDS:
        for kind in range(4):
            (one,), (other,) = vocabulary.numbers([word], kind), fresh.words.vocabulary.numbers([word], kind)
            assert knowledge.words.weights[one] == pytest.approx(fresh.words.weights[other], abs=DRIFT * 2)


# roots

LETTERS = st.text("ab", min_size=1, max_size=9)
AKIN = ["passwords", "passwordhash", "merging", "sea", "seas"]


@given(st.lists(LETTERS, max_size=4), st.lists(LETTERS, unique=True))
def test_a_root_is_found_wherever_in_a_word_it_stands(sought: list[str], met: list[str]) -> None:
    index, numbers = Roots(), list[int]()
    index.add(sought, numbers)
    for number, word in enumerate(met):
        index.meet(word, number)
    assert set(numbers) == {n for n, word in enumerate(met) if any(each in word for each in sought)}


@given(st.text("aeinorstxy", max_size=12))
def test_a_root_is_the_start_of_its_word(word: str) -> None:
    found = root(word)
    assert word.startswith(found)
    assert found == word or len(found) >= LEAST


def test_a_short_word_has_no_root() -> None:
    assert roots(("sea", "war", "ice")) == {"seawar", "waric"}
    assert roots(("time", "zone")) == {"timezon"}


@given(
    topic=st.lists(st.sampled_from(["password", "merging", "sea"]), unique=True, max_size=2),
    before=st.lists(
        st.sampled_from(AKIN := ["passwords", "passwordhash", "merging", "sea", "seas"]), unique=True
    ),
    counts=st.dictionaries(st.sampled_from([PAGE_WORD + word for word in AKIN]), CELLS),
    after=st.lists(st.sampled_from(AKIN), unique=True),
    rate=RATES,
)
def test_words_with_a_root_of_the_topic_start_with_hits_whenever_they_are_met(
    topic: list[str], before: list[str], counts: dict[str, Cell], after: list[str], rate: float
) -> None:
    vocabulary = Vocabulary(Ledger())
    vocabulary.words(before)
    knowledge = Knowledge("p", vocabulary, topic)
    lifts = knowledge.words
    put_words(lifts, {(words.PAGE, name[2:]): cell for name, cell in counts.items()})
    lifts.renumber(vocabulary.compact(lifts.beside))
    vocabulary.words(after)
    lifts.rebase(0.5)
    lifts.rebase(rate)
    rate = rate if abs(rate - 0.5) > DRIFT * 0.5 else 0.5
    sought = roots(topic)
    for word in {*AKIN, *topic}:
        start = TOPIC_PAGES if word in topic else AKIN_PAGES * any(each in word for each in sought)
        pages, hits = counts.get(PAGE_WORD + word, (0, 0))
        expected = word_lift((pages + start, hits + start), rate)
        (place,) = vocabulary.numbers([word])
        assert lifts.weights[place] == pytest.approx(expected, abs=NEARLY)
