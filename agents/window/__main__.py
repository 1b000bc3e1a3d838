"""The window of a crawl that started it, or the mirror of a crawl on Kafka (`agents.window.process`).

Writes ``ready URL``, or ``ready DIRECTORY`` when there is a whole copy, on standard output; ends when standard
input is closed.
"""

import json
import os
import signal
import sys
from contextlib import closing
from pathlib import Path
from threading import Thread

from scentline.agents.operate.topics import follow
from scentline.agents.window.command import run
from scentline.models.errors import ScentlineError
from scentline.streams.logging import configure
from scentline.streams.settings import Settings


def main() -> None:
    """Run the named process by the settings in a file, which it removes; an error ends it with a line."""
    name, path = sys.argv[1], Path(sys.argv[2])
    settings = Settings.model_validate(json.loads(path.read_bytes()))
    path.unlink()
    os.umask(0o077)
    configure(settings.log)
    try:
        if name == "mirror":
            _mirror(settings)
        else:
            run(settings, lambda url: print("ready", url, flush=True), sys.stdin.buffer)
    except ScentlineError as error:
        raise SystemExit(str(error)) from error


def _mirror(settings: Settings) -> None:
    Thread(target=_end_with_parent, daemon=True).start()
    with closing(follow(settings, lambda _: None)) as copied:
        next(copied)
        print("ready", settings.data, flush=True)
        for _ in copied:
            pass


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGKILL)  # a mirror is made anew at each start: nothing is lost


if __name__ == "__main__":
    main()
