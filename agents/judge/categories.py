"""The judges of categories: each tells a page's categories; what several tell is united."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from scentline.agents.judge.labels import load as load_labels
from scentline.agents.judge.question import Judging
from scentline.models.categories import expand
from scentline.models.errors import ScentlineError
from scentline.models.page import Page
from scentline.streams.logging import printable

#: Called with a page, returns its categories, the most special ones at least.
CategoryJudge: TypeAlias = Callable[[Page], Iterable[str]]

#: Categories that one judge may give a page.
MOST_CATEGORIES = 100
GROUP = "scentline.judges"


class CategoryJudgeError(ScentlineError):
    """A judge that failed on a page; the text says how."""

    explains_itself = False


def load_judges(named: Judging) -> list[CategoryJudge]:
    """Return the judges that are named, loaded.

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


def united(judges: Sequence[CategoryJudge], page: Page) -> frozenset[str]:
    """Return the categories that the judges give a page, with those above them.

    Raises `CategoryJudgeError` where one raises, or returns what are no categories.
    """
    found: frozenset[str] = frozenset()
    for judge in judges:
        try:
            told = judge(page)
            found |= told if isinstance(told, frozenset) else _checked(told)
        except Exception as error:
            # It is anybody's code, so anything may be raised; what is said of it must fit a line.
            reason = printable(f"{type(error).__name__}: {error}", 300)
            raise CategoryJudgeError(f"the judge of categories failed: {reason}") from error
    return found


def _checked(told: Iterable[str]) -> frozenset[str]:
    names = [told] if isinstance(told, str) else list(islice(told, MOST_CATEGORIES + 1))
    if len(names) > MOST_CATEGORIES:
        raise ValueError(f"more than {MOST_CATEGORIES} categories, expected at most so many")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"a category is of type {type(name).__name__}, expected str")
    return frozenset().union(*(expand(name) for name in names))


def load_trained(path: Path) -> CategoryJudge:
    """Return the judge of a file of `scentline classifier train`; raises `ClassifierError`, which names it.

    It gives a page the category that its words make most probable, and those above it: none where no word of
    the page stood in an example.
    """
    # Imported where there is a classifier: it brings numpy.
    from scentline.agents.stored import read_stored
    from scentline.models.classifier import ClassifierError, unpack
    from scentline.models.sealed import MOST_BYTES

    classifier, _ = read_stored(path, MOST_BYTES, unpack, ClassifierError, f"classifier {path}")
    expanded = {name: expand(name) for name in classifier.categories}

    def judge(page: Page) -> frozenset[str]:
        category = classifier.category(page.words)
        return frozenset() if category is None else expanded[category]

    return judge


def load_installed(name: str) -> Callable[[Page], Iterable[str]]:
    """Return the callable of a name; raises `ConfigurationError` where there is none, or it can't be loaded."""
    # Imported where there is such a judge: they take longer than all else that reads a page.
    from importlib.metadata import entry_points

    from scentline.streams.configuration import ConfigurationError

    found = entry_points(group=GROUP)
    if name not in found.names:
        there = ", ".join(sorted(found.names)) or "none"
        raise ConfigurationError(
            f"judge.python: no installed package offers the judge {name!r}; there are: {there}"
        )
    try:
        judge = found[name].load()
    except Exception as error:
        raise ConfigurationError(f"judge.python: {name} can't be loaded: {error}") from error
    if not callable(judge):
        raise ConfigurationError(f"judge.python: {name} is no callable; expected one that takes a page")
    found_judge: Callable[[Page], Iterable[str]] = judge
    return found_judge
