"""Whatever stands in a message, a decoder gives a record or a `RecordError` of one short line."""

from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from bench.fuzz.messages import message
from scentline.models.page import Link
from scentline.streams.records import VERSION, DeadLetter, FetchedPage, FetchOrder, Interests, Pack

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=30,
)
tags = st.sampled_from([
    "seeded", "inherited", "linked", "visited", "near", "together", "met", "judged", "failed", "redirected",
    "count", "label", "prior", "start", "a kind of a later day",
])  # fmt: skip
numbers = st.integers(-(2**63), 2**64 - 1)
facts = st.tuples(numbers, numbers, st.builds(lambda tag, rest: [tag, *rest], tags, st.lists(values)))
packs = st.builds(lambda found: [VERSION, "source", found], st.lists(facts, max_size=3))
messages = (
    st.binary(max_size=300) | st.builds(msgspec.msgpack.encode, values | packs)
    | st.builds(msgspec.json.encode, values) | st.text().map(str.encode)
)  # fmt: skip


def encoded(*parts: object) -> bytes:
    return msgspec.msgpack.encode(list(parts))


@given(messages)
@example(b"")
@example(b"\xc1")
@example(b"\x91" * 50_000)
@example(b"\xdd\xff\xff\xff\xff")
@example(b"\xdf\xff\xff\xff\xff" * 3)
@example(b"\xdb\xff\xff\xff\xff a string that ends early")
@example(b"\xa4\xff\xfe\xfd\xfc")
@example(encoded(2**63))
@example(encoded(VERSION + 1, "of a later day"))
@example(encoded(VERSION, "source", [[0, 0, ["\0" * 1000]]]))
@example(encoded(VERSION, "source", [[0, 0, ["a\nsecret"]]]))
def test_any_bytes_are_a_record_or_an_error(data: bytes) -> None:
    message(data)


ORDER = FetchOrder(
    url="http://a.test/", order=1, predicate="p", policy="learned", explored=False, probability=0.5,
    priority=1.0, depth=2, lease=3.0,
)  # fmt: skip
LINK = Link("http://a.test/b", ("anchor",), ("words", "around"))
WHOLE = [
    ORDER,
    FetchedPage(order=ORDER, status=200, headers={"a": "b"}, body=b"body", time=1.0, elapsed=0.1),
    Interests(predicates=("p",), names=("w:word",), pages=b"\3\0\0\0", hits=b"\1\0\0\0"),
    DeadLetter(topic="pages", partition=0, offset=9, reason="why", value=b"what", time=1.0),
    Pack[Any](source="judge", facts=[(1, 0, ["judged", "http://a.test/", {"p": True}, 1.0])]),
    Pack[Any](source="judge", facts=[(1, 0, ["linked", b"page", "http://a.test/", 0, {}, (), (LINK,), (0,)])]),
]


@given(st.data())
def test_damaged_records_are_records_or_errors(data: st.DataObject) -> None:
    for record in WHOLE:
        whole = bytearray(msgspec.msgpack.encode(record))
        for place, byte in data.draw(st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255)))):
            whole[place] = byte
        message(bytes(whole[: data.draw(st.integers(0, len(whole)))]))
