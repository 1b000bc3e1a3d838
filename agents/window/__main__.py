"""The window of a crawl that started it (`agents.window.process`): it ends with the crawl.

Writes ``ready URL`` on standard output; serves until standard input is closed.
"""

import os
import sys
from pathlib import Path

from scentline.agents.window.command import run
from scentline.agents.window.process import given
from scentline.models.errors import ScentlineError
from scentline.streams.logging import configure


def main() -> None:
    """Serve by the settings in the file that is named, which goes; an error ends it with a line."""
    settings = given(Path(sys.argv[1]))
    os.umask(0o077)
    configure(settings.log)
    try:
        run(settings, lambda url: print("ready", url, flush=True), sys.stdin.buffer)
    except ScentlineError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
