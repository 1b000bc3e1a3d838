"""The parser of predicates: from a text to a `Predicate`, or to an error with its column.

It is written by hand, by recursive descent, one method per rule of the grammar in docs/predicates.md: a grammar
library took longer to import and to prepare, in each process, than all predicates take to parse.

A test parses the text in its quotes itself, and raises ValueError with what it expected. Languages are ISO 639
codes of two letters, or of three where there are no two.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from scentline.models.predicate.categories import expand
from scentline.models.predicate.syntax import (
    And,
    Category,
    Host,
    Item,
    Keyword,
    Language,
    Node,
    Not,
    Or,
    PredicateError,
    Title,
    UrlPrefix,
    UrlRegex,
    UrlSuffix,
    View,
    printable,
    tests,
    wanted,
)
from scentline.models.records import MOST_ITEM_NAME
from scentline.models.url import canonical, host
from scentline.models.words import WORD, folded, words

_CODES = """
    ace af am an ar ary arz as az ba bcl be bg bn br bs ca crh cs cy da de dz el en eo es et eu ext fa fi fo
    fr fuv fy ga gcf gcr gd gl gom grc gu gug guw ha hbo he hi hr ht hu hy id ig is it ja jv ka kab kik kk
    km kn ko ku ky la lb lg lij ln lo lt ltg lv mg mk ml mn mr ms mt my ne nl nn no nso oc om or pa pcm pl
    ps pt qu ro ru rw sa sdh se si sk sl sn so sq sr st sv sw ta te tg th tk tl tr tt ug uk ur uz uzs vec vi
    vo wa wuu xh yo yue zh zu
"""

#: The languages that the judge of languages distinguishes.
LANGUAGES = frozenset(_CODES.split())


_NO_WORD = "expected a word (two letters or more, or a number of at most four digits)"
_NOT_IN_A_HOST = re.compile(r"[\s#]")


def keyword(text: str) -> Keyword:
    """Parse a keyword; its words are split and folded like a page's."""
    if "*" in text:
        raise ValueError('expected words without "*", which stands for letters in title("...") alone')
    found = words(text)
    if not found:
        raise ValueError(_NO_WORD)
    return Keyword(tuple(found))


def _item(text: str) -> Item:
    if not 0 < len(text) <= MOST_ITEM_NAME:
        raise ValueError(f"expected the name of an item, at most {MOST_ITEM_NAME} characters")
    return Item(text)


def _title(text: str) -> Title:
    patterns: list[str] = []
    for part in folded(text).split():
        if "*" not in part:
            patterns += words(part)
        elif all(WORD.fullmatch(run) for run in part.split("*") if run):
            patterns.append(re.sub(r"\*+", "*", part))
        else:
            raise ValueError(f'expected nothing but letters, digits and "*" in {part!r}')
    if not patterns:
        raise ValueError(_NO_WORD)
    return Title(tuple(patterns))


def _category(text: str) -> Category:
    expand(text)
    return Category(text)


def _language(text: str) -> Language:
    if text not in LANGUAGES:
        raise ValueError('expected the ISO 639 code of a language, such as "de" or "en"')
    return Language(text)


def _host(text: str) -> Host:
    url = canonical(f"http://{text}/")
    if url is None or _NOT_IN_A_HOST.search(text) or url != f"http://{host(url)}/":
        raise ValueError('expected a host, such as "example.org" or "example.org:8080"')
    return Host(host(url))


def _url_part(text: str) -> str:
    if not text:
        raise ValueError("expected a part of a URL")
    if not text.isascii():
        raise ValueError("expected ASCII, as canonical URLs are (\u00e9 is %C3%A9 in a path)")
    return text


#: The functions of the language: name, and parser of the text in the parentheses.
FUNCTIONS: Mapping[str, Callable[[str], Node]] = MappingProxyType(
    {
        "category": _category,
        "lang": _language,
        "item": _item,
        "title": _title,
        "host": _host,
        "url": lambda text: UrlRegex(_url_part(text)),
        "url.prefix": lambda text: UrlPrefix(_url_part(text)),
        "url.suffix": lambda text: UrlSuffix(_url_part(text)),
    }
)


