"""The window's processes: itself beside the crawl that starts it, and the mirror of a crawl on Kafka beside it.

Each is given its settings in a file of its owner's alone, and ends with the process that started it.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from scentline.agents.offline.process import ServerProcess
from scentline.agents.stored import write_stored
from scentline.streams.settings import Settings

#: Within a crawl's directory, what is the window's own.
DIRECTORY = "window"


def beside(settings: Settings) -> ServerProcess:
    """Start the window of a crawl.

    Raises `agents.offline.process.ServerProcessError` where it can't be served.
    """
    return _started("scentline.agents.window", settings, settings.data / DIRECTORY)


def mirror(settings: Settings) -> ServerProcess:
    """Start to mirror a crawl on Kafka into the directory of ``settings``; returns when there is a whole copy.

    Raises `agents.offline.process.ServerProcessError` where it can't be read.
    """
    return _started("scentline.agents.window.mirror", settings, settings.data.parent)


def _started(module: str, settings: Settings, directory: Path) -> ServerProcess:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = directory / f"{module}.settings"
    write_stored(path, json.dumps(settings.model_dump(exclude_unset=True), default=_plain).encode())
    return ServerProcess(module, [str(path)])


def given(path: Path) -> Settings:
    """Return the settings that a process was given; their file goes."""
    settings = Settings.model_validate(json.loads(path.read_bytes()))
    path.unlink()
    return settings


def _plain(value: Any) -> Any:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)
