"""Files that are damaged, huge or can't be written: one line that names them, and what is whole is used."""

import gzip
import subprocess
from collections.abc import Iterable
from itertools import chain, repeat
from pathlib import Path

import pytest

from tests.agents.commands import complaint, last_line, printed, scentline
from tests.agents.test_archive import page, write
from tests.cases import each_case
from tests.e2e.crawls import ANY
from tests.rubbish.measured import MEMORY, Ended, run

ROOT = "http://example.org/"
CRAWL = ("crawl", "--seed", "http://127.0.0.1:9/", "--set", "fetch.allow=127.0.0.1", "--predicate", ANY)


def test_a_crawl_of_an_archive_that_is_cut_short_crawls_what_is_whole(tmp_path: Path) -> None:
    links = "".join(f'<a href="/{number}">page {number}</a>' for number in range(20))
    pages = [page(f"{ROOT}{number}", b"<p>A page of words") for number in range(20)]
    archive = write(tmp_path / "pages.warc.gz", page(ROOT, links.encode()), *pages)
    whole = archive.read_bytes()
    archive.write_bytes(whole[: len(whole) - len(whole) // 4])
    given = ("--seed", ROOT, "--predicate", ANY, "--archive", "pages.warc.gz", "--json")
    ended = scentline(tmp_path, "crawl", *given)
    assert ended.returncode == 0, ended.stderr
    assert "cut short" in ended.stderr
    assert "Traceback" not in ended.stderr
    found = last_line(ended.stdout)
    assert 10 <= found["fetched"] < 21
    assert found["fetched"] + found["failed"] + found["refused"] == 21


def test_a_regular_expression_made_for_backtracking_holds_no_crawl_up(tmp_path: Path) -> None:
    long = "a" * 1500 + "b"
    front = page(ROOT, f'<a href="{long}">long</a>'.encode())
    write(tmp_path / "pages.warc.gz", front, page(ROOT + long, b"<p>A page of words"))
    given = ("--predicate", 'slow=url("(a+)+$")', "--archive", "pages.warc.gz", "--json")
    found = last_line(printed(tmp_path, "crawl", "--seed", ROOT, *given))
    assert (found["fetched"], found["predicates"]["slow"]["hits"]) == (2, 0)


@each_case(("data", "command"), [("/proc", CRAWL), ("/sys", ("feed", "access.log")), ("taken", CRAWL)])
def test_a_data_directory_that_takes_no_files_is_named(
    tmp_path: Path, data: str, command: tuple[str, ...]
) -> None:
    (tmp_path / "access.log").write_text("")
    (tmp_path / "taken").mkdir(exist_ok=True)
    (tmp_path / "taken" / "journal").write_text("not a directory")
    assert data in complaint(tmp_path, *command, "--data", data)


def test_a_log_directory_that_is_damaged_is_named(tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text("")
    printed(tmp_path, "feed", "access.log")
    for damage in (b"", b"\0" * 10_000, b"\xff\xfe damaged"):
        (tmp_path / "scentline-data" / "journal" / "CURRENT").write_bytes(damage)
        assert "journal" in complaint(tmp_path, "feed", "access.log")


# logs that are far bigger than they look are read in bounded memory, and the rest of them counts

GOOD = b'10.0.0.%d - - [01/Feb/2024:10:00:%02d +0000] "GET http://a.test/%d HTTP/1.1" 200 9 "-" "Mozilla/5.0"\n'
LINES = [GOOD % (number, number, number) for number in range(20)]
MEGABYTE = 1_000_000


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
        file.writelines(pieces(bytes(MEGABYTE), 1000))
    assert bomb.stat().st_size < 10 * MEGABYTE
    check(run(tmp_path, "feed", str(bomb), "--json"))


def test_a_line_of_a_hundred_megabytes_on_standard_input_costs_that_line(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.write_bytes(b"".join(pieces(b"a" * MEGABYTE, 100)))
    with log.open("rb") as file, subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as cat:
        check(run(tmp_path, "feed", "-", "--json", stdin=cat.stdout or subprocess.DEVNULL))
