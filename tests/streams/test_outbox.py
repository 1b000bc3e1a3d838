"""Emissions are cut into messages that hold neither too many facts nor too many bytes."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scentline.streams.facts import Met, SightingPack
from scentline.streams.outbox import PACK_BYTES, PACK_FACTS, Outbox
from scentline.streams.records import Decoder

decode = Decoder[Any](SightingPack)

#: How many facts a message gives rise to, for which partition, and their sizes.
emissions = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from([10, 10, 200_000, PACK_BYTES // 2, 3 * PACK_BYTES]),
        st.integers(1, 3),
    ),
    max_size=6,
)


@given(emissions)
def test_no_pack_of_several_facts_is_larger_than_allowed_and_each_fact_is_sent_once_in_order(
    emitted: list[tuple[int, int, int]],
) -> None:
    outbox = Outbox("pages/3")
    expected: dict[int, list[tuple[int, int, Met]]] = {0: [], 1: []}
    for offset, (partition, size, times) in enumerate(emitted):
        outbox.begin(offset)
        for index in range(times):
            fact = Met(b"u" * size, {}, ())
            outbox.emit("sightings", partition, fact)
            expected[partition].append((offset, index, fact))
    sent: dict[int, list[tuple[int, int, Met]]] = {0: [], 1: []}
    for _, partition, _, value in outbox.take():
        pack = decode(value or b"")
        assert pack.source == "pages/3"
        assert len(value or b"") <= PACK_BYTES or len(pack.facts) == 1
        sent[partition] += pack.facts
    assert sent == expected
    assert not outbox


def test_a_pack_that_fits_is_not_cut_by_its_bytes() -> None:
    outbox = Outbox("pages/3")
    outbox.begin(0)
    for _ in range(PACK_FACTS + 1):
        outbox.emit("sightings", 0, Met(b"u" * (PACK_BYTES // PACK_FACTS - 20), {}, ()))
    assert [len(decode(value or b"").facts) for _, _, _, value in outbox.take()] == [PACK_FACTS, 1]
