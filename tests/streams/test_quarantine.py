"""A stateful agent's inbox: what raises, kills or can't be read is buried alone, and the rest counted."""

import asyncio
import gc
import os
import weakref
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.observe.agent import ObserveAgent
from scentline.agents.observe.observer import Observer
from scentline.models.facts import Access, AccessPack, SightingPack, Visited
from scentline.models.records import VERSION, DeadLetter, Decoder, Pack, encode
from scentline.streams.attempts import SLOTS, Attempts, Place
from scentline.streams.inbox import Mark, Shard
from scentline.streams.metrics.catalogue import DEAD_LETTERS as BURIED
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings
from scentline.streams.stateful import Handler, Stateful
from scentline.streams.topics import ACCESSES, DEAD_LETTERS, PROXY_LOG, SIGHTINGS, Topic
from tests.agents.loopback import awaited
from tests.agents.shards import a_runtime, disk, journal_of, put
from tests.streams.test_wire import Praised, newer

URL = "http://a.test/"
PRAISE = Praised(URL, 5)


class Raising(Handler[int]):
    """A handler that counts what users do and can't bear one of them, which it finds when it has counted."""

    def __init__(self, error: Exception) -> None:
        self.error, self.refusals, self.absorbed = error, 0, 0

    def refused(self, shard: Shard[int], value: bytes) -> None:
        self.refusals += 1

    def absorb(self, shard: Shard[int], fact: Any) -> None:
        self.absorbed += 1
        shard.put(fact.user.encode(), (shard.get(fact.user.encode()) or 0) + 1)
        shard.put(b"all", (shard.get(b"all") or 0) + 1)
        shard.emit(SIGHTINGS.name, 0, Visited(fact.url, fact.user, fact.time))
        if fact.user == "bad":
            raise self.error


class Messages:
    """A stream of inbox messages, as Faust gives it; after the last it ends, or waits for ever."""

    def __init__(self, *values: bytes | None, ends: bool = True) -> None:
        self.values, self.ends = values, ends

    def noack(self) -> "Messages":
        return self

    async def events(self) -> AsyncIterator[Any]:
        for offset, value in enumerate(self.values):
            message = SimpleNamespace(partition=0, offset=offset)
            yield SimpleNamespace(message=message, value=value, ack=lambda: None)
        if not self.ends:
            await asyncio.Event().wait()


def an_inbox(
    runtime: Runtime, shard: Shard[int], error: Exception, topic: Topic = ACCESSES
) -> tuple[Stateful[int], Raising]:
    """Return an inbox, whose one partition is a shard that is ours, and its handler."""
    decode, handler = Decoder[Any](AccessPack if topic is ACCESSES else SightingPack), Raising(error)
    inbox: Stateful[int] = Stateful(runtime, topic, "users", int, decode, handler, group_seconds=60.0)
    inbox.shards[0] = shard
    inbox._generation = runtime.app.consumer_generation_id
    return inbox, handler


def read(runtime: Runtime, topic: Topic, kind: Any) -> list[Any]:
    decode = Decoder[Any](kind)
    return [decode(entry.value or b"") for entry in journal_of(runtime).read(topic.name, 0, 0, 10_000)]


def told(runtime: Runtime) -> list[tuple[int, int, Any]]:
    return [fact for pack in read(runtime, SIGHTINGS, SightingPack) for fact in pack.facts]


def taken_in(
    directory: Path,
    messages: Sequence[bytes | None],
    error: Exception | None = None,
    topic: Topic = ACCESSES,
    attempts: Attempts | None = None,
) -> Any:
    """Have messages taken in whose facts are counted by their users, of which those of "bad" raise.

    Return the rows and the mark, whom and by which origins it told of, and what it buried, and how often why.
    """
    with a_runtime(Settings(data=directory / "data")) as runtime, disk(directory / "data") as rows:
        runtime.attempts = attempts or runtime.attempts
        shard = rows.shard(int, topic)
        inbox, handler = an_inbox(runtime, shard, error or ValueError(), topic)

        async def run() -> None:
            await inbox._run(Messages(*messages))
            await inbox.flush()

        asyncio.run(run())
        counter: Any = runtime.metrics.counter(BURIED)
        return SimpleNamespace(
            rows={key: raw[0] for key, raw in shard.store.scan(b"") if not key.startswith(b"\0")},
            mark=rows.shard(int, topic).mark,
            users=[fact.user for _, _, fact in told(runtime)],
            origins=[(offset, index) for offset, index, _ in told(runtime)],
            letters=read(runtime, DEAD_LETTERS, DeadLetter),
            refusals=handler.refusals,
            absorbed=handler.absorbed,
            buried=lambda why: counter.labels(topic.name, why)._value.get(),
        )


