"""What a body is, by its first bytes: HTML and text are read, all else is let be.

WHATWG MIME Sniffing standard, sections 6 (signatures) and 3 (binary data bytes). A header that calls a
picture HTML is common, and so is HTML with a stray NUL: a few control characters are forgiven.
"""

from types import MappingProxyType

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
_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")


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
    if wide or head.startswith(_BOMS):
        return ""
    controls = len(head.translate(None, _TEXT))
    return "binary data" if controls > _STRAY * len(head) else ""
