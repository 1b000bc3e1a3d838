"""Running the scentline command with limits; it tells its peak memory, and its event loop's longest turn."""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple

from tests.agents.commands import environment
from tests.patience import PATIENCE

#: What a command that holds nothing big may take; starting one takes about half of it.
MEMORY = 400_000_000
# The kernel's own figure for a child counts the memory of the parent that it was forked from.
_TELLS_MEMORY = """\
import atexit, pathlib, re, sys
def tell():
    status = pathlib.Path("/proc/self/status").read_text()
    pathlib.Path("memory.txt").write_text(re.search("VmHWM:[^0-9]*([0-9]+)", status)[1])
atexit.register(tell)
"""
#: Seconds of its thread's own processor time that one turn of the loop may take, however busy the machine is.
LONGEST = 0.5
#: Python to run before a command: what takes longest is told at the end, and what is left open is a traceback
#: there. A turn that imports is the start's.
TELLS_STALLS = """\
import asyncio.events, atexit, sys, time, warnings
warnings.simplefilter("error", ResourceWarning)
turn, longest = asyncio.events.Handle._run, [0.0, ""]
def timed(handle):
    begun, known = time.thread_time(), len(sys.modules)
    task = getattr(getattr(handle._callback, "__self__", None), "get_coro", lambda: handle)()
    turn(handle)
    taken = time.thread_time() - begun
    if taken > longest[0] and len(sys.modules) == known:
        longest[:] = taken, repr(task)
asyncio.events.Handle._run = timed
atexit.register(lambda: print("longest turn:", *longest, file=sys.stderr))
"""
_MAIN = "from scentline.agents.cli import main; main()"


class Ended(NamedTuple):
    """A command that has ended: its status, what it wrote, and its peak memory in bytes."""

    status: int
    out: str
    err: str
    memory: int


def run(
    cwd: Path, *arguments: str, first: str = "", prefix: Sequence[str] = (),
    stdin: IO[bytes] | int = subprocess.DEVNULL, seconds: float = PATIENCE,
) -> Ended:  # fmt: skip
    """Run the command in ``cwd``: ``first`` is Python to run before it, ``prefix`` a command that runs it."""
    process = subprocess.run(
        [*prefix, sys.executable, "-c", f"{_TELLS_MEMORY}{first}\n{_MAIN}", *arguments],
        cwd=cwd, env=environment(), stdin=stdin, capture_output=True, check=False, timeout=seconds,
    )  # fmt: skip
    told = cwd / "memory.txt"
    memory = 1024 * int(told.read_text()) if told.exists() else 0
    out, err = (text.decode(errors="replace") for text in (process.stdout, process.stderr))
    return Ended(process.returncode, out, err, memory)


def complaint(ended: Ended) -> str:
    """Return the one line that a command which could not go on said last."""
    assert ended.status == 2, ended.err
    assert "Traceback" not in ended.err
    line = ended.err.rstrip("\n").rpartition("\n")[2]
    assert line.startswith("scentline: error: ")
    return line.removeprefix("scentline: error: ")


def longest_turn(said: str) -> tuple[float, str]:
    """Return the seconds of the longest turn, and what took them, from a command's standard error."""
    found = re.search(r"^longest turn: (\S+) (.*)$", said, re.MULTILINE)
    assert found is not None, said
    return float(found[1]), found[2]