def message(number: int, users: Sequence[str], source: str = "log") -> bytes:
    facts = [(number, index, Access(user, URL, 0.0)) for index, user in enumerate(users)]
    return encode(Pack(source=source, facts=facts))


def visits(*users: str) -> Pack[Any]:
    return Pack(
        source="pages/0", facts=[(7, index, Visited(URL, user, 1.0)) for index, user in enumerate(users)]
    )


# what raises


@given(st.lists(st.lists(st.sampled_from(["ann", "bob", "bad"]), max_size=5), max_size=8), st.booleans())
def test_a_fact_that_raises_is_buried_alone_and_all_others_count(
    tmp_path_factory: pytest.TempPathFactory, packs: list[list[str]], origins: bool
) -> None:
    messages = [message(number, pack, "log" if origins else "") for number, pack in enumerate(packs)]
    found = taken_in(tmp_path_factory.mktemp("run"), messages)
    good = [user for pack in packs for user in pack if user != "bad"]
    bad = [(n, index) for n, pack in enumerate(packs) for index, user in enumerate(pack) if user == "bad"]
    everybody = {b"all": len(good)} if good else {}
    assert found.rows == {user.encode(): times for user, times in Counter(good).items()} | everybody
    assert found.users == good
    assert found.origins == sorted(set(found.origins))
    assert [(letter.offset, letter.origin) for letter in found.letters] == [(n, (n, index)) for n, index in bad]
    assert found.mark.quarantined == len(bad)
    assert found.refusals >= len(bad)


def test_messages_before_one_whose_facts_raise_are_absorbed_twice_however_many_do(tmp_path: Path) -> None:
    found = taken_in(tmp_path, [*(message(number, ["ann"]) for number in range(10)), message(10, ["bad"] * 5)])
    assert found.absorbed == 2 * 10 + 5


def test_a_dead_letter_says_where_it_failed_and_quotes_nobody(tmp_path: Path) -> None:
    [letter] = taken_in(tmp_path, [message(0, ["ann", "bad"])], ValueError("the user ann")).letters
    assert letter.why == "quarantine"
    assert letter.reason.startswith("could not be taken in: ValueError in streams/stateful.py")
    assert "ann" not in letter.reason
    assert [fact.user for _, _, fact in Decoder[AccessPack](AccessPack)(letter.value).facts] == ["bad"]


def test_what_follows_a_quarantined_fact_keeps_clear_of_the_origins_it_would_have_had(tmp_path: Path) -> None:
    good = taken_in(tmp_path / "good", [message(0, ["ann", "bob", "ann"])])
    found = taken_in(tmp_path / "bad", [message(0, ["ann", "bad", "ann"])])
    assert found.origins[0] == good.origins[0]
    assert found.origins[1] > good.origins[2]


@pytest.mark.parametrize("error", [OSError("no space left on device"), MemoryError()], ids=["disk", "memory"])
@awaited
async def test_the_machines_failure_ends_it_and_nothing_is_written(tmp_path: Path, error: Exception) -> None:
    with a_runtime(Settings(data=tmp_path)) as runtime, disk(tmp_path) as rows:
        shard = rows.shard(int, ACCESSES)
        inbox, _ = an_inbox(runtime, shard, error)
        with pytest.raises(type(error)):
            await inbox._run(Messages(message(0, ["good", "bad", "good"])))
        await inbox.flush()
        assert shard.store.get(b"good") is None
        assert rows.shard(int, ACCESSES).mark.offset == -1


