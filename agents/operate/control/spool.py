"""The spool: requests that wait, each a small file of its own in the data directory.

The embedded log has one writer, the crawl. Other processes put a file here, whole or not at all; the crawl
carries them out by their times, and removes each when it is done. After a kill in between it carries the
request out again.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

import msgspec

from scentline.agents.operate.control.requests import RefusedError, Request
from scentline.agents.stored import open_plain, write_stored
from scentline.models.records import UNREADABLE

DIRECTORY = "requests"
#: Bytes of a request at most.
MOST_BYTES = 4_000_000
_REQUEST, _REFUSED, _DONE = ".json", ".refused", ".done"
#: How files end that were not written whole, by this and by earlier versions.
_UNFINISHED = (".partial", ".part")
#: Seconds between two looks at whether a request was taken up.
LOOK_SECONDS = 0.05

_decode: Callable[[bytes], Request] = msgspec.json.Decoder(Request).decode


class UnreadableError(RefusedError):
    """A file that holds no request; ``data`` is how it begins, where it could be opened."""

    def __init__(self, reason: object, data: bytes = b"") -> None:
        super().__init__(f"the request can't be read: {reason}")
        self.data = data


class Spool:
    """The requests that wait in a data directory."""

    def __init__(self, data: Path) -> None:
        self._directory = data / DIRECTORY

    def put(self, request: Request) -> str:
        """Add a request; return its name. Raises `RefusedError` where it can't be written."""
        found = f"{time.time_ns():020d}-{token_hex(4)}"
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(found, _REQUEST, msgspec.json.encode(request))
        except OSError as error:
            raise RefusedError(f"a request can't be put into {self._directory}: {error.strerror}") from error
        return found

    def names(self) -> list[str]:
        """Return the names of the requests that wait, the oldest first; what is no plain file is none."""
        return sorted(name.removesuffix(_REQUEST) for name in self._files() if name.endswith(_REQUEST))

    def read(self, name: str) -> Request:
        """Return a request; raises `UnreadableError` where the file holds none."""
        path, data = self._directory / (name + _REQUEST), b""
        try:
            with open_plain(path, follow=False) as file:
                data = file.read(MOST_BYTES + 1)
            if len(data) <= MOST_BYTES:
                return _decode(data)
        except (OSError, *UNREADABLE) as error:
            raise UnreadableError(error, data) from error
        raise UnreadableError(f"it has more than {MOST_BYTES} bytes", data)

    def done(self, name: str, said: str = "") -> None:
        """Remove a request, and say what it came to, to whoever waits for it."""
        if said:
            self._write(name, _DONE, said.encode())
        (self._directory / (name + _REQUEST)).unlink(missing_ok=True)

    def refuse(self, name: str, reason: str) -> None:
        """Remove a request and say why it was not carried out, to whoever waits for it."""
        self._write(name, _REFUSED, reason.encode())
        self.done(name)

    def wait(self, name: str, seconds: float) -> str | None:
        """Return what a request came to, None where it was not carried out within ``seconds``.

        Raises `RefusedError` where it was refused.
        """
        end = time.monotonic() + seconds
        path = self._directory / (name + _REQUEST)
        while path.exists():
            if time.monotonic() > end:
                return None
            time.sleep(LOOK_SECONDS)
        refused = self._said(name, _REFUSED)
        if refused is not None:
            raise RefusedError(refused)
        return self._said(name, _DONE) or ""

    def _said(self, name: str, suffix: str) -> str | None:
        """Return what is said to whoever waits for a request, once; None where nothing is."""
        path = self._directory / (name + suffix)
        if not path.is_file():
            return None
        text = path.read_text(encoding="utf-8")
        path.unlink()
        return text

    def tidy(self) -> None:
        """Remove answers that nobody waited for, and files that were never finished."""
        for name in list(self._files()):
            if name.endswith((_REFUSED, _DONE, *_UNFINISHED)):
                with suppress(OSError):
                    (self._directory / name).unlink()

    def _files(self) -> Iterator[str]:
        """Yield the names of the plain files: a pipe or a directory there is nobody's request."""
        with suppress(OSError), os.scandir(self._directory) as entries:
            yield from (entry.name for entry in entries if entry.is_file(follow_symlinks=False))

    def _write(self, name: str, suffix: str, data: bytes) -> None:
        write_stored(self._directory / (name + suffix), data)
