"""A turn of the event loop that takes long is told of, by its own processor time."""

import subprocess
import sys

from tests.patience import PATIENCE
from tests.rubbish.measured import LONGEST, TELLS_STALLS, longest_turn

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


def test_a_task_that_works_long_is_named_and_time_that_others_took_is_not_counted() -> None:
    for workers in (0, 1):
        program = [sys.executable, "-c", TELLS_STALLS + PLANTED.format(workers=workers)]
        ended = subprocess.run(program, capture_output=True, text=True, check=True, timeout=PATIENCE)
        seconds, what = longest_turn(ended.stderr)
        assert (seconds > LONGEST) == ("works" in what) == bool(workers)
