"""Reading inputs in a process of their own, with bounds on each one's processor time and memory."""

import faulthandler
import gc
import json
import os
import re
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from bench.fuzz.targets import TARGETS

#: Seconds of processor time after which a reader hangs: many times what the largest input takes.
CPU_SECONDS = 5
#: Bytes that a reader may take for the largest input.
MEMORY = 300_000_000

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def failures(reader: str, inputs: Sequence[bytes]) -> list[str]:
    """Return for each input what is wrong with a reader's way with it, empty where nothing is.

    Call it in a process with one thread only: it forks.
    """
    found: list[str] = []
    while len(found) < len(inputs):
        found += _read_apart(reader, inputs[len(found) :])
    return found


def _read_apart(reader: str, inputs: Sequence[bytes]) -> list[str]:
    """Read inputs in one child, up to the first that ends it."""
    with TemporaryFile() as told, TemporaryFile() as place:
        child = os.fork()
        if child == 0:
            _read_all(reader, inputs, told, place)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        told.seek(0)
        found = [json.loads(line) for line in told]
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            why = f"over {CPU_SECONDS} s of CPU" if number == signal.SIGXCPU else signal.Signals(number).name
            place.seek(0)
            found.append(f"{why}\n{place.read().decode(errors='replace')}")
        assert found, f"{reader}: the child ended with status {status}"
        return found


def _read_all(reader: str, inputs: Sequence[bytes], told: IO[bytes], place: IO[bytes]) -> None:
    """Read in the child: a line of JSON for each input."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for standard in (sys.stdout, sys.stderr):
        os.dup2(nowhere, standard.fileno())
    faulthandler.register(signal.SIGXCPU, file=place, chain=True)
    warnings.simplefilter("error")
    gc.collect()
    gc.freeze()  # what was there before is no longer looked through
    for data in inputs:
        told.write(json.dumps(_failure(reader, data)).encode() + b"\n")
        told.flush()


def _failure(reader: str, data: bytes) -> str:
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime) + 1 + CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
    unraisable: list[str] = []
    sys.unraisablehook = lambda found: unraisable.append(_text(found))
    try:
        _RESET.write_text("5")  # the peak begins anew
        before = _memory("VmRSS")
        TARGETS[reader](data)
        gc.collect()
        taken = _memory("VmHWM") - before
        assert taken < MEMORY, f"took {taken} bytes of memory"
    except BaseException:
        return traceback.format_exc()
    return "".join(unraisable)


def _text(found: Any) -> str:
    return "".join(traceback.format_exception(found.exc_type, found.exc_value, found.exc_traceback))


def _memory(figure: str) -> int:
    """Return a figure of this process's memory, in bytes."""
    found = re.search(rf"{figure}:\s*([0-9]+)", _STATUS.read_text())
    assert found is not None
    return 1024 * int(found[1])
