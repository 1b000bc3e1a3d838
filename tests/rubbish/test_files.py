"""Files that are damaged or can't be written: one line that names them, and what is whole is used."""

from pathlib import Path

from tests.agents.commands import complaint, last_line, printed, scentline
from tests.agents.test_archive import page, write
from tests.cases import each_case
from tests.e2e.crawls import ANY

ROOT = "http://example.org/"
CRAWL = ("crawl", "--seed", "http://127.0.0.1:9/", "--set", "fetch.allow=127.0.0.1", "--predicate", ANY)


def test_a_crawl_of_an_archive_that_is_cut_short_crawls_what_is_whole(tmp_path: Path) -> None:
    links = "".join(f'<a href="/{number}">page {number}</a>' for number in range(20))
    pages = [page(f"{ROOT}{number}", b"<p>A page of words") for number in range(20)]
    archive = write(tmp_path / "pages.warc.gz", page(ROOT, links.encode()), *pages)
    whole = archive.read_bytes()
    archive.write_bytes(whole[: len(whole) - len(whole) // 4])
    ended = scentline(
        tmp_path, "crawl", "--seed", ROOT, "--predicate", ANY, "--archive", "pages.warc.gz", "--json"
    )
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
