"""The judges of a page: of categories, by labels, a classifier or an installed package, and of its language.

py3langid identifies languages: Naive Bayes over byte sequences (Lui and Baldwin, ACL 2012).
"""

import gzip
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from scentline.agents.judge.question import Judging
from scentline.models.errors import ScentlineError
from scentline.models.page import Page, Verdict
from scentline.models.predicate import Predicate, View
from scentline.models.predicate.categories import expand
from scentline.models.url import canonical
from scentline.streams.logging import printable

#: Returns the categories of a page, at least the most specific ones.
CategoryJudge: TypeAlias = Callable[[Page], Iterable[str]]
#: Returns the language of a page, None where its text does not show it.
LanguageJudge: TypeAlias = Callable[[Page], str | None]

#: Categories that one judge may give a page.
MOST_CATEGORIES = 100
#: The entry points of judges in packages.
GROUP = "scentline.judges"

# Bytes of a line of labels, and lines of a file.
_MOST_LINE, _MOST_LINES = 4_000, 20_000_000
_NONE: frozenset[str] = frozenset()
# Characters read of a text (more make it slower, hardly better), and letters that it must have.
_MOST_TEXT, _LEAST_LETTERS = 1_000, 20
# Probability that a language must have.
_LEAST_PROBABILITY = 0.2


class LabelsError(ScentlineError):
    """A file of labels that can't be read; the text names file, line and what was expected."""


def load_judges(named: Judging) -> list[CategoryJudge]:
    """Return the named judges of categories.

    Raises `LabelsError`, `ClassifierError` or `ConfigurationError` for one that can't be loaded.
    """
    judges: list[CategoryJudge] = []
    if named.labels is not None:
        judges.append(load_labels(Path(named.labels)))
    if named.classifier is not None:
        judges.append(load_trained(Path(named.classifier)))
    if named.python is not None:
        judges.append(load_installed(named.python))
    return judges


def _checked(given: Iterable[str]) -> frozenset[str]:
    names = [given] if isinstance(given, str) else list(islice(given, MOST_CATEGORIES + 1))
    if len(names) > MOST_CATEGORIES:
        raise ValueError(f"more than {MOST_CATEGORIES} categories, expected at most so many")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"a category is of type {type(name).__name__}, expected str")
    return _NONE.union(*map(expand, names))


def lines_of(
    path: Path, kind: str, most_bytes: int, most_lines: int, error: type[ScentlineError]
) -> Iterator[tuple[int, bytes]]:
    """Yield the numbered, non-blank lines of a TSV file; gzip where its name ends in ``.gz``.

    Raises ``error``, which names the ``kind`` of file, its path and the line.
    """
    try:
        with path.open("rb") as plain, gzip.open(plain) if path.suffix == ".gz" else plain as file:
            for number in count(1):
                line = file.readline(most_bytes + 1)
                if len(line) > most_bytes or number > most_lines:
                    bounds = f"expected at most {most_lines} lines of {most_bytes} bytes"
                    raise error(f"{kind} {path}, line {number}: {bounds}")
                if not line:
                    return
                if not line.isspace():
                    yield number, line
    except (OSError, EOFError, zlib.error) as cause:
        raise error(f"{kind} {path}: expected a readable TSV file: {cause}") from cause


class Labels:
    """The categories of the pages that a file of labels names."""

    def __init__(self, categories: Mapping[str, frozenset[str]]) -> None:
        self._categories = categories

    def __len__(self) -> int:
        return len(self._categories)

    def __call__(self, page: Page) -> frozenset[str]:
        """Return the categories of a page, by its URL."""
        return self.categories(page.url)

    def categories(self, url: str) -> frozenset[str]:
        """Return the categories of a canonical URL, with those above them; empty for an unknown URL.

        >>> Labels({"http://example.org/": frozenset({"Science"})}).categories("http://example.org/")
        frozenset({'Science'})
        """
        return self._categories.get(url, _NONE)


def load_labels(path: Path) -> Labels:
    """Read lines of URL, tab, category: UTF-8, gzip where the name ends in ``.gz``, blank lines skipped.

    A URL may have several lines; the category ``A.B`` counts as ``A`` too. Raises `LabelsError`. Pages with the
    same categories share one set, so a URL takes about 150 bytes, mostly its own text.
    """
    categories: dict[str, frozenset[str]] = {}
    shared: dict[frozenset[str], frozenset[str]] = {}
    for number, line in lines_of(path, "labels", _MOST_LINE, _MOST_LINES, LabelsError):
        try:
            written, tab, category = line.decode("utf-8").partition("\t")
            if not tab:
                raise ValueError("no tab")
            label = expand(category.strip())
        except ValueError as error:
            at = f"labels {path}, line {number}"
            raise LabelsError(f"{at}: expected URL, tab, category: {error}") from error
        url = canonical(written)
        if url is not None:  # else no crawler could fetch it
            found = categories.get(url, _NONE) | label
            categories[url] = shared.setdefault(found, found)
    return Labels(categories)


