"""On the embedded log a group is one batch: after a crash or a loss of power a consistent prefix is left."""

import asyncio
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.crawl.connect import EmbeddedLog, open_journal
from scentline.streams.absorber import Handler
from scentline.streams.app import create_app
from scentline.streams.facts import Access, AccessPack
from scentline.streams.inbox import ROW_BYTES, Codec, Shard, commit
from scentline.streams.records import Decoder, Pack, encode
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings
from scentline.streams.stateful import Stateful
from scentline.streams.topics import ACCESSES, SIGHTINGS, TABLES
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.one_batch import OneBatch
from tests.patience import PATIENCE

GROUP = "scentline"
USERS = ("ann", "bob", "cy")
decode = Decoder[AccessPack](AccessPack)


class Counting(Handler[int]):
    """Counts the accesses of each user and tells the count that each led to."""

    def absorb(self, shard: Shard[int], fact: Access) -> None:
        count = (shard.get(fact.user.encode()) or 0) + 1
        shard.put(fact.user.encode(), count)
        shard.outbox.emit(SIGHTINGS.name, 0, Access(fact.user, fact.url, float(count)))


def packed(number: int, users: tuple[str, ...]) -> bytes:
    facts = [(number, index, Access(user, "http://x/", 0.0)) for index, user in enumerate(users)]
    return encode(Pack(source="log", facts=facts))


def told(journal: Journal) -> list[Access]:
    """What a receiver of the emissions accepts."""
    accepted: list[Access] = []
    last = (-1, -1)
    for entry in journal.read(SIGHTINGS.name, 0, 0, 100_000):
        for offset, index, fact in decode(entry.value or b"").facts:
            if (offset, index) > last:
                last = (offset, index)
                accepted.append(fact)
    return accepted


# what a loss of power leaves


class Message:
    """An inbox message: that it is absorbed is written with its group."""

    def ack(self) -> None: ...


class World:
    """A counting agent on a journal, without Faust; accesses come one message at a time."""

    def __init__(self, data: Path, messages: list[tuple[str, ...]]) -> None:
        self.settings = Settings(data=data)
        self._messages = messages

    @contextmanager
    def open(self) -> Iterator[tuple[Journal, Shard[int]]]:
        with Journal.open(self.settings.data / "journal") as journal:
            for topic in (ACCESSES, SIGHTINGS):
                journal.create_topic(topic.name, 1, retention=None, compacted=False)
            journal.create_table("users", 1)
            store = journal.table("users")[0]
            yield journal, Shard(0, f"{ACCESSES.name}/0", store, Codec[int](int), cached=2 * ROW_BYTES)

    def run(self, journal: Journal, shard: Shard[int], group: int, flush: int = -1) -> None:
        """Append the messages that are missing and absorb all; at message ``flush`` a memtable is full."""
        one_batch = OneBatch(journal, create_app(self.settings), "users", ACCESSES.name, lambda: 1.0)
        for offset in range(shard.mark.offset + 1, len(self._messages)):
            if offset == journal.end(ACCESSES.name, 0):
                journal.append(ACCESSES.name, 0, None, packed(offset, self._messages[offset]), 1.0)
            [entry] = journal.read(ACCESSES.name, 0, offset, 1)
            for fact in shard.accept(offset, decode(entry.value or b"")):
                Counting().absorb(shard, fact)
            shard.absorbed(Message())
            if (offset + 1) % group == 0:
                asyncio.run(commit(shard, one_batch, lambda: True))
            if offset == flush:
                journal._db.columns["users/0"].db.flush()
        asyncio.run(commit(shard, one_batch, lambda: True))

    def check(self, journal: Journal, shard: Shard[int]) -> int:
        """Check that all is there of some of the groups, and nothing of the others; return their messages."""
        absorbed = shard.mark.offset + 1
        assert absorbed <= journal.end(ACCESSES.name, 0), "a message that is not there was absorbed"
        assert (journal.committed(GROUP, ACCESSES.name, 0) or 0) == absorbed
        users = [user for users in self._messages[:absorbed] for user in users]
        counts = {user: shard.get(user.encode()) or 0 for user in USERS}
        assert {user: count for user, count in counts.items() if count} == Counter(users)
        found = told(journal)
        assert [access.user for access in found] == users
        running: Counter[str] = Counter()
        for access in found:
            running[access.user] += 1
            assert access.time == running[access.user]
        return absorbed


