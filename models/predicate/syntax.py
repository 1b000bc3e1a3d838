"""The syntax tree of a predicate: its tests, its operators, and its text.

A node is called with a view, the part of a page that predicates see, and returns whether the page satisfies it.
``str(node)`` parses to an equal node; it has parentheses only where one ``and`` or ``or`` stands inside another
operator. The tests are keywords, and functions with one argument.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

import re2

from scentline.models.errors import ScentlineError
from scentline.models.url import host
from scentline.models.words import words

_AROUND = 60


class PredicateError(ScentlineError, ValueError):
    """A predicate that can't be parsed.

    ``column`` counts characters from 1; ``problem`` says what is there or what was expected. The message
    holds both, with the expression (of a long one, the part around the column) and a caret.
    """

    def __init__(self, expression: str, column: int, problem: str) -> None:
        self.expression = expression
        self.column = column
        self.problem = problem
        excerpt, caret = _excerpt(expression, column - 1)
        super().__init__(
            f"predicate {excerpt}: column {column}: {problem}\n  {excerpt}\n  {' ' * caret}^",
        )

    def __reduce__(self) -> tuple[type["PredicateError"], tuple[str, int, str]]:
        return PredicateError, (self.expression, self.column, self.problem)


def _excerpt(expression: str, position: int) -> tuple[str, int]:
    """Return one printable line of the expression and the place of ``position`` in it."""
    start = max(0, position - _AROUND) if len(expression) > 2 * _AROUND else 0
    end = start + 2 * _AROUND
    line = printable(expression[start:end])
    head = "..." if start else ""
    tail = "..." if end < len(expression) else ""
    return f"{head}{line}{tail}", len(head) + position - start


def printable(text: str) -> str:
    """Return a text with a space for each character that would end a line or do worse to a terminal."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


# Separates title and text, so that no phrase spans both; never a word itself.
_BREAK = "|"


@dataclass(frozen=True)
class View:
    """A page as predicates see it.

    ``url`` is canonical; ``categories`` are those that the judges of categories give the page, already expanded
    (``A.B`` brings ``A``), ``language`` is the ISO 639 code that the judge of languages gives it. ``sequence``
    has the words of the text if they are known; else they are split on first use. ``items`` has the names of
    the items that a client of the door found.
    """

    url: str
    title: str = ""
    text: str = ""
    categories: frozenset[str] = frozenset()
    language: str | None = None
    sequence: tuple[str, ...] = ()
    items: frozenset[str] = frozenset()

    @cached_property
    def title_words(self) -> str:
        """The words of the title, each with a space before and after it."""
        return _spaced(words(self.title))

    @cached_property
    def words(self) -> frozenset[str]:
        """The distinct words of title and text."""
        return frozenset(self._in_order)

    @cached_property
    def word_line(self) -> str:
        """The words of title and text in order, each with a space before and after it."""
        return _spaced(self._in_order)

    @cached_property
    def host(self) -> str:
        """Host of the URL, with any port but the scheme's own."""
        return host(self.url)

    @cached_property
    def host_name(self) -> str:
        """Host of the URL without its port."""
        name, colon, port = self.host.rpartition(":")
        return name if colon and port.isdigit() else self.host

    @cached_property
    def _in_order(self) -> list[str]:
        return [*words(self.title), _BREAK, *(self.sequence or words(self.text))]


def _spaced(sequence: list[str]) -> str:
    return f" {' '.join(sequence)} "


# How tightly a node binds: a part that binds no tighter than its whole gets parentheses.
_OR, _AND, _NOT = range(3)


class Node(Protocol):
    """A predicate or a part of one."""

    def __call__(self, view: View) -> bool:
        """Return whether the page satisfies it."""
        ...


@dataclass(frozen=True)
class Not:
    """The negation of a part."""

    operand: Node
    binding: ClassVar[int] = _NOT

    def __str__(self) -> str:
        return f"not {_within(self.operand, _NOT)}"

    def __call__(self, view: View) -> bool:
        """Negate the result of the part."""
        return not self.operand(view)


@dataclass(frozen=True)
class And:
    """All of two or more parts."""

    operands: tuple[Node, ...]
    binding: ClassVar[int] = _AND

    def __str__(self) -> str:
        return " and ".join(_within(operand, _NOT) for operand in self.operands)

    def __call__(self, view: View) -> bool:
        """Evaluate the parts until one does not hold."""
        # A loop: all() with a generator takes twice the time.
        for operand in self.operands:  # noqa: SIM110
            if not operand(view):
                return False
        return True


@dataclass(frozen=True)
class Or:
    """Any of two or more parts."""

    operands: tuple[Node, ...]
    binding: ClassVar[int] = _OR

    def __str__(self) -> str:
        return " or ".join(_within(operand, _AND) for operand in self.operands)

    def __call__(self, view: View) -> bool:
        """Evaluate the parts until one holds."""
        for operand in self.operands:  # noqa: SIM110 - as above
            if operand(view):
                return True
        return False


def tests(node: Node) -> Iterator[Node]:
    """Yield the tests of a tree, in the order they are written."""
    if isinstance(node, Not):
        yield from tests(node.operand)
    elif isinstance(node, And | Or):
        for operand in node.operands:
            yield from tests(operand)
    else:
        yield node


