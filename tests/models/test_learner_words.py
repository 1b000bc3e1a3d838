"""Lifts of words and other features, roots of topics, phrases, beside plain Python that says what they are."""

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.interest.features import ANCHOR, BASE, PAGE_WORD, URL_WORD, USER
from scentline.models.learner.batch import inputs_of, named_of
from scentline.models.learner.candidate import Candidate
from scentline.models.learner.knowledge import TOPIC_PAGES, Knowledge
from scentline.models.learner.lifts import Lifts, strongest
from scentline.models.learner.linking import LinkTable
from scentline.models.learner.named import ABOVE, AROUND, SAID, Named
from scentline.models.learner.words import AKIN_PAGES, DRIFT, LEAST, Roots, Vocabulary, root, roots
from scentline.models.ledger import Ledger
from tests.models.teaching import CELLS, SOME_WORDS, WORDS, Cell, put, teach, word_lift
from tests.models.test_learner_inputs import added

NEARLY = 1e-12
Cells = dict[str, Cell]
RATES = st.floats(0.01, 0.9)


# lifts


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


PAGE_WORDS = [PAGE_WORD + word for word in WORDS]


@given(
    counted=st.dictionaries(
        st.sampled_from([*PAGE_WORDS, *(k + w for k in (ANCHOR, URL_WORD) for w in WORDS)]), CELLS
    ),
    met=SOME_WORDS,
    topic=st.lists(st.sampled_from(WORDS), unique=True, max_size=2),
    gone=st.lists(st.sampled_from(PAGE_WORDS), unique=True),
    earlier=st.dictionaries(st.sampled_from(PAGE_WORDS), CELLS, max_size=2),
    later=st.dictionaries(st.sampled_from(PAGE_WORDS), CELLS),
)
def test_words_that_are_left_weigh_what_they_did_when_others_are_forgotten(
    counted: Cells, met: list[str], topic: list[str], gone: list[str], earlier: Cells, later: Cells
) -> None:
    def known(words: list[str], *counts: Cells) -> Knowledge:
        vocabulary = Vocabulary(Ledger())
        vocabulary.words(words)
        knowledge = Knowledge("p", vocabulary, topic)
        knowledge.inherit([*((name, *cell) for name, cell in earlier.items()), (BASE, 100, 10)])
        teach(
            knowledge, {name: cell for cells in counts for name, cell in cells.items()} | {BASE: (50, 20)}, "p"
        )
        return knowledge

    def weights(knowledge: Knowledge) -> list[float]:
        vocabulary = knowledge.words.vocabulary
        places = [vocabulary.numbers([word], kind)[0] for word in WORDS for kind in range(4)]
        found: list[float] = knowledge.words.weights[places].tolist()
        return found

    knowledge = known(met, counted)
    vocabulary, lifts = knowledge.words.vocabulary, knowledge.words
    slots = vocabulary.ledger.slots_of([name for name in gone if name in vocabulary.ledger])
    places = vocabulary.forget(slots)
    vocabulary.ledger.forget(slots)
    knowledge.learn(places)
    expected = weights(knowledge)
    lifts.renumber(vocabulary.compact(lifts.beside))
    kept = {name: cell for name, cell in counted.items() if name not in gone}
    assert len(vocabulary) <= len({*topic, *(name[2:] for name in (*earlier, *kept))})
    assert weights(knowledge) == expected
    # What changes later is found under its new place.
    teach(knowledge, {**later, BASE: (50, 20)}, "p")
    assert weights(knowledge) == pytest.approx(weights(known([], kept, later)), abs=DRIFT * 2)


# what speaks most


@given(st.lists(st.tuples(st.sampled_from([-3.0, -1.0, 0.0, 0.5, 1.0, 3.0]), st.integers(0, 4)), max_size=30),
       st.integers(1, 12), st.booleans())  # fmt: skip
def test_the_strongest_are_those_that_come_first_where_all_are_sorted(
    features: list[tuple[float, int]], most: int, against: bool
) -> None:
    weights = np.array([weight for weight, _ in features])
    pages = np.array([number for _, number in features], int)
    sign = -1 if against else 1
    expected = sorted(
        (place for place, (weight, number) in enumerate(features) if sign * weight > 0 and number > 0),
        key=lambda place: (-sign * features[place][0], -features[place][1], place),
    )
    assert strongest(weights, pages, most, against=against).tolist() == expected[:most]


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
def test_a_root_is_the_start_of_its_word_and_a_short_word_has_none(word: str) -> None:
    found = root(word)
    assert word.startswith(found)
    assert found == word or len(found) >= LEAST
    assert roots(("sea", "war", "ice")) == {"seawar", "waric"}
    assert roots(("time", "zone")) == {"timezon"}


