"""A mirror of a crawl on Kafka: a data directory that stays a moment behind it, in a process of its own.

Writes ``ready DIRECTORY`` on standard output when there is a whole copy; ends when standard input is closed.
"""

import os
import signal
import sys
from contextlib import closing
from pathlib import Path
from threading import Thread

from scentline.agents.operate.snapshot import follow
from scentline.agents.window.process import given
from scentline.models.errors import ScentlineError
from scentline.streams.logging import configure


def main() -> None:
    """Mirror by the settings in the file that is named; an error ends it with a line."""
    settings = given(Path(sys.argv[1]))
    os.umask(0o077)
    configure(settings.log)
    Thread(target=_end_with_parent, daemon=True).start()
    try:
        with closing(follow(settings, lambda _: None)) as copied:
            next(copied)
            print("ready", settings.data, flush=True)
            for _ in copied:
                pass
    except ScentlineError as error:
        raise SystemExit(str(error)) from error


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGKILL)  # a mirror is made anew at each start: nothing is lost


if __name__ == "__main__":
    main()
