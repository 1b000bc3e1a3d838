"""A Squid that can't be started leaves nothing behind."""

import gc
import tempfile
from pathlib import Path

import pytest

import bench.live.squid
from bench.live.squid import Squid, SquidError

ENDS = "#!/bin/sh\necho no such port\nexit 1\n"


@pytest.mark.parametrize(
    ("program", "error"), [(None, SquidError), (ENDS, SquidError), ("no program", OSError)]
)
def test_one_that_does_not_start_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str | None, error: type[Exception]
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(bench.live.squid, "SBIN", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    if program is not None:
        (tmp_path / "squid").write_text(program)
        (tmp_path / "squid").chmod(0o755)
    with pytest.raises(error):
        Squid("http://127.0.0.1:9")
    gc.collect()  # a directory that was left would be removed now, with a warning
    assert list(scratch.iterdir()) == []