@given(
    topic=st.lists(st.sampled_from(["password", "merging", "sea"]), unique=True, max_size=2),
    before=st.lists(st.sampled_from(AKIN), unique=True),
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
    lifts.take(vocabulary.places_in(put(vocabulary.ledger, counts)))
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


# phrases

NAMED = ["password", "passwords", "passwordhash", "time", "zone", "timezones", "zones", "sea", "seas", "x"]
SOME = st.lists(st.sampled_from(NAMED), max_size=4)
PHRASES = st.lists(
    st.lists(st.sampled_from(["password", "time", "zone", "sea", "hash"]), min_size=1, max_size=3).map(tuple),
    max_size=3,
)
Link = tuple[list[str], list[str], list[str]]
LINKS = st.tuples(SOME, SOME, SOME)


def holds(word: str, sought: str) -> bool:
    found = root(sought)
    return found in word if len(found) >= LEAST else found == word


def part(word: str, phrases: Sequence[Sequence[str]]) -> float:
    """Return the part of a phrase that a word holds, of several the largest."""

    def parts() -> Iterator[float]:
        for phrase in phrases:
            if any(holds(word, each) for each in phrase):
                yield 1 / len(phrase)
            both = [first + second for first, second in pairwise(phrase)]
            if any(len(root(each)) >= LEAST and root(each) in word for each in both):
                yield 2 / len(phrase)

    return max(parts(), default=0.0)


def held(words: Sequence[str], phrases: Sequence[Sequence[str]]) -> float:
    return min(1.0, sum(part(word, phrases) for word in words))


def topic_of(phrases: Sequence[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(phrases)))


@given(phrases=PHRASES, before=SOME, after=SOME, gone=st.booleans(), later=SOME)
def test_words_hold_what_they_hold_whenever_they_are_met(
    phrases: list[tuple[str, ...]], before: list[str], after: list[str], gone: bool, later: list[str]
) -> None:
    vocabulary = Vocabulary(Ledger())
    vocabulary.words(before)
    knowledge = Knowledge("p", vocabulary, topic_of(phrases), phrases)
    vocabulary.words(after)
    if gone:  # all words but those of phrases: they come back under other numbers
        knowledge.renumber(vocabulary.compact(knowledge.words.beside))
    vocabulary.words(later)
    numbers = vocabulary.words(NAMED)
    assert knowledge.named.by_word[numbers].tolist() == pytest.approx([part(each, phrases) for each in NAMED])


@given(
    phrases=st.lists(PHRASES, min_size=1, max_size=2),
    pages=st.lists(st.lists(LINKS, min_size=1, max_size=3), min_size=1, max_size=3),
    urls=st.lists(st.tuples(SOME, st.sets(st.integers(0, 8))), min_size=1, max_size=3),
    looked=st.booleans(),
)
def test_a_candidate_is_put_forward_by_the_best_of_its_links_and_its_url(
    phrases: list[list[tuple[str, ...]]],
    pages: list[list[Link]],
    urls: list[tuple[list[str], set[int]]],
    looked: bool,
) -> None:
    vocabulary, table = Vocabulary(Ledger()), LinkTable(len(phrases))
    knowledge = [Knowledge(str(place), vocabulary, topic_of(each), each) for place, each in enumerate(phrases)]
    places: list[int] = []
    for links in pages:
        page = added(table, vocabulary, ["x", "time"], links, [False] * len(phrases))
        places += range(page.first, page.first + page.links)
    said = [link for links in pages for link in links]
    candidates, expected = [], []
    for url, drawn in urls:
        mine = [each for each in drawn if each < len(said)]
        numbers = vocabulary.numbers(url)
        candidates.append(Candidate(numbers, (), [places[each] for each in mine], [(0, 0)] * len(phrases)))
        expected.append([put_forward(url, [said[each] for each in mine], each) for each in phrases])
    if looked:  # whoever looks first
        inputs_of(knowledge, table, candidates)
    assert named_of(knowledge, table, candidates).T.tolist() == pytest.approx(np.array(expected), abs=1e-6)


def put_forward(url: Sequence[str], links: Sequence[Link], phrases: Sequence[Sequence[str]]) -> float:
    found = [SAID * held(url, phrases)]
    for inside, around, above in links:
        found += [SAID * held(inside, phrases), AROUND * held(around, phrases), ABOVE * held(above, phrases)]
    return max(found)


def test_without_phrases_nothing_is_put_forward() -> None:
    vocabulary = Vocabulary(Ledger())
    candidate = Candidate(vocabulary.numbers(["sports"]), (), (), [(0, 0)])
    assert named_of([Knowledge("p", vocabulary, ["sports"])], LinkTable(1), [candidate]).tolist() == [[0.0]]
    assert not Named(vocabulary).any
