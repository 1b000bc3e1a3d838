"""The pages on judges and on output: their commands run as they stand, and their files are the real ones."""

import re
from pathlib import Path

import pytest

from scentline.agents.judge.keep.store import files
from tests.agents.commands import printed, typed
from tests.agents.test_archive import write
from tests.agents.test_changes import a_change, tell

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PACKAGE = DOCS / "examples" / "judge-by-length"
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

HOCKEY = b'<title>Hockey</title><a href="/boats">boats</a> The goalkeeper and the puck, ice and skates.'
PAGES = {
    "http://example.org/": HOCKEY,
    "http://example.org/boats": b"<title>Rowers</title><p>Eight rowers in a boat on the river, and science.",
}


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return [block for name, block in _FENCE.findall(text) if name == language]


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    """Return a directory with an archive of two pages."""
    kind = [("Content-Type", "text/html")]
    write(tmp_path / "pages.warc.gz", *((url, "200 OK", kind, body) for url, body in PAGES.items()))
    return tmp_path


def run(cwd: Path, line: str) -> str:
    done = typed(cwd, line)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_package_is_the_one_of_the_page() -> None:
    assert blocks("judges.md", "python") == [(PACKAGE / "judge_by_length.py").read_text(encoding="utf-8")]
    assert blocks("judges.md", "toml") == [(PACKAGE / "pyproject.toml").read_text(encoding="utf-8")]


def test_the_classifier_of_the_page_finds_what_its_examples_are_about(cwd: Path) -> None:
    (examples,) = blocks("judges.md", "tsv")
    (cwd / "examples.tsv").write_text(examples)
    train, crawl = (block.strip() for block in blocks("judges.md", "sh"))
    assert "6 examples" in run(cwd, train)
    run(cwd, f"{crawl} --archive pages.warc.gz")
    assert run(cwd, "scentline matches hockey").splitlines()[1:] == ["http://example.org/\tHockey"]


def test_the_commands_of_the_page_on_output_run(cwd: Path) -> None:
    printed(
        cwd, "crawl", "--archive", "pages.warc.gz", "--seed", "http://example.org/",
        "--predicate", 'science="science"',
    )  # fmt: skip
    tell(cwd / "scentline-data", a_change(1, predicate="science"))
    for block in blocks("output.md", "sh"):
        for line in block.splitlines():
            assert run(cwd, line) or "--out" in line
    assert "http://example.org/boats" in (cwd / "science.csv").read_text()
    kept = files(cwd / "scentline-data" / "kept")
    assert [path.name for path in kept] == ["00000001.warc.gz"]
    run(cwd, "scentline crawl --archive science.warc.gz --seed http://example.org/boats --data again"
        " --predicate 'science=\"science\"'")  # fmt: skip


def test_the_commands_of_the_page_on_predicates_run_in_their_order(cwd: Path) -> None:
    printed(
        cwd, "crawl", "--archive", "pages.warc.gz", "--seed", "http://example.org/", "--predicate", 'ice="ice"'
    )
    lines = [line for block in blocks("predicates.md", "sh") for line in block.splitlines()]
    assert len(lines) > 5
    for line in lines:
        assert run(cwd, line)
    states = [line.split("\t")[:3] for line in run(cwd, "scentline predicate list").splitlines()[1:]]
    assert states == [["german", "active", "0.5"], ["ice", "active", "1"], ["tea", "removed", "3"]]
