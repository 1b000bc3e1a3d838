"""Which of a page's judged in-linking pages contribute words and siblings, where there are too many."""

from bisect import insort
from collections.abc import Iterable, Sequence


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
