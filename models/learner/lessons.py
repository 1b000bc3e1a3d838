"""What a judged page is counted under for the learned policy.

As in `models.interest.factors`, counts are functions of the sets of judged pages and accesses: when a
link or a visit to a judged page comes in later, the difference is counted, or taken back.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from scentline.models.interest.features import (
    ANCHOR,
    BASE,
    CONTEXT,
    HEADING,
    PAGE_WORD,
    PREFIX,
    SUBJECT,
    URL_WORD,
)
from scentline.models.learner.candidate import prefixes, url_words
from scentline.models.page import Link


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

#: In-links of a page whose words count: those of lowest rank (`models.interest.factors`).
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
