"""A predicate: what a page must hold to be of interest."""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from scentline.models.predicate.functions import (
    Category,
    Keyword,
    Language,
    Title,
    UrlPrefix,
    UrlRegex,
    UrlSuffix,
)
from scentline.models.predicate.parser import read
from scentline.models.predicate.syntax import Node, View, tests, wanted
from scentline.models.words import words


class Sought(NamedTuple):
    """What a predicate tells a policy before any page is judged; see `Predicate` for each."""

    topic: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    names_subject: bool = True


#: Of a predicate of which nothing is told.
ANYTHING = Sought()


@dataclass(frozen=True)
class Predicate:
    """A parsed predicate (Aggarwal 2004, section 1: keywords, categories, or a combination of them).

    Two predicates are equal when their syntax trees are. ``str`` gives the canonical text, which parses to an
    equal predicate: keywords folded, double quotes, parentheses only where they are needed.
    """

    root: Node

    @cached_property
    def categories(self) -> frozenset[str]:
        """The category names it asks for."""
        return frozenset(test.name for test in tests(self.root) if isinstance(test, Category))

    @cached_property
    def languages(self) -> frozenset[str]:
        """The languages it asks for."""
        return frozenset(test.code for test in tests(self.root) if isinstance(test, Language))

    @cached_property
    def keywords(self) -> tuple[str, ...]:
        """The distinct folded words that pages of interest hold, in the order they are written.

        They are those of the `phrases`.

        >>> parse('category("Sports") and ("Ice Hockey" or title("Puck crawl*")) and not "ball"').keywords
        ('ice', 'hockey', 'puck')
        """
        return tuple(dict.fromkeys(chain.from_iterable(self.phrases)))

    @cached_property
    def phrases(self) -> tuple[tuple[str, ...], ...]:
        """The distinct sequences of folded words that pages of interest hold, in the order they are written.

        They are those of keywords and titles that no ``not`` turns round; a pattern with ``*`` names no word.

        >>> parse('category("Sports") and ("Ice Hockey" or title("Puck crawl*")) and not "ball"').phrases
        (('ice', 'hockey'), ('puck',))
        """
        found: dict[tuple[str, ...], None] = {}
        for test in wanted(self.root):
            if isinstance(test, Keyword):
                found[test.words] = None
            elif isinstance(test, Title):
                found[tuple(pattern for pattern in test.patterns if "*" not in pattern)] = None
        return tuple(filter(None, found))

    @cached_property
    def topic(self) -> tuple[str, ...]:
        """The distinct folded words that say what the pages of interest are about.

        They are the keywords, and the words of the last level of each category that no ``not`` turns round: a
        category's name tells a person, too, what to expect there.

        >>> parse('category("Sports.Ice_hockey") and "goal" and not category("Cricket")').topic
        ('goal', 'ice', 'hockey')
        """
        names = [test.name for test in wanted(self.root) if isinstance(test, Category)]
        levels = [name.rpartition(".")[2].replace("_", " ") for name in names]
        return tuple(dict.fromkeys([*self.keywords, *words(" ".join(levels))]))

    @cached_property
    def names_subject(self) -> bool:
        """Whether words say what the pages of interest are about, and no pattern says how they are written.

        What words mean tells nothing of the letters of a URL, or of those that a title's ``*`` stands for.

        >>> [parse(text).names_subject for text in ('"ski"', '"ski" and url("/20[0-9]{2}/")', 'title("ski*")')]
        [True, False, False]
        >>> parse('title("ski") and not url("/tag/")').names_subject
        True
        """
        patterns = any(
            isinstance(test, UrlRegex | UrlPrefix | UrlSuffix)
            or (isinstance(test, Title) and any("*" in pattern for pattern in test.patterns))
            for test in wanted(self.root)
        )
        return bool(self.topic) and not patterns

    @property
    def sought(self) -> Sought:
        """What it tells a policy."""
        return Sought(self.topic, self.phrases, self.names_subject)

    def __str__(self) -> str:
        return str(self.root)

    def evaluate(self, view: View) -> bool:
        """Tell whether the page satisfies the predicate."""
        return self.root(view)


def parse(expression: str) -> Predicate:
    """Parse the text of a predicate; raises PredicateError, which points at the column.

    ``"words"`` in single or double quotes hold where these whole words follow each other in title or text, in
    any case. The functions are ``category``, ``lang``, ``title`` (``*`` within a word), ``host`` (and hosts
    below it), ``url`` (an RE2 regular expression, anywhere), ``url.prefix`` and ``url.suffix``. ``not`` binds
    tighter than ``and``, ``and`` tighter than ``or``. In quotes, a backslash escapes a quote or a backslash.

    >>> predicate = parse('category("Sports") and ("Ice Hockey" or not title("crawl*"))')
    >>> predicate.evaluate(View("http://example.org/", "Ice hockey", categories=frozenset({"Sports"})))
    True
    >>> print(predicate)
    category("Sports") and ("ice hockey" or not title("crawl*"))
    """
    return Predicate(read(expression))