#: Most characters of an expression, and the deepest nesting of parentheses and ``not``.
MAX_LENGTH, MAX_DEPTH = 10_000, 64

_SPACE = re.compile(r"\s*")
_OR = re.compile(r"or(?![\w.])", re.IGNORECASE)
_AND = re.compile(r"and(?![\w.])", re.IGNORECASE)
_NOT = re.compile(r"not(?![\w.])", re.IGNORECASE)
_OPEN, _CLOSE = re.compile(r"\("), re.compile(r"\)")
_NAME = re.compile(r"[^\W\d]\w*(\.\w+)*")
_STRING = re.compile(r"""(["'])(?:\\[\s\S]|(?!\1)[^\\])*\1""")
# Any other backslash is literal, so that regular expressions need no second one.
_ESCAPE = re.compile(r"\\([\\\"'])")


class _Reading:
    """One pass over an expression, which is parsed up to ``_place``."""

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._place = 0

    def whole(self) -> Node:
        """Parse the whole expression."""
        node = self._either(0)
        if self._next < len(self._expression):
            raise self._unexpected('"and", "or" or the end')
        return node

    # the rules of the grammar, at a depth of nesting

    def _either(self, depth: int) -> Node:
        operands = [self._both(depth)]
        while self._take(_OR):
            operands.append(self._both(depth))
        return operands[0] if len(operands) == 1 else Or(tuple(operands))

    def _both(self, depth: int) -> Node:
        operands = [self._plain(depth)]
        while self._take(_AND):
            operands.append(self._plain(depth))
        return operands[0] if len(operands) == 1 else And(tuple(operands))

    def _plain(self, depth: int) -> Node:
        start = self._next
        if self._take(_NOT):
            return Not(self._plain(self._deeper(start, depth)))
        if self._take(_OPEN):
            node = self._either(self._deeper(start, depth))
            if not self._take(_CLOSE):
                raise self._unexpected('"and", "or" or ")"')
            return node
        if string := self._take(_STRING):
            return self._test(keyword, string, start, f"{_short(string)} is no keyword")
        if name := self._take(_NAME):
            return self._function(name, start)
        raise self._unexpected('a keyword in quotes, a function, "not" or "("')

    def _function(self, name: str, start: int) -> Node:
        if not self._take(_OPEN):
            if name in FUNCTIONS:
                raise self._unexpected('"("')
            self._check_quote()
            problem = f'expected a keyword in quotes, "{_short(name)}", or a function with its "("'
            raise self._error(start, problem)
        place = self._next
        string = self._take(_STRING)
        if not string:
            raise self._unexpected("a text in quotes")
        if not self._take(_CLOSE):
            raise self._unexpected('")"')
        if name not in FUNCTIONS:
            raise self._error(start, _no_function(name))
        return self._test(FUNCTIONS[name], string, place, f"{name}({_short(string)})")

    def _test(self, make: Callable[[str], Node], string: str, start: int, shown: str) -> Node:
        try:
            return make(_ESCAPE.sub(r"\1", string[1:-1]))
        except ValueError as error:
            raise self._error(start, f"{shown}: {error}") from error

    # tokens and errors

    @property
    def _next(self) -> int:
        """The place of the next token, after white space."""
        space = _SPACE.match(self._expression, self._place)
        assert space is not None
        return space.end()

    def _take(self, pattern: re.Pattern[str]) -> str:
        """Consume the next token and return it; empty if it does not match."""
        found = pattern.match(self._expression, self._next)
        if found is None:
            return ""
        self._place = found.end()
        return found[0]

    def _deeper(self, start: int, depth: int) -> int:
        if depth >= MAX_DEPTH:
            raise self._error(start, f'expected "(" and "not" to nest at most {MAX_DEPTH} deep')
        return depth + 1

    def _unexpected(self, expected: str) -> PredicateError:
        """Return the error of an unexpected token."""
        self._check_quote()
        start = self._next
        at_end = start == len(self._expression)
        return self._error(self._place if at_end else start, f"expected {expected}")

    def _check_quote(self) -> None:
        """Raise if the next token is a quote that is never closed."""
        start = self._next
        if self._expression[start : start + 1] in ('"', "'") and not _STRING.match(self._expression, start):
            raise self._error(start, "this quote is never closed")

    def _error(self, start: int, problem: str) -> PredicateError:
        return PredicateError(self._expression, start + 1, problem)


