"""A Squid that can't be started leaves nothing behind."""

import gc
import tempfile
from pathlib import Path

import pytest

import bench.live.squid
from bench.live.squid import Squid, SquidError


@pytest.mark.parametrize(
    ("program", "error"),
    [(None, SquidError), ("#!/bin/sh\necho no such port\nexit 1\n", SquidError), ("no program", OSError)],
    ids=["is missing", "ends", "is no program"],
)
def test_one_that_does_not_start_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str | None, error: type[Exception]
) -> None:
    programs, scratch = tmp_path / "bin", tmp_path / "scratch"
    programs.mkdir()
    scratch.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr(bench.live.squid, "SBIN", str(programs))
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    if program is not None:
        (programs / "squid").write_text(program)
        (programs / "squid").chmod(0o755)
    with pytest.raises(error):
        Squid("http://127.0.0.1:9")
    gc.collect()  # a directory that was left would be removed now, with a warning
    assert list(scratch.iterdir()) == []