def test_a_line_that_raises_is_buried_without_its_text_and_the_others_are_told(tmp_path: Path) -> None:

    class Failing(Observer):
        def another(self) -> Observer:
            return self

        def observe(self, line: bytes) -> Access:
            if line == b"bad":
                raise ValueError(line)
            return Access(line.decode(), URL, 0.0, None, 200, None)

    with a_runtime(Settings(data=tmp_path)) as runtime:
        agent = ObserveAgent(runtime, Failing(runtime.settings.observe, b"key"))
        for offset, line in enumerate((b"ann", b"bad", b"bob")):
            agent.take(SimpleNamespace(partition=0, offset=offset, value=line))
        asyncio.run(agent.flush())
        packs = read(runtime, ACCESSES, AccessPack)
        facts = [(offset, index, fact.user) for pack in packs for offset, index, fact in pack.facts]
        assert facts == [(0, 0, "ann"), (2, 0, "bob")]
        [letter] = read(runtime, DEAD_LETTERS, DeadLetter)
    assert (letter.topic, letter.offset, letter.value) == (PROXY_LOG.name, 1, b"")


# what a newer worker wrote, or nobody


def test_what_a_newer_worker_appended_is_read_over_and_nothing_goes_to_the_dead_letters(tmp_path: Path) -> None:
    found = taken_in(tmp_path, [encode(newer(visits("ann", "bob", "cy"), ("later", 5)))], topic=SIGHTINGS)
    assert found.rows == {b"ann": 1, b"bob": 1, b"cy": 1, b"all": 3}
    assert found.mark == Mark(offset=0, origins={"pages/0": (7, 2)})
    assert found.letters == []


def test_an_unknown_version_no_value_and_endless_nesting_are_dead_letters(tmp_path: Path) -> None:
    later = encode(msgspec.structs.replace(visits("bob"), version=VERSION + 1))
    deep = encode(Pack(facts=[]))[:-1] + b"\x90" + b"\x91" * 100_000
    found = taken_in(tmp_path, [later, encode(visits("ann")), None, deep], topic=SIGHTINGS)
    assert found.rows == {b"ann": 1, b"all": 1}
    assert found.mark.offset == 3
    version, nothing, nested = found.letters
    assert (version.topic, version.offset, version.value) == (SIGHTINGS.name, 0, later)
    assert (nothing.offset, nothing.value, nested.offset) == (2, b"", 3)
    assert version.reason == "unknown version 2, expected 1"
    assert (found.buried("version"), found.buried("unreadable")) == (1, 2)


def test_a_fact_of_an_unknown_kind_goes_to_the_dead_letters_alone(tmp_path: Path) -> None:
    praise: Pack[Any] = Pack(source="pages/0", facts=[(7, 0, PRAISE)])
    pack = encode(Pack(source="pages/0", facts=[*praise.facts, (7, 1, Visited(URL, "ann", 1.0))]))
    found = taken_in(tmp_path, [pack, pack], topic=SIGHTINGS)  # a repeated emission
    assert found.rows == {b"ann": 1, b"all": 1}
    assert found.mark == Mark(offset=1, origins={"pages/0": (7, 1)})
    reason = "facts of an unknown kind, skipped: 1 of 2 in the pack"
    assert [(letter.reason, letter.value) for letter in found.letters] == [(reason, encode(praise))] * 2
    assert found.buried("kind") == 2


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


# groups and shards


def test_a_group_ends_when_its_messages_hold_the_bytes_that_are_set(tmp_path: Path) -> None:
    value = message(0, ["good"], source="")
    settings = Settings.model_validate({"data": tmp_path, "streams": {"group_bytes": 3 * len(value)}})
    with a_runtime(settings) as runtime, disk(tmp_path) as rows:
        shard = rows.shard(int, ACCESSES)
        inbox, _ = an_inbox(runtime, shard, ValueError())
        asyncio.run(inbox._run(Messages(*[value] * 8)))
        assert rows.shard(int, ACCESSES).mark.offset == 5
        assert shard.size() == (2, 2, 2 * len(value))


