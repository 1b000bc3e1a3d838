"""Files that this program writes and reads: atomically, within bounds, named in every error."""

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EINVAL
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from scentline.models.errors import ScentlineError

if TYPE_CHECKING:
    from pydantic import SecretStr

    from scentline.models.semantic import SemanticTable

T = TypeVar("T")


def read_stored(path: Path, most: int, unpack: Callable[[bytes], T], error: type[ValueError], name: str) -> T:
    """Return ``unpack`` of a file of at most ``most`` bytes; ``unpack`` must refuse more.

    Raises ``error``, which ``unpack`` raises too, with ``name`` in front.
    """
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as cause:
        raise error(f"{name}: can't be read: {cause.strerror}") from cause
    try:
        return unpack(data)
    except error as cause:
        raise error(f"{name}: {cause}") from cause


def write_stored(path: Path, data: bytes) -> None:
    """Write or replace a file atomically; only its owner can read it."""
    with whole(path, 0o600) as file:
        file.write(data)


@contextmanager
def whole(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` once it is complete, with ``mode`` less the umask.

    It is synced first: a power failure leaves neither an empty nor a partial file. A symbolic link in the way
    is not followed. Raises `OSError`.
    """
    partial = path.with_name(f"{path.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        number = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        _sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def open_plain(path: Path, *, follow: bool = True) -> BinaryIO:
    """Open a plain file for reading.

    Anything else, such as a pipe, on which reading would block, raises `OSError`; so does a symbolic link,
    unless ``follow``.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    number = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(EINVAL, "not a plain file", str(path))
    return os.fdopen(number, "rb")


def _sync(directory: Path) -> None:
    number = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


# tokens

_MOST_TOKEN = 1_000


class TokenError(ScentlineError, ValueError):
    """A file without a valid token."""


def kept_token(path: Path, given: "SecretStr | None") -> str:
    """Return the given token, or else the one in the file at ``path``, which is made if it is missing."""
    if given is not None:
        return given.get_secret_value()
    if path.exists():
        return read_stored(path, _MOST_TOKEN, _as_token, TokenError, str(path))
    token = token_urlsafe(24)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_stored(path, token.encode())
    except OSError as error:
        sys.stderr.write(f"The token is new at each start: {path} can't be written: {error.strerror}\n")
    return token


def _as_token(data: bytes) -> str:
    text = data.decode("ascii", errors="replace").strip()
    if len(text) < 16 or not text.isprintable():
        raise TokenError("expected a token; remove the file, and a new one is made")
    return text


# a table of word-piece vectors

#: The shipped table; words.NOTICE says from what, and how, it is made.
SHIPPED = Path(__file__).parent / "semantic" / "words.table"


def table_of(setting: str | None) -> "SemanticTable | None":
    """Return the table that `learn.semantic` names, if any; raises what `read_table` does."""
    if setting is None:
        return None
    return read_table(SHIPPED if setting == "auto" else Path(setting))


def read_table(path: Path) -> "SemanticTable":
    """Return the table of a file; raises `models.semantic.SemanticTableError`, which names it."""
    # Imported on use: it brings numpy.
    from scentline.models.semantic import MOST_BYTES, SemanticTableError, unpack

    return read_stored(path, MOST_BYTES, unpack, SemanticTableError, str(path))
