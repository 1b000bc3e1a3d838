"""The data directory of a crawl: there and writable, before anything starts."""

import tempfile
from pathlib import Path

from streams.configuration import ConfigurationError


def make_directory(data: Path) -> None:
    """Make the data directory if need be; raises `ConfigurationError` where it can't be written to."""
    try:
        data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"data {data}: can't be made a directory: {error.strerror}") from error
    try:
        # Tried, not asked: root may do everything, except where the file system can't.
        tempfile.TemporaryFile(dir=data).close()
    except OSError as error:
        raise ConfigurationError(
            f"data {data}: can't be written to ({error.strerror}); expected a directory of one's own"
        ) from error
