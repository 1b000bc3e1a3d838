"""What the learned policy is told of a candidate: its in-links, what the crowd did, and its URL.

The URL is evidence by its words, and by the tree of hosts and directories it lies in.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

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
    the in-links kept, as places in a `models.learner.linking.LinkTable`. ``parents`` are for each predicate
    the judged in-linking pages there are in all, and those of them that satisfy it; empty where there are none.
    ``crowd`` is None where the log does not know the candidate. ``depth`` is in links from a seed; a
    ``foreign`` one is linked to from other hosts than its own alone.
    """

    url_words: Sequence[int]
    prefixes: tuple[str, ...]
    links: Sequence[int]
    parents: Sequence[Sequence[int]]
    crowd: Crowd | None = None
    depth: int = 0
    foreign: bool = False


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
