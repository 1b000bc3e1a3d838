"""A Squid of one's own: on loopback, in front of an offline web, with a log of its own."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from deploy.ports import free_port

#: Seconds that Squid may take to answer, and to end.
SECONDS = 30.0
#: Where Debian puts it, beside the directories of PATH.
SBIN = "/usr/sbin"

CONFIGURATION = """\
http_port 127.0.0.1:{port}
# Every page comes from the offline web, none from anywhere else.
cache_peer {host} parent {peer} 0 no-query default
never_direct allow all
http_access allow all
cache deny all
# One line a request, in Squid's own format, written at once.
access_log stdio:{directory}/access.log squid
buffered_logs off
logfile_rotate 3
cache_log {directory}/cache.log
pid_filename {directory}/squid.pid
coredump_dir {directory}
shutdown_lifetime 1 seconds
"""


class SquidError(Exception):
    """Squid is not there, or does not serve; the text says what it said."""


class Squid:
    """A running Squid whose pages come from the proxy ``web``; its log is at `log` until it is closed."""

    def __init__(self, web: str) -> None:
        program = shutil.which("squid", path=os.pathsep.join((os.environ.get("PATH", ""), SBIN)))
        if program is None:
            raise SquidError("needs squid, which is not installed (on Debian: apt-get install squid)")
        with ExitStack() as begun:
            self._directory = Path(begun.enter_context(tempfile.TemporaryDirectory(prefix="scentline-squid-")))
            # Squid that root starts goes on as another user, who must get there.
            self._directory.chmod(0o777)
            self.log = self._directory / "access.log"
            self.port = free_port()
            self.url = f"http://127.0.0.1:{self.port}"
            self._process = self._started(program, web)
            begun.callback(self._end)
            self._wait()
            self._resources = begun.pop_all()

    def rotate(self) -> None:
        """Have it rename its log and begin another (SIGUSR1), as logrotate does."""
        before = self.log.stat().st_ino
        self._process.send_signal(signal.SIGUSR1)
        end = time.monotonic() + SECONDS
        while not self.log.exists() or self.log.stat().st_ino == before:
            if time.monotonic() > end:
                raise SquidError(f"it did not rotate its log in {SECONDS:.0f} s: {self._said()}")
            time.sleep(0.05)

    def close(self) -> None:
        """End it, and remove what it wrote."""
        self._resources.close()

    def __enter__(self) -> "Squid":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _started(self, program: str, web: str) -> "subprocess.Popen[bytes]":
        peer = urlsplit(web)
        config = self._directory / "squid.conf"
        config.write_text(
            CONFIGURATION.format(port=self.port, host=peer.hostname, peer=peer.port, directory=self._directory)
        )
        with (self._directory / "said.log").open("wb") as said:
            return subprocess.Popen(  # noqa: S603 - no shell reads it
                [program, "-N", "-f", str(config)], stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _wait(self) -> None:
        end = time.monotonic() + SECONDS
        while True:
            try:
                httpx.get(self.url, timeout=1.0)
            except httpx.TransportError:
                if self._process.poll() is not None or time.monotonic() > end:
                    raise SquidError(f"it does not serve: {self._said()}") from None
                time.sleep(0.05)
            else:
                return

    def _said(self) -> str:
        said = [self._directory / name for name in ("said.log", "cache.log")]
        return "\n".join(path.read_text(errors="replace")[-2000:] for path in said if path.exists())
