"""From the text of a predicate to its syntax tree, or to an error that points at the column."""

import re
from difflib import get_close_matches
from typing import NamedTuple

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedInput

from models.errors import ScentlineError
from models.predicate.arguments import FUNCTIONS, keyword
from models.predicate.errors import PredicateError
from models.predicate.syntax import And, Node, Not, Or

MAX_LENGTH = 10_000
MAX_DEPTH = 64

_GRAMMAR = r"""
?start: either
?either: both (_OR both)*
?both: plain (_AND plain)*
?plain: NOT plain                  -> opposite
      | LPAR either ")"            -> group
      | STRING                     -> keyword
      | NAME "(" STRING ")"        -> function

_OR.2: /or(?![\w.])/i
_AND.2: /and(?![\w.])/i
NOT.2: /not(?![\w.])/i
LPAR: "("
NAME: /[^\W\d]\w*(\.\w+)*/
STRING: /"(\\[\s\S]|[^"\\])*"|'(\\[\s\S]|[^'\\])*'/
%ignore /\s+/
"""
# What may stand at a place, in the order an error lists it.
_TERMINALS = {
    "STRING": "a keyword in quotes",
    "NAME": "a function",
    "NOT": '"not"',
    "LPAR": '"("',
    "_AND": '"and"',
    "_OR": '"or"',
    "RPAR": '")"',
    "$END": "the end",
}
_LAST_NAME = re.compile(r"[\w.]+(?=\s*\Z)")
# Any other backslash stands for itself, so that regular expressions need no second one.
_ESCAPE = re.compile(r"\\([\\\"'])")


def read(expression: str) -> Node:
    """Return the syntax tree of ``expression``; raises PredicateError.

    At most 10,000 characters; parentheses and ``not`` nest at most 64 deep.
    """
    if len(expression) > MAX_LENGTH:
        raise PredicateError(
            expression, MAX_LENGTH + 1, f"expected at most {MAX_LENGTH} characters, not {len(expression)}"
        )
    try:
        # The parser reduces to _Part while it reads: no tree of lark's own, and no recursion.
        part: object = _PARSER.parse(expression)
    except _RefusedError as refused:
        raise PredicateError(expression, refused.position + 1, refused.problem) from refused.__cause__
    except UnexpectedInput as error:
        # At the end of the text lark gives the place of the last token, or none.
        token = getattr(error, "token", None)
        at_end = isinstance(token, Token) and token.type == "$END"
        position = len(expression.rstrip()) if at_end else error.pos_in_stream
        raise _unexpected(expression, position or 0) from None
    assert isinstance(part, _Part)
    return part.node


class _Part(NamedTuple):
    node: Node
    depth: int


class _RefusedError(ScentlineError):
    """Something well-formed that can't be: its position from 0, and why."""

    explains_itself = False

    def __init__(self, position: int | None, problem: str) -> None:
        super().__init__(problem)
        self.position = position or 0
        self.problem = problem


@v_args(inline=True)
class _Builder(Transformer[Token, _Part]):
    """Makes nodes of what the parser reduces."""

    def either(self, *parts: _Part) -> _Part:
        return _Part(Or(tuple(part.node for part in parts)), max(part.depth for part in parts))

    def both(self, *parts: _Part) -> _Part:
        return _Part(And(tuple(part.node for part in parts)), max(part.depth for part in parts))

    def opposite(self, sign: Token, part: _Part) -> _Part:
        return _deeper(sign, Not(part.node), part.depth)

    def group(self, parenthesis: Token, part: _Part) -> _Part:
        return _deeper(parenthesis, part.node, part.depth)

    def keyword(self, string: Token) -> _Part:
        try:
            return _Part(keyword(_unquoted(string)), 0)
        except ValueError as error:
            raise _RefusedError(string.start_pos, f"{_short(string)} is no keyword: {error}") from error

    def function(self, name: Token, string: Token) -> _Part:
        if name not in FUNCTIONS:
            raise _RefusedError(name.start_pos, _no_function(name))
        try:
            return _Part(FUNCTIONS[name](_unquoted(string)), 0)
        except ValueError as error:
            raise _RefusedError(string.start_pos, f"{name}({_short(string)}): {error}") from error


def _deeper(token: Token, node: Node, depth: int) -> _Part:
    if depth >= MAX_DEPTH:
        raise _RefusedError(token.start_pos, f'expected "(" and "not" to nest at most {MAX_DEPTH} deep')
    return _Part(node, depth + 1)


def _unquoted(string: str) -> str:
    return _ESCAPE.sub(r"\1", string[1:-1])


def _short(string: str) -> str:
    return string if len(string) <= 60 else f"{string[:57]}..."


def _no_function(name: str) -> str:
    near = get_close_matches(name, FUNCTIONS, n=1, cutoff=0.5)
    hint = f'the nearest is "{near[0]}"' if near else f"there are {', '.join(FUNCTIONS)}"
    return f'there is no function "{_short(name)}"; {hint}'


def _unexpected(expression: str, position: int) -> PredicateError:
    """Say what could have stood at ``position``, from 0, where the parser stopped."""
    before = expression[:position]
    if expression[position : position + 1] in ('"', "'") and not _closes(expression, position):
        return PredicateError(expression, position + 1, "this quote is never closed")
    parser = _PARSER.parse_interactive(before)
    parser.exhaust_lexer()
    accepted: set[str] = parser.accepts()  # type: ignore[no-untyped-call]  # lark has no annotation here
    name = _LAST_NAME.search(before)
    if accepted == {"LPAR"} and name is not None and name[0] not in FUNCTIONS:
        word = name[0]
        problem = f'expected a keyword in quotes, "{_short(word)}", or a function with its "("'
        return PredicateError(expression, name.start() + 1, problem)
    if accepted == {"STRING"}:
        return PredicateError(expression, position + 1, "expected a text in quotes")
    *others, last = [text for terminal, text in _TERMINALS.items() if terminal in accepted]
    expected = f"{', '.join(others)} or {last}" if others else last
    return PredicateError(expression, position + 1, f"expected {expected}")


def _closes(expression: str, position: int) -> bool:
    return _STRING.match(expression, position) is not None


_PARSER = Lark(_GRAMMAR, parser="lalr", transformer=_Builder(), maybe_placeholders=False)
_STRING = re.compile(_PARSER.get_terminal("STRING").pattern.to_regexp())
