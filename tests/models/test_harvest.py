import math
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.models.harvest import Harvest, merged, ratio_factor, wilson
from tests.cases import each_case

PAGES = st.lists(
    st.tuples(
        st.booleans(), st.floats(0, 500), st.sampled_from(["linkage", "random", "breadth-first"]), st.booleans()
    ),
    max_size=40,
)
PLACES = st.lists(st.integers(0, 2), min_size=40, max_size=40)
Pages = list[tuple[bool, float, str, bool]]


def rate(hits: list[bool]) -> float:
    return sum(hits) / len(hits) if hits else 0.0


def counted(pages: Pages, window_pages: int, window_seconds: float) -> Harvest:
    harvest = Harvest(window_pages, window_seconds)
    for page in pages:
        harvest.add(*page)
        # The state may be written and read again after every page.
        harvest = msgspec.msgpack.decode(msgspec.msgpack.encode(harvest), type=Harvest)
    return harvest


@given(PAGES, st.integers(1, 20), st.sampled_from([7.0, 60.0, 240.0]), st.floats(0, 600))
def test_rates_and_policies_are_those_of_a_list(pages: Pages, window: int, seconds: float, now: float) -> None:
    harvest = counted(pages, window, seconds)
    hits = [hit for hit, *_ in pages]
    assert (harvest.pages, harvest.hits) == (len(pages), sum(hits))
    assert (harvest.rate, harvest.rate_by_pages) == (rate(hits), rate(hits[-window:]))
    part = seconds / 60
    end = max(math.floor(time / part) for time in [now, *(time for _, time, *_ in pages)])
    recent = [hit for hit, time, *_ in pages if math.floor(time / part) > end - 60]
    assert harvest.rate_by_time(now) == rate(recent)
    assert (
        len(harvest.ring) <= math.ceil(window / 8) and len(harvest.gaps) <= window and len(harvest.parts) <= 60
    )
    expected: dict[str, tuple[int, int]] = {}
    for hit, _, policy, explored in pages:
        name = "random" if explored else policy
        seen, found = expected.get(name, (0, 0))
        expected[name] = (seen + 1, found + hit)
    assert harvest.policies == expected
    seen, found = expected.get("random", (0, 0))
    assert harvest.lift == (pytest.approx(rate(hits) / ((found + 0.5) / (seen + 1))) if seen else None)


def dealt(pages: Pages, shards: list[int]) -> list[Pages]:
    return [[page for page, at in zip(pages, shards, strict=False) if at == shard] for shard in range(3)]


def in_turn(shards: list[Pages]) -> list[bool]:
    """Return the verdicts in the order in which they came to all shards, none before the last of its own."""
    found: list[tuple[float, int, bool]] = []
    for number, pages in enumerate(shards):
        latest = 0.0
        for hit, time, *_ in pages:
            latest = max(latest, int(time * 1000))
            found.append((latest, -number, hit))
    return [hit for *_, hit in sorted(found, key=lambda page: page[:2])]


@given(PAGES, PLACES, st.integers(1, 20), st.floats(0, 600))
def test_shards_together_are_as_all_pages(pages: Pages, places: list[int], window: int, now: float) -> None:
    shards = dealt(pages, places)
    one, two, three = (counted(shard, window, 60.0) for shard in shards)
    whole = merged([one, two, three])
    assert merged([merged([one, two]), three]) == merged([one, merged([two, three])]) == whole
    straight = counted(pages, window, 60.0)
    assert (whole.pages, whole.hits, whole.policies) == (straight.pages, straight.hits, straight.policies)
    assert (whole.parts, whole.latest) == (straight.parts, straight.latest)
    assert whole.rate_by_time(now) == straight.rate_by_time(now)
    assert (whole.lift, whole.rate) == (straight.lift, straight.rate)
    assert whole.rate_by_pages == rate(in_turn(shards)[-window:])


def test_pages_whose_times_an_earlier_release_did_not_keep_are_the_oldest() -> None:
    old, new = Harvest(3, 60.0, 3, 3, ring=bytearray(b"\x07"), ring_hits=3), Harvest(3, 60.0)
    new.add(False, 5.0, "linkage")
    assert merged([old, new]).rate_by_pages == rate([True, True, False])


def test_windows_of_several_lengths_are_cut_to_the_shortest() -> None:
    long, short = Harvest(10, 120.0), Harvest(2, 60.0)
    for time in range(8):
        long.add(True, 60.0 + time, "linkage")
        short.add(False, 40.0 + time, "linkage")
    whole = merged([long, short])
    assert (whole.window_pages, whole.window_seconds) == (2, 60.0)
    assert (whole.rate, whole.rate_by_pages) == (0.5, 1.0)
    assert whole.rate_by_time(67.0) == 0.5


@each_case("figures", [*((10, 60.0, 1, 1, {"random": (-1, 0)}), (10, 60.0, 1, 1, {}, b"", 0, {3: (1, 2)}))])
def test_figures_that_no_pages_have_are_refused(figures: tuple[object, ...]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(figures), type=Harvest)


@given(st.integers(0, 2**40), st.binary(max_size=4), st.lists(st.integers(-(2**60), 2**60), max_size=4))
def test_whatever_ring_a_state_has_it_can_be_merged(pages: int, ring: bytes, gaps: list[int]) -> None:
    strange = Harvest(500, 60.0, pages, 0, ring=bytearray(ring), gaps=gaps)
    assert merged([strange, counted([(True, 1.0, "linkage", False)], 5, 60.0)]).pages == pages + 1


def test_a_time_that_is_none_of_a_clock_does_no_harm() -> None:
    harvest = Harvest(10, 60.0)
    for time in (-5.0, 1e18, 3.0):
        harvest.add(True, time, "linkage")
    assert harvest.rate_by_pages == 1.0
    assert harvest.newest < 2**53


@each_case(
    ("rate", "count", "deviations", "expected"),
    [
        # (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n), worked out by hand
        (0.5, 4, 1.0, (0.2764, 0.7236)), (0.25, 16, 2.0, (0.1, 0.5)), (1.0, 12, 2.0, (0.75, 1.0)),
        (0.0, 1, 2.0, (0.0, 0.8)),
    ],
)  # fmt: skip
def test_the_interval_about_a_rate(
    rate: float, count: int, deviations: float, expected: tuple[float, float]
) -> None:
    assert wilson(rate, count, deviations) == pytest.approx(expected, abs=1e-4)


def test_intervals_of_rates_and_their_ratios_hold_the_truth_in_95_of_100_cases() -> None:
    random, held, ratios, rounds = Random(7), 0, 0, 400
    for _ in range(rounds):
        hits = sum(random.random() < 0.3 for _ in range(500))
        drawn = sum(random.random() < 0.1 for _ in range(100))
        low, high = wilson(drawn / 100, 100, 1.96)
        held += low <= 0.1 <= high
        factor = ratio_factor(hits, 500, drawn, 100, 1.96)
        ratio = (hits + 0.5) / 501 / ((drawn + 0.5) / 101)
        ratios += ratio / factor <= 3.0 <= ratio * factor
    assert 0.92 * rounds <= held <= 0.98 * rounds
    assert 0.92 * rounds <= ratios <= 0.98 * rounds
