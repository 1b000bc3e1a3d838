"""Timers within a command's process, which writes what each stage took to a file when it ends."""

import atexit
import json
import sys
import time
from pathlib import Path

from bench.stages.stopwatch import Stopwatch
from bench.stages.table import ON_KAFKA, PAGE, STAGES, spent


def program(file: Path) -> str:
    """Return the Python that is to run before the command."""
    root = str(Path(__file__).parents[2])
    return (
        f"import sys; sys.path.insert(0, {root!r}); from bench.stages.within import watch; watch({str(file)!r})"
    )


def watch(file: str) -> None:
    """Put timers on the stages of a page, and of a worker on those that are there on Kafka only."""
    stopwatch = Stopwatch()
    stopwatch.watch({**STAGES, **ON_KAFKA} if "worker" in sys.argv else STAGES)
    begun = time.thread_time()

    def tell() -> None:
        pages = stopwatch.calls[PAGE]
        taken = spent(stopwatch, begun, time.thread_time())
        text = json.dumps({stage: 1000 * seconds / pages for stage, seconds in taken.items()})
        Path(file).write_text(text, encoding="utf-8")

    atexit.register(tell)
