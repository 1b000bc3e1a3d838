"""The learned policy's evidence of a candidate, and the features of a judged page that it counts.

A URL is evidence by its words, and by its place in the tree of hosts and directories. As in
`models.policy.factors`, counts are functions of the sets of judged pages and accesses: a later link or visit to
a judged page adds the difference, or subtracts it.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from scentline.models.ledger import longer
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
from scentline.models.policy.vocabulary import KINDS, LEAST, Numbers, Vocabulary, root
from scentline.models.words import words


class CoVisits(NamedTuple):
    """The judged pages that users visited beside a candidate, for one predicate.

    ``covisits`` and ``covisit_hits``: the weight of judged pages visited within three steps, and of those
    among them that satisfy the predicate. ``near`` and ``near_hits``: the accesses of judged pages within the
    region of temporal locality, and of those that satisfy.
    """

    covisits: float = 0.0
    covisit_hits: float = 0.0
    near: int = 0
    near_hits: int = 0


class Crowd(NamedTuple):
    """The visits to a candidate: their number, the visitors, and the pages they visited beside it.

    ``beside`` has an entry for each predicate; it is empty if none of these pages is judged.
    """

    accesses: int
    visitors: Sequence[str] = ()
    beside: Sequence[CoVisits] = ()


class Candidate(NamedTuple):
    """The evidence that the inputs of a candidate are computed from, for several predicates.

    ``url_words`` are the places of its URL's words in the word tables, as page words. ``links`` are the places
    of the kept in-links in a `models.policy.batch.LinkTable`. ``parents`` has, for each predicate, the number
    of judged in-linking pages and of those that satisfy it; it is empty if there are none. ``crowd`` is None if
    the log does not have the candidate. ``depth`` is in links from a seed; a ``foreign`` candidate is linked
    from other hosts only. ``subject`` is the text of its URL and kept links, where word meanings count.
    """

    url_words: Sequence[int]
    prefixes: tuple[str, ...]
    links: Sequence[int]
    parents: Sequence[Sequence[int]]
    crowd: Crowd | None = None
    depth: int = 0
    foreign: bool = False
    subject: str = ""


#: Levels of the tree of prefixes that count.
LEVELS = 8
#: Hosts whose domains are cached.
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
    _, _, host, *directories = url.partition("?")[0].split("/", LEVELS + 3)[:-1]
    found = [*domains(host)]
    for each in directories:
        found.append(f"{found[-1]}/{each}")
    return tuple(found[:LEVELS])


@lru_cache(HOSTS)
def domains(host: str) -> tuple[str, ...]:
    """Return the domains that a host lies in, the widest first, the host last.

    >>> domains("www.example.org:8080")
    ('example.org:8080', 'www.example.org:8080')
    """
    labels = host.split(".")
    return tuple(".".join(labels[-depth:]) for depth in range(min(2, len(labels)), len(labels) + 1))


class LinkWords(NamedTuple):
    """The distinct words in a link, around it, and in the heading above it."""

    inside: Sequence[str] = ()
    around: Sequence[str] = ()
    above: Sequence[str] = ()

    @classmethod
    def of(cls, link: Link) -> "LinkWords":
        """Return the words of a link."""
        return cls(*map(tuple, map(dict.fromkeys, (link.anchor, link.context, link.heading))))


def said_in(links: Iterable[Link]) -> list[str]:
    """Return the words of each link as a text: a part's distinct words, separated by spaces, parts by tabs."""
    return ["\t".join(map(" ".join, LinkWords.of(link))) for link in links]


# Prefixes of the features of `LinkWords`, in the order of its fields.
_OF_LINKS = (ANCHOR, CONTEXT, HEADING)

#: In-links of a page whose words count: those of lowest rank (`models.policy.factors`).
IN_LINKS = 8


