"""Worker processes: started, killed, frozen, stopped, each with a data directory and a log of its own."""

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench.command import COMMAND

USER_KEY = "the same for every worker"
#: Seconds that a worker has to leave after SIGTERM.
LEAVE_SECONDS = 60.0


class WorkerError(Exception):
    """A worker that ended by itself, or does not end; the text has the end of its log."""


class WorkerProcess:
    """One worker, which may be started and ended many times on the same data directory.

    ``prefix`` comes before its command line, and ``first`` is Python that runs before it: a fault's means.
    """

    def __init__(self, name: str, roles: Sequence[str], directory: Path, options: Sequence[str]) -> None:
        self.name = name
        self.roles = roles
        self.data = directory / name
        self._log = directory / f"{name}.log"
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, prefix: Sequence[str] = (), first: str = "") -> None:
        """Start it."""
        program = (*COMMAND[:2], f"{first}\n{COMMAND[2]}")
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - no shell reads it
                [*prefix, *program, "worker", *self.roles, "--data", str(self.data), *self._options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "SCENTLINE_OBSERVE__USER_KEY": USER_KEY},
            )  # fmt: skip

    @property
    def running(self) -> bool:
        """Whether its process is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def status(self) -> int | None:
        """The status that its last process ended with, None while it runs."""
        return None if self._process is None else self._process.poll()

    def kill(self) -> None:
        """End it at once, as a crash does (SIGKILL)."""
        self._signal(signal.SIGKILL)
        self._wait()

    def freeze(self) -> None:
        """Stop it where it stands (SIGSTOP)."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def leave(self) -> None:
        """End it in good order (SIGTERM)."""
        self._signal(signal.SIGTERM)
        self._wait()

    def wipe(self) -> None:
        """Delete its disk; it must not run."""
        shutil.rmtree(self.data, ignore_errors=True)

    def check(self) -> None:
        """Raise `WorkerError` where it ended by itself."""
        if not self.running:
            raise WorkerError(f"{self.name} ended with status {self.status}: {self.said()[-2000:]}")

    def said(self) -> str:
        """Return its log."""
        return self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""

    def _signal(self, number: int) -> None:
        if self.running and self._process is not None:
            self._process.send_signal(number)

    def _wait(self) -> None:
        if self._process is not None:
            try:
                self._process.wait(LEAVE_SECONDS)
            except subprocess.TimeoutExpired as error:
                self._process.kill()
                raise WorkerError(f"{self.name} does not end: {self.said()[-2000:]}") from error
