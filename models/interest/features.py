"""Names of features: the events E whose interest ratios are learned.

===================  ===================================================================================
``""``               the base: counted once for each judged page, so that it holds N and n(C)
``w:WORD``           the page is linked to by a judged page that holds the word
``t:TOKEN``          the page's URL holds the token
``l:PREDICATE:1``    a link whose source satisfies the predicate: counted once for each link whose two ends
                     are judged, under the verdict of the link's target
``l:PREDICATE:0``    the same of a link whose source does not satisfy the predicate
===================  ===================================================================================
"""

from typing import Literal, NamedTuple

BASE = ""
WORD = "w:"
TOKEN = "t:"  # noqa: S105  # a token of a URL, no secret
LINK = "l:"

Kind = Literal["base", "word", "token", "link"]


class Feature(NamedTuple):
    """A feature's name taken apart: ``holds`` tells the two features of a predicate's links apart."""

    kind: Kind
    name: str = ""
    holds: bool | None = None


def word(name: str) -> str:
    """Return the feature of a word of an in-linking page."""
    return WORD + name


def token(name: str) -> str:
    """Return the feature of a URL token."""
    return TOKEN + name


def link(predicate: str, holds: bool) -> str:
    """Return the feature of a link whose source satisfies, or does not satisfy, ``predicate``."""
    return f"{LINK}{predicate}:{int(holds)}"


def split(feature: str) -> Feature:
    """Return the parts of a feature's name; `ValueError` when it is none.

    >>> split("l:science:1")
    Feature(kind='link', name='science', holds=True)
    """
    if feature == BASE:
        return Feature("base")
    kind, rest = feature[:2], feature[2:]
    if kind == WORD:
        return Feature("word", rest)
    if kind == TOKEN:
        return Feature("token", rest)
    predicate, _, holds = rest.rpartition(":")
    if kind == LINK and holds in ("0", "1"):
        return Feature("link", predicate, holds == "1")
    raise ValueError(f"feature {feature!r}: expected '', 'w:WORD', 't:TOKEN' or 'l:PREDICATE:0|1'")
