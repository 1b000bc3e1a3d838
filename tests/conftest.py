"""The order of the tests."""

from pathlib import Path

import pytest

#: The rooms whose files take longest: with these first, several workers have enough to do to the end.
LONG = ("deploy", "e2e", "kafka", "rubbish")
_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the rooms whose files take longest."""
    items.sort(key=lambda item: not any(item.path.is_relative_to(_HERE / room) for room in LONG))
