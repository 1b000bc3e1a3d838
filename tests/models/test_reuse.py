"""What one crawl has learned starts another: lifts carry over, files are read or refused, harvest rises."""

import math
import re
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.ledger import Ledger
from scentline.models.page import FAILED
from scentline.models.policy.batch import LinkTable, inputs_of
from scentline.models.policy.candidate import Candidate, Crowd
from scentline.models.policy.combiner import Calibration, Combining, Learner
from scentline.models.policy.features import (
    ANCHOR,
    BASE,
    PAGE_WORD,
    PREFIX,
    URL_WORD,
    USER,
    Shrunk,
    base_rate,
    link,
    log_lift,
)
from scentline.models.policy.inputs import NAMES, prior_covariance, prior_mean
from scentline.models.policy.knowledge import Knowledge, lifts_of
from scentline.models.policy.vocabulary import Vocabulary
from scentline.models.reuse import Learned, LearnedStateError, State, pack, unpack
from scentline.models.sealed import digest
from tests.cases import each_case
from tests.models.teaching import put, teach

# counts

CELLS = st.tuples(st.integers(1, 50), st.integers(0, 50)).map(lambda cell: (cell[0], min(cell)))
RATES = st.floats(0.01, 0.9)


def expected(counted: tuple[float, float], earlier: tuple[float, float], then: float, now: float) -> float:
    pages, hits = earlier
    cell = counted[0] + pages, counted[1] + min(pages, hits * now / then)
    return max(-3.0, min(3.0, log_lift(*cell, now)))


@given(counted=CELLS, earlier=CELLS, then=RATES, now=RATES, order=st.permutations([0, 1, 2]))
def test_inherited_hits_count_by_the_ratio_of_the_base_rates_whatever_comes_first(
    counted: tuple[int, int], earlier: tuple[int, int], then: float, now: float, order: list[int]
) -> None:
    ledger = Ledger()
    knowledge = Knowledge("p", Vocabulary(ledger))
    words, user = knowledge.words, USER + "ann"
    words.rebase(Shrunk(0.5))
    for step in order:
        if step == 0:
            slots = put(ledger, {PAGE_WORD + "ski": counted, user: counted})
            words.take(words.vocabulary.places_in(slots))
        elif step == 1:
            words.inherit([(PAGE_WORD + "ski", *earlier)])
            knowledge.inherit([(user, *earlier)])
        else:
            knowledge.rate = now
            knowledge.inherit([(BASE, 95, 100 * then - 0.5)])
    weight = expected(counted, earlier, then, now)
    assert lifts_of([knowledge], [user]) == pytest.approx(weight)
    assert words.weights[words.vocabulary.numbers(["ski"])].sum() == pytest.approx(weight)
    assert ledger.get(PAGE_WORD + "ski", "p") == counted, "what was inherited is not counted"


def inputs(knowledge: Knowledge, candidate: Candidate) -> list[float]:
    found: list[float] = inputs_of([knowledge], LinkTable(1), [candidate])[0, 0].tolist()
    return found


def test_a_feature_that_no_page_of_this_crawl_has_keeps_its_lift_at_another_base_rate() -> None:
    knowledge = Knowledge("p", Vocabulary(Ledger()))
    features = {PAGE_WORD + "ski": (80, 40), URL_WORD + "ski": (80, 40), PREFIX + "a.test": (80, 40)}
    state = Learned("p", "", 995, 99.5, features)
    teach(knowledge, {BASE: (95, 2)})
    candidate = Candidate(knowledge.words.vocabulary.numbers(["ski"]), ("a.test",), (), [(0, 0)])
    knowledge.inherit(state.counts(1))
    then, now = base_rate(995, 99.5), base_rate(95, 2)
    found = dict(zip(NAMES, inputs(knowledge, candidate), strict=True))
    assert found["URL words as URL words"] == pytest.approx(log_lift(80, 40 * now / then, now))
    assert found["URL words as URL words"] == pytest.approx(math.log(0.5 / then), abs=0.1)
    assert found["URL prefix"] == pytest.approx(math.log((40 * now / then + 2 * now) / 82 / now))
    assert list(knowledge.words.vocabulary.ledger.items_of("p")) == [(BASE, 95, 2)]


def test_inherited_counts_wait_for_their_base_and_go_with_it() -> None:
    knowledge = Knowledge("p", Vocabulary(Ledger()))
    candidate = Candidate(knowledge.words.vocabulary.numbers(["ski"]), (), (), [(0, 0)], Crowd(1, ("ann",)))
    before = inputs(knowledge, candidate)
    knowledge.inherit([(URL_WORD + "ski", 8, 8), (USER + "ann", 8, 8), (link("p", True), 8, 8)])
    assert inputs(knowledge, candidate) == before
    knowledge.inherit([(BASE, 100, 10)])
    assert inputs(knowledge, candidate) != before
    knowledge.inherit([(BASE, 0, 0)])
    assert inputs(knowledge, candidate) == before


# combiners


INPUTS = len(NAMES)


def a_combining(names: tuple[str, ...] = NAMES) -> Combining:
    random = np.random.default_rng(0)
    root = random.normal(size=(len(names), len(names)))
    calibration = Calibration()
    for number in range(20):
        calibration.learn(0.5, number % 3 == 0, "selected")
    mean = random.normal(size=len(names)).tobytes()
    return Combining(names, mean, (root @ root.T / 100).tobytes(), calibration.state())


