"""Processes: what one does when it is told to end, and how a module is run in one of its own.

It ends at SIGTERM, and at Ctrl-C unless it was started to ignore that.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import FrameType


def end_as_by_ctrl_c() -> None:
    """Have SIGTERM end this process in good order, as Ctrl-C does.

    It does so too where SIGINT is ignored, as in a process that a shell's script or cron starts in the
    background: SIGINT is blocked there, which keeps it away as well. For an event loop puts its own way to end,
    to cancel its main task, only in the place of Python's handler. An exception raised amid whatever
    runs may be lost.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_: int, frame: FrameType | None) -> None:
    at_ctrl_c = signal.getsignal(signal.SIGINT)
    assert callable(at_ctrl_c)
    at_ctrl_c(signal.SIGINT, frame)


@contextmanager
def told_to_end(end: Callable[[], object]) -> Iterator[None]:
    """Call ``end`` in the running event loop when this process is told to end, as long as the block runs.

    SIGINT is left ignored where it is: whoever started the process so does not want Ctrl-C to reach it.
    """
    # Imported when it is used: whoever runs an event loop has it, and the command line starts without.
    import asyncio

    loop = asyncio.get_running_loop()
    heard = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        heard.append(signal.SIGINT)
    before = {number: signal.getsignal(number) for number in heard}
    for number in heard:
        loop.add_signal_handler(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


def kill_group(leader: int) -> None:
    """Kill a process that leads a session, and what it started there; it may have ended before that."""
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)


def die_with_parent() -> None:
    """Have the system kill this process when the thread that started it ends, where it can."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)


_ROOT = Path(__file__).parents[2]


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of the package that runs here.

    Its path comes first, the working directory (-P) not at all, whatever lies there.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def environment(module: str = "") -> dict[str, str]:
    """Return this process's environment, by which the package is found, and that of a ``module`` beside it."""
    path = [str(_ROOT)]
    if module:
        path.append(str(Path(import_module(module.partition(".")[0]).__file__ or "").parents[1]))
    path += filter(None, [os.environ.get("PYTHONPATH")])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(path))}
