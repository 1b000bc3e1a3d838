"""Running a module of the package that runs here in a process of its own."""

import os
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[1]


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of the package that runs here.

    Its path comes first, the working directory (-P) not at all, whatever lies there.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """Return this process's environment, by which the package is found."""
    inherited = os.environ.get("PYTHONPATH")
    path = [str(_ROOT), inherited] if inherited else [str(_ROOT)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
