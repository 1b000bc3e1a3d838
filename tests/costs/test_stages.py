"""The timers of `bench.stages`: on functions that are there, and each stage with its own time only."""

import asyncio
from collections.abc import Callable

from bench.stages.stopwatch import Stopwatch, place
from bench.stages.table import PAGE, STAGES
from tests.cases import each_case

NAMES = [name for functions in STAGES.values() for name in functions]


@each_case("name", NAMES)
def test_every_function_of_a_stage_is_there(name: str) -> None:
    owner, attribute = place(name)
    assert callable(getattr(owner, attribute))


def test_pages_are_counted_by_a_stage_of_one_function_and_no_function_has_two_stages() -> None:
    assert len(STAGES[PAGE]) == 1
    assert len(NAMES) == len(set(NAMES))


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

    async def waits(self, meanwhile: Callable[[], None]) -> None:
        self.now += 1
        asyncio.get_running_loop().call_soon(meanwhile)
        await asyncio.sleep(0)
        self.now += 2
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 0)
        except TimeoutError:
            self.now += 4


def test_a_stage_has_its_own_time_without_that_of_the_stages_within_and_of_waits() -> None:
    work = Work()
    stopwatch = Stopwatch(lambda: work.now)

    def meanwhile() -> None:
        work.now += 100

    work.inner = stopwatch.timed(work.inner, "inner")  # type: ignore[method-assign]
    outer = stopwatch.timed(work.outer, "outer")
    assert [outer(), outer()] == [7, 7]
    asyncio.run(stopwatch.timed(work.waits, "waits")(meanwhile))
    assert stopwatch.spent == {"outer": 6, "inner": 20, "waits": 7}
    assert stopwatch.calls == {"outer": 2, "inner": 2, "waits": 1}