def _short(string: str) -> str:
    return printable(string if len(string) <= 60 else f"{string[:57]}...")


def _no_function(name: str) -> str:
    near = get_close_matches(name, FUNCTIONS, n=1, cutoff=0.5)
    hint = f'the nearest is "{near[0]}"' if near else f"there are {', '.join(FUNCTIONS)}"
    return f'there is no function "{_short(name)}"; {hint}'


class Sought(NamedTuple):
    """What a policy knows of a predicate before any page is judged; see `Predicate` for each."""

    topic: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    names_subject: bool = True


#: For a predicate of which nothing is known.
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
        """The category names that it tests."""
        return frozenset(test.name for test in tests(self.root) if isinstance(test, Category))

    @cached_property
    def languages(self) -> frozenset[str]:
        """The languages that it tests."""
        return frozenset(test.code for test in tests(self.root) if isinstance(test, Language))

    @cached_property
    def keywords(self) -> tuple[str, ...]:
        """The distinct folded words of the `phrases`, in the order they are written.

        >>> parse('category("Sports") and ("Ice Hockey" or title("Puck crawl*")) and not "ball"').keywords
        ('ice', 'hockey', 'puck')
        """
        return tuple(dict.fromkeys(chain.from_iterable(self.phrases)))

    @cached_property
    def phrases(self) -> tuple[tuple[str, ...], ...]:
        """The distinct sequences of folded words that pages of interest hold, in the order they are written.

        They are those of keywords and titles that no ``not`` negates; a pattern with ``*`` names no word.

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

        They are the keywords, and the words of the last level of each category that no ``not`` negates: its
        name describes its pages to people, too.

        >>> parse('category("Sports.Ice_hockey") and "goal" and not category("Cricket")').topic
        ('goal', 'ice', 'hockey')
        """
        names = [test.name for test in wanted(self.root) if isinstance(test, Category)]
        levels = [name.rpartition(".")[2].replace("_", " ") for name in names]
        return tuple(dict.fromkeys([*self.keywords, *words(" ".join(levels))]))

    @cached_property
    def names_subject(self) -> bool:
        """Whether words say what the pages of interest are about, and no pattern constrains letters.

        The meaning of words does not predict the letters of a URL, or those of a title's ``*``.

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
        """What a policy knows of it before any page is judged."""
        return Sought(self.topic, self.phrases, self.names_subject)

    def __str__(self) -> str:
        return str(self.root)

    def evaluate(self, view: View) -> bool:
        """Return whether the page satisfies the predicate."""
        return self.root(view)


def parse(expression: str) -> Predicate:
    """Parse the text of a predicate; raises PredicateError with the column.

    ``"words"`` in single or double quotes hold if these whole words follow each other in title or text, in
    any case. The functions are ``category``, ``lang``, ``item``, ``title`` (``*`` within a word), ``host`` (and
    hosts below it), ``url`` (an RE2 regular expression, anywhere), ``url.prefix`` and ``url.suffix``. ``not``
    binds tighter than ``and``, ``and`` tighter than ``or``. In quotes, a backslash escapes a quote or a
    backslash.

    >>> predicate = parse('category("Sports") and ("Ice Hockey" or not title("crawl*"))')
    >>> predicate.evaluate(View("http://example.org/", "Ice hockey", categories=frozenset({"Sports"})))
    True
    >>> print(predicate)
    category("Sports") and ("ice hockey" or not title("crawl*"))
    """
    if len(expression) > MAX_LENGTH:
        raise PredicateError(
            expression, MAX_LENGTH + 1, f"expected at most {MAX_LENGTH} characters, not {len(expression)}"
        )
    return Predicate(_Reading(expression).whole())
