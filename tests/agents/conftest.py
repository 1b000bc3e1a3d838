"""What starts scenarios of the frontier, and where pipelines run: one for the tests of a file."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.agents.pipeline import Place
    from tests.agents.scenarios import Frontiers


@pytest.fixture(scope="module")
def frontier(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Frontiers"]:
    """Give what starts a frontier on empty tables."""
    from tests.agents.scenarios import frontiers

    with frontiers(tmp_path_factory.mktemp("frontier")) as start:
        yield start


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Place"]:
    """Give disks that pipelines run on."""
    from tests.agents.pipeline import a_place

    with a_place(tmp_path_factory.mktemp("place")) as opened:
        yield opened
