"""The error of a predicate that can't be read: it points at the column."""

from models.errors import ScentlineError

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
    line = "".join(sign if sign.isprintable() else " " for sign in expression[start:end])
    head = "..." if start else ""
    tail = "..." if end < len(expression) else ""
    return f"{head}{line}{tail}", len(head) + position - start
