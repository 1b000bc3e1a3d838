"""Training examples of a classifier: a file of texts or URLs, each with its category."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from random import Random

from scentline.agents.judge.judges import lines_of
from scentline.agents.judge.parse import parse
from scentline.agents.offline.archive import Archive
from scentline.agents.stored import write_stored
from scentline.models.classifier import (
    MOST_WORDS,
    Classifier,
    ClassifierError,
    Example,
    Holdout,
    distinct_words,
    held_out,
    pack,
)
from scentline.models.predicate.categories import expand
from scentline.models.settings import JudgeSettings
from scentline.models.url import canonical

MAX_LINE = 100_000
MAX_LINES = 1_000_000
_URL = ("http://", "https://")
_SETTINGS = JudgeSettings(words=MOST_WORDS)
#: Seed of the examples' random split into held-out parts.
SEED = 1


@dataclass
class Examples:
    """The examples found, and the number of lines left out, by reason."""

    found: list[Example] = field(default_factory=list)
    missing: int = 0
    empty: int = 0


def load(path: Path, archive: Archive | None) -> Examples:
    """Read lines of URL or text, tab, category: UTF-8, gzip where the name ends in ``.gz``.

    A page's words come from ``archive``; a page that it lacks counts as missing, a text without a word as
    empty. Raises `ClassifierError`, which names file and line, for a malformed line.
    """
    examples = Examples()
    for number, line in lines_of(path, "examples", MAX_LINE, MAX_LINES, ClassifierError):
        text, category = _fields(path, number, line)
        if not text.startswith(_URL):
            words: Sequence[str] | None = distinct_words(text)
        elif archive is None:
            raise ClassifierError(
                f"examples {path}, line {number}: a URL: give --archive WARC, which has its page"
            )
        else:
            words = _page_words(text, archive)
        if words is None:
            examples.missing += 1
        elif not words:
            examples.empty += 1
        else:
            examples.found.append(Example(words, category))
    return examples


def _page_words(written: str, archive: Archive) -> Sequence[str] | None:
    url = canonical(written)
    answer = archive.answer(url, {}) if url is not None else None
    if url is None or answer is None or answer.status != 200:
        return None
    kind = next((value for name, value in answer.headers if name.lower() == "content-type"), None)
    return parse(url, answer.body, kind, _SETTINGS).words


def _fields(path: Path, number: int, line: bytes) -> tuple[str, str]:
    try:
        text, tab, category = line.decode("utf-8").rpartition("\t")
        if not tab:
            raise ValueError("no tab")
        expand(category.strip())
    except ValueError as error:
        raise ClassifierError(
            f"examples {path}, line {number}: expected URL or text, tab, category: {error}"
        ) from error
    return text.strip(), category.strip()


def train(examples: Examples, out: Path) -> Holdout:
    """Train on all examples, write the file, and return the hold-out figures.

    Raises `ClassifierError` where there are fewer than two categories, or the file can't be written.
    """
    categories = {example.category for example in examples.found}
    if len(categories) < 2:
        raise ClassifierError(
            f"{len(examples.found)} examples of {len(categories)} categories: "
            "expected at least two, one of them for other pages"
        )
    holdout = held_out(examples.found, Random(SEED))
    classifier = Classifier()
    for example in examples.found:
        classifier.learn(example.words, example.category)
    data = pack(classifier, holdout, f"scentline {version('scentline')}")
    try:
        write_stored(out, data)
    except OSError as error:
        raise ClassifierError(f"classifier {out}: can't be written: {error.strerror}") from error
    return holdout
