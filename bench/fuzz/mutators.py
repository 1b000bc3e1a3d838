"""Mutations that keep an input's structure, so that what is behind a reader's first check is reached too.

Each takes bytes and chance, and returns other bytes; what has not the structure is changed byte by byte.
"""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from random import Random
from typing import Any

import msgspec
import zstandard

from scentline.models.sealed import digest

Mutator = Callable[[bytes, Random], bytes]

#: What has hurt somebody somewhere, as a value of a record, a header or an attribute.
NASTY: tuple[Any, ...] = (
    None, True, 0, -1, 2**31, 2**63 - 1, -(2**63), math.nan, math.inf, -math.inf, 1e300, 253402300800.0, "",
    "x", "http://", "http://xn--n3h.net/", "http://xn--/", "http://u:p@a.test/", "=1+1",
    "http://a.test:65536/",
    "a" * 3000, "a\u0315\u0300" * 20, "\u202e\u0000\n\r", "é;ü=ö", "\ufdfa" * 9, [], {}, b"", b"\xff" * 40,
    [[[[[[]]]]]],
)  # fmt: skip
_MOST = 100_000


def by_bytes(data: bytes, random: Random) -> bytes:
    """Change, take out, double or insert a few bytes."""
    found = bytearray(data)
    for _ in range(random.randint(1, 4)):
        start = random.randint(0, len(found))
        end = min(len(found), start + random.choice((0, 1, 1, 2, 8, 64)))
        found[start:end] = random.choice((
            b"", random.randbytes(end - start), bytes(found[start:end]) * random.randint(1, 50),
            bytes((random.randrange(256),)) * random.randint(1, 300),
        ))  # fmt: skip
    return bytes(found[:_MOST])


def by_pieces(mark: bytes, *others: bytes) -> Mutator:
    """Return a mutator of what is made of pieces that begin with ``mark``; ``others`` are put among them."""

    def mutate(data: bytes, random: Random) -> bytes:
        pieces = [mark + piece for piece in data.split(mark)]
        pieces[0] = pieces[0].removeprefix(mark)
        for _ in range(random.randint(1, 5)):
            place = random.randrange(len(pieces))
            match random.randrange(5):
                case 0:
                    del pieces[place]
                case 1:
                    pieces[place:place] = [pieces[place]] * random.randint(1, 200)
                case 2:
                    pieces.insert(place, mark + random.choice(others) + _text(random).encode(errors="replace"))
                case 3:
                    pieces[place] = by_bytes(pieces[place], random)
                case _:
                    random.shuffle(pieces)
            pieces = pieces or [mark]
        return b"".join(pieces)[:_MOST]

    return mutate


def by_tree(data: bytes, random: Random) -> bytes:
    """Change values of a record, in MessagePack or JSON."""
    form: Any = msgspec.json if data.startswith(b"{") else msgspec.msgpack
    try:
        tree: Any = [form.decode(data)]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return by_bytes(data, random)
    for _ in range(random.randint(1, 4)):
        _change(tree, random)
    with suppress(TypeError, ValueError, OverflowError, msgspec.MsgspecError, RecursionError):
        return bytes(form.encode(tree[0])[:_MOST])
    return by_bytes(data, random)


def by_seal(data: bytes, random: Random) -> bytes:
    """Change what a sealed file holds, and seal it again."""
    try:
        document = msgspec.msgpack.decode(zstandard.ZstdDecompressor().stream_reader(data).read(_MOST))
        document["body"] = by_tree(document["body"], random)
        document["checksum"] = digest(document["body"])
    except (zstandard.ZstdError, msgspec.MsgspecError, ValueError, RecursionError, LookupError, TypeError):
        return by_bytes(data, random)
    except AttributeError:  # its body is no text of bytes
        return by_bytes(data, random)
    whole = msgspec.msgpack.encode(document)
    return zstandard.ZstdCompressor().compress(whole if random.random() < 0.8 else by_tree(whole, random))


def _change(node: Any, random: Random) -> None:
    """Change one value within a list or a map, here or further down."""
    keys = list(node) if isinstance(node, dict) else range(len(node))
    if not keys:
        return
    key = random.choice(keys)
    if isinstance(node[key], list | dict) and node[key] and random.random() < 0.85:
        _change(node[key], random)
    elif isinstance(node, list) and random.random() < 0.2:
        node[key:key] = [node[key]] * random.randint(1, 5)
    elif isinstance(node[key], bytes) and random.random() < 0.5:
        node[key] = by_bytes(node[key], random)
    else:
        node[key] = random.choice(NASTY)


def _text(random: Random) -> str:
    return str(random.choice(NASTY)) * random.choice((1, 1, 1, 30))


#: The mutator of each reader's input.
MUTATORS: Mapping[str, Mutator] = {
    "page": by_pieces(
        b"<", b"a href=", b"/a>", b"base href=", b"meta charset=", b"title>", b"b>", b"/i>", b"table><tr>",
        b"!--", b"script>", b"svg>", b"template>", b"form>", b"/p>", b"body>", b"![CDATA[", b"plaintext>",
        b"link rel=canonical href=", b"meta http-equiv=refresh content=", b"iframe src=", b"select><option>",
    ),
    "document": by_pieces(
        b"<", b"/Kids [1 0 R]", b"/Parent 1 0 R>", b"stream\n", b"/Length ", b"/Filter [/FlateDecode", b"R>",
        b"w:p>", b"w:t>", b"/URI(http://a.test/)>", b"item>", b"link>", b"!DOCTYPE", b"/Rect [0 0 99 99]",
        b"a 1 0 obj\n<", b"/Annots [1 0 R]", b"/First 1 0 R/Next 1 0 R", b"/Encrypt 1 0 R",
    ),
    "log": by_pieces(
        b" ", b"-", b'"', b"[", b"GET http://a.test/", b"200", b"01/Feb/2024:10:00:00 +0000]", b"1e9"
    ),
    "url": by_pieces(
        b"/", b"..", b".", b"?", b"#", b"//", b"xn--", b"@", b"[::1]", b"%25", b"\xe2\x98\x83", b":80"
    ),
    "predicate": by_pieces(
        b" ", b"(", b")", b'"', b"not ", b"and ", b'title("', b'url("', b"or ", b'category("'
    ),
    "robots": by_pieces(
        b"\n", b"User-agent: *", b"Disallow: /", b"Allow: /*", b"Crawl-delay: ", b"Sitemap: "
    ),
    "sitemap": by_pieces(
        b"<", b"loc>", b"/loc>", b"url>", b"sitemap>", b"lastmod>", b"2024-02-", b"urlset ", b"!ENTITY ",
        b"?xml encoding=", b"<rss>", b"<feed>", b"item>", b"entry>", b"link>", b'link href="', b"updated>",
    ),
    "http": by_pieces(
        b"\r\n", b"Location: ", b"Link: ", b"ETag: ", b"Content-Type: text/html; charset=", b"Set-Cookie: ",
        b"Content-Length: ", b"Content-Encoding: ", b"Transfer-Encoding: ", b"Retry-After: ", b"HTTP/1.1 ",
        b"X-Robots-Tag: ", b"Last-Modified: ", b"Content-Language: ", b"\r\n",
    ),
    "record": by_tree,
    "sealed": by_seal,
    "warc": by_pieces(
        b"\r\n", b"WARC/1.0\r\n", b"WARC-Type: response\r\n", b"WARC-Target-URI: ", b"Content-Length: ",
        b"HTTP/1.1 ", b"Transfer-Encoding: chunked\r\n", b"Content-Encoding: ",
    ),
}  # fmt: skip
