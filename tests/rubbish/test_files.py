"""Files that are damaged or can't be written: one line that names them, and what is whole is used."""

from pathlib import Path

import pytest

from tests.agents.commands import last_line
from tests.agents.test_archive import write
from tests.rubbish.measured import complaint, run

SEED = ("--seed", "http://example.org/")
HERE = ("--seed", "http://127.0.0.1:9/", "--set", "fetch.allow=127.0.0.1")
WORD = ("--predicate", 'any=not "unheard-of"')


def test_a_crawl_of_an_archive_that_is_cut_short_crawls_what_is_whole(tmp_path: Path) -> None:
    archive = tmp_path / "pages.warc.gz"
    links = "".join(f'<a href="/{number}">page {number}</a>' for number in range(20))
    pages = {"http://example.org/": links.encode()}
    pages |= {f"http://example.org/{number}": b"<p>A page of words" for number in range(20)}
    write_archive(archive, pages)
    whole = archive.read_bytes()
    archive.write_bytes(whole[: len(whole) - len(whole) // 4])
    ended = run(tmp_path, "crawl", *SEED, *WORD, "--archive", str(archive), "--json")
    assert ended.status == 0, ended.err
    assert "cut short" in ended.err
    assert "Traceback" not in ended.err
    found = last_line(ended.out)
    assert 10 <= found["fetched"] < 21
    assert found["fetched"] + found["failed"] + found["refused"] == 21


def test_a_regular_expression_made_for_backtracking_holds_no_crawl_up(tmp_path: Path) -> None:
    archive = tmp_path / "pages.warc.gz"
    long = "/" + "a" * 1500 + "b"
    pages = {"http://example.org/": f'<a href="{long}">long</a>'.encode()}
    write_archive(archive, pages | {f"http://example.org{long}": b"<p>A page of words"})
    expression = 'slow=url("(a+)+$")'
    ended = run(tmp_path, "crawl", *SEED, "--predicate", expression, "--archive", str(archive), "--json")
    assert ended.status == 0, ended.err
    found = last_line(ended.out)
    assert (found["fetched"], found["predicates"]["slow"]["hits"]) == (2, 0)


@pytest.mark.parametrize("directory", ["/proc", "/sys"])
@pytest.mark.parametrize("command", [("crawl", *HERE, *WORD), ("feed", "access.log")])
def test_a_data_directory_that_takes_no_files_is_named(
    tmp_path: Path, directory: str, command: tuple[str, ...]
) -> None:
    (tmp_path / "access.log").write_text("")
    assert directory in complaint(run(tmp_path, *command, "--data", directory))


def test_a_file_in_the_place_of_the_log_directory_is_named(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "journal").write_text("not a directory")
    assert "journal" in complaint(run(tmp_path, "crawl", *HERE, *WORD, "--data", "data"))


@pytest.mark.parametrize("damage", [b"", b"\0" * 10_000, b"\xff\xfe damaged"])
def test_a_log_directory_that_is_damaged_is_named(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "access.log").write_text("")
    assert run(tmp_path, "feed", "access.log").status == 0
    journal = tmp_path / "scentline-data" / "journal"
    (journal / "CURRENT").write_bytes(damage)
    assert "journal" in complaint(run(tmp_path, "feed", "access.log"))


def write_archive(path: Path, pages: dict[str, bytes]) -> None:
    write(path, *((url, "200 OK", [("Content-Type", "text/html")], body) for url, body in pages.items()))
