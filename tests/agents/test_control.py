"""Requests to a crawl: they wait in order, are carried out once or refused, and do no harm when repeated."""

import asyncio
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rocksdict import Options

from scentline.agents.frontier.steered import Steered
from scentline.agents.judge.predicates import Predicates
from scentline.agents.operate.control.command import known_predicates, submit
from scentline.agents.operate.control.requests import (
    MOST_BYTES,
    AddPredicate,
    ChangePredicate,
    RefusedError,
    Request,
    Seeds,
    checked,
)
from scentline.agents.operate.control.service import ControlService
from scentline.agents.operate.control.spool import DIRECTORY, Spool
from scentline.agents.operate.control.spool import WATCHING as WATCHING_NAME
from scentline.agents.operate.inspect.record import entries
from scentline.streams.attempts import LETTER_BYTES
from scentline.streams.broadcast import Broadcast
from scentline.streams.facts import Seeded, SightingPack
from scentline.streams.published import PredicateDefinition, Watch
from scentline.streams.records import DeadLetter, Decoder
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings
from scentline.streams.topics import DEAD_LETTERS, PREDICATES, SIGHTINGS, WATCHING
from scentline.streams.transport import database
from scentline.streams.transport.database import JournalMissingError
from scentline.streams.transport.journal import Journal
from tests.agents.shards import a_runtime, journal_of
from tests.cases import each_case

TEA = AddPredicate("tea", '"tea"', 2.0)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> Options:
    """Have RocksDB count, in all journals that are opened from here on, how often it waits for the disk."""
    options = database._options()
    options.enable_statistics()
    monkeypatch.setattr(database, "_options", lambda: options)
    return options


@pytest.fixture
def crawled(tmp_path: Path) -> Settings:
    """Return the settings of a directory in which a crawl was, that follows nothing."""
    found = Settings(data=tmp_path)
    with a_runtime(found):
        pass
    return found


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with a_runtime(Settings(data=tmp_path)) as opened:
        yield opened


def states(found: Settings) -> dict[str, tuple[str, float, str]]:
    known = known_predicates(found)
    return {name: (each.expression, each.share, each.state) for name, each in known.items()}


# without a crawl


def test_predicates_are_added_changed_and_removed_where_no_crawl_runs(crawled: Settings) -> None:
    for request in (TEA, AddPredicate("ski", '"ski"'), ChangePredicate("tea", share=5.0)):
        assert submit(crawled, request)
    assert states(crawled) == {"tea": ('"tea"', 5.0, "active"), "ski": ('"ski"', 1.0, "active")}
    for state in ("paused", "active", "removed"):
        submit(crawled, ChangePredicate("tea", state=state))
        assert states(crawled)["tea"] == ('"tea"', 5.0, state)
    assert Spool(crawled.data).names() == []


