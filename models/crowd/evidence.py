"""Temporal locality, signature features and user affinity of a page (Aggarwal 2004, section 3.1).

Temporal locality are pages visited near satisfying ones (equations 11 to 13), affinity is what a page's
visitors say of it (equations 8 to 10).

The paper leaves the form of signature features (I^SF) open. Here a page's signature are the words of the judged
pages that its users visited within the reach of one of their accesses to it, and each word is a feature, like a
word of an in-linking page (equations 5 to 7). It is bounded: so many pages, and of each so many words.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from scentline.models.interest.factors import kept
from scentline.models.interest.ratio import Base, Denominator, RatioTable, ratio

#: Other pages near a page, as in `models.crowd.trace.Trace.together`: [accesses within reach, co-visits].
Near = Mapping[str, tuple[int, int]]


def region(near: Near) -> Iterator[str]:
    """Yield the pages with an access in TLR(A) of an access A to the page: it is in theirs as well.

    TLR(A) are the accesses within reach of A, strictly before or after it, by the same user.

    >>> list(region({"b": (2, 6), "c": (0, 6)}))
    ['b']
    """
    return (url for url, (times, _) in near.items() if times > 0)


def inside(near: Near, satisfying: Collection[str]) -> bool:
    """Return whether a page is in TL(U), equation (11): near another one that is known to satisfy U.

    ``satisfying`` are the judged pages that do; the page's own accesses put it in no region of its own.
    """
    return any(url in satisfying for url in region(near))


def region_log(within: bool | None, counts: tuple[int, int], base: Base) -> float:
    """Return log I^TL: log f1 / P(U) in the region (12), log f2 / P(U) outside (13).

    ``counts`` are the judged pages in the region and the hits among them; all others are outside. None says
    that the log has no access to the page, so that nothing is known: factor 1, as where no page was judged
    in the region, or none outside. No hit counts as half a hit, at most factor 1.

    >>> base = Base(100, 20)
    >>> [round(math.exp(region_log(within, (40, 16), base)), 3) for within in (True, False, None)]
    [2.0, 0.333, 1.0]
    """
    if within is None:
        return 0.0
    pages, hits = counts
    found = ratio(pages, hits, base) if within else ratio(base.pages - pages, base.hits - hits, base)
    return math.log(found)


#: Pages whose words make a signature, and words of each.
SIGNERS = 16
WORDS = 64


def signers(
    near: Mapping[str, tuple[int, int]], judged: Mapping[str, bytes], page_id: bytes, bound: int = SIGNERS
) -> list[bytes]:
    r"""Return the identifiers of the judged pages that sign the page ``page_id``: ``bound``, by lowest rank.

    ``near`` are the pages that lie together with it (`models.crowd.trace.Trace.together`), ``judged`` the
    identifiers of judged pages. Which pages sign depends on these sets alone (`models.interest.factors`).

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


def crowd_table(t: float, denominator: Denominator) -> RatioTable:
    """Return an empty table of users, or of words of signatures.

    With the paper's denominator T is that of equation (10), over N: signatures are "quite analogous" to users.
    """
    return RatioTable(t, denominator, sample="pages")


def affinity_log(visitors: Iterable[str], users: RatioTable) -> float:
    """Return log I^B of a page, equation (9), over the users with T >= t alone.

    ``visitors`` are the distinct users kept of the page (`models.crowd.trace.Trace.visitors`). The interest
    ratio of a user, P(U|R_i) / P(U) (8), is that of the event "the user visited the page" over the judged
    pages.
    """
    logs = users.logs
    return math.fsum(logs[name] for name in visitors if name in logs)
