"""Where the shared research data lies: beside the checkout, never in it."""

from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "shared" / "data"


def shared(path: str) -> Path:
    """Return the path of a shared data file; the test is skipped, naming it, when it is not there."""
    file = DATA / path
    if not file.exists():
        pytest.skip(f"needs shared data {path}")
    return file
