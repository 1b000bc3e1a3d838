"""What a body is, by its first bytes, and its text, as browsers find the encoding; never fails.

HTML and text are read, all else is let be: WHATWG MIME Sniffing standard, sections 6 (signatures) and 3 (binary
data bytes). A header that calls a picture HTML is common, and so is HTML with a stray NUL: a few control
characters are forgiven.
"""

import re
from types import MappingProxyType

# Codec and the labels that mean it (WHATWG Encoding standard, 4.2; the common ones). A label that is not here
# names no encoding: Python's own look-up would import by the name and remember every wrong one.
_CODECS = """
utf-8: utf-8 utf8 unicode-1-1-utf-8
utf-16-le: utf-16 utf-16le unicode
utf-16-be: utf-16be
cp1252: windows-1252 cp1252 x-cp1252 iso-8859-1 iso8859-1 iso88591 iso_8859-1 latin1 latin-1 l1 ascii us-ascii
cp1250: windows-1250 cp1250 x-cp1250
cp1251: windows-1251 cp1251 x-cp1251
cp1253: windows-1253 cp1253
cp1254: windows-1254 cp1254 iso-8859-9 iso8859-9 latin5
cp1255: windows-1255 cp1255
cp1256: windows-1256 cp1256
cp1257: windows-1257 cp1257
cp1258: windows-1258 cp1258
cp874: windows-874 iso-8859-11 tis-620
cp866: ibm866 cp866 866
iso8859-2: iso-8859-2 iso8859-2 latin2
iso8859-3: iso-8859-3 latin3
iso8859-4: iso-8859-4 latin4
iso8859-5: iso-8859-5
iso8859-6: iso-8859-6
iso8859-7: iso-8859-7 greek
iso8859-8: iso-8859-8 iso-8859-8-i hebrew visual logical
iso8859-10: iso-8859-10
iso8859-13: iso-8859-13
iso8859-14: iso-8859-14
iso8859-15: iso-8859-15 latin-9 latin9
iso8859-16: iso-8859-16
koi8-r: koi8-r koi8 koi
koi8-u: koi8-u
mac-roman: macintosh mac x-mac-roman
mac-cyrillic: x-mac-cyrillic
gb18030: gb18030 gbk gb2312 gb_2312-80 x-gbk chinese
big5hkscs: big5 big5-hkscs x-x-big5
cp932: shift_jis shift-jis sjis x-sjis ms_kanji windows-31j
euc_jp: euc-jp x-euc-jp
iso2022_jp: iso-2022-jp
cp949: euc-kr ks_c_5601-1987 ks_c_5601 korean windows-949
"""
_LABELS = MappingProxyType(
    {
        label: codec
        for codec, _, labels in (line.partition(": ") for line in _CODECS.split("\n"))
        for label in labels.split()
    }
)
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"))
_MARKS = tuple(mark for mark, _ in _BOMS)

_HTTP_CHARSET = re.compile(r"charset\s{0,9}=\s{0,9}[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
# <meta charset=...>, <meta http-equiv content="text/html; charset=...">, <?xml encoding=...?>.
_META = re.compile(
    rb"<(?:meta\b[^>]{0,300}?\bcharset|\?xml\b[^>]{0,100}?\bencoding)\s{0,9}=\s{0,9}[\"']?\s{0,9}([\w.:-]{1,40})",
    re.IGNORECASE,
)
_META_BYTES = 2048

_HIGH = re.compile(rb"[\x80-\xff]")
_ASCII = bytes(range(0x80))
_DETECT_BYTES = 4096
# Where guesses are confined to: what pages without a declaration are written in.
_GUESSES = [
    *("cp1252", "cp1251", "koi8_r", "cp1250", "cp1253", "cp1254", "cp1255", "cp1256"),
    *("cp932", "euc_jp", "gb18030", "big5", "cp949"),
]
_SNIFFED = 1024
#: Part of the first bytes that may be control characters which no text has.
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
    the one a ``meta`` element in the first 2,048 bytes declares, UTF-8, a guess from the first 4,096 bytes
    with something beyond ASCII in them. What does not fit the bytes is passed over, unless nothing fits
    them all and this fits nearly all; what can't be decoded becomes U+FFFD.

    >>> decode(b"caf\xe9", "text/html; charset=ISO-8859-1")
    'café'
    """
    for mark, codec in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(codec, "replace")
    declared = _declared(body, content_type)
    for codec in (*declared, "utf-8"):
        try:
            return body.decode(codec)
        except UnicodeDecodeError:
            continue
    for codec in (*declared, "utf-8"):
        text = body.decode(codec, "replace")
        if _nearly_fits(text, body):
            return text
    return body.decode(_guess(body), "replace")


def _declared(body: bytes, content_type: str | None) -> list[str]:
    """Return the codecs that header and meta element declare, in this order."""
    header = _HTTP_CHARSET.search(content_type) if content_type else None
    head = body[:_META_BYTES]
    meta = _META.search(_COMMENT.sub(b"", head) if b"<!--" in head else head)
    in_header = _LABELS.get(header[1].lower()) if header else None
    in_meta = _LABELS.get(meta[1].decode("ascii").lower()) if meta else None
    if in_meta and in_meta.startswith("utf-16"):  # not so: the element itself could be read
        in_meta = "utf-8"
    return [codec for codec in (in_header, in_meta) if codec]


def _nearly_fits(text: str, body: bytes) -> bool:
    """Tell whether at most a tenth of what is beyond ASCII could not be decoded."""
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
    # Imported where a page has to be guessed at.
    from charset_normalizer import from_bytes

    matches = from_bytes(sample, steps=3, chunk_size=256, cp_isolation=_GUESSES)
    best = matches.best()
    if best is None or "cp1252" in best.could_be_from_charset:
        return "cp1252"
    for match in matches:
        # As good a guess as the best: the commonest encoding it is.
        if match.encoding == "cp1252" and match.chaos <= best.chaos and match.coherence >= best.coherence:
            return "cp1252"
    return best.encoding


def binary(body: bytes, wide: bool = False) -> str:
    r"""Return what kind of binary data a body is; empty for text. ``wide`` is text declared as UTF-16.

    >>> binary(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    'PNG image'
    >>> binary(b"<p>a stray \0 in a page that goes on in plain words all the same</p>")
    ''
    """
    head = body[:_SNIFFED]
    if head.startswith(_ANY):
        return next(name for signature, name in _SIGNATURES.items() if head.startswith(signature))
    if wide or head.startswith(_MARKS):
        return ""
    controls = len(head.translate(None, _TEXT))
    return "binary data" if controls > _STRAY * len(head) else ""
