"""Running the scentline command as people do, in a process of its own, on small synthetic webs."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "from agents.cli import main; main()")
SECONDS = 120


def environment(**variables: str) -> dict[str, str]:
    """Return this process's environment without settings of its own, and with ``variables``."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SCENTLINE_")}
    known = {"PYTHONPATH": str(ROOT), "COLUMNS": "200", "TERM": "dumb", "SCENTLINE_OBSERVE__USER_KEY": "key"}
    return kept | known | variables


def scentline(cwd: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [*COMMAND, *arguments], cwd=cwd, env=environment(**variables), capture_output=True, text=True,
        check=False, timeout=SECONDS, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def printed(cwd: Path, *arguments: str, **variables: str) -> str:
    """Return the standard output of a command that has to go well."""
    run = scentline(cwd, *arguments, **variables)
    assert run.returncode == 0, run.stderr
    return run.stdout


def last_line(text: str) -> Any:
    """Return the JSON value of the last line."""
    return json.loads(text.splitlines()[-1])


def complaint(cwd: Path, *arguments: str, **variables: str) -> str:
    """Return what a command that has to fail says is wrong."""
    run = scentline(cwd, *arguments, **variables)
    assert (run.returncode, run.stdout) == (2, ""), run.stderr
    assert "Traceback" not in run.stderr
    assert run.stderr.startswith("scentline: error: ")
    return run.stderr.removeprefix("scentline: error: ").rstrip("\n")


@contextmanager
def running(cwd: Path, *arguments: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """Start a command, and kill it at the end if it still runs."""
    with subprocess.Popen(
        [*COMMAND, *arguments], cwd=cwd, env=environment(**variables), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait for a condition that ``process`` brings about."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert process.poll() is None, "the process ended before the condition came about"
        assert time.monotonic() < end, "the condition never came about"
        time.sleep(0.05)
