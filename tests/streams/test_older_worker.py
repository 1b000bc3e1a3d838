"""A worker one version behind: what it makes of messages that a newer one wrote."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from scentline.agents.crawl.connect import open_journal
from scentline.streams.absorber import Handler
from scentline.streams.facts import SightingPack, Visited
from scentline.streams.inbox import MARK, Mark, Shard
from scentline.streams.metrics.catalogue import DEAD_LETTERS as BURIED
from scentline.streams.records import VERSION, DeadLetter, Decoder, Pack, encode
from scentline.streams.settings import Settings
from scentline.streams.stateful import Stateful
from scentline.streams.topics import DEAD_LETTERS, SIGHTINGS
from tests.agents.shards import a_runtime, disk, put
from tests.streams.test_stateful import Messages
from tests.streams.test_wire import Praised
from tests.streams.wire import newer

VISITS = [Visited(f"http://{name}.test/", "user", 1.0) for name in "abc"]
PRAISE = Praised("http://a.test/", 5)
STRANGE = "facts of an unknown kind, skipped: 1 of 2 in the pack"


class Counting(Handler[int]):
    """A handler that counts the visits of each URL."""

    def absorb(self, shard: Shard[int], fact: Any) -> None:
        key = fact.url.encode()
        shard.put(key, (shard.get(key) or 0) + 1)


def absorb(
    directory: Path, *values: bytes | None
) -> tuple[dict[bytes, int], Mark, Sequence[DeadLetter], Callable[[str], float]]:
    """Absorb messages; return the rows, the mark, the dead letters, and how many are counted for a reason."""
    decode = Decoder[SightingPack](SightingPack)
    with a_runtime(Settings(data=directory)) as runtime, disk(directory) as rows:
        inbox: Stateful[int] = Stateful(runtime, SIGHTINGS, "frontier", int, decode, Counting(), 60.0)
        shard = inbox.shards[0] = rows.shard(int, SIGHTINGS)
        inbox._generation = runtime.app.consumer_generation_id

        async def run() -> None:
            await inbox._run(Messages(*values))
            await inbox.flush()

        asyncio.run(run())
        mark = msgspec.msgpack.decode(shard.store.get(MARK) or b"", type=Mark)
        counts = dict(shard.scan(b"http"))
        with open_journal(runtime.settings) as journal:
            letters = journal.read(DEAD_LETTERS.name, 0, 0, 100)
        counter: Any = runtime.metrics.counter(BURIED)
    read = Decoder[DeadLetter](DeadLetter)
    buried = [read(letter.value or b"") for letter in letters]
    return counts, mark, buried, lambda why: counter.labels(SIGHTINGS.name, why)._value.get()


def packed(*facts: tuple[int, int, Any]) -> Pack[Any]:
    return Pack(source="pages/0", facts=list(facts))


def test_what_a_newer_worker_appended_is_read_over_and_nothing_goes_to_the_dead_letters(tmp_path: Path) -> None:
    pack = packed(*((7, index, visit) for index, visit in enumerate(VISITS)))
    counts, mark, letters, _ = absorb(tmp_path, encode(newer(pack, ("later", 5))))
    assert counts == {visit.url.encode(): 1 for visit in VISITS}
    assert mark == Mark(offset=0, origins={"pages/0": (7, 2)})
    assert letters == []


def test_an_unknown_version_and_no_value_go_to_the_dead_letters_with_a_reason(tmp_path: Path) -> None:
    later = msgspec.structs.replace(packed((7, 0, VISITS[0])), version=VERSION + 1)
    counts, mark, letters, buried = absorb(tmp_path, encode(later), encode(packed((8, 0, VISITS[1]))), None)
    assert counts == {VISITS[1].url.encode(): 1}
    assert mark.offset == 2
    letter, empty = letters
    assert (letter.topic, letter.offset, letter.value) == (SIGHTINGS.name, 0, encode(later))
    assert letter.reason == "unknown version 2, expected 1"
    assert (empty.offset, empty.value) == (2, b"")
    assert (buried("version"), buried("unreadable")) == (1, 1)


def test_a_fact_of_an_unknown_kind_goes_to_the_dead_letters_alone(tmp_path: Path) -> None:
    pack = encode(packed((7, 0, PRAISE), (7, 1, VISITS[0])))
    counts, mark, letters, buried = absorb(tmp_path, pack, pack)  # a repeated emission
    assert counts == {VISITS[0].url.encode(): 1}
    assert mark == Mark(offset=1, origins={"pages/0": (7, 1)})
    assert [letter.reason for letter in letters] == [STRANGE, STRANGE]
    assert letters[0].value == encode(packed((7, 0, PRAISE)))
    assert buried("kind") == 2


def test_rows_of_a_kind_that_is_not_known_here_outlive_a_group(tmp_path: Path) -> None:
    """A later release keeps what must not be lost in rows of its own, under a prefix of its own."""
    later = {b"z" + b"praise": msgspec.msgpack.encode(PRAISE)}
    with disk(tmp_path) as rows:
        shard = rows.shard(int, SIGHTINGS)
        put(shard.store, later)
        shard.put(b"http", 1)
        put(shard.store, shard.close_group().rows)
        assert dict(shard.scan(b"http")) == {b"http": 1}
        assert dict(shard.store.scan(b"z")) == later
