"""The factors of a candidate's interest ratio: links, siblings, users (Aggarwal 2004, section 3).

Words are those of the in-linking pages (equations 5 to 7), tokens those of the candidate's own URL, links those
of short-range topical locality (Table 1), siblings the other link targets of the in-linking pages. If a page
has too many judged in-linking pages, only some contribute (`kept`).

Counts are a function of the set of judged pages: it does not matter which of a link's two ends was judged
first. So when a page is judged after its link target, the target's contribution is corrected by what the page's
words add to the union, or remove from it if the page displaces another.

Temporal locality is about pages visited near satisfying ones (equations 11 to 13), affinity about a page's
visitors (equations 8 to 10). The paper leaves the form of signature features (I^SF) open. Here a page's
signature is the words of the judged pages that its users visited within reach of an access to it; each word is
a feature, like a word of an in-linking page (equations 5 to 7). `SIGNERS` and `WORDS` bound it.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import msgspec

from scentline.models.page import Verdict
from scentline.models.policy.features import Base, interest, link, ratio, word


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


class LinkTable(msgspec.Struct, frozen=True, array_like=True):
    """Table 1 as counts of judged links: all, and those to a page that satisfies the predicate."""

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
    """Return the rank of a linking page among those of ``child_id``: the XOR of the two identifiers.

    It depends on the two URLs alone, so the same pages are kept in any order of judging. Identifiers are
    digests, so no page is favoured over all its targets.
    """
    return int.from_bytes(parent_id) ^ int.from_bytes(child_id)


def kept(parent_ids: Iterable[bytes], child_id: bytes, bound: int) -> list[bytes]:
    r"""Return the at most ``bound`` parents of lowest `rank`, lowest first.

    >>> kept([b"\x05", b"\x01", b"\x02"], b"\x03", 2)
    [b'\x02', b'\x01']
    """
    return sorted(parent_ids, key=lambda parent_id: rank(parent_id, child_id))[:bound]


def joined(
    known: Iterable[Sequence[bytes]], parent_id: bytes, child_ids: Iterable[bytes], bound: int
) -> list[list[bytes]]:
    r"""Return what is `kept`, of each child, of its ``known`` parents, which are kept already, and one more.

    >>> joined([[b"\x02", b"\x01"]], b"\x03", [b"\x03"], 2)
    [[b'\x03', b'\x02']]
    """
    parent, found = int.from_bytes(parent_id), []
    for parents, child_id in zip(known, child_ids, strict=True):
        child = int.from_bytes(child_id)
        place, low, high = parent ^ child, 0, len(parents)
        # Most linking pages of a much-linked page are not kept.
        if high >= bound and place >= int.from_bytes(parents[bound - 1]) ^ child:
            low = high
        # As `insort` by `rank`, without a call for each comparison: this runs for every link.
        while low < high:
            middle = (low + high) // 2
            if place < int.from_bytes(parents[middle]) ^ child:
                high = middle
            else:
                low = middle + 1
        found.append([*parents[:low], parent_id, *parents[low:]][:bound])
    return found


#: Other pages near a page, as in `models.trace.Trace.together`: [accesses within reach, co-visits].
Near = Mapping[str, tuple[int, int]]


def region(near: Near) -> Iterator[str]:
    """Yield the pages with an access in TLR(A) of an access A to the page; the relation is symmetric.

    TLR(A) is the accesses within reach of A, strictly before or after it, by the same user.

    >>> list(region({"b": (2, 6), "c": (0, 6)}))
    ['b']
    """
    return (url for url, (times, _) in near.items() if times > 0)


def inside(near: Near, satisfying: Collection[str]) -> bool:
    """Return whether a page is in TL(U), equation (11): near another one that is known to satisfy U.

    ``satisfying`` are the judged pages that do; the page's own accesses do not count.
    """
    return any(url in satisfying for url in region(near))


def region_log(within: bool | None, counts: tuple[int, int], base: Base) -> float:
    """Return log I^TL: log f1 / P(U) in the region (12), log f2 / P(U) outside (13).

    ``counts`` are the judged pages in the region and the hits among them; all others are outside. ``within``
    is None if the log has no access to the page: factor 1, as if no page was judged in the region, or none
    outside. No hit counts as half a hit, at most factor 1.
    """
    if within is None:
        return 0.0
    pages, hits = counts
    found = ratio(pages, hits, base) if within else ratio(base.pages - pages, base.hits - hits, base)
    return math.log(found)


#: Pages whose words make a signature, and words of each, at most.
SIGNERS = 16
WORDS = 64


def signers(
    near: Mapping[str, tuple[int, int]], judged: Mapping[str, bytes], page_id: bytes, bound: int = SIGNERS
) -> list[bytes]:
    r"""Return the identifiers of the judged pages that sign the page ``page_id``: ``bound``, by lowest rank.

    ``near`` are the pages that lie together with it (`models.trace.Trace.together`), ``judged`` the
    identifiers of judged pages. Which pages sign depends on these sets alone.

    >>> signers({"a": (2, 0), "b": (0, 6), "c": (1, 0)}, {"a": b"\x07", "b": b"\x01"}, b"\x00")
    [b'\x07']
    """
    names = (judged[url] for url, (times, _) in near.items() if times > 0 and url in judged)
    return kept(names, page_id, bound)


def signature(pages: Iterable[Sequence[str]]) -> frozenset[str]:
    """Return S(P), the first words of each signing page, united.

    ``pages`` are the distinct words of each, in the order of their first occurrence.
    """
    return frozenset(chain.from_iterable(words[:WORDS] for words in pages))
