"""What a body holds that comes in chunks and encodings, cut short or endless, and its text."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scentline.agents.fetch.result import MAX_MEMBERS, FetchError, inflated, read_body
from scentline.agents.judge.decode import decode
from tests.cases import each_case


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


def members(data: bytes) -> bytes:
    return gzip.compress(data[:7]) + gzip.compress(data[7:]) + gzip.compress(b"")


PACKERS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("", bytes), ("Identity", bytes), ("GZIP", gzip.compress), ("gzip, identity", members),
    ("x-gzip", members), ("deflate", zlib.compress), ("deflate", raw_deflate),
]  # fmt: skip


def unpacked(
    data: bytes, encoding: str, limit: int, sizes: Sequence[int] = (65_536,), *, cut: bool = False,
    ratio: int = 10**5,
) -> bytes:  # fmt: skip
    async def chunks() -> AsyncIterator[bytes]:
        start = 0
        while start < len(data):
            size = sizes[start % len(sizes)]
            yield data[start : start + size]
            start += size

    return asyncio.run(read_body(chunks(), encoding, limit, ratio, cut=cut))


def refused(*given: Any, **how: Any) -> tuple[str, str]:
    with pytest.raises(FetchError) as error:
        unpacked(*given, **how)
    return error.value.kind, error.value.reason


sizes = st.lists(st.integers(1, 50), min_size=1, max_size=5)
bodies = st.binary(max_size=200) | st.builds(
    lambda unit, times: unit * times, st.binary(max_size=9), st.integers(0, 9000)
)


@given(st.sampled_from(PACKERS), bodies, sizes, st.data())
@example(("gzip", lambda _: b""), b"", [1], None)
def test_every_encoding_is_undone_however_it_is_chunked_and_no_more_than_the_limit_is_returned(
    packer: tuple[str, Callable[[bytes], bytes]], data: bytes, sizes: list[int], draw: st.DataObject | None
) -> None:
    encoding, pack = packer
    packed = pack(data)
    assert unpacked(packed, encoding, max(len(packed), len(data)), sizes) == data
    if data and draw is not None:
        limit = draw.draw(st.integers(0, len(data) - 1))
        assert refused(packed, encoding, limit, sizes) == ("unfit", f"body over {limit} bytes")
        assert data[:limit].startswith(unpacked(packed, encoding, limit, sizes, cut=True))


@each_case(
    ("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", raw_deflate)]
)
def test_each_cut_of_a_body_is_noticed_what_follows_not(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(b"some text, some more text")
    for end in range(1, len(packed)):
        assert refused(packed[:end], encoding, 1000) == ("retry", "body cut short")
    for rest in (b"\0\0rubbish", b"rubbish"):
        for size in (1, 1000):
            assert unpacked(packed + rest, encoding, 1000, [size]) == b"some text, some more text"


def test_cutting_reads_no_further() -> None:
    taken = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal taken
        while True:
            taken += 10
            yield b"0123456789"

    assert asyncio.run(read_body(endless(), "", 25, 200, cut=True)) == b"0123456789012345678901234"
    assert taken == 30


@each_case("encoding", ["br", "zstd", "gzip, gzip", "gzip\0", "x" * 1000])
def test_other_encodings_are_refused(encoding: str) -> None:
    assert refused(b"", encoding, 10) == ("unfit", "content encoding")


@each_case("cut", [False, True])
def test_a_body_that_grows_beyond_the_ratio_is_refused_however_it_is_cut(cut: bool) -> None:
    data = gzip.compress(bytes(200_000))
    ratio = 200_000 // len(data)
    expected = "unfit", f"compressed over {ratio} to 1"
    assert refused(data, "gzip", 10**6, cut=cut, ratio=ratio) == expected
    assert len(unpacked(data, "gzip", 10**6, cut=cut, ratio=ratio + 1)) == 200_000
    assert len(unpacked(gzip.compress(bytes(100_000)), "gzip", 10**6, ratio=1)) == 100_000, "of a small one any"


@each_case(("data", "cut"), [(b"abc" * 1000, b"abca"), (b"", b"")])
def test_a_file_in_gzip_is_cut_at_the_limit_and_told_from_a_damaged_one(data: bytes, cut: bytes) -> None:
    packed = gzip.compress(data)
    assert (inflated(packed, 10**6, gzip=True), inflated(packed, 4, gzip=True)) == (data, cut)
    for damaged in (packed[:-3], b"\x1f\x8bnothing"):
        with pytest.raises(FetchError):
            inflated(damaged, 10**6, gzip=True)


def test_a_body_of_very_many_members_is_refused() -> None:
    members = gzip.compress(b"") * MAX_MEMBERS
    assert unpacked(members, "gzip", len(members)) == b""
    more = members + gzip.compress(b"x")
    assert refused(more, "gzip", len(more)) == ("unfit", f"over {MAX_MEMBERS} gzip members")
    with pytest.raises(FetchError, match="gzip members"):
        inflated(more, 100, gzip=True)


# text


RUSSIAN = "Привет, это страница о хоккее. Москва — столица России, большой город на реке. " * 5
JAPANESE = "これは日本語のページです。東京は日本の首都です。スポーツについて書いています。" * 5
POLISH = "Wszystkie kobiety i mężczyźni są równi. Łódź jest dużym miastem w środku kraju. " * 5
GERMAN = "Die Straße in München ist schön und die Bäume sind grün. Über den Flüssen wächst nichts. " * 5
FRENCH = "L'été dernier, le garçon est allé à la plage où il a mangé des crêpes très sucrées. " * 5


@each_case(
    ("body", "content_type", "text"),
    [
        # A byte order mark comes before the header, and that before the page.
        (b"\xef\xbb\xbfcaf\xc3\xa9", "text/html; charset=iso-8859-1", "café"),
        (b"\xff\xfec\0a\0", "text/html; charset=utf-8", "ca"),
        (b"\xfe\xff\0c\0a", None, "ca"),
        ('<meta charset="windows-1251">café'.encode("cp1252"), "text/html; charset=windows-1252", "café"),
        # As in browsers, a label may mean more than it says.
        (b"\x93caf\xe9\x94 \x80", "text/html; charset=ISO-8859-1", "“café” €"),
        ("镕基".encode("gb18030"), "text/html;charset=gb2312", "镕基"),
        ("né".encode("utf-16-le"), "text/html; charset=utf-16", "né"),
        ('<meta charset="utf-16">é!'.encode(), None, "é!"),
        # Without a declaration, or with a wrong one.
        (RUSSIAN.encode(), None, RUSSIAN),
        (RUSSIAN.encode(), "text/html; charset=shift_jis", RUSSIAN),
        (b"<meta charset=windows-1251>" + RUSSIAN.encode("cp1251"), "text/html; charset=utf-8", RUSSIAN),
        (FRENCH.encode("cp1252"), "text/html; charset=utf-8", FRENCH),
        (b"caf\xe9", None, "café"),
        # A few broken bytes do not change the encoding.
        (RUSSIAN.encode() + b"\xff!", "text/html; charset=utf-8", RUSSIAN + "\ufffd!"),
        (b"<p>" + RUSSIAN.encode() + b"\xd0", None, RUSSIAN + "\ufffd"),
        *(((head + RUSSIAN).encode("koi8-r", "replace"), "text/html", RUSSIAN.replace("—", "?")) for head in (
            '<meta charset="koi8-r">', "<META CHARSET = koi8-r>", '<?xml version="1.0" encoding="KOI8-R"?>',
            "<meta http-equiv='Content-Type' content='text/html; charset=koi8-r'>",
            "<!-- <meta charset=windows-1252> --><meta charset=koi8-r>", "<meta charset=no-such-charset>")),
    ],
)  # fmt: skip
def test_a_page_is_read_in_the_encoding_of_browsers(body: bytes, content_type: str | None, text: str) -> None:
    assert decode(body, content_type).endswith(text)


@each_case("label", ["", "x" * 1000, "rot13", "hex", "idna", "unicode_escape", "utf-7", "é", '"'])
def test_unknown_label_is_passed_over(label: str) -> None:
    assert decode("é+AGE-\\u0061".encode(), f"text/html; charset={label}") == "é+AGE-\\u0061"


@each_case(
    ("text", "codec"),
    [
        (RUSSIAN, "cp1251"), (RUSSIAN.replace("—", "-"), "koi8-r"), (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"), (POLISH, "cp1250"), (GERMAN, "cp1252"), (FRENCH, "cp1252"),
        ("这是一个关于体育的网页。北京是中国的首都。" * 10, "gbk"),
    ],
)  # fmt: skip
def test_undeclared_encoding_is_detected_after_a_long_ascii_head(text: str, codec: str) -> None:
    head = b"<html><head><title>x</title>\n" + b"<style>p {}</style>\n" * 1000
    assert decode(head + text.encode(codec), "text/html")[len(head) :] == text
