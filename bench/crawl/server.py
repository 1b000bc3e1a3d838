"""nginx on loopback, asked as a forward proxy: it serves the pages under their own host names."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

from deploy.ports import free_port

_CONFIG = """\
{user}worker_processes 1;
pid {directory}/nginx.pid;
error_log {directory}/error.log warn;
events {{ worker_connections 512; }}
http {{
  log_format asked 'http://$host$request_uri';
  map $status $found {{ 200 1; 304 1; default 0; }}
  access_log {directory}/asked.log asked if=$found;
  client_body_temp_path {directory}/body;
  proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi;
  scgi_temp_path {directory}/scgi;
  default_type "text/html; charset=utf-8";
  types {{ }}
  keepalive_requests 1000000;
  server {{
    listen 127.0.0.1:{port};
    server_name _;
    root {root}/$host;
    {versions}
  }}
}}
"""
#: What has answers not say of which version they are.
_NO_VERSIONS = 'etag off; if_modified_since off; add_header Last-Modified "";'
_START_SECONDS = 10.0


class ServerError(Exception):
    """nginx is not there, or does not start; the text says which."""


class Nginx:
    """A running nginx that serves ``root``/HOST/PATH; its files lie in ``directory``.

    A client asks it as a forward proxy, ``GET http://host/path``: nginx takes the host from there. Without
    ``versions`` its answers have no ETag nor Last-Modified. Raises `ServerError`.
    """

    def __init__(self, binary: str, root: Path, directory: Path, *, versions: bool = True) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self._log = directory / "asked.log"
        config = directory / "nginx.conf"
        # As root nginx would serve as a user who can't read a private directory.
        user = "user root;\n" if os.geteuid() == 0 else ""
        said = "" if versions else _NO_VERSIONS
        config.write_text(
            _CONFIG.format(user=user, directory=directory, root=root, port=self.port, versions=said)
        )
        self._process = subprocess.Popen(  # noqa: S603 - the binary that was looked up
            [
                binary, "-p", str(directory), "-c", str(config), "-e", str(directory / "error.log"), "-g",
                "daemon off;",
            ]
        )  # fmt: skip
        try:
            self._wait(directory)
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        """Where it listens, to be given to a crawler as its proxy."""
        return f"http://127.0.0.1:{self.port}"

    def forget(self) -> None:
        """Begin the access log anew."""
        os.truncate(self._log, 0)

    def served(self) -> list[str]:
        """Return the page of each answer with 200 or 304 since the log began, in their order."""
        return self._log.read_text().splitlines()

    def count(self) -> int:
        """Return how many answers with 200 or 304 there were since the log began."""
        return self._log.read_bytes().count(b"\n")

    def close(self) -> None:
        """Stop it."""
        self._process.terminate()
        self._process.wait()

    def __enter__(self) -> "Nginx":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait(self, directory: Path) -> None:
        end = time.monotonic() + _START_SECONDS
        while self._process.poll() is None and time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise ServerError(f"nginx does not listen; its log is {directory / 'error.log'}")


def find(beside: Path) -> str:
    """Return the nginx of this machine, or the one that lies unpacked in ``beside``; raises `ServerError`."""
    found = shutil.which("nginx") or shutil.which("nginx", path=f"/usr/sbin:{beside / 'usr' / 'sbin'}")
    if found is None:
        raise ServerError("there is no nginx (on Debian: apt-get install nginx-light)")
    return found
