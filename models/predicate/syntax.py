"""The syntax tree of a predicate: how its tests combine, and how it is written.

A node is called with a view and tells whether the page holds it. ``str(node)`` parses to an equal node; it has
parentheses only where one ``and`` or ``or`` stands inside another operator. The view is what a predicate sees
of a page.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

from scentline.models.errors import ScentlineError
from scentline.models.url import host
from scentline.models.words import words

_AROUND = 60


class PredicateError(ScentlineError, ValueError):
    """A predicate that can't be read.

    ``column`` counts characters from 1; ``problem`` says what stands there or what was expected. The message
    holds both, with the expression (of a long one, what stands around the column) and a caret.
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
    """Return a text with a space for each sign that would end a line or do worse to a terminal."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


# Stands between title and text, so that no phrase reaches from one into the other; never a word itself.
_BREAK = "|"


@dataclass(frozen=True)
class View:
    """A page as predicates see it.

    ``url`` is canonical; ``categories`` holds what the judges of categories say of the page, already expanded
    (``A.B`` brings ``A``), ``language`` is the ISO 639 code that the judge of languages gives it. ``sequence``
    are the words of the text, where they are known; else they are cut when a predicate first asks for them.
    """

    url: str
    title: str = ""
    text: str = ""
    categories: frozenset[str] = frozenset()
    language: str | None = None
    sequence: tuple[str, ...] = ()

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
        """Host of the URL, with its port where it is not the scheme's own."""
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


# How tightly a node binds: a part that binds no tighter than its whole stands in parentheses.
_OR, _AND, _NOT = range(3)


class Node(Protocol):
    """A predicate or a part of one."""

    def __call__(self, view: View) -> bool:
        """Tell whether the page holds it."""
        ...


@dataclass(frozen=True)
class Not:
    """The opposite of a part."""

    operand: Node
    binding: ClassVar[int] = _NOT

    def __str__(self) -> str:
        return f"not {_within(self.operand, _NOT)}"

    def __call__(self, view: View) -> bool:
        """Ask the part."""
        return not self.operand(view)


@dataclass(frozen=True)
class And:
    """All of two or more parts."""

    operands: tuple[Node, ...]
    binding: ClassVar[int] = _AND

    def __str__(self) -> str:
        return " and ".join(_within(operand, _NOT) for operand in self.operands)

    def __call__(self, view: View) -> bool:
        """Ask each part, until one does not hold."""
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
        """Ask each part, until one holds."""
        for operand in self.operands:  # noqa: SIM110 - as above
            if operand(view):
                return True
        return False


def tests(node: Node) -> Iterator[Node]:
    """Yield the tests a tree is made of, in the order they are written."""
    if isinstance(node, Not):
        yield from tests(node.operand)
    elif isinstance(node, And | Or):
        for operand in node.operands:
            yield from tests(operand)
    else:
        yield node


def wanted(node: Node, *, turned: bool = False) -> Iterator[Node]:
    """Yield the tests that speak for a page when they hold: those below no ``not``, or below two.

    ``turned`` says that the tree itself stands below a ``not``.
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
