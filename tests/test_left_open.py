"""What a test leaves open fails it, though nothing but the collector of cycles would ever find it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[1]
PLANTED = """
import asyncio, socket
def test_planted():
    cycle = []
    cycle += [cycle, {left}]
"""


@pytest.mark.parametrize(
    ("left", "wrong"),
    [("open('/dev/null')", True), ("socket.socket()", True), ("asyncio.new_event_loop()", True), ("0", False)],
)
def test_what_is_left_in_a_cycle_fails_the_test(tmp_path: Path, left: str, wrong: bool) -> None:
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_planted.py").write_text(PLANTED.format(left=left))
    (tmp_path / "test_well.py").write_text("def test_well(): pass\n")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "--rootdir", tmp_path, tmp_path],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert ("ERROR test_planted.py::test_planted" in ended.stdout) == wrong, ended.stdout
    assert ended.returncode == int(wrong)
    assert "ERROR test_well.py" not in ended.stdout
    assert ("ResourceWarning" in ended.stdout) == wrong
