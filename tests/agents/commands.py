"""Running the scentline command as people do, in a process of its own, on small synthetic webs."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
import typer.core

from scentline.agents.cli import COMMANDS, load_commands, main
from scentline.agents.cli.app import app
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
# Importing takes two seconds, and hundreds of commands are run: they are forked where it was done once.
_FORKS = get_context("forkserver")
os.environ["PYTHONPATH"] = os.pathsep.join(str(ROOT / path) for path in ("src", "bench/lab", "."))
_FORKS.set_forkserver_preload([
    __name__, *(f"scentline.agents.cli.{module}" for module in {*COMMANDS.values()}),
    "scentline.agents.operate.control", "scentline.agents.worker.command",
    "scentline.agents.observe.following", "scentline.agents.operate.audit",
    "scentline.agents.operate.explaining", "scentline.agents.operate.record",
    "scentline.agents.operate.reuse", "scentline.models.ordering", "scentline.streams.transport.embedded",
    "scentline_lab.evaluate.command", "river.naive_bayes",
])  # fmt: skip
# No command finds what another one, or the user, keeps between crawls; fonts are looked through once.
_CACHE = TemporaryDirectory()
_SHELL = frozenset("|<>&;$`\n\\")
_MAIN = "from scentline.agents.cli import main; main()"
#: The command as a terminal starts it: Ctrl-C reaches it, wherever the tests run.
COMMAND = (
    sys.executable, "-c", f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {_MAIN}"
)  # fmt: skip
#: The command as a shell's script starts it in the background, and so does cron: SIGINT is ignored.
IN_BACKGROUND = ("sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-c", _MAIN)

#: By Ctrl-C in a terminal, and by SIGTERM where Ctrl-C does not reach it: how commands are told to end.
TOLD_TO_END = pytest.mark.parametrize(
    ("program", "number"),
    [
        pytest.param(COMMAND, signal.SIGINT, id="ctrl-c"),
        pytest.param(IN_BACKGROUND, signal.SIGTERM, id="sigterm"),
    ],
)


@cache
def program() -> typer.core.TyperGroup:
    """Return the command with all that are below it, which takes a while to make."""
    load_commands()
    found = typer.main.get_command(app)
    assert isinstance(found, typer.core.TyperGroup)
    return found


def environment(**variables: str) -> dict[str, str]:
    """Return this process's environment without settings of its own, and with ``variables``."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SCENTLINE_")}
    known = {
        "PYTHONPATH": os.environ["PYTHONPATH"], "COLUMNS": "200", "TERM": "dumb",
        "SCENTLINE_OBSERVE__USER_KEY": "key", "XDG_CACHE_HOME": f"{_CACHE.name}/none",
        "MPLCONFIGDIR": _CACHE.name,
    }  # fmt: skip
    return kept | known | variables


class Forked(NamedTuple):
    """A command that runs in a process of its own, and the files that its output goes to."""

    process: BaseProcess
    out: Path
    err: Path


@contextmanager
def apart(function: Callable[..., None], *given: Any) -> Iterator[BaseProcess]:
    """Call a function in a process that is forked from one that has done the imports; kill it at the end."""
    process = _FORKS.Process(target=function, args=given)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()
        process.close()


@contextmanager
def forked(cwd: Path, *arguments: str, **variables: str) -> Iterator[Forked]:
    """Start a command in a process `apart`."""
    with TemporaryDirectory() as directory:
        out, err = (Path(directory) / name for name in ("out", "err"))
        with apart(_command, cwd, arguments, environment(**variables), out, err) as process:
            yield Forked(process, out, err)


def scentline(cwd: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    with forked(cwd, *arguments, **variables) as run:
        run.process.join(PATIENCE)
        code = run.process.exitcode
        assert code is not None, f"has not ended: {arguments}"
        return subprocess.CompletedProcess(arguments, code, run.out.read_text(), run.err.read_text())


def _command(cwd: Path, arguments: Sequence[str], variables: dict[str, str], *files: Path | int) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(variables)
    sys.path[:0] = variables["PYTHONPATH"].split(os.pathsep)
    for to, standard in zip(files, (sys.stdout, sys.stderr), strict=True):
        with open(to, "wb") as file:  # noqa: PTH123 - or of a descriptor
            os.dup2(file.fileno(), standard.fileno())
    main(arguments)


def typed(cwd: Path, line: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a line as people type it: in a shell, where it is more than one command.

    What it keeps between crawls stays in the directory that it runs in.
    """
    variables.setdefault("XDG_CACHE_HOME", str(cwd / "cache"))
    if not _SHELL.intersection(line):
        command, *arguments = shlex.split(line)
        assert command == "scentline"
        return scentline(cwd, *arguments, **variables)
    with TemporaryDirectory() as directory:
        path = Path(directory) / "scentline"
        path.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
        path.chmod(0o755)
        variables["PATH"] = f"{directory}:{os.environ['PATH']}"
        return subprocess.run(
            ["sh", "-c", line], cwd=cwd, env=environment(**variables), capture_output=True, text=True,
            check=False, timeout=PATIENCE, stdin=subprocess.DEVNULL,
        )  # fmt: skip


def printed(cwd: Path, *arguments: str, **variables: str) -> str:
    """Return the standard output of a command that has to go well."""
    run = scentline(cwd, *arguments, **variables)
    assert run.returncode == 0, run.stderr
    return run.stdout


def last_line(text: str) -> Any:
    return json.loads(text.splitlines()[-1])


def complaint(cwd: Path, *arguments: str, **variables: str) -> str:
    """Return what a command that has to fail says is wrong."""
    run = scentline(cwd, *arguments, **variables)
    assert (run.returncode, run.stdout) == (2, ""), run.stderr
    assert "Traceback" not in run.stderr
    assert run.stderr.startswith("scentline: error: "), run.stderr
    return run.stderr.removeprefix("scentline: error: ").rstrip("\n")


class _Descriptor:
    """A descriptor of this process that a forked one has too."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Callable[[Any], int], tuple[Any]]:
        return _detached, (DupFd(self._number),)


def _detached(descriptor: Any) -> int:
    return int(descriptor.detach())


class _Fork(subprocess.Popen[str]):
    """`COMMAND` with arguments, in a process that is forked from one that has done the imports."""

    def _execute_child(self, program: Sequence[str], *given: Any) -> None:
        (cwd, environ), pipes = given[4:6], given[9:15]
        out, err = (_Descriptor(pipe) for pipe in pipes[3::2])
        self._process = _FORKS.Process(target=_command, args=(cwd, program[len(COMMAND) :], environ, out, err))
        self._process.start()
        self.pid, self._child_created = self._process.pid or 0, True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        if self.returncode is None:
            self.returncode = self._process.exitcode
        return self.returncode

    def _wait(self, timeout: float | None) -> int:
        self._process.join(timeout)
        if (code := self._internal_poll()) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return code


@contextmanager
def running(
    cwd: Path, *arguments: str, program: Sequence[str] = COMMAND, **variables: str
) -> Iterator[subprocess.Popen[str]]:
    """Start a command, and kill it at the end if it still runs."""
    with (_Fork if program is COMMAND else subprocess.Popen[str])(
        [*program, *arguments], cwd=cwd, env=environment(**variables), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Wait for a condition that ``process`` brings about."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, f"it ended before the condition came about: {process.communicate()}"
        assert time.monotonic() < end, "the condition never came about"
        time.sleep(0.05)
