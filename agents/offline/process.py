"""An offline web in a process of its own, so that serving pages takes no time from crawling them."""

import logging
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from scentline.agents.signals import command, environment
from scentline.models.errors import ScentlineError

_CLOSE_SECONDS = 10.0
_MAX_MESSAGES = 20_000

_log = logging.getLogger(__name__)


class ServerProcessError(ScentlineError):
    """A server process that ended too early; the text holds what it wrote."""


class ServerProcess:
    """A running child process that serves an offline web at `url`.

    Start one with `archive`, or with a ``module`` of another web that behaves as `agents.offline.serve`;
    both return once it serves, and raise `ServerProcessError` when it ends before that. The child ends with
    `close`, and when this process ends in any way, which ends the pipe that it reads. Ctrl-C does not reach it.
    """

    def __init__(
        self,
        module: str,
        arguments: Iterable[str],
        *,
        log: Path | None = None,
        progress: Callable[[Path, int], None] | None = None,
    ) -> None:
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the child runs
        options = [] if log is None else [f"--log={log}"]
        self._child = subprocess.Popen(  # noqa: S603 - this interpreter, and arguments that no shell reads
            command(module, *options, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            # Ctrl-C reaches a terminal's foreground group; this one serves until the pages in flight are in.
            start_new_session=True,
            env=environment(module),
        )
        try:
            self.url = self._started(progress)
        except BaseException:
            self.close()
            raise

    @classmethod
    def archive(
        cls, paths: Iterable[Path], *, progress: Callable[[Path, int], None] | None = None
    ) -> "ServerProcess":
        """Serve WARC files; ``progress`` is called as in `Archive`."""
        return cls("scentline.agents.offline.serve", ["--", *map(str, paths)], progress=progress)

    @property
    def output(self) -> BinaryIO:
        """The standard output of the child, which ends with it."""
        assert isinstance(self._child.stdout, BufferedReader)
        return self._child.stdout

    def check(self) -> None:
        """Raise `ServerProcessError` where the child has ended by itself."""
        status = self._child.poll()
        if status is not None:
            raise ServerProcessError(f"the offline server ended with status {status}: {self._said()}")

    def close(self) -> None:
        """End the child process and wait for its end."""
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._child.wait(_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._messages.close()

    def __enter__(self) -> "ServerProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _started(self, progress: Callable[[Path, int], None] | None) -> str:
        for line in self.output:
            word, _, rest = line.decode(errors="replace").rstrip("\n").partition(" ")
            if word == "ready":
                for warning in self._said().splitlines():
                    _log.warning("%s", warning)
                return rest
            if progress is not None and word == "indexed":
                records, _, path = rest.partition(" ")
                progress(Path(path), int(records))
        status = self._child.wait()
        raise ServerProcessError(
            f"the offline server ended with status {status} before it served: {self._said()}"
        )

    def _said(self) -> str:
        # Not seek and read: the child writes at the same file offset.
        return os.pread(self._messages.fileno(), _MAX_MESSAGES, 0).decode(errors="replace").strip()