def load_trained(path: Path) -> CategoryJudge:
    """Return the judge of a file of `scentline classifier train`; raises `ClassifierError`, which names it.

    It gives a page the category that its words make most probable, and those above it: none where no word of
    the page was in an example.
    """
    # Imported here: only a classifier needs numpy.
    from scentline.agents.stored import read_stored
    from scentline.models.classifier import ClassifierError, unpack
    from scentline.models.sealed import MOST_BYTES

    classifier, _ = read_stored(path, MOST_BYTES, unpack, ClassifierError, f"classifier {path}")
    expanded = {name: expand(name) for name in classifier.categories}

    def judge(page: Page) -> frozenset[str]:
        category = classifier.category(page.words)
        return _NONE if category is None else expanded[category]

    return judge


def load_installed(name: str) -> CategoryJudge:
    """Return the judge that a package offers; raises `ConfigurationError` where it can't be loaded."""
    # Imported here: these imports take longer than all else that reads a page.
    from importlib.metadata import entry_points

    from scentline.streams.settings import ConfigurationError

    found = entry_points(group=GROUP)
    if name not in found.names:
        there = ", ".join(sorted(found.names)) or "none"
        raise ConfigurationError(
            f"judge.python: no installed package offers the judge {name!r}; there are: {there}"
        )
    try:
        judge: CategoryJudge = found[name].load()
    except Exception as error:
        raise ConfigurationError(f"judge.python: {name} can't be loaded: {error}") from error
    if not callable(judge):
        raise ConfigurationError(f"judge.python: {name} is no callable; expected one that takes a page")
    return judge


class Language:
    """Recognises the language of a page's title and text; loads its model at the first page."""

    def __init__(self) -> None:
        self._identifier: Any = None

    def __call__(self, page: Page) -> str | None:
        """Return the ISO 639 code of the language, None where the text does not show it.

        >>> from scentline.models.page import Page
        >>> Language()(Page("http://a.org/", text="Der Fuchs springt über den faulen Hund."))
        'de'
        """
        text = f"{page.title} {page.text[:_MOST_TEXT]}"[:_MOST_TEXT]
        if sum(map(str.isalpha, text)) < _LEAST_LETTERS:
            return None
        if self._identifier is None:
            # Half a second and 60 MB.
            from py3langid.langid import MODEL_FILE, LanguageIdentifier

            self._identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        code, probability = self._identifier.classify(text)
        return str(code) if probability >= _LEAST_PROBABILITY else None


class Judgement(NamedTuple):
    """The verdict on a page, and what the predicates saw of it."""

    verdict: Verdict
    view: View
    #: Why a judge of categories failed: then predicates with categories have no verdict.
    failure: str | None = None


class Verdicts:
    """Checks pages against predicates."""

    def __init__(self, judges: Sequence[CategoryJudge] = ()) -> None:
        self._judges = judges
        self.language: LanguageJudge = Language()

    def of(self, page: Page, predicates: Mapping[str, Predicate], items: Iterable[str] = ()) -> Judgement:
        """Return the verdict of the named predicates on a page, in which a client found ``items``."""
        categories, failure = self._categories(page, predicates.values())
        if failure is not None:
            predicates = {name: each for name, each in predicates.items() if not each.categories}
        # A page's language costs more than all else here.
        language = self.language(page) if any(each.languages for each in predicates.values()) else None
        view = View(
            page.url, page.title, page.text, categories, language, page.sequence, frozenset(items)
        )  # fmt: skip
        verdict = {name: predicate.evaluate(view) for name, predicate in predicates.items()}
        return Judgement(verdict, view, failure)

    def _categories(self, page: Page, predicates: Collection[Predicate]) -> tuple[frozenset[str], str | None]:
        """Return the categories that judges give a page, with those above them, or a judge's failure."""
        found = _NONE
        if not any(predicate.categories for predicate in predicates):
            return found, None
        for judge in self._judges:
            try:
                given = judge(page)
                found |= given if isinstance(given, frozenset) else _checked(given)
            except Exception as error:
                # A judge is foreign code, which may raise anything; the reason must fit a line.
                reason = printable(f"{type(error).__name__}: {error}", 300)
                return _NONE, f"the judge of categories failed: {reason}"
        return found, None
