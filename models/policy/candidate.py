"""What the learned policy is told of a candidate, and what it counts a judged page under.

The URL is evidence by its words, and by the tree of hosts and directories it lies in. As in
`models.policy.factors`, counts are functions of the sets of judged pages and accesses: when a link or a visit
to a judged page comes in later, the difference is counted, or taken back.
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


# How far links and URLs name what a predicate asks for is known before any page is judged: a page whose links
# say a keyword mostly has it. The combiner is not told: if it had known that such a page would be a hit, it
# would learn next to nothing of all else that led there.

Parts = npt.NDArray[np.float32]

#: What a whole phrase in a link or a URL, around a link and in the heading above it adds to the logit of a hit.
SAID, AROUND, ABOVE = 2.0, 0.7, 1.0
_WORTH = np.array([[SAID], [AROUND], [ABOVE]], np.float32)


class Named:
    """The part of a predicate's ``phrases`` that words hold, by the number of a word in a ``vocabulary``.

    Phrases are words that follow each other. A word holds one of them that it has the root of (`root`), or that
    it is, where that is shorter; and two, where it has the root of both written as one. Of several phrases that
    counts of which it holds most.

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
        # The numbers of words that were met and not taken in yet, beside the part of a phrase that they hold.
        self._met: list[tuple[float, list[int]]] = []
        #: Whether any word holds anything.
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
        """The parts of all words that were met, by number."""
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
        """Return what phrases add for each of some links: the most of what words in, around and above it do.

        ``words`` are those in all links, one after the other, then those around and those above; ``sizes`` says
        how many, a row each, a column a link.
        """
        groups = sizes.ravel()
        parts = np.append(self.by_word.take(words), np.float32(0))  # a last group without words starts there
        held = np.add.reduceat(parts, np.cumsum(groups) - groups) * (groups > 0)
        found: Parts = (np.minimum(1.0, held).reshape(sizes.shape) * _WORTH).max(axis=0)
        return found

    def renumber(self, before: Numbers) -> None:
        """Note that words have other places, as `models.policy.vocabulary.LogRatios.renumber` does.

        The words of phrases must be among those kept: shorter ones are not looked for again.
        """
        self._take_in()
        numbers = before[::KINDS] // KINDS
        self._parts = longer(self._parts, int(numbers.max(initial=-1)) + 1)[numbers]


def _sought(phrases: Sequence[Sequence[str]]) -> Iterator[tuple[str, float]]:
    """Yield what a word has, or is where that is short, and the part of a phrase that it then holds."""
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
    """How far a candidate's URL and links name a ``topic``: what candidates go by before there is any hit.

    That is the part of the topic's words that the URL, or the best of the links, holds, weighted as what
    `Named` adds; no word is numbered for it.

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
        """Return how far a link names it, by the words in it, around it and above it."""
        return max(worth * self._held(found) for worth, found in zip((SAID, AROUND, ABOVE), words, strict=True))

    def _held(self, words: Iterable[str]) -> float:
        return min(1.0, sum(map(self._part, words)))

    def _part(self, word: str) -> float:
        return max((part for sought, part in self._sought if _holds(word, sought)), default=0.0)
