import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.fetch.body import MAX_MEMBERS, gunzip, read
from scentline.agents.fetch.result import FetchError
from tests.cases import each_case


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


def members(data: bytes) -> bytes:
    return gzip.compress(data[:7]) + gzip.compress(data[7:]) + gzip.compress(b"")


PACKERS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("", bytes),
    ("Identity", bytes),
    ("GZIP", gzip.compress),
    ("gzip, identity", members),
    ("deflate", zlib.compress),
    ("deflate", raw_deflate),
]


def unpacked(
    data: bytes, encoding: str, limit: int, sizes: list[int], *, cut: bool = False, ratio: int = 100_000
) -> bytes:
    async def chunks() -> AsyncIterator[bytes]:
        start = 0
        while start < len(data):
            size = sizes[start % len(sizes)]
            yield data[start : start + size]
            start += size

    return asyncio.run(read(chunks(), encoding, limit, ratio, cut=cut))


sizes = st.lists(st.integers(1, 50), min_size=1, max_size=5)
bodies = st.binary(max_size=200) | st.builds(
    lambda unit, times: unit * times, st.binary(max_size=9), st.integers(0, 9000)
)


@given(st.sampled_from(PACKERS), bodies, sizes)
def test_every_encoding_is_undone_however_it_is_chunked(
    packer: tuple[str, Callable[[bytes], bytes]], data: bytes, sizes: list[int]
) -> None:
    encoding, pack = packer
    packed = pack(data)
    assert unpacked(packed, encoding, max(len(packed), len(data)), sizes) == data


@given(st.sampled_from(PACKERS), bodies.filter(bool), sizes, st.data())
def test_no_more_than_the_limit_is_ever_returned(
    packer: tuple[str, Callable[[bytes], bytes]], data: bytes, sizes: list[int], draw: st.DataObject
) -> None:
    encoding, pack = packer
    limit = draw.draw(st.integers(0, len(data) - 1))
    with pytest.raises(FetchError) as refused:
        unpacked(pack(data), encoding, limit, sizes)
    assert (refused.value.kind, refused.value.reason) == ("refused", f"body over {limit} bytes")
    assert data[:limit].startswith(unpacked(pack(data), encoding, limit, sizes, cut=True))


@given(st.sampled_from(["gzip", "deflate", "identity"]), st.binary(max_size=100), sizes)
def test_rubbish_gives_a_body_or_an_error(encoding: str, data: bytes, sizes: list[int]) -> None:
    try:
        assert len(unpacked(data, encoding, 50, sizes)) <= 50
    except FetchError as error:
        assert error.reason in {"body over 50 bytes", "broken compression", "body cut short"}


@each_case("pack", [gzip.compress, zlib.compress, raw_deflate])
def test_every_cut_of_a_compressed_body_is_noticed(pack: Callable[[bytes], bytes]) -> None:
    packed = pack(b"some text, some more text")
    encoding = "gzip" if pack is gzip.compress else "deflate"
    for end in range(1, len(packed)):
        with pytest.raises(FetchError, match="body cut short"):
            unpacked(packed[:end], encoding, 1000, [1000])


def test_what_follows_a_compressed_body_is_passed_over() -> None:
    assert unpacked(gzip.compress(b"text") + b"\0\0rubbish", "gzip", 1000, [1]) == b"text"
    assert unpacked(zlib.compress(b"text") + b"rubbish", "deflate", 1000, [1000]) == b"text"


def test_an_empty_body_is_empty_in_every_encoding() -> None:
    assert unpacked(b"", "gzip", 10, [1]) == b""


def test_cutting_reads_no_further() -> None:
    taken = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal taken
        while True:
            taken += 10
            yield b"0123456789"

    assert asyncio.run(read(endless(), "", 25, 200, cut=True)) == b"0123456789012345678901234"
    assert taken == 30


@each_case("encoding", ["br", "zstd", "gzip, gzip", "gzip\0", "x" * 1000])
def test_other_encodings_are_refused(encoding: str) -> None:
    with pytest.raises(FetchError) as refused:
        unpacked(b"", encoding, 10, [1])
    assert (refused.value.kind, refused.value.reason) == ("refused", "content encoding")


@each_case("cut", [False, True])
def test_a_body_that_grows_beyond_the_ratio_is_refused_however_it_is_cut(cut: bool) -> None:
    data = gzip.compress(bytes(200_000))
    ratio = 200_000 // len(data)
    with pytest.raises(FetchError) as refused:
        unpacked(data, "gzip", 10**6, [len(data)], cut=cut, ratio=ratio)
    assert (refused.value.kind, refused.value.reason) == ("refused", f"compressed over {ratio} to 1")
    assert len(unpacked(data, "gzip", 10**6, [len(data)], cut=cut, ratio=ratio + 1)) == 200_000


def test_a_small_body_may_have_any_ratio() -> None:
    assert len(unpacked(gzip.compress(bytes(100_000)), "gzip", 10**6, [10**6], ratio=1)) == 100_000


def test_a_file_in_gzip_is_cut_at_the_limit_and_told_from_a_damaged_one() -> None:
    data = gzip.compress(b"abc" * 1000)
    assert gunzip(data, 10**6) == b"abc" * 1000
    assert gunzip(data, 4) == b"abca"
    with pytest.raises(FetchError):
        gunzip(data[:-3], 10**6)
    with pytest.raises(FetchError):
        gunzip(b"\x1f\x8bnothing", 10**6)


def test_a_body_of_very_many_members_is_refused() -> None:
    members = gzip.compress(b"") * MAX_MEMBERS
    assert unpacked(members, "gzip", len(members), [65_536]) == b""
    with pytest.raises(FetchError, match="gzip members"):
        unpacked(members + gzip.compress(b"x"), "gzip", 2 * len(members), [65_536])
    with pytest.raises(FetchError, match="gzip members"):
        gunzip(members + gzip.compress(b"x"), 100)
