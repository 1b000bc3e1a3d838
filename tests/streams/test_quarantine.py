"""What raises while it is taken in is buried alone, and what came with it is counted as if it had not been."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.observe.agent import Relay
from scentline.streams.attempts import Attempts, Place
from scentline.streams.facts import Access, AccessPack, SightingPack, Visited
from scentline.streams.outbox import Outbox
from scentline.streams.records import DeadLetter, Decoder, Pack, encode
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES, DEAD_LETTERS, PROXY_LOG, SIGHTINGS
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.publisher import JournalPublisher
from tests.agents.shards import a_runtime, disk
from tests.streams.test_stateful import Messages, Raising, an_inbox

URL = "http://a.test/"
read_accesses = Decoder[AccessPack](AccessPack)


class Found:
    """What an inbox came to: its rows, what it told and what it buried."""

    def __init__(self, rows: dict[bytes, int], journal: Journal, quarantined: int, refusals: int) -> None:
        self.rows = rows
        self.quarantined = quarantined
        self.refusals = refusals
        decode, letters = Decoder[SightingPack](SightingPack), Decoder[DeadLetter](DeadLetter)
        told = journal.read(SIGHTINGS.name, 0, 0, 10_000)
        self.told: list[Any] = [fact for entry in told for _, _, fact in decode(entry.value or b"").facts]
        self.origins = [fact[:2] for entry in told for fact in decode(entry.value or b"").facts]
        self.letters = [letters(entry.value or b"") for entry in journal.read(DEAD_LETTERS.name, 0, 0, 10_000)]


def taken_in(
    directory: Path, messages: Sequence[bytes], error: Exception, attempts: Attempts | None = None
) -> Found:
    """Have messages of accesses counted, of which those of the user "bad" raise."""
    handler = Raising()
    handler.error = error
    with a_runtime(Settings(data=directory / "data")) as runtime, disk(directory / "data") as rows:
        if attempts is not None:
            runtime.attempts = attempts
        shard = rows.shard(int, ACCESSES)
        inbox = an_inbox(runtime, shard, handler)

        async def run() -> None:
            await inbox._run(Messages(*messages))
            await inbox.flush()

        asyncio.run(run())
        counts = {key: msgspec.msgpack.decode(raw, type=int) for key, raw in shard.store.scan(b"")
                  if not key.startswith((b"\0", b"__"))}  # fmt: skip
        return Found(counts, journal_of(runtime), shard.mark.quarantined, handler.refusals)


def journal_of(runtime: Runtime) -> Journal:
    assert isinstance(runtime.publisher, JournalPublisher)
    return runtime.publisher._journal


def message(number: int, users: Sequence[str], source: str = "log") -> bytes:
    facts = [(number, index, Access(user, URL, 0.0)) for index, user in enumerate(users)]
    return encode(Pack(source=source, facts=facts))


users = st.sampled_from(["ann", "bob", "bad"])


@given(st.lists(st.lists(users, max_size=5), max_size=8), st.booleans())
def test_a_fact_that_raises_is_buried_alone_and_all_others_count(
    tmp_path_factory: pytest.TempPathFactory, packs: list[list[str]], origins: bool
) -> None:
    messages = [message(number, pack, "log" if origins else "") for number, pack in enumerate(packs)]
    found = taken_in(tmp_path_factory.mktemp("run"), messages, ValueError("no such user"))
    good = [user for pack in packs for user in pack if user != "bad"]
    bad = [(n, index) for n, pack in enumerate(packs) for index, user in enumerate(pack) if user == "bad"]
    assert found.rows == {user.encode(): times for user, times in Counter(good).items()} | (
        {b"all": len(good)} if good else {}
    )
    assert [fact.user for fact in found.told] == good
    assert found.origins == sorted(set(found.origins))
    assert [(letter.offset, letter.origin) for letter in found.letters] == [(n, (n, index)) for n, index in bad]
    assert found.quarantined == len(bad)
    assert found.refusals >= len(bad)


def test_a_dead_letter_says_where_it_failed_and_quotes_nobody(tmp_path: Path) -> None:
    found = taken_in(tmp_path, [message(0, ["ann", "bad"])], ValueError("the user ann"))
    (letter,) = found.letters
    assert letter.why == "quarantine"
    assert letter.reason.startswith("could not be taken in: ValueError in streams/absorber.py")
    assert "ann" not in letter.reason
    assert [fact.user for _, _, fact in read_accesses(letter.value).facts] == ["bad"]


def test_what_follows_a_quarantined_fact_keeps_clear_of_the_origins_it_would_have_had(tmp_path: Path) -> None:
    good = taken_in(tmp_path / "good", [message(0, ["ann", "bob", "ann"])], ValueError())
    found = taken_in(tmp_path / "bad", [message(0, ["ann", "bad", "ann"])], ValueError())
    assert found.origins[0] == good.origins[0]
    assert found.origins[1] > good.origins[2]


@pytest.mark.parametrize("error", [OSError("no space left on device"), MemoryError()], ids=["disk", "memory"])
def test_a_failure_of_the_machine_ends_the_process_all_the_same(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error)):
        taken_in(tmp_path, [message(0, ["ann", "bad"])], error)


def test_nested_without_end_is_no_record(tmp_path: Path) -> None:
    deep = encode(Pack(facts=[]))[:-1] + b"\x90" + b"\x91" * 100_000
    found = taken_in(tmp_path, [deep, message(1, ["ann"])], ValueError())
    assert found.rows == {b"ann": 1, b"all": 1}
    assert [letter.why for letter in found.letters] == ["unreadable"]


# messages that end their process


def deaths(path: Path, place: Place, times: int) -> Attempts:
    """Return the attempts of a process after ``times`` others that died with a message in hand."""
    for _ in range(times):
        Attempts(path).taking(place).__enter__()
    return Attempts(path)


def test_a_message_is_buried_after_three_processes_ended_with_it(tmp_path: Path) -> None:
    messages = [message(0, ["ann"]), message(1, ["killer"]), message(2, ["bob"])]
    place = Place(ACCESSES.name, 0, 1)
    for times, all_taken in ((2, True), (3, False)):
        attempts = deaths(tmp_path / f"attempts-{times}", place, times)
        found = taken_in(tmp_path / str(times), messages, ValueError(), attempts)
        assert (b"killer" in found.rows) == all_taken
        assert found.rows[b"ann"] == found.rows[b"bob"] == 1
        assert [letter.offset for letter in found.letters] == ([] if all_taken else [1])
    assert found.letters[0].reason == "3 processes ended while it was taken in"
    assert found.quarantined == found.refusals == 1


# agents without state


def test_a_line_that_raises_is_buried_without_its_text_and_the_others_are_told(tmp_path: Path) -> None:
    def handle(outbox: Outbox, line: Any) -> None:
        outbox.emit(SIGHTINGS.name, 0, Visited(URL, line.value.decode(), 0.0))
        if line.value == b"bad":
            raise ValueError(line.value)

    with a_runtime(Settings(data=tmp_path)) as runtime:
        relay = Relay(runtime, PROXY_LOG, "lines", handle)
        for offset, line in enumerate((b"ann", b"bad", b"bob")):
            relay._take(SimpleNamespace(partition=0, offset=offset, value=line))
        asyncio.run(relay.flush())
        found = Found({}, journal_of(runtime), 0, 0)
    assert [fact.user for fact in found.told] == ["ann", "bob"]
    assert [(letter.topic, letter.offset, letter.value) for letter in found.letters] == [
        (PROXY_LOG.name, 1, b"")
    ]
