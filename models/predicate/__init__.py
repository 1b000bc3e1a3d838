"""The predicate language, and what shows people why a page satisfies a predicate or not.

An excerpt is the sentence with the first of the predicate's keywords. For a predicate without any, such as one
of a category, a host or a title, it is the beginning of the text.
"""

import re
from functools import lru_cache
from itertools import islice

from scentline.models.predicate.parser import ANYTHING, Predicate, Sought, parse
from scentline.models.predicate.syntax import And, Keyword, Node, Not, Or, PredicateError, View, wanted

#: The default predicate of a crawl, and its expression: every page has an http or https URL.
EVERY_PAGE, EVERY_URL = "every-page", 'url.prefix("http")'

__all__ = [
    "ANYTHING",
    "EVERY_PAGE",
    "EVERY_URL",
    "LENGTH",
    "Predicate",
    "PredicateError",
    "Sought",
    "View",
    "decided",
    "excerpt",
    "parse",
]


#: Characters of an excerpt, and of its part before a keyword; up to two ellipses are extra.
LENGTH, _BEFORE = 160, 60
#: Keywords that are searched for, and characters of a text that are searched.
_KEYWORDS, _TEXT = 5, 100_000
# Characters read before and after a keyword: there may be endless white space.
_WINDOW = 1_000

_SPACE = re.compile(r"\s+")
_END = re.compile(r"[.!?…][\"'”»)\]]*+(?= |$)|[。！？]")


def excerpt(predicate: Predicate, view: View, prose: str) -> str:
    """Return a few words of a page that satisfies a predicate, on one line and without control characters.

    The keywords are searched for in ``prose``, its main text with any white space, then in all of its text.

    >>> from scentline.models.predicate import parse
    >>> text = "It snowed. The ice hockey season begins on Sunday. It will rain."
    >>> excerpt(parse('"ice hockey" or "rain"'), View("http://a.org/", text=text), text)
    'The ice hockey season begins on Sunday.'
    """
    asked = (test for test in wanted(predicate.root) if isinstance(test, Keyword) and test(view))
    held = [_written(test.words) for test in islice(asked, _KEYWORDS)]
    for text in (prose[:_TEXT], view.text[:_TEXT]):
        for words in held:
            found = words.search(text)
            if found is not None:
                start, end = found.span()
                before = _single(text[max(0, start - _WINDOW) : start])
                line = before + _single(found[0])
                return _around(line + _single(text[end : end + _WINDOW]), len(before), len(line))
    return _line(_single((prose or view.text)[:_WINDOW]).strip(), 0, 0)


def decided(predicate: Predicate, view: View, prose: str) -> tuple[str, str]:
    """Return the part of a predicate that decides its verdict on a page, and a sentence with a keyword of it.

    Whatever the other parts said, the verdict would be the same: of an ``and`` the part is the first one that
    does not hold, or all where they hold; of an ``or`` the other way round. The sentence is empty where the
    part depends on no keyword that the page has.

    >>> asked = parse('("ice" and not "rain" or "snow") and not lang("de")')
    >>> decided(asked, View("http://a.org/", text="Ice, and rain."), "Ice, and rain.")
    ('not "rain" or "snow"', 'Ice, and rain.')
    """
    part = Predicate(_deciding(predicate.root, view))
    satisfied = part if part.evaluate(view) else Predicate(Not(part.root))
    found = any(isinstance(test, Keyword) for test in wanted(satisfied.root))
    return str(part), excerpt(satisfied, view, prose) if found else ""


def _deciding(node: Node, view: View) -> Node:
    if isinstance(node, Not):
        return Not(_deciding(node.operand, view))
    if not isinstance(node, And | Or):
        return node
    for operand in node.operands:
        if operand(view) is isinstance(node, Or):
            return _deciding(operand, view)
    return type(node)(tuple(_deciding(operand, view) for operand in node.operands))


def _single(text: str) -> str:
    """Return a text with single spaces."""
    return _SPACE.sub(" ", text)


@lru_cache(maxsize=1000)
def _written(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern of words with any characters but letters and digits between them."""
    between = r"[\W_]++".join(map(re.escape, words))
    return re.compile(rf"(?<![^\W_]){between}(?![^\W_])", re.IGNORECASE)


def _around(text: str, start: int, end: int) -> str:
    """Return the sentence with the words from ``start`` to ``end``, or as much of it as an excerpt holds."""
    begin = max(0, start - _BEFORE)
    ends = [found.end() for found in _END.finditer(text, begin, start)]
    space = text.find(" ", begin, start)
    if ends:
        return _line(text, ends[-1], end)
    return _line(text, space if begin and space >= 0 else begin, end, dots=begin > 0)


def _line(text: str, start: int, end: int, *, dots: bool = False) -> str:
    """Return the text from ``start`` to the end of the sentence after ``end``, cut short if that is far."""
    limit = start + LENGTH
    stop = _END.search(text, end, limit + 1) if end else None
    cut = stop is None and len(text) > limit
    last = stop.end() if stop is not None else limit
    if cut and (space := text.rfind(" ", start, limit)) > start:
        last = space
    line = "".join(sign if sign.isprintable() else " " for sign in text[start:last])
    return f"{'…' if dots else ''}{' '.join(line.split())}{'…' if cut else ''}"