def test_a_learner_starts_where_an_earlier_one_stood() -> None:
    earlier, new, random = Learner(), Learner(), Random(1)
    for _ in range(30):
        earlier.learn([random.gauss(0, 1) for _ in NAMES], random.random() < 0.3, "selected")
    state = earlier.state()
    new.start(Combining(NAMES, state.mean, state.covariance, state.calibration))
    assert (new.labels, new.state()[:2], new.shifts) == (0, state[:2], earlier.shifts)


def test_inputs_that_the_earlier_combiner_did_not_have_keep_their_weights() -> None:
    earlier, learner = a_combining(("other", *NAMES[5:])), Learner()
    learner.start(earlier)
    mean, covariance = learner.combiner.mean, learner.combiner.covariance
    assert mean.tolist() == [*prior_mean()[:5].tolist(), *np.frombuffer(earlier.mean)[1:].tolist()]
    assert np.array_equal(covariance[:5, :5], prior_covariance()[:5, :5])
    assert not covariance[:5, 5:].any()
    assert float(np.linalg.eigvalsh(covariance).min()) >= 0


# files

FEATURES = {
    PAGE_WORD + "ski": (40.0, 30.0), USER + "0123456789abcdef": (2.0, 1.0), link("snow", True): (7.0, 3.0),
    link("snow", False): (9.0, 0.0), PREFIX + "a.test": (1.0, 0.25), ANCHOR + "größe": (1.0, 0.0),
}  # fmt: skip
SNOW = Learned("snow", '"snow" and title("ski*")', 100.0, 20.0, FEATURES, a_combining())
REQUESTS = Learned(FAILED, "", 80.0, 20.0, {URL_WORD + "gone": (20, 18)}, a_combining())
STATE = State("learned", [SNOW, REQUESTS, Learned("tea", '"tea"', 100.0, 0.0, {})])
DATA = pack(STATE, "scentline 0")


def test_a_state_comes_back_as_it_was_written() -> None:
    found, checksum = unpack(DATA)
    assert found == STATE
    assert checksum == unpack(pack(STATE, "another program"))[1], "the same state, whoever wrote it"
    assert checksum != unpack(pack(State("linkage", STATE.learned), ""))[1]


def changed(**fields: object) -> bytes:
    document = msgspec.msgpack.decode(zstandard.decompress(DATA))
    return zstandard.compress(msgspec.msgpack.encode(document | fields))


def with_learned(*found: object) -> bytes:
    """Return a file that says that something else was learned, with a checksum that is right."""
    body = msgspec.msgpack.encode({"policy": "learned", "learned": found})
    return changed(body=body, checksum=digest(body))


AS_PLAIN: Any = msgspec.msgpack.decode(msgspec.msgpack.encode(SNOW))


def with_snow(**fields: object) -> bytes:
    return with_learned(AS_PLAIN | fields)


def with_combining(**fields: object) -> bytes:
    return with_snow(combining=AS_PLAIN["combining"] | fields)


@each_case(
    ("data", "reason"),
    [
        (b"", "expected what `scentline state export` wrote"),
        (DATA[:-5], "expected what `scentline state export` wrote"),
        (b'{"name": "scentline state"}', "expected Zstandard"),
        (zstandard.compress(b"\x93\x01"), "expected what `scentline state export` wrote"),
        (changed(version=2), "its format has version 2, expected 1"),
        (changed(name="elsewhere"), "'elsewhere', expected 'scentline state'"),
        (changed(body=b"\x80"), "the file is damaged"),
        (changed(more=1), "unknown field"),
        (with_snow(expression="x" * 20_000), "20000 characters, expected at most 10000"),
        (with_snow(features={"p:" + "a" * 1000: [1, 1]}), "1002 characters"),
        (with_learned(AS_PLAIN, AS_PLAIN), "2 predicates with 1 names"),
        (with_combining(names=[]), "0 inputs, expected 1 to 200"),
        (with_combining(names=["a"] * INPUTS), "each named once"),
        (with_combining(mean=bytes(8)), f"mean: 8 bytes, expected {8 * INPUTS}"),
        (with_combining(mean=np.full(INPUTS, math.nan).tobytes()), "mean: a number beyond"),
        (with_combining(mean=np.full(INPUTS, 1e9).tobytes()), "mean: a number beyond"),
        (with_combining(covariance=(-np.eye(INPUTS)).tobytes()), "covariance: not one"),
        (with_combining(covariance=np.triu(np.ones((INPUTS, INPUTS))).tobytes()), "covariance: not one"),
        (with_combining(calibration=bytes(8)), "calibration: 8 bytes, expected 0 or 96"),
        (with_combining(calibration=np.full(12, -1.0).tobytes()), "calibration: not one"),
    ],
)
def test_what_no_crawl_could_have_written_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(LearnedStateError) as caught:
        unpack(data)
    assert reason in str(caught.value)


@each_case(("fields", "reason"))
def test_what_no_crawl_could_have_learned_is_refused(fields: dict[str, object], reason: str) -> None:
    with pytest.raises(LearnedStateError, match=re.escape(reason)):
        unpack(with_snow(**fields))


BOMB = zstandard.compress(bytes(30_000_000))


@each_case(
    ("bound", "most", "data", "reason"),
    [
        ("scentline.models.sealed.MOST_DECOMPRESSED", 10**6, BOMB, "decompresses to more than 1000000 bytes"),
        ("scentline.models.sealed.MOST_BYTES", 100, BOMB, "more than 100 bytes"),
        ("scentline.models.reuse.MOST_FEATURES", 5, DATA, "7 features, expected at most 5"),
    ],
)
def test_a_file_beyond_a_bound_is_refused(bound: str, most: int, data: bytes, reason: str) -> None:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(LearnedStateError, match=reason):
        patch.setattr(bound, most)
        unpack(data)
