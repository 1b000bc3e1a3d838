"""What a judged page is counted under for the learned policy.

As in `models.interest.contribution`, counts are functions of the sets of judged pages and accesses: when a
link or a visit to a judged page comes in later, the difference is counted, or taken back.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

from models.interest.features import ANCHOR, BASE, CONTEXT, PAGE_WORD, PATTERN, PREFIX, SUBJECT, URL_WORD
from models.learner.address import prefixes, url_words

#: The distinct words in and around one link.
LinkWords = tuple[Sequence[str], Sequence[str]]

#: In-links of a page whose words count: those of lowest rank (`models.interest.parents`).
IN_LINKS = 8


def own_lessons(url: str, words: Iterable[str], subject: str = "", pattern: str = "") -> frozenset[str]:
    """Return the features that a judged page has by itself.

    They are the base, its words, its URL's words and prefixes, its ``subject`` and its URL's ``pattern``, where
    it is told of these.
    """
    found = {PAGE_WORD + word for word in words}
    found.update(URL_WORD + word for word in url_words(url))
    found.update(PREFIX + prefix for prefix in prefixes(url))
    found.add(BASE)
    if subject:
        found.add(SUBJECT + subject)
    if pattern:
        found.add(PATTERN + pattern)
    return frozenset(found)


def change_of_links(
    before: Iterable[LinkWords], after: Iterable[LinkWords]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the features (added, removed) of a page whose kept in-links changed.

    It equals the difference of the two `link_lessons`, without naming the features that stay: mostly one
    in-link of eight has come.

    >>> added, removed = change_of_links([(("ski",), ("the",))], [(("ski",), ("alps",))])
    >>> sorted(added), sorted(removed)
    (['c:alps'], ['c:the'])
    """
    old, new = list(before), list(after)
    come, gone = [words for words in new if words not in old], [words for words in old if words not in new]
    return _beyond(come, old), _beyond(gone, new)


def _beyond(parts: Iterable[LinkWords], others: Sequence[LinkWords]) -> frozenset[str]:
    """Return the features of the words in and around some links that none of ``others`` has."""
    found: set[str] = set()
    for kind, place in ((ANCHOR, 0), (CONTEXT, 1)):
        left = set(chain.from_iterable(words[place] for words in parts))
        if left:
            left.difference_update(*(words[place] for words in others))
        found.update([kind + word for word in left])
    return frozenset(found)


def link_lessons(links: Iterable[LinkWords]) -> frozenset[str]:
    """Return the features that a page's kept in-links give it: each word in and around them, once.

    >>> sorted(link_lessons([(("ski",), ("the", "alps")), (("ski", "area"), ())]))
    ['a:area', 'a:ski', 'c:alps', 'c:the']
    """
    kept = list(links)
    anchors = {ANCHOR + word for word in chain.from_iterable(anchor for anchor, _ in kept)}
    contexts = {CONTEXT + word for word in chain.from_iterable(context for _, context in kept)}
    return frozenset(anchors | contexts)
