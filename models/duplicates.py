"""The likeness of two texts, estimated from MinHash sketches of their shingles.

Broder, On the resemblance of documents (SEQUENCES 1997): likeness is the overlap of the sets of shingles
(Jaccard), and the share of equal slots in two sketches estimates it. A shingle here is the 24 bytes of folded
UTF-8 from the start of a word, about four words; in scripts without spaces each character starts one.
The sketch is Rensa's R-MinHash.
"""

from hashlib import blake2b
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray
from rensa import RMinHash

from scentline.models.page import Page
from scentline.models.traps import space

#: Slots of a sketch: the standard error of an estimated likeness of .9 is .027.
SLOTS = 128
#: Slots of a band; two texts are compared if all slots of a band are equal. That finds 80, 99 and 100 % of
#: the texts with likeness .9, .95 and 1.
BAND = 16
#: Pages kept per band, the last judged: a band that many pages share does not indicate a duplicate.
BAND_PAGES = 8

#: A sketch: 128 numbers of four bytes.
Sketch: TypeAlias = bytes
_Hashes: TypeAlias = NDArray[np.uint64]

_SHINGLE = 24
_SPACE = 0x20
# From this byte on UTF-8 starts characters of three bytes: Indic, Thai, Chinese, Japanese, Korean.
_DENSE = 0xE0
_SEED = 1
# The golden ratio's 64 bits (Knuth, The Art of Computer Programming, 6.4): odd, so that no bits are lost.
_FACTOR = 0x9E3779B97F4A7C15
_SHIFT = 32


def sketch(text: str, least: int) -> Sketch | None:
    """Return the sketch of a text with single spaces; None if it has fewer than ``least`` shingles.

    >>> sketch("too short to tell", 50) is None
    True
    """
    shingles = _shingles(text)
    if len(shingles) < least:
        return None
    matrix: Any = RMinHash.digest_matrix_from_flat_token_hashes(shingles, [0, len(shingles)], SLOTS, _SEED)
    return np.array(matrix.to_rows()[0], dtype="<u4").tobytes()


def likeness(first: Sketch, second: Sketch) -> float:
    """Return the share of equal slots, which estimates how far the sets of shingles overlap."""
    equal = np.frombuffer(first, dtype="<u4") == np.frombuffer(second, dtype="<u4")
    return float(equal.mean())


def bands(of: Sketch) -> list[bytes]:
    """Return the index keys of a sketch: nine bytes for each band."""
    size = BAND * 4
    parts = [of[start : start + size] for start in range(0, len(of), size)]
    return [bytes([number]) + blake2b(part, digest_size=8).digest() for number, part in enumerate(parts)]


def _shingles(text: str) -> _Hashes:
    """Return a hash of each shingle."""
    data = np.frombuffer(f" {text.lower()}".encode("utf-8", "replace"), dtype=np.uint8)
    places = len(data) - _SHINGLE
    if places <= 0:
        return np.empty(0, dtype=np.uint64)
    before = data[:places]
    starts = np.flatnonzero((before == _SPACE) | (before >= _DENSE)) + 1
    # The 24 bytes at each start, as three numbers.
    from_all = np.ndarray((places + 1,), dtype=f"V{_SHINGLE}", buffer=data, strides=(1,))
    words: _Hashes = from_all[starts].view("<u8").reshape(-1, _SHINGLE // 8)
    mixed = np.zeros(len(starts), dtype=np.uint64)
    factor, shift = np.uint64(_FACTOR), np.uint64(_SHIFT)
    for eight in words.T:
        mixed = (mixed + eight) * factor
        mixed ^= mixed >> shift
    return mixed


class Fingerprint(msgspec.Struct, array_like=True, frozen=True):
    """The sketch of a page, and a hash of its text."""

    #: None if the page has too few words.
    sketch: Sketch | None = None
    #: Hash of the text without digits; empty for a URL without numbers.
    plain: bytes = b""


#: The fingerprint of a page that is not compared.
NONE = Fingerprint()


def fingerprint(page: Page, least: int) -> Fingerprint:
    """Return a page's fingerprint, with a sketch if the text has at least ``least`` shingles.

    >>> fingerprint(Page("http://example.org/2", text="few words"), 50).sketch is None
    True
    """
    found = sketch(f"{page.title} {page.text}", least)
    if space(page.url) is None:
        return Fingerprint(found)
    text = f"{page.title}\n{page.text}".encode("utf-8", "replace").translate(None, b"0123456789")
    return Fingerprint(found, blake2b(text, digest_size=8).digest())
