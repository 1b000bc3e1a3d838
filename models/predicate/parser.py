"""From the text of a predicate to its syntax tree, or to an error that points at the column.

Read by hand, by recursive descent, one function a rule of the grammar in docs/predicates.md: a library for
grammars took longer to import and to prepare than all predicates take to read, in each process.

What stands in quotes is read by the test's own reader, which raises ValueError that says what it expected.
Languages are ISO 639 codes of two letters, of three where there are no two.
"""

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from types import MappingProxyType

from scentline.models.categories import expand
from scentline.models.predicate.functions import (
    Category,
    Host,
    Keyword,
    Language,
    Title,
    UrlPrefix,
    UrlRegex,
    UrlSuffix,
)
from scentline.models.predicate.syntax import And, Node, Not, Or, PredicateError, printable
from scentline.models.url import canonical, host
from scentline.models.words import WORD, folded, words

_CODES = """
    ace af am an ar ary arz as az ba bcl be bg bn br bs ca crh cs cy da de dz el en eo es et eu ext fa fi fo
    fr fuv fy ga gcf gcr gd gl gom grc gu gug guw ha hbo he hi hr ht hu hy id ig is it ja jv ka kab kik kk
    km kn ko ku ky la lb lg lij ln lo lt ltg lv mg mk ml mn mr ms mt my ne nl nn no nso oc om or pa pcm pl
    ps pt qu ro ru rw sa sdh se si sk sl sn so sq sr st sv sw ta te tg th tk tl tr tt ug uk ur uz uzs vec vi
    vo wa wuu xh yo yue zh zu
"""

#: Those that the judge of languages tells apart.
LANGUAGES = frozenset(_CODES.split())


_NO_WORD = "expected a word (two letters or more, or a number of at most four digits)"
_NOT_IN_A_HOST = re.compile(r"[\s#]")


def keyword(text: str) -> Keyword:
    """Read a keyword: its words are cut and folded as a page's are."""
    if "*" in text:
        raise ValueError('expected words without "*", which stands for letters in title("...") alone')
    found = words(text)
    if not found:
        raise ValueError(_NO_WORD)
    return Keyword(tuple(found))


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


#: The functions of the language: name, and what makes a test of the text in the parentheses.
FUNCTIONS: Mapping[str, Callable[[str], Node]] = MappingProxyType(
    {
        "category": _category,
        "lang": _language,
        "title": _title,
        "host": _host,
        "url": lambda text: UrlRegex(_url_part(text)),
        "url.prefix": lambda text: UrlPrefix(_url_part(text)),
        "url.suffix": lambda text: UrlSuffix(_url_part(text)),
    }
)


MAX_LENGTH = 10_000
MAX_DEPTH = 64

_SPACE = re.compile(r"\s*")
_OR = re.compile(r"or(?![\w.])", re.IGNORECASE)
_AND = re.compile(r"and(?![\w.])", re.IGNORECASE)
_NOT = re.compile(r"not(?![\w.])", re.IGNORECASE)
_OPEN, _CLOSE = re.compile(r"\("), re.compile(r"\)")
_NAME = re.compile(r"[^\W\d]\w*(\.\w+)*")
_STRING = re.compile(r"""(["'])(?:\\[\s\S]|(?!\1)[^\\])*\1""")
# Any other backslash stands for itself, so that regular expressions need no second one.
_ESCAPE = re.compile(r"\\([\\\"'])")


def read(expression: str) -> Node:
    """Return the syntax tree of ``expression``; raises PredicateError for the first thing that is wrong.

    At most 10,000 characters; parentheses and ``not`` nest at most 64 deep.
    """
    if len(expression) > MAX_LENGTH:
        raise PredicateError(
            expression, MAX_LENGTH + 1, f"expected at most {MAX_LENGTH} characters, not {len(expression)}"
        )
    return _Reading(expression).whole()


class _Reading:
    """One pass over an expression; all before ``_place`` is read."""

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._place = 0

    def whole(self) -> Node:
        """Return the tree of all of it."""
        node = self._either(0)
        if self._next < len(self._expression):
            raise self._unexpected('"and", "or" or the end')
        return node

    # the rules, each of which reads what it is named after, so deep inside others

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

    # what they are made of

    @property
    def _next(self) -> int:
        """The place of what comes next, behind white space."""
        space = _SPACE.match(self._expression, self._place)
        assert space is not None
        return space.end()

    def _take(self, pattern: re.Pattern[str]) -> str:
        """Return what comes next, which then is read; empty where it is none of these."""
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
        """Say what could have come next."""
        self._check_quote()
        start = self._next
        at_end = start == len(self._expression)
        return self._error(self._place if at_end else start, f"expected {expected}")

    def _check_quote(self) -> None:
        """Raise where a quote comes next that is never closed, whatever may stand there."""
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
