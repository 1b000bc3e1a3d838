"""The judge ``labels``: a table of URLs and their categories, such as a hand-made ground truth."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from scentline.models.categories import expand
from scentline.models.errors import ScentlineError
from scentline.models.page import Page
from scentline.models.url import canonical

MAX_LINE = 4_000
MAX_LINES = 20_000_000
_NONE: frozenset[str] = frozenset()


class LabelsError(ScentlineError):
    """A file of labels that can't be read; the text names file, line and what was expected."""


class Labels:
    """The categories of the pages that a file of labels names.

    ``skipped`` counts the lines whose URL is none that a crawler could fetch.
    """

    def __init__(self, categories: dict[str, frozenset[str]], skipped: int = 0) -> None:
        self._categories = categories
        self.skipped = skipped

    def __len__(self) -> int:
        return len(self._categories)

    def __call__(self, page: Page) -> frozenset[str]:
        """Return the categories of a page, by its URL."""
        return self.categories(page.url)

    def categories(self, url: str) -> frozenset[str]:
        """Return the categories of a canonical URL, with those above them; empty when it is not known.

        >>> Labels({"http://example.org/": frozenset({"Science"})}).categories("http://example.org/")
        frozenset({'Science'})
        """
        return self._categories.get(url, _NONE)


def load(path: Path) -> Labels:
    """Read lines of URL, tab, category: UTF-8, gzip where the name ends in ``.gz``, empty lines passed over.

    A URL may stand on several lines; the category ``A.B`` counts as ``A`` too. Raises LabelsError for a line
    that is not so, naming file and line, and for a file that can't be read. Pages with the same categories
    share one set, so that a URL takes about 150 bytes, mostly its own text.
    """
    categories: dict[str, frozenset[str]] = {}
    shared: dict[frozenset[str], frozenset[str]] = {}
    skipped = 0
    try:
        for number, line in _lines(path):
            written, label = _fields(path, number, line)
            url = canonical(written)
            if url is None:
                skipped += 1
                continue
            found = categories.get(url, _NONE) | label
            categories[url] = shared.setdefault(found, found)
    except (OSError, EOFError, zlib.error) as error:
        raise LabelsError(f"labels {path}: expected a readable TSV file: {error}") from error
    return Labels(categories, skipped)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that hold something, with their numbers from 1."""
    with path.open("rb") as plain, gzip.open(plain) if path.suffix == ".gz" else plain as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                raise LabelsError(f"labels {path}, line {number}: expected at most {MAX_LINE} bytes")
            if number > MAX_LINES:
                raise LabelsError(f"labels {path}, line {number}: expected at most {MAX_LINES} lines")
            if not line.isspace():
                yield number, line


def _fields(path: Path, number: int, line: bytes) -> tuple[str, frozenset[str]]:
    try:
        url, tab, category = line.decode("utf-8").partition("\t")
        if not tab:
            raise ValueError("no tab")
        return url, expand(category.strip())
    except ValueError as error:
        raise LabelsError(f"labels {path}, line {number}: expected URL, tab, category: {error}") from error