def cut(journal: Path, share: int) -> None:
    """Cut the newest part of the write-ahead log: of it only so many thousandths came to the disk."""
    newest = max(journal.glob("*.log"))
    with newest.open("r+b") as log:
        log.truncate(newest.stat().st_size * share // 1000)


@given(
    messages=st.lists(st.lists(st.sampled_from(USERS), max_size=4).map(tuple), min_size=1, max_size=20),
    group=st.integers(1, 5),
    flush=st.integers(-1, 19),
    share=st.integers(0, 1000),
)
def test_of_a_log_that_was_cut_anywhere_a_consistent_prefix_is_left_and_it_goes_on(
    messages: list[tuple[str, ...]], group: int, flush: int, share: int
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        world = World(Path(directory) / "data", messages)
        with world.open() as (journal, shard):
            world.run(journal, shard, group, flush)
            assert world.check(journal, shard) == len(messages)
            shutil.copytree(world.settings.data, Path(directory) / "left")
        left = World(Path(directory) / "left", messages)
        cut(left.settings.data / "journal", share)
        with left.open() as (journal, shard):
            absorbed = left.check(journal, shard)
            assert share < 1000 or absorbed == len(messages)
            left.run(journal, shard, group)
            assert left.check(journal, shard) == len(messages)


# on Faust


@asynccontextmanager
async def counting(data: Path) -> AsyncIterator[tuple[Journal, Any]]:
    """Run a counting agent; gives the journal and the agent's Faust table."""

    def fail(error: BaseException) -> None:
        raise error

    settings_ = Settings(data=data)
    with open_journal(settings_) as journal:
        log = EmbeddedLog(settings_, journal)
        app = log.app("browse")
        Stateful(
            Runtime(app, settings_, log.publisher, fail), ACCESSES, "users", int, decode, Counting(), 0.001
        )
        app.finalize()
        await asyncio.wait_for(app.start(), PATIENCE)
        try:
            yield journal, app.tables["users"]
        finally:
            await asyncio.wait_for(app.stop(), PATIENCE)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


def caught_up(journal: Journal) -> bool:
    return journal.committed(GROUP, ACCESSES.name, 0) == journal.end(ACCESSES.name, 0)


def test_a_table_goes_on_after_a_restart_and_has_no_changelog(tmp_path: Path) -> None:
    async def run(rounds: int) -> None:
        for number in range(rounds):
            async with counting(tmp_path) as (journal, table):
                journal.append(ACCESSES.name, 0, None, packed(number, ("ann", "bob", "ann")), time.time())
                await until(lambda: caught_up(journal))
                assert table[b"ann"] == bytes([2 * (number + 1)])
                assert b"bob" in table
                assert set(table) == {b"ann", b"bob", b"\0mark"}
                with pytest.raises(TypeError, match="rows are written in groups"):
                    table.data[b"ann"] = b"7"
                assert set(journal.topics()) & {f"scentline-{name}-changelog" for name in TABLES} == set()

    asyncio.run(run(2))


COUNTER = """
    import asyncio, sys
    from pathlib import Path
    from tests.streams.test_one_batch import counting

    async def main():
        async with counting(Path(sys.argv[1])):
            print("ready", flush=True)
            await asyncio.Event().wait()

    asyncio.run(main())
"""


def test_killed_at_any_time_it_counts_each_access_once(tmp_path: Path) -> None:
    names = [USERS[number % 3] for number in range(6000)]
    for kill in range(3):
        with open_journal(Settings(data=tmp_path)) as journal:
            accesses = [(None, packed(6000 * kill + number, (name,))) for number, name in enumerate(names)]
            journal.append_batch(ACCESSES.name, 0, accesses, time.time())
        command = [sys.executable, "-c", textwrap.dedent(COUNTER), str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            with Journal.open(tmp_path / "journal", read_only=True) as journal:
                while journal.end(SIGHTINGS.name, 0) < 3 * (kill + 1):
                    journal.refresh()
            child.kill()
        assert child.returncode == -signal.SIGKILL

    async def rest() -> None:
        async with counting(tmp_path) as (journal, table):
            await until(lambda: caught_up(journal))
            found = told(journal)
            assert Counter(access.user for access in found) == dict.fromkeys(USERS, 6000)
            codec = Codec[int](int)
            assert {name: codec.decode(table[name.encode()]) for name in USERS} == dict.fromkeys(USERS, 6000)

    asyncio.run(rest())