def own_lessons(url: str, words: Iterable[str], subject: str = "") -> frozenset[str]:
    """Return the features of a judged page itself.

    They are the base, its words, its URL's words and prefixes, and its ``subject``, if it has one.
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

    It equals the difference of the two `link_lessons`, but skips the features that stay: mostly one in-link of
    eight is new.

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
        left = set[str]().union(*[words[place] for words in parts])
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


# How far links and URLs name what a predicate seeks is known before any page is judged: a page whose links have
# a keyword mostly has it. The combiner has no such input: if it expected such a hit, it would learn next to
# nothing of all else that led there.

Parts = npt.NDArray[np.float32]

#: What a whole phrase adds to the logit of a hit: in a link or a URL, around a link, in the heading above it.
SAID, AROUND, ABOVE = 2.0, 0.7, 1.0
_WORTH = np.array([[SAID], [AROUND], [ABOVE]], np.float32)


class Named:
    """The part of a predicate's ``phrases`` that each word holds, by word number in a ``vocabulary``.

    A phrase is a sequence of words. A word holds one of them if it contains its root (`root`) or, if the root
    is short, equals it; it holds two if it contains the root of both written as one. Of several phrases, the
    one it holds most of counts.

    >>> from scentline.models.ledger import Ledger
    >>> vocabulary = Vocabulary(Ledger())
    >>> named = Named(vocabulary, [("time", "zone"), ("password",)])
    >>> numbers = vocabulary.words(["time", "times", "timezones", "passwordhash"])
    >>> named.by_word[numbers].tolist()
    [0.5, 0.0, 1.0, 1.0]
    """

    def __init__(self, vocabulary: Vocabulary, phrases: Sequence[Sequence[str]] = ()) -> None:
        self._vocabulary = vocabulary
        vocabulary.words(chain.from_iterable(phrases))
        self._parts: Parts = np.zeros(0, np.float32)
        # The part of a phrase, and the numbers of the words that hold it and are not in `_parts` yet.
        self._met: list[tuple[float, list[int]]] = []
        #: Whether there are phrases.
        self.any = bool(phrases)
        for sought, part in _sought(phrases):
            met: list[int] = []
            if len(sought) < LEAST:
                met += vocabulary.words((sought,)).tolist()
            else:
                vocabulary.watch((sought,), met)
            self._met.append((part, met))

    @property
    def by_word(self) -> Parts:
        """The parts of all known words, by number."""
        self._take_in()
        self._parts = longer(self._parts, len(self._vocabulary))
        return self._parts

    def _take_in(self) -> None:
        for part, met in self._met:
            if met:
                self._parts = longer(self._parts, max(met) + 1)
                self._parts[met] = np.maximum(self._parts[met], part)
                met.clear()

    def in_links(self, words: npt.NDArray[np.integer[Any]], sizes: npt.NDArray[np.integer[Any]]) -> Parts:
        """Return what phrases add for each link: the maximum over the words in, around and above it.

        ``words`` are those in all links, then those around, then those above; ``sizes`` are their numbers,
        shape (3, links).
        """
        groups = sizes.ravel()
        parts = np.append(self.by_word.take(words), np.float32(0))  # a last group without words starts there
        held = np.add.reduceat(parts, np.cumsum(groups) - groups) * (groups > 0)
        found: Parts = (np.minimum(1.0, held).reshape(sizes.shape) * _WORTH).max(axis=0)
        return found

    def renumber(self, before: Numbers) -> None:
        """Apply new places of words, as `models.policy.vocabulary.LogRatios.renumber` does.

        The words of phrases must be among those kept: short ones are not searched for again.
        """
        self._take_in()
        numbers = before[::KINDS] // KINDS
        self._parts = longer(self._parts, int(numbers.max(initial=-1)) + 1)[numbers]


def _sought(phrases: Sequence[Sequence[str]]) -> Iterator[tuple[str, float]]:
    """Yield what a word must contain (or equal, if short), and the part of a phrase that it then holds."""
    for phrase in phrases:
        for word in phrase:
            yield root(word), 1 / len(phrase)
        for first, second in pairwise(phrase):
            both = root(first + second)
            if len(both) >= LEAST:
                yield both, 2 / len(phrase)


def _holds(word: str, sought: str) -> bool:
    return sought in word if len(sought) >= LEAST else sought == word


class Naming:
    """How far a candidate's URL and links name a ``topic``: it orders candidates before the first hit.

    That is the part of the topic's words that the URL, or the best of the links, holds, weighted as in `Named`;
    no word is numbered for it.

    >>> naming = Naming(("jazz", "guitar"))
    >>> naming.by_url("http://example.org/jazz/3"), naming.by_link(LinkWords(["next"], ["jazz", "guitars"]))
    (1.0, 0.7)
    """

    def __init__(self, topic: Sequence[str]) -> None:
        self._sought = tuple(_sought([topic]))

    def __bool__(self) -> bool:
        """Return whether the topic has words."""
        return bool(self._sought)

    def by_url(self, url: str) -> float:
        """Return how far a URL names the topic."""
        return SAID * self._held(url_words(url))

    def by_link(self, words: LinkWords) -> float:
        """Return how far a link names the topic, by the words in it, around it and above it."""
        return max(worth * self._held(found) for worth, found in zip((SAID, AROUND, ABOVE), words, strict=True))

    def _held(self, words: Iterable[str]) -> float:
        return min(1.0, sum(map(self._part, words)))

    def _part(self, word: str) -> float:
        return max((part for sought, part in self._sought if _holds(word, sought)), default=0.0)
