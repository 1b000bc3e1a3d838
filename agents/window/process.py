"""The window's processes: the window beside the crawl that starts it, and the mirror of a crawl on Kafka.

Each reads its settings from a file that only its owner may read, writes ``ready URL``, or ``ready DIRECTORY``
once the copy is complete, and ends with the process that started it.
"""

import json
import os
import signal
import sys
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

from pydantic import SecretStr

from scentline.agents.offline.serve import ServerProcess
from scentline.agents.stored import write_stored
from scentline.agents.worker.directory import WINDOW
from scentline.models.errors import ScentlineError
from scentline.streams.settings import Settings


def beside(settings: Settings) -> ServerProcess:
    """Start the window of a crawl.

    Raises `agents.offline.serve.ServerProcessError` where it can't be served.
    """
    return _started("window", settings, settings.data / WINDOW)


def mirror(settings: Settings) -> ServerProcess:
    """Start to mirror a crawl on Kafka into the directory of ``settings``; return once the copy is complete.

    Raises `agents.offline.serve.ServerProcessError` where it can't be read.
    """
    return _started("mirror", settings, settings.data.parent)


def _started(name: str, settings: Settings, directory: Path) -> ServerProcess:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = directory / f"{name}.settings"
    write_stored(path, json.dumps(settings.model_dump(exclude_unset=True), default=_plain).encode())
    return ServerProcess("scentline.agents.window.process", [name, str(path)])


def _plain(value: Any) -> Any:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)


def main() -> None:
    """Run the named process with a file's settings, and remove it; an error ends it with a line."""
    from scentline.streams.logging import configure

    name, path = sys.argv[1], Path(sys.argv[2])
    settings = Settings.model_validate(json.loads(path.read_bytes()))
    path.unlink()
    os.umask(0o077)
    configure(settings.log)
    try:
        (_mirror if name == "mirror" else _window)(settings)
    except ScentlineError as error:
        raise SystemExit(str(error)) from error


def _window(settings: Settings) -> None:
    from scentline.agents.window.command import run

    run(settings, lambda url: print("ready", url, flush=True), sys.stdin.buffer)


def _mirror(settings: Settings) -> None:
    from scentline.agents.operate.topics import follow

    Thread(target=_end_with_parent, daemon=True).start()
    with closing(follow(settings, lambda _: None)) as copied:
        next(copied)
        print("ready", settings.data, flush=True)
        for _ in copied:
            pass


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGKILL)  # each start rebuilds the mirror: nothing is lost


if __name__ == "__main__":
    main()
