"""Running the scentline command with limits, and with its own peak memory told at its end."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO

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
_MAIN = "from scentline.agents.cli import main; main()"


@dataclass(frozen=True)
class Ended:
    """A command that has ended: its status, what it wrote, and its peak memory in bytes."""

    status: int
    out: str
    err: str
    memory: int


def run(
    cwd: Path,
    *arguments: str,
    first: str = "",
    prefix: tuple[str, ...] = (),
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    seconds: float = PATIENCE,
) -> Ended:
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
