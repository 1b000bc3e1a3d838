"""The inputs of the learned policy: numbers a candidate has, each a log ratio or a log count.

Every input is clipped to +-4, and what is missing is 0. The weights before the first page are the mean of what
was learned in 200 pages by 24 crawls of Wikispeedia for twelve categories, and their deviations say how far
these differed (`docs/learning.md`). Links there stand under one heading, if any: so the weights of headings are
small and uncertain. How often a page is read speaks for it on one web and against it on another, so that this
says nothing before a crawl's own verdicts do. Users, and that no link is known, were weighed again where webs
disagree: where links say nothing, users are all the evidence.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from scentline.models.policy.features import OUTSIDE, REGION, split

Vector = npt.NDArray[np.float64]

MOST = 4.0


class Input(NamedTuple):
    """One input: its name, its weight before the first page and the deviation of that."""

    name: str
    weight: float
    deviation: float


INPUTS = (
    # summed over the links from fetched pages and divided by the root of their number
    Input("parent verdict", -0.24, 0.28),
    Input("siblings", 0.17, 0.25),
    Input("near siblings", 0.44, 0.23),
    Input("anchor words as anchors", 0.42, 0.29),
    Input("anchor words as page words", 0.08, 0.17),
    Input("context words as context", 0.36, 0.28),
    Input("context words as page words", 0.20, 0.15),
    Input("heading words as headings", 0.15, 0.25),
    Input("heading words as page words", 0.15, 0.25),
    Input("parent page", -0.09, 0.28),
    # of the URL and the crowd
    Input("URL words as URL words", 0.49, 0.24),
    Input("URL words as page words", 0.34, 0.22),
    Input("users", 1.0, 0.5),
    Input("co-visits", 0.22, 0.18),
    Input("temporal locality", 0.09, 0.19),
    Input("positive in-links", 0.25, 0.24),
    Input("URL prefix", 0.17, 0.17),
    Input("in-links", 0.18, 0.19),
    Input("accesses", 0.0, 0.33),
    Input("no in-link", -1.0, 0.5),
    Input("not in the log", -0.04, 0.10),
    # of its place: they tell whether a page comes (`models.policy.combiner`), and little of what is in it
    Input("depth", 0.0, 0.1),
    Input("no link from its host", 0.0, 0.1),
    Input("bias", -1.16, 1.96),
)

NAMES = tuple(entry.name for entry in INPUTS)


def prior_mean(inputs: Sequence[Input] = INPUTS) -> Vector:
    """Return the weights before the first page."""
    return np.array([entry.weight for entry in inputs])


def prior_covariance(inputs: Sequence[Input] = INPUTS) -> Vector:
    """Return the covariance of the weights before the first page: diagonal."""
    return np.diag([entry.deviation**2 for entry in inputs])


# in plain words, for people who look at a crawl

#: What inputs are made of.
Source: TypeAlias = Literal["links", "words", "URL", "users", "place"]


class Plain(NamedTuple):
    """An input in plain words: its ``name``, what it ``means`` in one sentence, and what it is made of."""

    name: str
    means: str
    source: Source


#: What a predicate's keywords add that links or the URL name (`models.policy.candidate`), which is no input.
NAMED = "keywords in links or URL"
#: Of each input that a crawl may have, by its name.
PLAIN: Mapping[str, Plain] = {
    "parent verdict": Plain(
        "verdict on linking pages",
        "Whether the pages that link here are hits, by what links from hits and from misses led to so far.",
        "links",
    ),
    "siblings": Plain(
        "neighbours", "How many of the judged pages that the same pages link to are hits.", "links"
    ),
    "near siblings": Plain(
        "nearest neighbours",
        "How many of the judged pages are hits whose links stand within four places of the link to this one.",
        "links",
    ),
    "anchor words as anchors": Plain(
        "words in links", "How often pages were hits whose links had these words.", "words"
    ),
    "anchor words as page words": Plain(
        "words in links, as page words",
        "How often pages were hits that have the words of these links.",
        "words",
    ),
    "context words as context": Plain(
        "words around links", "How often pages were hits whose links had these words around them.", "words"
    ),
    "context words as page words": Plain(
        "words around links, as page words",
        "How often pages were hits that have the words around these links.",
        "words",
    ),
    "heading words as headings": Plain(
        "words in the heading above links",
        "How often pages were hits whose links had these words in the heading above them.",
        "words",
    ),
    "heading words as page words": Plain(
        "words in the heading above links, as page words",
        "How often pages were hits that have the words of the headings above these links.",
        "words",
    ),
    "parent page": Plain(
        "text of linking pages", "How often pages were hits that have the words of the linking pages.", "words"
    ),
    "URL words as URL words": Plain(
        "words in the URL", "How often pages were hits that have these words in their URLs.", "URL"
    ),
    "URL words as page words": Plain(
        "words in the URL, as page words",
        "How often pages were hits that have the words of this URL in their text.",
        "URL",
    ),
    "users": Plain("its visitors", "How often other pages were hits that the same users visited.", "users"),
    "co-visits": Plain(
        "pages visited with it",
        "How many of the judged pages are hits that users visited just before or after this one.",
        "users",
    ),
    "temporal locality": Plain(
        "pages visited close by",
        "How many of the judged pages are hits that users visited within the region of this one.",
        "users",
    ),
    "positive in-links": Plain(
        "share of hits among linking pages", "How many of the judged pages that link here are hits.", "links"
    ),
    "URL prefix": Plain(
        "its site and directory",
        "How often pages of the same domain, host and directory were hits.",
        "URL",
    ),
    "in-links": Plain("number of links to it", "How many judged pages link here.", "place"),
    "accesses": Plain("number of visits", "How often users visited the page.", "users"),
    "no in-link": Plain("no link to it", "That no judged page links here.", "place"),
    "not in the log": Plain("not in the log", "That no user is known to have visited the page.", "users"),
    "depth": Plain("links from a seed", "How many links lead here from a seed.", "place"),
    "no link from its host": Plain(
        "linked from other sites only", "That no page of its own host links here.", "place"
    ),
    "bias": Plain("any page", "What holds for every page, whatever is known of it.", "place"),
    "meaning": Plain(
        "meaning of its links and URL",
        "What the verdicts on pages of a like meaning say of the words in its links and URL.",
        "words",
    ),
    "near in meaning": Plain(
        "pages nearest in meaning", "How many of the judged pages nearest in meaning are hits.", "words"
    ),
    "meaning of the predicate's words": Plain(
        "likeness to the predicate's words",
        "How near the words in its links and URL are in meaning to the predicate's own.",
        "words",
    ),
}

_NAMED = Plain(NAMED, "That a link or the URL names a keyword of the predicate.", "words")
#: Of features of the paper's policies, by their kind; the name of the feature stands for the braces.
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
