"""What the suite does about tests that hang, and about those that leave something open."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.commands import ROOT, environment
from tests.patience import PATIENCE

LEAVES = "import asyncio, socket\ndef test_planted():\n    cycle = []\n    cycle += [cycle, {left}]\n"
LEFT = {
    "file": "open('/dev/null')", "nothing": "0", "socket": "socket.socket()",
    "loop": "asyncio.new_event_loop()",
}  # fmt: skip


def test_a_hang_is_waited_for_much_longer_than_a_slow_machine_takes(request: pytest.FixtureRequest) -> None:
    seconds = float(request.config.getini("timeout"))
    assert seconds >= 3 * PATIENCE
    assert request.config.getini("timeout_method") == "signal"
    # Its turn comes when the other has not ended the test.
    assert float(request.config.getini("faulthandler_timeout")) >= seconds + PATIENCE
    assert request.config.getini("faulthandler_exit_on_timeout") is True


def test_what_is_left_in_a_cycle_fails_the_test_that_left_it_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    for place, (name, left) in enumerate(LEFT.items()):
        (tmp_path / f"test_{place}_{name}.py").write_text(LEAVES.format(left=left))
    words = ["-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), str(tmp_path)]
    run = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False,
        timeout=PATIENCE,
    )  # fmt: skip
    wrong = re.findall(r"^ERROR test_\d_(\w+)\.py::test_planted", run.stdout, re.MULTILINE)
    assert wrong == ["file", "socket", "loop"], run.stdout
    assert run.returncode == 1
    assert "ResourceWarning" in run.stdout
