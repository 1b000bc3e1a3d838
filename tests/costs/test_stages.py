"""The timers of `bench.stages`: on functions that are there, and each stage with its own time only."""

import asyncio
import gc
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from bench.stages.stopwatch import COLLECTOR, Stopwatch, place
from bench.stages.table import PAGE, STAGES
from tests.cases import each_case


@each_case("name", [name for names in STAGES.values() for name in names])
def test_every_function_of_a_stage_is_there(name: str) -> None:
    owner, attribute = place(name)
    assert callable(getattr(owner, attribute))


def test_pages_are_counted_by_a_stage_of_one_function_and_no_function_has_two_stages() -> None:
    names = [name for functions in STAGES.values() for name in functions]
    assert len(STAGES[PAGE]) == 1
    assert len(names) == len(set(names))


class Work:
    """Takes the time that its clock is set forward by."""

    now = 0.0

    def outer(self) -> int:
        self.now += 1
        self.inner()
        self.now += 2
        return 7

    def inner(self) -> None:
        self.now += 10

    async def waits(self, meanwhile: Callable[[], None]) -> str:
        self.now += 1
        asyncio.get_running_loop().call_soon(meanwhile)
        await asyncio.sleep(0)
        self.now += 2
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 0)
        except TimeoutError:
            self.now += 4
        return "done"


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
def stopwatch(work: Work) -> Stopwatch:
    return Stopwatch(lambda: work.now)


def test_a_stage_has_its_own_time_without_that_of_the_stages_within(work: Work, stopwatch: Stopwatch) -> None:
    work.inner = stopwatch.timed(work.inner, "inner")  # type: ignore[method-assign]
    outer = stopwatch.timed(work.outer, "outer")
    assert [outer(), outer()] == [7, 7]
    assert stopwatch.spent == {"outer": 6, "inner": 20}
    assert stopwatch.calls == {"outer": 2, "inner": 2}


def test_of_a_coroutine_the_steps_are_timed_and_not_the_waits(work: Work, stopwatch: Stopwatch) -> None:
    def meanwhile() -> None:
        work.now += 100

    assert asyncio.run(stopwatch.timed(work.waits, "waits")(meanwhile)) == "done"
    assert stopwatch.spent == {"waits": 7}
    assert stopwatch.calls == {"waits": 1}


def test_what_raises_ends_its_stage(stopwatch: Stopwatch) -> None:
    def fails() -> None:
        raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        stopwatch.timed(fails, "fails")()
    assert stopwatch.timed(lambda: 1, "after")() == 1
    assert stopwatch.calls == {"fails": 1, "after": 1}


class Watched:
    """A class whose function is put under the stopwatch where it lies."""

    @staticmethod
    def work() -> int:
        return 3


@pytest.fixture
def ticking() -> Iterator[Stopwatch]:
    """Return a stopwatch of which each look takes a second; it is taken off the collector at the end."""
    seconds = count()
    callbacks = list(gc.callbacks)
    yield Stopwatch(lambda: float(next(seconds)))
    gc.callbacks[:] = callbacks


def test_functions_and_the_collector_are_watched_where_they_lie(ticking: Stopwatch) -> None:
    ticking.watch({"work": [f"{__name__}:Watched.work"]})
    assert Watched.work() == 3
    gc.collect()
    assert ticking.spent["work"] >= 1
    assert ticking.calls["work"] == 1
    assert ticking.calls[COLLECTOR] >= 1
