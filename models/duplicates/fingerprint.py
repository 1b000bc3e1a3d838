"""What of a page's text is compared with that of others."""

from hashlib import blake2b

import msgspec

from models.duplicates.sketch import Sketch, sketch
from models.page import Page
from models.traps.barren import space


class Fingerprint(msgspec.Struct, array_like=True, frozen=True):
    """A page's sketch, None where it has too few words, and a hash of what is there beside digits.

    The hash is empty for a URL that has no numbers.
    """

    sketch: Sketch | None = None
    plain: bytes = b""


#: That of a page which is compared with none.
NONE = Fingerprint()


def fingerprint(page: Page, least: int) -> Fingerprint:
    """Return a page's fingerprint; its sketch, where the text has at least so many shingles.

    >>> fingerprint(Page("http://example.org/2", text="few words"), 50).sketch is None
    True
    """
    found = sketch(f"{page.title} {page.text}", least)
    if space(page.url) is None:
        return Fingerprint(found)
    text = f"{page.title}\n{page.text}".encode("utf-8", "replace").translate(None, b"0123456789")
    return Fingerprint(found, blake2b(text, digest_size=8).digest())
