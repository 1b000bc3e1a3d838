"""What starts scenarios of the frontier, where pipelines run, and disks: one for the tests of a file."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.agents.pipeline import Place
    from tests.agents.scenarios import Frontiers
    from tests.agents.shards import Disk


@pytest.fixture(scope="module")
def frontier(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Frontiers"]:
    from tests.agents.scenarios import frontiers

    with frontiers(tmp_path_factory.mktemp("frontier")) as start:
        yield start


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Place"]:
    from tests.agents.pipeline import a_place

    with a_place(tmp_path_factory.mktemp("place")) as opened:
        yield opened


@pytest.fixture(scope="module")
def one_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Disk"]:
    from tests.agents.shards import disk

    with disk(tmp_path_factory.mktemp("disk")) as opened:
        yield opened


@pytest.fixture
def rows(one_disk: "Disk") -> "Disk":
    one_disk.clear()
    return one_disk
