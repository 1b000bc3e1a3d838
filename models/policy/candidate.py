"""What the learned policy is told of a candidate, and what it counts a judged page under.

The URL is evidence by its words, and by the tree of hosts and directories it lies in. As in
`models.policy.factors`, counts are functions of the sets of judged pages and accesses: when a link or a visit
to a judged page comes in later, the difference is counted, or taken back.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple
from urllib.parse import unquote

from scentline.models.page import Link
from scentline.models.policy.features import (
    ANCHOR,
    BASE,
    CONTEXT,
    HEADING,
    PAGE_WORD,
    PREFIX,
    SUBJECT,
    URL_WORD,
)
from scentline.models.words import words


class CoVisits(NamedTuple):
    """The judged pages that users visited beside a candidate, as a predicate sees them.

    ``covisits`` and ``covisit_hits``: the weight of judged pages visited within three steps, and of those
    among them that satisfy the predicate. ``near`` and ``near_hits``: the accesses of judged pages within the
    region of temporal locality, and of those that satisfy.
    """

    covisits: float = 0.0
    covisit_hits: float = 0.0
    near: int = 0
    near_hits: int = 0


class Crowd(NamedTuple):
    """What users did with a candidate: how often they visited it, who did, and what they visited beside it.

    ``beside`` is for each predicate, empty where none of these pages is judged.
    """

    accesses: int
    visitors: Sequence[str] = ()
    beside: Sequence[CoVisits] = ()


class Candidate(NamedTuple):
    """All that the inputs of a candidate are made of, for each of some predicates.

    ``url_words`` are the words of its URL as places in the tables of words, as words of pages. ``links`` are
    the in-links kept, as places in a `models.policy.batch.LinkTable`. ``parents`` are for each predicate
    the judged in-linking pages there are in all, and those of them that satisfy it; empty where there are none.
    ``crowd`` is None where the log does not know the candidate. ``depth`` is in links from a seed; a
    ``foreign`` one is linked to from other hosts than its own alone. ``subject`` is what its URL and its kept
    links say, where word meanings count.
    """

    url_words: Sequence[int]
    prefixes: tuple[str, ...]
    links: Sequence[int]
    parents: Sequence[Sequence[int]]
    crowd: Crowd | None = None
    depth: int = 0
    foreign: bool = False
    subject: str = ""


#: Levels of the tree of prefixes that are looked at.
LEVELS = 8
#: Hosts whose domains are remembered.
HOSTS = 10_000


def url_words(url: str) -> tuple[str, ...]:
    """Return the distinct words of a canonical URL's path and query, in order.

    >>> url_words("http://example.org/wp/British_Rail.html?class=66")
    ('wp', 'british', 'rail', 'html', 'class', '66')
    """
    return tuple(dict.fromkeys(words(unquote(url.split("/", 3)[3]))))


def prefixes(url: str) -> tuple[str, ...]:
    """Return the domains and directories that a canonical URL lies in, the widest first, at most eight.

    >>> prefixes("http://www.example.org/sports/hockey/rules.html")
    ('example.org', 'www.example.org', 'www.example.org/sports', 'www.example.org/sports/hockey')
    """
    path = url.partition("?")[0]
    start, last = path.index("//") + 2, path.rindex("/")
    end = path.index("/", start)
    found = [*domains(path[start:end])]
    while end < last and len(found) < LEVELS:
        end = path.index("/", end + 1)
        found.append(path[start:end])
    return tuple(found[:LEVELS])


@lru_cache(HOSTS)
def domains(host: str) -> tuple[str, ...]:
    """Return the domains that a host lies in, the widest first, and itself.

    >>> domains("www.example.org:8080")
    ('example.org:8080', 'www.example.org:8080')
    """
    labels = host.split(".")
    return tuple(".".join(labels[-depth:]) for depth in range(min(2, len(labels)), len(labels) + 1))


class LinkWords(NamedTuple):
    """The distinct words in a link, around it, and of the heading above it."""

    inside: Sequence[str] = ()
    around: Sequence[str] = ()
    above: Sequence[str] = ()

    @classmethod
    def of(cls, link: Link) -> "LinkWords":
        """Return the words of a link."""
        return cls(*(tuple(dict.fromkeys(words)) for words in (link.anchor, link.context, link.heading)))


# Features of the words of a link, in their order.
_OF_LINKS = (ANCHOR, CONTEXT, HEADING)

#: In-links of a page whose words count: those of lowest rank (`models.policy.factors`).
IN_LINKS = 8


def own_lessons(url: str, words: Iterable[str], subject: str = "") -> frozenset[str]:
    """Return the features that a judged page has by itself.

    They are the base, its words, its URL's words and prefixes, and its ``subject``, where it has one.
    """
    found = {PAGE_WORD + word for word in words}
    found.update(URL_WORD + word for word in url_words(url))
    found.update(PREFIX + prefix for prefix in prefixes(url))
    found.add(BASE)
    if subject:
        found.add(SUBJECT + subject)
    return frozenset(found)


def change_of_links(
    before: Iterable[LinkWords], after: Iterable[LinkWords]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the features (added, removed) of a page whose kept in-links changed.

    It equals the difference of the two `link_lessons`, without naming the features that stay: mostly one
    in-link of eight has come.

    >>> before, after = LinkWords(["ski"], ["the"]), LinkWords(["ski"], ["alps"])
    >>> added, removed = change_of_links([before], [after])
    >>> sorted(added), sorted(removed)
    (['c:alps'], ['c:the'])
    """
    old, new = list(before), list(after)
    come, gone = [words for words in new if words not in old], [words for words in old if words not in new]
    return _beyond(come, old), _beyond(gone, new)


def _beyond(parts: Iterable[LinkWords], others: Sequence[LinkWords]) -> frozenset[str]:
    """Return the features of the words of some links that none of ``others`` has."""
    found: set[str] = set()
    for place, kind in enumerate(_OF_LINKS):
        left = set(chain.from_iterable(words[place] for words in parts))
        if left:
            left.difference_update(*(words[place] for words in others))
        found.update([kind + word for word in left])
    return frozenset(found)


def link_lessons(links: Iterable[LinkWords]) -> frozenset[str]:
    """Return the features that a page's kept in-links give it: each word in, around and above them, once.

    >>> sorted(link_lessons([LinkWords(["ski"], ["the", "alps"]), LinkWords(["ski", "area"], [], ["sport"])]))
    ['a:area', 'a:ski', 'c:alps', 'c:the', 'h:sport']
    """
    return _beyond(list(links), ())
