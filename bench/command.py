"""The command that benchmarks run, the data that they run it on, and the CPU time of what they start."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

#: Where webs lie that were recorded, each in a directory, and two of them.
DATA = Path(__file__).parents[2] / "shared" / "data"
WIKISPEEDIA, DOCS = DATA / "wikispeedia", DATA / "docs"
#: Crawls here have no table of word meanings, whether or not the user's have one.
NO_MEANINGS = {"SCENTLINE_LEARN__SEMANTIC": ""}
os.environ.update(NO_MEANINGS)

COMMAND = (sys.executable, "-c", "from agents.cli import main; main()")


def summary(*arguments: str) -> dict[str, Any]:
    """Crawl as the command's arguments say; return what a crawl came to.

    Raises CalledProcessError.
    """
    run = subprocess.run(  # noqa: S603 - this project's own command
        [*COMMAND, "crawl", "--json", *arguments],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def children_cpu() -> float:
    """Return the CPU seconds, user and system, of all children that were waited for so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
