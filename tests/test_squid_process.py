"""A Squid that can't be started leaves nothing behind."""

import gc
import tempfile
from pathlib import Path

import pytest

import bench.live.squid
from bench.live.squid import Squid, SquidError

WEB = "http://127.0.0.1:9"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the one directory in which programs are looked for."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    monkeypatch.setattr(bench.live.squid, "SBIN", str(directory))
    return directory


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the directory in which temporary ones are made."""
    directory = tmp_path / "scratch"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


def test_a_missing_one_is_named_with_its_package(programs: Path, scratch: Path) -> None:
    with pytest.raises(SquidError, match=r"needs squid, .* \(on Debian: apt-get install squid\)"):
        Squid(WEB)
    gc.collect()  # a directory that was left would be removed now, with a warning
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("program", "error"),
    [("#!/bin/sh\necho no such port\nexit 1\n", SquidError), ("no program", OSError)],
    ids=["ends", "is no program"],
)
def test_one_that_does_not_start_leaves_nothing(
    programs: Path, scratch: Path, program: str, error: type[Exception]
) -> None:
    (programs / "squid").write_text(program)
    (programs / "squid").chmod(0o755)
    with pytest.raises(error):
        Squid(WEB)
    gc.collect()
    assert list(scratch.iterdir()) == []