@each_case(
    ("request_", "why"),
    [
        (ChangePredicate("ski", share=2.0), "there is no predicate ski here"),
        (AddPredicate("tea", '"coffee"'), 'predicate tea is already "tea" here'),
        (AddPredicate("gone", '"gone"'), "predicate gone was removed here"),
        (ChangePredicate("gone", state="active"), "predicate gone was removed here"),
        (AddPredicate("new", '"tea'), "this quote is never closed"),
        (Seeds(("ftp://a.org/",)), "no canonical URL"),
        (Seeds(("http://a.org",)), "no canonical URL"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_and_changes_nothing(
    crawled: Settings, request_: Request, why: str
) -> None:
    if not states(crawled):
        for known in (TEA, AddPredicate("gone", '"gone"'), ChangePredicate("gone", state="removed")):
            submit(crawled, known)
    before = states(crawled)
    with pytest.raises(RefusedError, match=why):
        submit(crawled, request_)
    assert states(crawled) == before
    assert list((crawled.data / DIRECTORY).iterdir()) == []


@each_case(
    "request_",
    [
        AddPredicate("9", '"tea"'),
        AddPredicate("a\n", '"tea"'),
        AddPredicate("tea", '"tea"', 0.0),
        AddPredicate("tea", '"tea"', float("nan")),
        ChangePredicate("tea", share=-1.0),
        Seeds(("http://a.org/",) * 10_001),
        Watch(1e18),
        Watch(5.0, hosts=("a.org",) * 101),
    ],
)
def test_a_request_out_of_bounds_is_refused(request_: Request) -> None:
    with pytest.raises(RefusedError):
        checked(request_)


def test_where_no_crawl_ever_was_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(JournalMissingError):
        submit(Settings(data=tmp_path / "typo"), TEA)
    assert not (tmp_path / "typo" / DIRECTORY).exists()


def test_seeds_reach_the_frontier(crawled: Settings) -> None:
    submit(crawled, Seeds(("http://a.org/", "http://b.org/")))
    with Journal.open(crawled.data / "journal", read_only=True) as journal:
        decode = Decoder[SightingPack](SightingPack)
        packs = [decode(entry.value or b"") for entry in entries(journal, SIGHTINGS.name, 0)]
    facts = [fact for pack in packs for _, _, fact in pack.facts]
    assert facts == [Seeded("http://a.org/"), Seeded("http://b.org/")]


def test_requests_are_carried_out_in_their_order_and_a_second_time_without_harm(crawled: Settings) -> None:
    spool = Spool(crawled.data)
    spool.put(TEA)
    submit(crawled, ChangePredicate("tea", share=7.0))
    assert states(crawled)["tea"] == ('"tea"', 7.0, "active")
    assert not known_predicates(crawled)["tea"].kept
    # That kept pages are of concern is part of the definition, and stays so.
    for request in (msgspec.structs.replace(TEA, kept=True), TEA, ChangePredicate("tea", share=3.0)):
        submit(crawled, request)
        once = known_predicates(crawled)
        submit(crawled, request)
        assert known_predicates(crawled) == once
        assert once["tea"].kept


def test_a_request_is_seen_whole_or_not_at_all(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    name = spool.put(TEA)
    (tmp_path / DIRECTORY / "1.json.part").write_bytes(b"half of")
    assert spool.names() == [name]
    assert spool.wait(name, 0.1) is None
    spool.tidy()
    assert [path.name for path in (tmp_path / DIRECTORY).iterdir()] == [f"{name}.json"]


# in a running crawl


def looked(runtime: Runtime) -> Predicates:
    """Have a crawl's control look at the spool; return the predicates as the other agents hear of them."""
    found = Predicates()
    journal = journal_of(runtime)

    def hear(key: bytes | None, value: bytes | None) -> None:
        found.hear(key, value)

    async def look() -> None:
        broadcast = Broadcast(journal, PREDICATES.name, hear, runtime.fail)
        await broadcast.start()
        await ControlService(runtime, found, Steered(), journal.sync, dict).look()
        await broadcast.stop()

    asyncio.run(look())
    return found


def test_a_crawl_carries_out_what_waits_in_its_order(runtime: Runtime) -> None:
    spool = Spool(runtime.settings.data)
    for request in (TEA, ChangePredicate("tea", share=3.0), ChangePredicate("tea", state="paused")):
        spool.put(request)
    unjudged = spool.put(AddPredicate("sport", 'category("Sport")'))
    found = looked(runtime)
    with pytest.raises(RefusedError, match="needs a judge of categories"):
        spool.wait(unjudged, 1)
    assert found.definitions["tea"] == PredicateDefinition(
        name="tea", expression='"tea"', share=3.0, state="paused"
    )
    assert list(found.active) == ["tea"]
    assert spool.names() == []
    spool.put(ChangePredicate("tea", state="removed"))
    removed = looked(runtime)
    assert (removed.active, removed.definitions["tea"].state) == ({}, "removed")


def test_a_request_is_removed_when_the_disk_has_what_came_of_it(synced: Options, runtime: Runtime) -> None:
    spool, directory = Spool(runtime.settings.data), str(runtime.settings.data / DIRECTORY)
    removals: list[int] = []

    def seen(event: str, arguments: tuple[Any, ...]) -> None:
        path = str(arguments[0]) if event == "os.remove" else ""
        if path.startswith(directory) and path.endswith(".json"):
            found = re.search(r"rocksdb.wal.synced COUNT : (\d+)", synced.get_statistics() or "")
            assert found is not None
            removals.append(int(found[1]))

    for request in (TEA, ChangePredicate("tea", share=3.0)):
        spool.put(request)
    sys.addaudithook(seen)
    looked(runtime)
    assert removals == [1, 2]


def test_of_those_who_look_the_newest_is_heard_and_no_disk_is_waited_for(
    synced: Options, runtime: Runtime
) -> None:
    spool = Spool(runtime.settings.data)
    for until in (1_000.0, 2_000.0):
        assert spool.put(Watch(until, "tea", ("a.org",)), WATCHING_NAME) == WATCHING_NAME
    assert spool.names() == [WATCHING_NAME]
    looked(runtime)
    assert spool.names() == []
    [told] = entries(journal_of(runtime), WATCHING.name, 0)
    assert (told.key, told.value) == (b"window", msgspec.json.encode(Watch(2_000.0, "tea", ("a.org",))))
    assert "rocksdb.wal.synced COUNT : 0" in (synced.get_statistics() or "")


def test_a_file_that_is_no_request_is_refused_and_the_rest_goes_on(runtime: Runtime) -> None:
    rubbish = [
        b"", b"{}", b"\xff\xfe", b"[1]", b'{"type":"add","name":"a b","expression":"x"}',
        b"x" * (MOST_BYTES + 1), b'{"a":' + b"[" * 20_000,
    ]  # fmt: skip
    spool = Spool(runtime.settings.data)
    spool.put(TEA)
    for number, data in enumerate(rubbish):
        (runtime.settings.data / DIRECTORY / f"0000{number}.json").write_bytes(data)
    assert list(looked(runtime).active) == ["tea"]
    assert spool.names() == []
    entries = journal_of(runtime).read(DEAD_LETTERS.name, 0, 0, 10)
    for number, (data, entry) in enumerate(zip(rubbish, entries, strict=True)):
        with pytest.raises(RefusedError):
            spool.wait(f"0000{number}", 1)
        letter = Decoder[DeadLetter](DeadLetter)(entry.value or b"")
        assert (letter.topic, letter.value, letter.why) == ("requests", data[:LETTER_BYTES], "unreadable")
        assert letter.reason.startswith(f"0000{number}: the request can't be read: ")


# definitions on the topic


@each_case(
    "value",
    [
        None,
        b"",
        b"\xff",
        msgspec.json.encode(PredicateDefinition(name="tea", expression='"tea')),
        msgspec.json.encode(PredicateDefinition(name="tea", expression='"tea"', state="asleep")),
        msgspec.json.encode(PredicateDefinition(name="tea", expression='"tea"', share=-1.0)),
        msgspec.json.encode(PredicateDefinition(name="tea", expression='"tea"', version=2)),
    ],
)
def test_a_definition_that_can_t_be_read_is_passed_over(value: bytes | None) -> None:
    found = Predicates()
    assert found.hear(b"tea", value) is None
    assert (found.active, found.definitions) == ({}, {})
