"""How long a test waits for what has to come."""

import time
from collections.abc import Callable

#: Seconds, many more than it takes: a wait says that something came, and nothing of how fast a busy machine is.
PATIENCE = 240.0


def wait_for(what: str, condition: Callable[[], bool], pause: float = 0.25) -> None:
    """Look every ``pause`` seconds until a condition holds; ``what`` names it where it never does."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"in vain: {what}"
        time.sleep(pause)
