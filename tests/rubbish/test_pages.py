"""Pages made to take long are read in a few seconds of CPU at most, whatever they hold."""

import subprocess
import sys

from tests.agents.commands import environment
from tests.patience import PATIENCE
from tests.rubbish.pages import hostile_pages


def test_no_hostile_page_takes_more_than_seconds() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.rubbish.read_pages"],
        env=environment(), capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    begun = ended.stdout.splitlines()
    assert ended.returncode == 0, f"killed while it read: {begun[-1:]}\n{ended.stderr}"
    assert begun == list(hostile_pages())
