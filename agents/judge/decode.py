"""The kind of a body by its first bytes, and its text in the encoding that browsers find; never fails.

Only HTML and text are read (WHATWG MIME Sniffing standard, sections 6, signatures, and 3, binary data bytes).
Headers that call a picture HTML are common, and so is HTML with a stray NUL: a few control characters are
allowed. Declarations of an encoding are read by w3lib, guesses are charset-normalizer's.
"""

import re
from types import MappingProxyType

from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom, to_unicode

from scentline.models.formats import UNKNOWN

#: The encodings of pages (WHATWG Encoding standard, 4.2) by Python's names. Python has others, such as rot13.
_CODECS = frozenset({
    "big5hkscs", "cp866", "cp874", "cp932", "cp949", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255",
    "cp1256", "cp1257", "cp1258", "euc_jp", "gb18030", "iso2022_jp", "iso8859-2", "iso8859-3", "iso8859-4",
    "iso8859-5", "iso8859-6", "iso8859-7", "iso8859-8", "iso8859-10", "iso8859-13", "iso8859-14", "iso8859-15",
    "iso8859-16", "koi8-r", "koi8-u", "mac-roman", "utf-8", "utf-16-le", "utf-16-be",
})  # fmt: skip
_UTF_16 = {"utf-16": "utf-16-le"}  # as browsers read it, whatever the machine

_HIGH = re.compile(rb"[\x80-\xff]")
_ASCII = bytes(range(0x80))
_DETECT_BYTES = 4096
# The encodings to guess from: those of pages without a declaration.
_GUESSES = [
    *("cp1252", "cp1251", "koi8_r", "cp1250", "cp1253", "cp1254", "cp1255", "cp1256"),
    *("cp932", "euc_jp", "gb18030", "big5", "cp949"),
]
_SNIFFED = 1024
#: Share of the first bytes that may be control characters which no text has.
_STRAY = 0.05
_SIGNATURES = MappingProxyType({
    b"%PDF-": "PDF",
    b"%!PS": "PostScript",
    b"\x04%!PS": "PostScript",
    b"GIF87a": "GIF image",
    b"GIF89a": "GIF image",
    b"\x89PNG\r\n\x1a\n": "PNG image",
    b"\xff\xd8\xff": "JPEG image",
    b"BM\x00\x00": "BMP image",
    b"\x00\x00\x01\x00": "icon",
    b"II*\x00": "TIFF image",
    b"MM\x00*": "TIFF image",
    b"RIFF": "RIFF media",
    b"OggS\x00": "Ogg media",
    b"ID3": "MP3 audio",
    b"fLaC": "FLAC audio",
    b"MThd\x00\x00\x00\x06": "MIDI audio",
    b"\x1a\x45\xdf\xa3": "Matroska video",
    b"\x00\x00\x01\xba": "MPEG video",
    b"wOFF": "font",
    b"wOF2": "font",
    b"PK\x03\x04": "ZIP archive",
    b"\x1f\x8b\x08": "gzip archive",
    b"BZh": "bzip2 archive",
    b"\xfd7zXZ\x00": "xz archive",
    b"\x28\xb5\x2f\xfd": "Zstandard archive",
    b"7z\xbc\xaf\x27\x1c": "7z archive",
    b"Rar!\x1a\x07": "RAR archive",
    b"\x1f\x9d": "compress archive",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "Office document",
    b"\x7fELF": "program",
    b"MZ\x90\x00": "program",
    b"\x00asm": "program",
    b"\xca\xfe\xba\xbe": "Java class",
    b"SQLite format 3\x00": "database",
})  # fmt: skip
_ANY = tuple(_SIGNATURES)
_CONTROLS = bytes((*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)))
_TEXT = bytes(sorted(set(range(0x100)) - set(_CONTROLS)))


def decode(body: bytes, content_type: str | None) -> str:
    r"""Return the text of ``body``.

    The encoding is, in this order: a byte order mark's, the one ``content_type`` (the HTTP header) declares,
    the one that the head of the page declares, UTF-8, a guess from the first 4,096 bytes with something beyond
    ASCII in them. A declaration that does not fit the bytes is skipped, unless nothing fits them all and this
    fits nearly all. What can't be decoded becomes U+FFFD.

    >>> decode(b"caf\xe9", "text/html; charset=ISO-8859-1")
    'café'
    """
    marked, mark = read_bom(body)
    if marked is not None and mark is not None:
        return to_unicode(body[len(mark) :], marked)
    in_header, in_page = http_content_type_encoding(content_type), html_body_declared_encoding(body)
    if in_page and in_page.startswith("utf-16"):  # wrong: the declaration itself was readable
        in_page = "utf-8"
    candidates = [
        codec
        for name in (in_header, in_page, "utf-8")
        if name and (codec := _UTF_16.get(name, name)) in _CODECS
    ]
    for codec in candidates:
        try:
            return body.decode(codec)
        except UnicodeDecodeError:
            continue
    for codec in candidates:
        text = to_unicode(body, codec)
        if _nearly_fits(text, body):
            return text
    return to_unicode(body, _guess(body))


def _nearly_fits(text: str, body: bytes) -> bool:
    """Return whether at most a tenth of the bytes beyond ASCII could not be decoded."""
    return text.count("\ufffd") * 10 <= len(body.translate(None, _ASCII))


def _guess(body: bytes) -> str:
    first = _HIGH.search(body)
    if first is None:  # broken escapes of a seven-bit encoding
        return "cp1252"
    start = max(body.rfind(sign, 0, first.start()) for sign in (b">", b"\n")) + 1
    start = max(start, first.start() - _DETECT_BYTES // 2)
    sample = body[start : start + _DETECT_BYTES]
    if len(sample) == _DETECT_BYTES:  # no character cut in two
        sample = sample[: max(sample.rfind(b"\n"), sample.rfind(b"<"), sample.rfind(b" ")) + 1] or sample
    # Imported here: only a guess needs it.
    from charset_normalizer import from_bytes

    matches = from_bytes(sample, steps=3, chunk_size=256, cp_isolation=_GUESSES)
    best = matches.best()
    if best is None or "cp1252" in best.could_be_from_charset:
        return "cp1252"
    for match in matches:
        # As good a guess as the best: prefer the commonest encoding.
        if match.encoding == "cp1252" and match.chaos <= best.chaos and match.coherence >= best.coherence:
            return "cp1252"
    return best.encoding


def kind_of(content_type: str | None) -> str:
    """Return the media type of a header, empty if it says nothing of the bytes."""
    kind = (content_type or "").partition(";")[0].strip().lower()
    return "" if "/" not in kind or kind in UNKNOWN else kind


def binary(body: bytes, wide: bool = False) -> str:
    r"""Return the kind of binary data in a body, empty for text. ``wide``: it is declared as UTF-16.

    >>> binary(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    'PNG image'
    >>> binary(b"<p>a stray \0 in a page that goes on in plain words all the same</p>")
    ''
    """
    head = body[:_SNIFFED]
    if head.startswith(_ANY):
        return next(name for signature, name in _SIGNATURES.items() if head.startswith(signature))
    if wide or read_bom(head)[0] is not None:
        return ""
    controls = len(head.translate(None, _TEXT))
    return "binary data" if controls > _STRAY * len(head) else ""
