"""Lifts of words, roots of topics, phrases, the combiner of inputs and its calibration, beside plain Python."""

import math
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from random import Random
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.ledger import Ledger
from scentline.models.policy import combiner
from scentline.models.policy.batch import LinkTable, inputs_of, named_of
from scentline.models.policy.candidate import ABOVE, AROUND, SAID, Candidate
from scentline.models.policy.combiner import DRIFT as NOISE
from scentline.models.policy.combiner import (
    MOST_LOGIT,
    PRIORS,
    BayesianLogisticRegression,
    Calibration,
    Learner,
    calibrated,
    logits,
    probability,
)
from scentline.models.policy.features import ANCHOR, BASE, DRIFT, PAGE_WORD, URL_WORD, Shrunk, strongest
from scentline.models.policy.inputs import NAMES, SEMANTIC_INPUTS, inputs_with, prior_covariance, prior_mean
from scentline.models.policy.knowledge import TOPIC_PAGES, Knowledge
from scentline.models.policy.vocabulary import AKIN_PAGES, LEAST, Roots, Vocabulary, root, roots
from tests.cases import each_case
from tests.models.teaching import CELLS, SOME_WORDS, WORDS, Cell, put, teach, word_lift
from tests.models.test_learner_inputs import added

Cells = dict[str, Cell]
RATES = st.floats(0.01, 0.9)


# lifts


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
def test_strongest_are_first_of_sorted(features: list[tuple[float, int]], most: int, against: bool) -> None:
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
    sought = roots(topic)
    for now in (0.5, rate if abs(rate - 0.5) > DRIFT * 0.5 else 0.5):
        lifts.rebase(Shrunk(now))
        for word in {*AKIN, *topic}:
            start = TOPIC_PAGES if word in topic else AKIN_PAGES * any(each in word for each in sought)
            pages, hits = counts.get(PAGE_WORD + word, (0, 0))
            (place,) = vocabulary.numbers([word])
            expected = word_lift((pages + start, hits + start), now)
            assert lifts.weights[place] == pytest.approx(expected, abs=1e-12)


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
    phrases: list[list[tuple[str, ...]]], pages: list[list[Link]], urls: list[tuple[list[str], set[int]]],
    looked: bool,
) -> None:  # fmt: skip
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


INPUTS = st.lists(st.floats(-4, 4), min_size=3, max_size=3)
LABELS = st.lists(st.tuples(INPUTS, st.booleans()), max_size=30)


def plain_update(
    mean: list[float], covariance: list[list[float]], x: list[float], y: bool
) -> tuple[list[float], list[list[float]]]:
    places = range(len(x))
    gain = [sum(covariance[i][j] * x[j] for j in places) for i in places]
    spread = sum(x[i] * gain[i] for i in places)
    logit = sum(mean[i] * x[i] for i in places)
    p = 1 / (1 + math.exp(-logit / math.sqrt(1 + math.pi * spread / 8)))
    v = max(p * (1 - p), combiner.LEAST_VARIANCE)
    d = 1 / v + spread
    after = [mean[i] + gain[i] * (y - p) / (v * d) for i in places]
    return after, [
        [covariance[i][j] - gain[i] * gain[j] / d + NOISE * (i == j) for j in places] for i in places
    ]


@given(LABELS, INPUTS)
def test_a_label_updates_as_the_formula_says_and_makes_no_logit_less_certain_but_by_drift(
    labels: list[tuple[list[float], bool]], asked: list[float]
) -> None:
    mean, covariance = [0.1, -0.2, -1.0], [[0.25, 0, 0], [0, 0.25, 0], [0, 0, 4.0]]
    model = BayesianLogisticRegression(np.array(mean), np.array(covariance))
    row = np.array([asked])
    for x, y in labels:
        _, (before,) = logits(row, model.mean, model.covariance)
        model.learn(np.array(x), y)
        _, (after,) = logits(row, model.mean, model.covariance)
        assert after**2 <= before**2 + NOISE * float(row[0].dot(row[0])) + 1e-9
        mean, covariance = plain_update(mean, covariance, x, y)
    assert model.mean == pytest.approx(mean, rel=1e-6, abs=1e-8)
    assert model.covariance == pytest.approx(np.array(covariance), rel=1e-6, abs=1e-8)
    assert model.covariance == pytest.approx(model.covariance.T)
    assert np.linalg.eigvalsh(model.covariance).min() > 0


def test_doubt_draws_a_probability_towards_one_half_and_a_sure_prediction_can_still_be_corrected() -> None:
    assert probability(2.0, 0.0) == pytest.approx(1 / (1 + math.exp(-2)))
    assert probability(2.0, 0.0) > probability(2.0, 1.0) > probability(2.0, 5.0) > 0.5
    both = combiner.probabilities(np.array([2.0, -1.0]), np.array([1.0, 3.0]))
    assert both.tolist() == pytest.approx([probability(2.0, 1.0), probability(-1.0, 3.0)])
    sure = BayesianLogisticRegression(np.array([30.0]), np.array([[1.0]]))
    for _ in range(400):
        sure.learn(np.array([1.0]), False)
    assert probability(float(sure.mean[0]), 0.0) < 0.5