def wanted(node: Node, *, turned: bool = False) -> Iterator[Node]:
    """Yield the tests that count for a page if they hold: those under no ``not``, or under two.

    ``turned`` means that the tree itself is under a ``not``.
    """
    if isinstance(node, Not):
        yield from wanted(node.operand, turned=not turned)
    elif isinstance(node, And | Or):
        for operand in node.operands:
            yield from wanted(operand, turned=turned)
    elif not turned:
        yield node


def _within(node: Node, least: int) -> str:
    binding: int = getattr(node, "binding", _NOT)
    return str(node) if binding >= least else f"({node})"


_TO_ESCAPE = re.compile(r'\\(?=[\\"\']|\Z)|"')
_PORT = re.compile(r":[0-9]+\Z")
_REGEX_MEMORY = 1 << 20


def quoted(text: str) -> str:
    r"""Return ``text`` in the syntax of the language: in double quotes, with backslashes where needed.

    >>> print(quoted(r'wp/\d+ "x"'))
    "wp/\d+ \"x\""
    """
    return '"' + _TO_ESCAPE.sub(r"\\\g<0>", text) + '"'


@dataclass(frozen=True)
class Keyword:
    """Consecutive words, in title or text."""

    words: tuple[str, ...]
    _line: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_line", f" {' '.join(self.words)} ")

    def __str__(self) -> str:
        return quoted(" ".join(self.words))

    def __call__(self, view: View) -> bool:
        """Find the words in the page."""
        if len(self.words) == 1:
            return self.words[0] in view.words
        return view.words.issuperset(self.words) and self._line in view.word_line


@dataclass(frozen=True)
class Category:
    """``category("A.B")``: a category that the judge of categories gives the page, in its spelling."""

    name: str

    def __str__(self) -> str:
        return f"category({quoted(self.name)})"

    def __call__(self, view: View) -> bool:
        """Look the category up."""
        return self.name in view.categories


@dataclass(frozen=True)
class Language:
    """``lang("de")``: the main language of the page, judged by its text."""

    code: str

    def __str__(self) -> str:
        return f"lang({quoted(self.code)})"

    def __call__(self, view: View) -> bool:
        """Compare the language."""
        return view.language == self.code


@dataclass(frozen=True)
class Item:
    """``item("Product")``: a client of the door found an item of exactly this name in the page."""

    name: str

    def __str__(self) -> str:
        return f"item({quoted(self.name)})"

    def __call__(self, view: View) -> bool:
        """Look the name up."""
        return self.name in view.items


@dataclass(frozen=True)
class Title:
    """``title("crawl*")``: consecutive words of the title; ``*`` stands for any letters within one word."""

    patterns: tuple[str, ...]
    _expression: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # A word holds no syntax of re2.
        patterns = " ".join(self.patterns).replace("*", "[^ ]*")
        object.__setattr__(self, "_expression", re2.compile(f" {patterns} "))

    def __str__(self) -> str:
        return f"title({quoted(' '.join(self.patterns))})"

    def __call__(self, view: View) -> bool:
        """Find the patterns in the title."""
        return self._expression.search(view.title_words) is not None


@dataclass(frozen=True)
class Host:
    """``host("example.org")``: that host or any below it; with a port, on that port alone."""

    name: str
    _below: str = field(init=False, repr=False, compare=False)
    _any_port: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_below", f".{self.name}")
        object.__setattr__(self, "_any_port", _PORT.search(self.name) is None)

    def __str__(self) -> str:
        return f"host({quoted(self.name)})"

    def __call__(self, view: View) -> bool:
        """Compare the host."""
        host = view.host_name if self._any_port else view.host
        return host == self.name or host.endswith(self._below)


def regex(pattern: str) -> Any:
    """Return a regular expression of RE2, in bounded memory; raises ValueError if invalid or too large."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _REGEX_MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0]
        raise ValueError(reason.decode() if isinstance(reason, bytes) else reason) from error


@dataclass(frozen=True)
class UrlRegex:
    """``url("regex")``: a regular expression of RE2 (linear time) that matches anywhere in the URL.

    Raises ValueError if it is invalid or too large.
    """

    pattern: str
    _expression: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_expression", regex(self.pattern))

    def __str__(self) -> str:
        return f"url({quoted(self.pattern)})"

    def __call__(self, view: View) -> bool:
        """Find the expression in the URL."""
        return self._expression.search(view.url) is not None


@dataclass(frozen=True)
class UrlPrefix:
    """``url.prefix("http://example.org/wiki/")``: the beginning of the canonical URL."""

    text: str

    def __str__(self) -> str:
        return f"url.prefix({quoted(self.text)})"

    def __call__(self, view: View) -> bool:
        """Compare the URL's beginning."""
        return view.url.startswith(self.text)


@dataclass(frozen=True)
class UrlSuffix:
    """``url.suffix(".uk")``: the end of the canonical URL or of its host name.

    The host name counts too, so that ``.uk`` matches the pages of the United Kingdom (Aggarwal 2004, section
    1: "whose URL ends with the extension .uk") although the URL of a page ends in a path.
    """

    text: str
    _host_ending: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_host_ending", self.text.lower())

    def __str__(self) -> str:
        return f"url.suffix({quoted(self.text)})"

    def __call__(self, view: View) -> bool:
        """Compare the endings of URL and host name."""
        return view.url.endswith(self.text) or view.host_name.endswith(self._host_ending)
