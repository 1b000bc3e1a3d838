"""Logs that are far bigger than they look are read in bounded memory, and the rest of them counts."""

import gzip
import subprocess
from collections.abc import Iterable
from itertools import chain, repeat
from pathlib import Path

import pytest

from tests.agents.commands import last_line
from tests.rubbish.measured import MEMORY, Ended, run

MEGABYTE = 1_000_000
GOOD = b'10.0.0.%d - - [01/Feb/2024:10:00:%02d +0000] "GET http://a.test/%d HTTP/1.1" 200 9 "-" "Mozilla/5.0"\n'
LINES = [GOOD % (number, number, number) for number in range(20)]


def pieces(huge: bytes, times: int) -> Iterable[bytes]:
    """Return good lines, one huge line, and good lines again."""
    return chain(LINES[:10], repeat(huge, times), (b"\n", *LINES[10:]))


def check(ended: Ended) -> None:
    """Assert that only the huge line was lost, and in little memory."""
    assert ended.status == 0, ended.err
    assert ended.memory < MEMORY
    found = last_line(ended.out)
    assert (found["accepted"], found["malformed"]) == (20, 1)


@pytest.mark.slow
def test_a_compressed_log_of_a_gigabyte_in_one_line_costs_that_line(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.log.gz"
    with gzip.open(bomb, "wb", compresslevel=1) as file:
        for piece in pieces(bytes(MEGABYTE), 1000):
            file.write(piece)
    assert bomb.stat().st_size < 10 * MEGABYTE
    check(run(tmp_path, "feed", str(bomb), "--json"))


def test_a_line_of_a_hundred_megabytes_on_standard_input_costs_that_line(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_bytes(b"".join(pieces(b"a" * MEGABYTE, 100)))
    with log.open("rb") as file, subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as cat:
        check(run(tmp_path, "feed", "-", "--json", stdin=cat.stdout or subprocess.DEVNULL))
