"""Reading untrusted pages in a process of its own: a page may end that process, and nothing else.

This module sets the process's limits; as a program, it runs an `agents.judge.examiner`.
"""

import os
import resource
import signal
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from scentline.agents.signals import die_with_parent
from scentline.streams.memory import collect_seldom, import_sparingly

_STATUS = Path("/proc/self/status")
_OUT_OF_MEMORY = Path("/proc/self/oom_score_adj")


def die_first() -> None:
    """Make this process the first that the system kills when out of memory, and without a core dump."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):
        _OUT_OF_MEMORY.write_text("1000", encoding="ascii")


def bound_memory(size: int) -> None:
    """Let this process take ``size`` bytes more than it has; beyond that it gets a MemoryError."""
    resource.setrlimit(resource.RLIMIT_DATA, (_data() + size, resource.RLIM_INFINITY))


def bound_cpu(seconds: int) -> None:
    """Let this process take ``seconds`` of CPU more than it has; the system kills it then."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    most = int(usage.ru_utime + usage.ru_stime) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))


def _data() -> int:
    """Return this process's bytes of data, as `RLIMIT_DATA` counts them."""
    with suppress(OSError):
        for line in _STATUS.read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(":")
            if name == "VmData":
                return int(value.split()[0]) * 1024
    return 0


def alone() -> tuple[BinaryIO, BinaryIO]:
    """Set up such a process, to die with its parent, and first; return its streams of requests and answers.

    Nothing else in this process uses them.
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
    collect_seldom()  # before most imports, which leave no garbage
    import_sparingly()
    from scentline.agents.judge.examiner import serve

    serve()