def test_a_shard_that_was_lost_is_kept_by_nobody_while_the_next_message_is_waited_for(tmp_path: Path) -> None:
    with a_runtime(Settings(data=tmp_path)) as runtime, disk(tmp_path) as rows:

        async def run() -> bool:
            inbox, _ = an_inbox(runtime, rows.shard(int, ACCESSES), ValueError())
            lost = weakref.ref(inbox.shards[0])
            reading = asyncio.create_task(inbox._run(Messages(message(0, ["good"]), ends=False)))
            while not inbox.shards[0].pending:
                await asyncio.sleep(0)
            inbox._drop_shards()
            gc.collect()
            kept = lost() is not None
            reading.cancel()
            return kept

        assert not asyncio.run(run())


# messages that end their process

HERE, THERE = Place(ACCESSES.name, 0, 1), Place(ACCESSES.name, 1, 1)


def died(path: Path, times: int) -> Attempts:
    """Return the attempts of a process after ``times`` others that died with a message in hand."""
    for _ in range(times):
        Attempts(path).taking(HERE).__enter__()
    return Attempts(path)


def test_a_message_is_buried_after_three_processes_ended_with_it(tmp_path: Path) -> None:
    messages = [message(0, ["ann"]), message(1, ["killer"]), message(2, ["bob"])]
    for times, all_taken in ((2, True), (3, False)):
        attempts = died(tmp_path / f"attempts-{times}", times)
        found = taken_in(tmp_path / str(times), messages, attempts=attempts)
        assert (b"killer" in found.rows) == all_taken
        assert found.rows[b"ann"] == found.rows[b"bob"] == 1
        assert [letter.offset for letter in found.letters] == ([] if all_taken else [1])
    assert found.letters[0].reason == "3 processes ended while it was taken in"
    assert found.mark.quarantined == found.refusals == 1


@pytest.mark.parametrize("deaths", [0, 1, 2])
def test_a_suspicion_lasts_until_the_message_is_taken_in_put_off_or_not(tmp_path: Path, deaths: int) -> None:
    path = tmp_path / "attempts"
    attempts = died(path, deaths)
    assert attempts.deaths(HERE) == deaths
    with attempts.taking(HERE):
        pass
    assert attempts.deaths(HERE) == 0
    attempts.suspect(HERE, deaths)
    assert attempts.deaths(HERE) == Attempts(path).deaths(HERE) == deaths
    with attempts.taking(HERE):
        pass
    assert Attempts(path).deaths(HERE) == 0
    attempts.suspect(THERE, deaths)  # in the place of the other's note
    assert attempts.deaths(HERE) == 0


@pytest.mark.parametrize(("error", "counted"), [(OSError, 0), (KeyboardInterrupt, 0), (MemoryError, 1)])
def test_want_of_memory_alone_is_held_against_it(
    tmp_path: Path, error: type[BaseException], counted: int
) -> None:
    with pytest.raises(error), Attempts(tmp_path / "attempts").taking(HERE):
        raise error
    assert Attempts(tmp_path / "attempts").deaths(HERE) == counted


def test_more_messages_at_a_time_than_there_is_room_for_are_taken_in_unnoted() -> None:
    attempts = Attempts(slots=2)
    with attempts.taking(HERE), attempts.taking(THERE), attempts.taking(Place("pages", 2, 7)):
        pass
    assert attempts.deaths(HERE) == 0


@pytest.mark.parametrize("content", [b"", b"rubbish", os.urandom(100), b"\xff" * SLOTS * 32], ids=range(4))
def test_a_file_that_is_none_is_begun_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "attempts").write_bytes(content)
    with Attempts(tmp_path / "attempts").taking(HERE):
        assert Attempts(tmp_path / "attempts").deaths(HERE) == 1


def test_the_file_is_nobody_elses_and_no_link_is_followed(tmp_path: Path) -> None:
    Attempts(tmp_path / "attempts")
    assert (tmp_path / "attempts").stat().st_mode & 0o777 == 0o600
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="link"):
        Attempts(tmp_path / "link")
