"""The data directory of a crawl: there and writable, before anything starts."""

import os
from pathlib import Path

from streams.configuration import ConfigurationError


def make_directory(data: Path) -> None:
    """Make the data directory if need be; raises `ConfigurationError` where it can't be written to."""
    try:
        data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"data {data}: can't be made a directory: {error.strerror}") from error
    if not os.access(data, os.W_OK | os.X_OK):
        raise ConfigurationError(f"data {data}: can't be written to; expected a directory of one's own")
