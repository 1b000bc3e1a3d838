"""The inputs of the learned policy: a candidate's numbers, each a log ratio or a log count.

Every input is clipped to +-4; a missing one is 0. The weights before the first page are the mean of those that
24 crawls of Wikispeedia for twelve categories learned in 200 pages; the deviations are their spread
(`docs/learning.md`). Links there stand under one heading, if any, so the weights of headings are small and
uncertain. The number of visits speaks for a page on one web and against it on another, so it has weight 0
before a crawl's own verdicts. The weights of users and of no in-link were set again where webs disagree: where
links say nothing, users are all the evidence.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from scentline.models.policy.features import OUTSIDE, REGION, split

Vector = npt.NDArray[np.float64]

MOST = 4.0

#: What inputs are made of.
Source: TypeAlias = Literal["links", "words", "URL", "users", "place"]


class Plain(NamedTuple):
    """An input in plain words: its ``name``, what it ``means`` in one sentence, and what it is made of."""

    name: str
    means: str
    source: Source


class Input(NamedTuple):
    """One input: its name, its weight before the first page and the deviation of that."""

    name: str
    weight: float
    deviation: float


_Row: TypeAlias = tuple[str, float, float, Source, str, str]
_INPUTS: tuple[_Row, ...] = (
    # summed over the links from fetched pages and divided by the root of their number
    ("parent verdict", -0.24, 0.28, "links", "verdict on linking pages",
     "Whether the pages that link here are hits, by what links from hits and from misses led to so far."),
    ("siblings", 0.17, 0.25, "links", "neighbours",
     "How many of the judged pages that the same pages link to are hits."),
    ("near siblings", 0.44, 0.23, "links", "nearest neighbours",
     "How many of the judged pages are hits whose links stand within four places of the link to this one."),
    ("anchor words as anchors", 0.42, 0.29, "words", "words in links",
     "How often pages were hits whose links had these words."),
    ("anchor words as page words", 0.08, 0.17, "words", "words in links, as page words",
     "How often pages were hits that have the words of these links."),
    ("context words as context", 0.36, 0.28, "words", "words around links",
     "How often pages were hits whose links had these words around them."),
    ("context words as page words", 0.2, 0.15, "words", "words around links, as page words",
     "How often pages were hits that have the words around these links."),
    ("heading words as headings", 0.15, 0.25, "words", "words in the heading above links",
     "How often pages were hits whose links had these words in the heading above them."),
    ("heading words as page words", 0.15, 0.25, "words", "words in the heading above links, as page words",
     "How often pages were hits that have the words of the headings above these links."),
    ("parent page", -0.09, 0.28, "words", "text of linking pages",
     "How often pages were hits that have the words of the linking pages."),
    # of the URL and the crowd
    ("URL words as URL words", 0.49, 0.24, "URL", "words in the URL",
     "How often pages were hits that have these words in their URLs."),
    ("URL words as page words", 0.34, 0.22, "URL", "words in the URL, as page words",
     "How often pages were hits that have the words of this URL in their text."),
    ("users", 1.0, 0.5, "users", "its visitors",
     "How often other pages were hits that the same users visited."),
    ("co-visits", 0.22, 0.18, "users", "pages visited with it",
     "How many of the judged pages are hits that users visited just before or after this one."),
    ("temporal locality", 0.09, 0.19, "users", "pages visited close by",
     "How many of the judged pages are hits that users visited within the region of this one."),
    ("positive in-links", 0.25, 0.24, "links", "share of hits among linking pages",
     "How many of the judged pages that link here are hits."),
    ("URL prefix", 0.17, 0.17, "URL", "its site and directory",
     "How often pages of the same domain, host and directory were hits."),
    ("in-links", 0.18, 0.19, "place", "number of links to it",
     "How many judged pages link here."),
    ("accesses", 0.0, 0.33, "users", "number of visits",
     "How often users visited the page."),
    ("no in-link", -1.0, 0.5, "place", "no link to it",
     "That no judged page links here."),
    ("not in the log", -0.04, 0.1, "users", "not in the log",
     "That no user is known to have visited the page."),
    # of its place: they predict whether a page comes (`models.policy.combiner`), and little of its content
    ("depth", 0.0, 0.1, "place", "links from a seed",
     "How many links lead here from a seed."),
    ("no link from its host", 0.0, 0.1, "place", "linked from other sites only",
     "That no page of its own host links here."),
    ("bias", -1.16, 1.96, "place", "any page",
     "What holds for every page, whatever is known of it."),
)  # fmt: skip
_OF_MEANING: tuple[_Row, ...] = (
    ("meaning", 0.15, 0.25, "words", "meaning of its links and URL",
     "What the verdicts on pages of a like meaning say of the words in its links and URL."),
    ("near in meaning", 0.15, 0.25, "words", "pages nearest in meaning",
     "How many of the judged pages nearest in meaning are hits."),
    ("meaning of the predicate's words", 0.15, 0.25, "words", "likeness to the predicate's words",
     "How near the words in its links and URL are in meaning to the predicate's own."),
)  # fmt: skip

INPUTS, SEMANTIC_INPUTS = (tuple(Input(*row[:3]) for row in rows) for rows in (_INPUTS, _OF_MEANING))
NAMES = tuple(entry.name for entry in INPUTS)

#: What keywords of a predicate in links or the URL add (`models.policy.candidate`); not an input.
NAMED = "keywords in links or URL"
#: The plain words of each input that a crawl may have, by name.
PLAIN: Mapping[str, Plain] = {
    name: Plain(plain, means, source) for name, _, _, source, plain, means in (*_INPUTS, *_OF_MEANING)
}


def inputs_with(meaning: bool) -> tuple[Input, ...]:
    """Return the learned policy's inputs, with those of ``meaning`` at their end."""
    return (*INPUTS, *SEMANTIC_INPUTS) if meaning else INPUTS


