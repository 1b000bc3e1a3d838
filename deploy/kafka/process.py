"""Which process is the broker of a directory: noted in a file, and checked before anything is done to it."""

from pathlib import Path
from typing import NamedTuple

import msgspec
import psutil

#: Seconds that a process's start may be off, for it is reckoned from the clock.
_TOLERANCE = 5.0


class Noted(NamedTuple):
    """A process that was started: its number, when it began (Unix seconds), where it listens."""

    pid: int
    began: float
    address: str


def note(file: Path, pid: int, address: str) -> None:
    """Note a process that was just started."""
    noted = Noted(pid, psutil.Process(pid).create_time(), address)
    partial = file.with_suffix(".partial")
    partial.write_bytes(msgspec.json.encode(noted))
    partial.replace(file)


def noted(file: Path) -> Noted | None:
    """Return what the file says, None where there is none or it can't be read."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Noted)
    except (OSError, msgspec.MsgspecError):
        return None


def find(file: Path, argument: str) -> psutil.Process | None:
    """Return the noted process if it still runs: began when it was noted, and has ``argument``.

    A number alone says nothing: the system gives it to another process, once the first has ended.
    """
    known = noted(file)
    if known is None:
        return None
    try:
        process = psutil.Process(known.pid)
        same = abs(process.create_time() - known.began) < _TOLERANCE and argument in process.cmdline()
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None
