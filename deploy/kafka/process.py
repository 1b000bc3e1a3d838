"""The process of a directory's broker: noted in a file, and checked before each use."""

from pathlib import Path
from typing import NamedTuple

import msgspec
import psutil

#: Seconds that a process's start time may be off: it is derived from the clock.
_TOLERANCE = 5.0


class Noted(NamedTuple):
    """A started process: its id, its start time (Unix seconds), its address."""

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
    """Return the noted process, None for a missing or unreadable file."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=Noted)
    except (OSError, msgspec.MsgspecError):
        return None


def find(file: Path, argument: str) -> psutil.Process | None:
    """Return the noted process if it still runs, with the noted start time and ``argument``.

    An id alone proves nothing: the system reuses it once the process has ended.
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
