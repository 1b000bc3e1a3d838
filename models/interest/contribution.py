"""What one judged page adds to the counts, and how that changes when more in-linking pages are judged.

Counts are a function of the set of judged pages: it does not matter which of a link's two ends was judged
first. So when a page is judged after its link target, the target's contribution is corrected by what the
page's words add to the union, or take from it where the page displaces another (`models.interest.parents`).
"""

from collections.abc import Iterable

from models.interest.content import union
from models.interest.features import BASE, link, token, word
from models.url import tokens
from models.verdict import Verdict


def features_of(url: str, parent_words: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return the features a judged page is counted under: base, URL tokens, words of its in-linking pages.

    ``parent_words`` are the word sets of the judged in-linking pages that are kept. The page's verdict is
    counted once under each feature.
    """
    features = {word(name) for name in union(parent_words)}
    features.update(map(token, tokens(url)))
    features.add(BASE)
    return frozenset(features)


def link_features(verdict: Verdict) -> frozenset[str]:
    """Return the features of a link from a page with ``verdict``, counted under the target's verdict."""
    return frozenset(link(predicate, holds) for predicate, holds in verdict.items())


def correction(
    before: Iterable[frozenset[str]], after: Iterable[frozenset[str]]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the word features (added, removed) of a judged page whose in-linking pages' words changed.

    It equals the difference of the two `features_of`, without naming the features that stay.
    """
    old, new = list(before), list(after)
    added = _beyond([words for words in new if words not in old], old)
    removed = _beyond([words for words in old if words not in new], new)
    return frozenset(map(word, added)), frozenset(map(word, removed))


def _beyond(parts: list[frozenset[str]], others: list[frozenset[str]]) -> frozenset[str]:
    """Return the words of ``parts`` that none of ``others`` has: they are few, so the rest is not united."""
    left = union(parts)
    for words in others:
        left -= words
    return frozenset(left)
