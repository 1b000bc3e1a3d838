import gzip
from collections import defaultdict
from pathlib import Path

import pytest

from scentline.agents.judge.judges import LabelsError, load_labels
from tests.shared import shared


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_categories_of_all_lines_of_a_url_with_those_above_them(tmp_path: Path) -> None:
    lines = "http://a.org/\tA.B\n\nHTTP://A.org:80/x/../#top\tC\r\nhttp://b.org/\tA\nftp://a.org/\tA\n"
    for path in (
        written(tmp_path / "l.tsv", lines),
        written(tmp_path / "l.tsv.gz", gzip.compress(lines.encode())),
    ):
        labels = load_labels(path)
        assert labels.categories("http://a.org/") == {"A", "A.B", "C"}
        assert labels.categories("http://b.org/") == {"A"}
        assert labels.categories("http://c.org/") == frozenset()
        assert (len(labels), labels.skipped) == (2, 1)


def test_pages_with_the_same_categories_share_one_set(tmp_path: Path) -> None:
    lines = "".join(f"http://a.org/{page}\tA.B\nhttp://a.org/{page}\tC\n" for page in range(10))
    labels = load_labels(written(tmp_path / "l.tsv", lines))
    assert len({id(labels.categories(f"http://a.org/{page}")) for page in range(10)}) == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("http://a.org/ A", "no tab"),
        ("http://a.org/\t", "single dots"),
        ("http://a.org/\tA..B", "single dots"),
        (b"http://a.org/\t\xff", "can't decode"),
        ("http://a.org/\t" + "A" * 5000, "lines of 4000 bytes"),
    ],
)
def test_wrong_line_is_an_error_that_names_file_and_line(
    tmp_path: Path, line: str | bytes, reason: str
) -> None:
    body = line.encode() if isinstance(line, str) else line
    path = written(tmp_path / "l.tsv", b"http://a.org/\tA\n\n" + body + b"\n")
    with pytest.raises(LabelsError, match="line 3: ") as caught:
        load_labels(path)
    assert reason in str(caught.value)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 300 + len(str(path))


def test_unreadable_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    for path in (
        tmp_path / "absent.tsv",
        written(tmp_path / "plain.gz", "http://a.org/\tA\n"),
        written(tmp_path / "cut.gz", gzip.compress(b"http://a.org/\tA\n")[:-6]),
        written(tmp_path / "broken.gz", gzip.compress(b"http://a.org/\tA\n")[:10] + b"\xff" * 40),
    ):
        with pytest.raises(LabelsError) as caught:
            load_labels(path)
        assert path.name in str(caught.value)


def test_science_pages_of_the_real_labels() -> None:
    path = shared("wikispeedia/topics.tsv.gz")
    labels = load_labels(path)
    categories = defaultdict(set)
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        url, category = line.split("\t")
        categories[url].add(category)
    science = [
        url for url, found in categories.items() if any(f"{name}.".startswith("Science.") for name in found)
    ]
    assert len(labels) == len(categories) == 4002
    assert sum("Science" in labels.categories(url) for url in categories) == len(science) == 1105
    assert labels.skipped == 0
