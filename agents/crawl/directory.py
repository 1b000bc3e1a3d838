"""The data directory of a crawl: there and writable, before anything starts."""

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from os import geteuid
from pathlib import Path

from scentline.agents.observe.pseudonym import KEY_FILE
from scentline.streams.configuration import ConfigurationError

#: What this program puts into a data directory.
_OURS = frozenset({
    "journal", "v1", "kept", "requests", "policy", "semantic", "depth", "extras", "judge", "forgetting",
    KEY_FILE,
})  # fmt: skip


def make_directory(data: Path) -> None:
    """Make the data directory, its owner's alone, if need be; what was open to others there is closed to them.

    Raises `ConfigurationError` where it can't be written to.
    """
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        _close_to_others(data)
    except OSError as error:
        raise ConfigurationError(f"data {data}: can't create the directory: {error.strerror}") from error
    try:
        # Tried, not asked: root may do everything, except where the file system can't.
        tempfile.TemporaryFile(dir=data).close()
    except OSError as error:
        raise ConfigurationError(
            f"data {data}: can't write there ({error.strerror}); expected a directory of yours"
        ) from error


def _close_to_others(data: Path) -> None:
    """Close to others what an earlier version left open, and the directory too where it holds nothing else."""
    for path in _open_to_others(data):
        with suppress(OSError):
            path.chmod(path.stat().st_mode & 0o700)


def _open_to_others(data: Path) -> Iterator[Path]:
    held = list(data.iterdir())
    ours = [path for path in held if path.name in _OURS]
    # Of the key it is said where it is used: whoever could read it can undo the pseudonyms.
    closed = [path for path in ours if path.name != KEY_FILE]
    for path in closed + ([data] if ours and len(ours) == len(held) else []):
        status = path.lstat()
        if path.is_symlink() or status.st_uid != geteuid() or not status.st_mode & 0o077:
            continue
        yield path
