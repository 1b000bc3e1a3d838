"""A test that hangs is ended and found, and the tests after it run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.commands import environment
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[1]
#: Waits that never end: of an event loop, of another process, and of C code that holds the interpreter's lock.
HANGS = """
import asyncio
import subprocess
import sys
import unicodedata


def test_of_an_event_loop():
    async def never_set():
        await asyncio.Event().wait()

    asyncio.run(never_set())


def test_of_another_process():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        process.wait()


def test_that_hangs_not():
    pass


def test_of_c_code():
    unicodedata.normalize("NFD", "a" + 1_000_000 * "\\u0315" + 1_000_000 * "\\u0300")


def test_that_comes_after():
    pass
"""


def test_a_hang_is_waited_for_several_times_as_long_as_a_slow_machine_may_take(
    request: pytest.FixtureRequest,
) -> None:
    seconds = float(request.config.getini("timeout"))
    assert seconds >= 3 * PATIENCE
    assert request.config.getini("timeout_method") == "signal"
    # Its turn comes when the other has not ended the test.
    assert float(request.config.getini("faulthandler_timeout")) >= seconds + PATIENCE
    assert request.config.getini("faulthandler_exit_on_timeout") is True


@pytest.mark.slow
def test_each_hang_is_ended_and_shown_and_the_other_tests_run(tmp_path: Path) -> None:
    (tmp_path / "test_hangs.py").write_text(HANGS)
    run = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider",
            "-n", "1", "-o", "timeout=3", "-o", "faulthandler_timeout=8", str(tmp_path / "test_hangs.py"),
        ],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    said = run.stdout + run.stderr
    assert run.returncode == 1, said
    assert "3 failed, 2 passed" in said
    for name, stands in (("of_an_event_loop", "never_set"), ("of_another_process", "process.wait()")):
        assert f"test_{name} - Failed: Timeout (>3.0s) from pytest-timeout" in said
        assert stands in said
    assert re.search("crashed while running '.*::test_of_c_code'", said)
    assert "in test_of_c_code" in run.stderr
