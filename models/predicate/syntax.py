"""The syntax tree of a predicate: how its tests combine, and how it is written.

A node is called with a view and tells whether the page holds it. ``str(node)`` parses to an equal node; it
has parentheses only where one ``and`` or ``or`` stands inside another operator.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

from models.predicate.view import View

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
