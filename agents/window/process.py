"""The window's processes: the window beside the crawl that starts it, and the mirror of a crawl on Kafka.

Each reads its settings from a file that only its owner may read, and ends with the process that started it.
"""

import json
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from scentline.agents.offline.process import ServerProcess
from scentline.agents.stored import write_stored
from scentline.agents.worker.directory import WINDOW
from scentline.streams.settings import Settings


def beside(settings: Settings) -> ServerProcess:
    """Start the window of a crawl.

    Raises `agents.offline.process.ServerProcessError` where it can't be served.
    """
    return _started("window", settings, settings.data / WINDOW)


def mirror(settings: Settings) -> ServerProcess:
    """Start to mirror a crawl on Kafka into the directory of ``settings``; return when there is a whole copy.

    Raises `agents.offline.process.ServerProcessError` where it can't be read.
    """
    return _started("mirror", settings, settings.data.parent)


def _started(name: str, settings: Settings, directory: Path) -> ServerProcess:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = directory / f"{name}.settings"
    write_stored(path, json.dumps(settings.model_dump(exclude_unset=True), default=_plain).encode())
    return ServerProcess("scentline.agents.window", [name, str(path)])


def _plain(value: Any) -> Any:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)