def prior_mean(inputs: Sequence[Input] = INPUTS) -> Vector:
    """Return the weights before the first page."""
    return np.array([entry.weight for entry in inputs])


def prior_covariance(inputs: Sequence[Input] = INPUTS) -> Vector:
    """Return the covariance of the weights before the first page: diagonal."""
    return np.diag([entry.deviation**2 for entry in inputs])


_NAMED = Plain(NAMED, "That a link or the URL names a keyword of the predicate.", "words")
#: The plain words of the paper's features, by kind; the feature's name replaces the braces.
_FEATURES: Mapping[str, Plain] = {
    "word": Plain(
        "“{}” on a linking page", "How often pages were hits that were linked to by a page with it.", "words"
    ),
    "token": Plain("“{}” in the URL", "How often pages were hits whose URLs have it.", "URL"),
    "user": Plain("a visitor", "How often other pages were hits that the same user visited.", "users"),
    "signature": Plain(
        "“{}” on pages visited near by", "How often pages were hits that have it in their signature.", "users"
    ),
    "region": Plain(
        "visits near hits", "How often pages were hits that users visited just before or after one.", "users"
    ),
}
_OUTSIDE = Plain("no visits near hits", "How often pages were hits that no user visited near one.", "users")
_LINKS = {
    True: Plain(
        "links from hits", "How often links from pages that satisfy the predicate led to hits.", "links"
    ),
    False: Plain("links from others", "How often links from pages that do not led to hits.", "links"),
}


def plain(name: str) -> Plain:
    """Return an input, or a feature of the paper's policies, in plain words.

    >>> plain("siblings").name, plain("w:ski").name, plain("l:sports:1").name, plain("siblings:sports").name
    ('neighbours', '“ski” on a linking page', 'links from hits', 'neighbours')
    """
    if name in PLAIN or name.startswith("siblings:"):
        return PLAIN.get(name) or PLAIN["siblings"]
    if name == NAMED:
        return _NAMED
    if name.startswith(REGION) and name.endswith(OUTSIDE):
        return _OUTSIDE
    try:
        feature = split(name)
    except ValueError:
        return Plain(name, "", "place")
    if feature.holds is not None:
        return _LINKS[feature.holds]
    found = _FEATURES.get(feature.kind, Plain("{}", "", "place"))
    return found._replace(name=found.name.format(feature.name))
