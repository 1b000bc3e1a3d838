"""The order of the tests, how much of a property they try, and what they may leave open: nothing."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.window.browser import Browser

_HERE = Path(__file__).parent
#: What takes longest: with this first, several workers have enough to do to the end.
LONG = [
    *(_HERE / room for room in ("costs", "deploy", "e2e", "kafka", "rubbish", "window")),
    *(_HERE / "agents").glob("test_cli_*.py"), _HERE.parent / "bench" / "lab",
]  # fmt: skip

# The examples that a property is tried with: the same few in every run, and a thousand others in `make night`.
settings.register_profile("few", max_examples=25, derandomize=True, deadline=None)
settings.register_profile("night", max_examples=1000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "few"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest."""
    items.sort(key=lambda item: not any(map(item.path.is_relative_to, LONG)))


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left_open() -> Iterator[None]:
    """Free what a file's tests left in cycles: what is unclosed fails one of them, and none of another file."""
    gc.collect()
    gc.freeze()  # what was there before is another's, and is not looked through again
    yield
    gc.collect()


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """Yield a Chromium; the test is skipped, naming it, where there is none."""
    from tests.window.browser import Browser, BrowserError

    try:
        started = Browser()
    except BrowserError as error:
        pytest.skip(str(error))
    with started:
        yield started
