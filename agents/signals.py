"""Processes: how one shuts down at a signal, and how a module runs in one of its own.

A process ends at SIGTERM, and at Ctrl-C unless it was started to ignore it.
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
    """Have SIGTERM shut this process down as Ctrl-C does.

    Where SIGINT is ignored, as in a background process of a shell script or cron, it is blocked instead, and
    gets Python's handler: an event loop replaces only that one with its own shutdown, which cancels its main
    task. An exception raised in the middle of other code may be lost.
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
    """Call ``end`` in the running event loop at a signal to shut this process down, during the block.

    An ignored SIGINT stays ignored: the process was started so that Ctrl-C does not reach it.
    """
    # Imported on use: a caller with an event loop has it, and the command line starts without.
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
    """Kill the leader of a session, and what it started there; it may have ended already."""
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)


def die_with_parent() -> None:
    """On Linux, have this process killed when the thread that started it ends."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)


_ROOT = Path(__file__).parents[2]


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of this package.

    The package's path comes first (`environment`), the working directory not at all (-P).
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def environment(module: str = "") -> dict[str, str]:
    """Return this process's environment, with the paths of this package and of a ``module``'s."""
    path = [str(_ROOT)]
    if module:
        path.append(str(Path(import_module(module.partition(".")[0]).__file__ or "").parents[1]))
    path += filter(None, [os.environ.get("PYTHONPATH")])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(path))}