# by setting


def test_a_learner_of_more_inputs_learns_what_these_decide_and_takes_no_state_of_fewer() -> None:
    inputs = inputs_with(meaning=True)
    assert inputs_with(meaning=False) == inputs[: len(NAMES)]
    assert inputs[len(NAMES) :] == SEMANTIC_INPUTS
    learner = Learner(inputs=inputs)
    assert learner.combiner.mean.tolist() == prior_mean(inputs).tolist()
    assert learner.combiner.covariance.tolist() == prior_covariance(inputs).tolist()
    random = np.random.default_rng(2)
    for row in random.normal(size=(300, len(inputs))):
        learner.learn(row.tolist(), bool(row[-2] > row[-3]), "selected")
    order = learner.combiner.mean.argsort().tolist()
    assert (order[-1], order[0]) == (len(inputs) - 2, len(inputs) - 3)
    unseen = random.normal(size=(200, len(inputs)))
    assert sum((learner.probability(row.tolist()) > 0.5) == (row[-2] > row[-3]) for row in unseen) > 150
    assert Learner(state=learner.state(), inputs=inputs).state() == learner.state()
    with pytest.raises(ValueError, match=f"{len(inputs)} weights, expected {len(NAMES)}"):
        Learner(state=learner.state())
    with pytest.raises(ValueError, match=f"{len(NAMES)} weights, expected {len(inputs)}"):
        Learner(state=Learner().state(), inputs=inputs)


# learned probabilities come true as often as they say


Outcome = tuple[float, bool]
CHOICES = st.lists(
    st.tuples(st.floats(0, 1), st.booleans(), st.sampled_from(["selected", "explored", "other"])), max_size=30
)


def error(sample: list[Outcome]) -> float:
    """Return how far the mean probability of each tenth is from its rate of hits, on the mean."""
    off = [0.0] * 10
    for said, hit in sample:
        off[min(int(said * 10), 9)] += said - hit
    return sum(map(abs, off)) / len(sample)


def test_before_the_first_label_selected_pages_are_believed_and_explored_ones_much_less() -> None:
    selected, explored = Calibration().shifts
    assert calibrated(0.3, selected) == pytest.approx(0.3)
    assert calibrated(0.19, explored) == pytest.approx(0.04, abs=0.01)


@each_case("chosen", ["selected", "explored"])
def test_ten_labels_matter_somewhat_to_their_own_kind_alone(chosen: str) -> None:
    calibration, explored = Calibration(), chosen == "explored"
    before = calibration.shifts
    for _ in range(10):
        calibration.learn(0.5, True, "other")
    assert calibration.shifts == before
    for _ in range(10):
        calibration.learn(0.5, True, chosen)
    assert calibration.shifts[not explored] == before[not explored]
    after = calibrated(0.5, calibration.shifts[explored])
    assert calibrated(0.5, PRIORS[chosen][0]) + 0.1 < after < 0.95


@each_case("chosen", ["selected", "explored"])
def test_probabilities_that_come_out_too_high_are_corrected(chosen: str) -> None:
    random, calibration, raw, shifted = Random(3), Calibration(), list[Outcome](), list[Outcome]()
    for number in range(1500):
        said = random.betavariate(1, 2)
        hit = random.random() < 1 / (1 + math.exp(2 - 1.3 * math.log(said / (1 - said))))
        if number >= 300:
            raw.append((said, hit))
            shifted.append((calibrated(said, calibration.shifts[chosen == "explored"]), hit))
        calibration.learn(said, hit, chosen)
    assert error(raw) > 0.15
    assert error(shifted) < 0.03
    rate = fmean(hit for _, hit in shifted)
    assert fmean((said - hit) ** 2 for said, hit in shifted) < rate * (1 - rate), "Brier's score"


@given(labels=CHOICES, said=st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_it_goes_on_from_its_state_and_a_probability_stays_one_and_keeps_its_order(
    labels: list[tuple[float, bool, str]], said: list[float]
) -> None:
    one, other = Calibration(), Calibration()
    for label in labels:
        one.learn(*label)
        other = Calibration(other.state())
        other.learn(*label)
    assert (other.state(), other.shifts) == (one.state(), one.shifts)
    low, high = sorted(said)
    for shift in one.shifts:
        assert 0 < calibrated(low, shift) <= calibrated(high, shift) < 1


def test_certainty_is_taken_as_nearly_so_and_a_state_of_another_length_refused() -> None:
    assert calibrated(1.0, (0.0, 1.0)) == pytest.approx(1 / (1 + math.exp(-MOST_LOGIT)))
    assert calibrated(0.0, (0.0, 1.0)) == pytest.approx(1 - calibrated(1.0, (0.0, 1.0)))
    with pytest.raises(ValueError, match="its state has 8 bytes, expected 96"):
        Calibration(bytes(8))
