"""Signature features: the words of what a page's users visited near by (Aggarwal 2004, section 3.1, I^SF).

The paper leaves the form open. Here a page's signature are the words of the judged pages that its users
visited within the reach of one of their accesses to it, and each word is a feature, like a word of an
in-linking page (equations 5 to 7). It is bounded: so many pages, and of each so many words.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from models.interest.parents import kept
from models.interest.table import RatioTable

#: Pages whose words make a signature, and words of each.
SIGNERS = 16
WORDS = 64


def signers(
    near: Mapping[str, tuple[int, int]], judged: Mapping[str, bytes], page_id: bytes, bound: int = SIGNERS
) -> list[bytes]:
    r"""Return the identifiers of the judged pages that sign the page ``page_id``: ``bound``, by lowest rank.

    ``near`` are the pages that lie together with it (`models.crowd.trace.Trace.together`), ``judged`` the
    identifiers of judged pages. Which pages sign depends on these sets alone (`models.interest.parents`).

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


def signature_log(words: Iterable[str], table: RatioTable) -> float:
    """Return log I^SF of a page with the signature ``words``: the significant ones' log ratios, added up."""
    logs = table.logs
    return math.fsum(logs[name] for name in words if name in logs)
