"""Tests that go wrong in a way that pytest alone does not see: they hang, or leave something open."""

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.agents.commands import ROOT, environment
from tests.patience import PATIENCE

#: Waits that never end: of an event loop, of another process, and of C code that holds the interpreter's lock.
HANGS = """
import asyncio, subprocess, sys, unicodedata
def test_of_an_event_loop():
    async def never_set():
        await asyncio.Event().wait()
    asyncio.run(never_set())
def test_of_another_process():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        process.wait()
def test_that_hangs_not(): pass
def test_of_c_code():
    unicodedata.normalize("NFD", "a" + 1_000_000 * "\\u0315" + 1_000_000 * "\\u0300")
def test_that_comes_after(): pass
"""
LEAVES = """
import asyncio, socket
def test_planted():
    cycle = []
    cycle += [cycle, {left}]
"""
LEFT = {
    "file": "open('/dev/null')", "nothing": "0", "socket": "socket.socket()",
    "loop": "asyncio.new_event_loop()",
}  # fmt: skip


def ended(directory: Path, tests: Mapping[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    """Run planted tests, by their names, with the settings of this suite."""
    for name, text in tests.items():
        (directory / f"test_{name}.py").write_text(text)
    words = ["-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(directory), *options]
    return subprocess.run(
        [sys.executable, *words, str(directory)], cwd=directory, env=environment(), capture_output=True,
        text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip


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
    soon = ("-p", "no:cacheprovider", "-n", "1", "-o", "timeout=3", "-o", "faulthandler_timeout=8")
    run = ended(tmp_path, {"hangs": HANGS}, *soon)
    said = run.stdout + run.stderr
    assert run.returncode == 1, said
    assert "3 failed, 2 passed" in said
    for name, stands in (("of_an_event_loop", "never_set"), ("of_another_process", "process.wait()")):
        assert f"test_{name} - Failed: Timeout (>3.0s) from pytest-timeout" in said
        assert stands in said
    assert re.search("crashed while running '.*::test_of_c_code'", said)
    assert "in test_of_c_code" in run.stderr


def test_what_is_left_in_a_cycle_fails_the_test_that_left_it_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    run = ended(
        tmp_path, {f"{place}_{name}": LEAVES.format(left=LEFT[name]) for place, name in enumerate(LEFT)}
    )
    wrong = re.findall(r"^ERROR test_\d_(\w+)\.py::test_planted", run.stdout, re.MULTILINE)
    assert wrong == ["file", "socket", "loop"], run.stdout
    assert run.returncode == 1
    assert "ResourceWarning" in run.stdout
