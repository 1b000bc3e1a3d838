"""What a test leaves open fails it, though nothing but the collector of cycles would ever find it."""

import re
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE

ROOT = Path(__file__).parents[1]
PLANTED = """
import asyncio, socket
def test_planted():
    cycle = []
    cycle += [cycle, {left}]
"""


LEFT = {
    "file": "open('/dev/null')",
    "nothing": "0",
    "socket": "socket.socket()",
    "loop": "asyncio.new_event_loop()",
}


def test_what_is_left_in_a_cycle_fails_the_test_that_left_it_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    for number, (name, left) in enumerate(LEFT.items()):
        (tmp_path / f"test_{number}_{name}.py").write_text(PLANTED.format(left=left))
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "--rootdir", tmp_path, tmp_path],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    wrong = re.findall(r"^ERROR test_\d_(\w+)\.py::test_planted", ended.stdout, re.MULTILINE)
    assert wrong == ["file", "socket", "loop"], ended.stdout
    assert ended.returncode == 1
    assert "ResourceWarning" in ended.stdout
