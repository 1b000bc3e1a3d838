"""How long a test waits for what has to come, and how much more than usual it tries of a property."""

import time
from collections.abc import Callable
from typing import TypeVar

from hypothesis import settings

#: Seconds, many more than it takes: a wait says that something came, and nothing of how fast a busy machine is.
PATIENCE = 240.0

T = TypeVar("T")


def wait_for(what: str, condition: Callable[[], bool], pause: float = 0.25) -> None:
    """Look every ``pause`` seconds until a condition holds; ``what`` names it where it never does."""
    come(what, lambda: condition() or None, pause)


def come(what: str, look: Callable[[], T | None], pause: float = 0.01) -> T:
    end = time.monotonic() + PATIENCE
    while (found := look()) is None:
        assert time.monotonic() < end, f"in vain: {what}"
        time.sleep(pause)
    return found


def more(times: int) -> settings:
    """Return what tries a property with so many ``times`` the examples that others are tried with."""
    usual = settings.default
    assert usual is not None
    return settings(max_examples=times * usual.max_examples)
