"""Names of features: the events E whose interest ratios are learned.

===================  ===================================================================================
``""``               the base: counted once for each judged page, so that it holds N and n(C)
``w:WORD``           the page is linked to by a judged page that holds the word
``t:TOKEN``          the page's URL holds the token
``l:PREDICATE:1``    a link whose source satisfies the predicate: counted once for each link whose two ends
                     are judged, under the verdict of the link's target
``l:PREDICATE:0``    the same of a link whose source does not satisfy the predicate
``u:USER``           the user visited the page, of the users kept of it
``s:WORD``           the word is in the page's signature: in judged pages that its users visited near by
``r:PREDICATE``      the page lies in the temporal locality region of the predicate
``p:WORD``           the page itself holds the word
``a:WORD``           a kept link to the page has the word in its anchor
``c:WORD``           a kept link to the page has the word around it
``h:WORD``           a kept link to the page has the word in the heading above it
``k:WORD``           the page's URL holds the word
``x:PREFIX``         the page's URL lies in the domain or directory
``y:SUBJECT``        the page's subject is this text (`models.semantic.page_subject`)
===================  ===================================================================================
"""

from typing import Literal, NamedTuple

BASE = ""
WORD = "w:"
TOKEN = "t:"  # noqa: S105  # a token of a URL, no secret
LINK = "l:"
USER = "u:"
SIGNATURE = "s:"
REGION = "r:"
#: Behind the name of a region: the judged pages outside of it, for people. It is no feature.
OUTSIDE = " (outside)"
PAGE_WORD = "p:"
ANCHOR = "a:"
CONTEXT = "c:"
HEADING = "h:"
URL_WORD = "k:"
PREFIX = "x:"
SUBJECT = "y:"

Kind = Literal[
    "base", "word", "token", "link", "user", "signature", "region", "page word", "anchor", "context", "heading",
    "URL word", "prefix", "subject",
]  # fmt: skip

_NAMED: dict[str, Kind] = {
    **{WORD: "word", TOKEN: "token", USER: "user", SIGNATURE: "signature", REGION: "region"},
    **{PAGE_WORD: "page word", ANCHOR: "anchor", CONTEXT: "context", HEADING: "heading"},
    **{URL_WORD: "URL word", PREFIX: "prefix", SUBJECT: "subject"},
}


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


def user(name: str) -> str:
    """Return the feature of a user who visited the page."""
    return USER + name


def signature(name: str) -> str:
    """Return the feature of a word of the page's signature."""
    return SIGNATURE + name


def region(predicate: str) -> str:
    """Return the feature of the temporal locality region of ``predicate``."""
    return REGION + predicate


def split(feature: str) -> Feature:
    """Return the parts of a feature's name; `ValueError` when it is none.

    >>> split("l:science:1")
    Feature(kind='link', name='science', holds=True)
    """
    if feature == BASE:
        return Feature("base")
    kind, rest = feature[:2], feature[2:]
    if kind in _NAMED:
        return Feature(_NAMED[kind], rest)
    predicate, _, holds = rest.rpartition(":")
    if kind == LINK and holds in ("0", "1"):
        return Feature("link", predicate, holds == "1")
    raise ValueError(
        f"feature {feature!r}: expected '', 'l:PREDICATE:0|1', or a name after one of {', '.join(_NAMED)}"
    )


def always_kept(feature: str) -> bool:
    """Return whether a feature is one of the few: the base, and each predicate's links and region."""
    return feature[:2] in (BASE, LINK, REGION)
