"""Logs that are far bigger than they look are read in bounded memory, and the rest of them counts."""

import re
import subprocess
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rubbish.measured import MEMORY, run

MEGABYTE = 1_000_000
GOOD = b'10.0.0.%d - - [01/Feb/2024:10:00:%02d +0000] "GET http://a.test/%d HTTP/1.1" 200 9 "-" "Mozilla/5.0"\n'
LINES = [GOOD % (number, number, number) for number in range(20)]


def pieces(huge: bytes, times: int) -> Iterator[bytes]:
    """Yield good lines, one huge line, and good lines again."""
    yield b"".join(LINES[:10])
    for _ in range(times):
        yield huge
    yield b"\n" + b"".join(LINES[10:])


def write_gzip(path: Path, parts: Iterator[bytes]) -> None:
    packer = zlib.compressobj(level=1, wbits=31)
    with path.open("wb") as file:
        for part in parts:
            file.write(packer.compress(part))
        file.write(packer.flush())


@pytest.mark.slow
def test_a_compressed_log_of_two_gigabytes_in_one_line_costs_that_line(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.log.gz"
    write_gzip(bomb, pieces(bytes(MEGABYTE), 2000))
    assert bomb.stat().st_size < 20 * MEGABYTE
    ended = run(tmp_path, "feed", str(bomb))
    assert ended.status == 0, ended.err
    assert ended.memory < MEMORY
    assert _counted(ended.out + ended.err) == (20, 1)


def test_a_line_of_a_hundred_megabytes_on_standard_input_costs_that_line(tmp_path: Path) -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as cat:
        assert cat.stdin is not None
        assert cat.stdout is not None

        def write() -> None:
            assert cat.stdin is not None
            for piece in pieces(b"a" * MEGABYTE, 100):
                cat.stdin.write(piece)
            cat.stdin.close()

        writer = threading.Thread(target=write)
        writer.start()
        ended = run(tmp_path, "feed", "-", stdin=cat.stdout)
        writer.join()
    assert ended.status == 0, ended.err
    assert ended.memory < MEMORY
    assert _counted(ended.out + ended.err) == (20, 1)


def _counted(said: str) -> tuple[int, int]:
    """Return the accepted and the malformed lines that a feed told of at its end."""
    accepted = re.findall(r"(\d+) accepted", said)
    malformed = re.findall(r"(\d+) malformed", said)
    return int(accepted[-1]), int(malformed[-1])
