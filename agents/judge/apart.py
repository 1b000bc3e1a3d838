"""Reading what anybody may have written in a process of its own, which that may end, and nothing else with it.

Here is what the system holds such a process to; run as a program, it is that of an `agents.judge.examiner`.
"""

import os
import resource
import signal
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from scentline.agents.signals import die_with_parent
from scentline.streams.memory import collect_seldom

_STATUS = Path("/proc/self/status")
_OUT_OF_MEMORY = Path("/proc/self/oom_score_adj")


def die_first() -> None:
    """Have the system choose this process where it has no memory left, and write no image of it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):
        _OUT_OF_MEMORY.write_text("1000", encoding="ascii")


def bound_memory(size: int) -> None:
    """Let this process take ``size`` bytes more than it has; more is a MemoryError."""
    resource.setrlimit(resource.RLIMIT_DATA, (_data() + size, resource.RLIM_INFINITY))


def bound_cpu(seconds: int) -> None:
    """Let this process take ``seconds`` of CPU more than it has; the system ends it then."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    most = int(usage.ru_utime + usage.ru_stime) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))


def _data() -> int:
    """Return the bytes of data that this process has, as `RLIMIT_DATA` counts them."""
    with suppress(OSError):
        for line in _STATUS.read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(":")
            if name == "VmData":
                return int(value.split()[0]) * 1024
    return 0


def alone() -> tuple[BinaryIO, BinaryIO]:
    """Begin such a process: it dies with its parent, and first. Return where requests come from and answers go.

    Nothing else in this process reads or writes there.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent()
    die_first()
    source, out = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)
    return os.fdopen(source, "rb"), os.fdopen(out, "wb")


if __name__ == "__main__":
    collect_seldom()  # before most is imported: no garbage is among it
    from scentline.agents.judge.examiner import serve

    serve()
