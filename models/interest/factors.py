"""The factors of a candidate's interest ratio: words, tokens, links and siblings (Aggarwal 2004, section 3).

Words are those of the in-linking pages (equations 5 to 7), tokens those of the candidate's own URL, links those
of short-range topical locality (Table 1), siblings the other link targets of the in-linking pages. Where a page
has too many judged in-linking pages, some contribute.

Counts are a function of the set of judged pages: it does not matter which of a link's two ends was judged
first. So when a page is judged after its link target, the target's contribution is corrected by what the page's
words add to the union, or take from it where the page displaces another.
"""

import math
from bisect import insort
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

import msgspec

from scentline.models.interest.features import link, word
from scentline.models.interest.ratio import Base, RatioTable, interest
from scentline.models.verdict import Verdict


def union(parents: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return M, the words that are true of a candidate: present in at least one page pointing to it."""
    return frozenset().union(*parents)


def link_features(verdict: Verdict) -> frozenset[str]:
    """Return the features of a link from a page with ``verdict``, counted under the target's verdict."""
    return frozenset(link(predicate, holds) for predicate, holds in verdict.items())


def correction(
    before: Iterable[frozenset[str]], after: Iterable[frozenset[str]]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the word features (added, removed) of a judged page whose in-linking pages' words changed."""
    old, new = list(before), list(after)
    added = _beyond([words for words in new if words not in old], old)
    removed = _beyond([words for words in old if words not in new], new)
    return frozenset(map(word, added)), frozenset(map(word, removed))


def _beyond(parts: list[frozenset[str]], others: list[frozenset[str]]) -> frozenset[str]:
    left = union(parts)
    for words in others:
        left -= words
    return frozenset(left)


def token_log(tokens: AbstractSet[str], ratios: RatioTable) -> float:
    """Return log I_u(C): the content process, equations (5) to (7), on the events "token i is in the URL".

    ``tokens`` are the distinct tokens of the URL, split at "." and "/" (`models.url.tokens`).
    """
    logs = ratios.logs
    return math.fsum(logs[token] for token in tokens if token in logs)


class LinkTable(msgspec.Struct, frozen=True, array_like=True):
    """Table 1 as counts of judged links: all, and those to a page that satisfies the predicate.

    >>> table, base = LinkTable(satisfying=(12_000, 7_000), failing=(88_000, 4_500)), Base(10_000, 1_000)
    >>> round(table.p(base), 9), round(table.q(base), 9)
    (7.0, 0.5)
    """

    #: Links from pages that satisfy the predicate.
    satisfying: tuple[int, int] = (0, 0)
    #: Links from pages that do not.
    failing: tuple[int, int] = (0, 0)

    def p(self, base: Base) -> float:
        """Return p = f1 / (P(C) P(C)), the interest ratio of an in-linking page that satisfies the predicate.

        1 while no link from such a page was seen; no hit among them counts as half a hit.
        """
        return self._ratio(self.satisfying, base, base.rate)

    def q(self, base: Base) -> float:
        """Return q = f3 / (P(C) (1 - P(C))), the interest ratio of an in-linking page that does not satisfy.

        1 while no link from such a page was seen; no hit among them counts as half a hit.
        """
        return self._ratio(self.failing, base, 1 - base.rate)

    def _ratio(self, row: tuple[int, int], base: Base, source_rate: float) -> float:
        sources, hits = row
        if sources <= 0 or not base.informative:
            return 1.0
        links = self.satisfying[0] + self.failing[0]
        return interest(hits, links * base.rate * source_rate)


def locality_log(parents: int, satisfying: int, table: LinkTable, base: Base) -> float:
    """Return log I_l(C) = log(p^m q^(k-m)) of a page with k judged in-links, m from satisfying pages.

    No judged in-link gives the factor 1.
    """
    if not parents:
        return 0.0
    return satisfying * math.log(table.p(base)) + (parents - satisfying) * math.log(table.q(base))


def sibling_log(visited: int, satisfying: int, base: Base) -> float:
    """Return log I_s(C) = log(s / e) with e = v P(C): of v visited siblings s satisfy the predicate.

    Siblings not yet judged are ignored. No visited sibling gives the factor 1; s = 0 counts as half a hit, at
    most factor 1.

    >>> round(math.exp(sibling_log(15, 9, Base(10_000, 1_000))), 9)
    6.0
    """
    if visited <= 0 or not base.informative:
        return 0.0
    return math.log(interest(satisfying, visited * base.rate))


def rank(parent_id: bytes, child_id: bytes) -> int:
    """Return the place of a linking page among those of ``child_id``: the XOR of the two identifiers.

    It depends on the two URLs alone, so that the same pages are kept in whatever order they are judged, and
    identifiers are digests, so that it favours no page over all its targets.
    """
    return int.from_bytes(parent_id) ^ int.from_bytes(child_id)


def kept(parent_ids: Iterable[bytes], child_id: bytes, bound: int) -> list[bytes]:
    r"""Return the at most ``bound`` parents of lowest `rank`, lowest first.

    >>> kept([b"\x05", b"\x01", b"\x02"], b"\x03", 2)
    [b'\x02', b'\x01']
    """
    return sorted(parent_ids, key=lambda parent_id: rank(parent_id, child_id))[:bound]


def joined(known: Sequence[bytes], parent_id: bytes, child_id: bytes, bound: int) -> list[bytes]:
    r"""Return what is `kept` of ``known``, which are kept already, and of one more.

    >>> joined([b"\x02", b"\x01"], b"\x03", b"\x03", 2)
    [b'\x03', b'\x02']
    """
    found = list(known)
    # Of a page that much links to, most linking pages are not kept.
    if len(found) < bound or rank(parent_id, child_id) < rank(found[bound - 1], child_id):
        insort(found, parent_id, key=lambda one: rank(one, child_id))
    del found[bound:]
    return found
