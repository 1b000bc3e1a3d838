"""A turn of the event loop that takes long is told of, by its own processor time."""

import subprocess
import sys

from tests.patience import PATIENCE
from tests.rubbish.stalls import LONGEST, TELLS_STALLS, longest_turn

PLANTED = """
import asyncio, time, unicodedata
async def sleeps(): time.sleep(0.7)
async def works():
    end = time.thread_time() + 0.6
    while time.thread_time() < end:
        unicodedata.normalize("NFC", "a" * 100)
async def main():
    await asyncio.gather(sleeps(), *[works() for _ in range({workers})])
asyncio.run(main())
"""


def turn(workers: int) -> tuple[float, str]:
    """Return the longest turn of a process with so many tasks that work, and one that sleeps."""
    program = TELLS_STALLS + PLANTED.format(workers=workers)
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    return longest_turn(ended.stderr)


def test_a_task_that_works_long_is_named() -> None:
    seconds, what = turn(1)
    assert seconds > LONGEST
    assert "works" in what


def test_time_that_others_took_is_not_counted() -> None:
    assert turn(0)[0] < LONGEST
