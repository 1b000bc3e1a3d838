"""Requests to a crawl: they wait in order, are carried out once or refused, and do no harm when repeated."""

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocksdict import Options

from scentline.agents.judge.predicates import Predicates
from scentline.agents.operate import requests
from scentline.agents.operate.control import ControlService, known_predicates, submit
from scentline.agents.operate.requests import (
    DIRECTORY,
    MOST_BYTES,
    Known,
    Record,
    Redefinition,
    RefusedError,
    Seeds,
    Spool,
    resolve,
)
from scentline.models import published
from scentline.models.frontier.steered import Steered, read_steering
from scentline.models.published import Exclusion, Limit, Pausing, PredicateDefinition, Slowing, Steering
from scentline.models.records import DeadLetter, Decoder, RecordError
from scentline.streams.attempts import LETTER_BYTES
from scentline.streams.runtime import Broadcast, Runtime
from scentline.streams.settings import Settings
from scentline.streams.topics import CONTROL, DEAD_LETTERS
from scentline.streams.transport import database
from tests.agents.shards import a_runtime, journal_of
from tests.cases import each_case

TEA = Redefinition("tea", '"tea"', 2.0)
SHOP = "http://a.org/shop/"


GONE = PredicateDefinition(name="gone", expression='"gone"', state="removed")
KNOWN = Known({"tea": PredicateDefinition(name="tea", expression='"tea"'), "gone": GONE}, Steered(), delay=2.0)
BOUND = "^Expected `"


@each_case(
    ("kind", "fields", "why"),
    [
        ("Seeds", {"urls": ["http://a.org/"] * 10_001}, BOUND),
        ("Exclusion", {"prefix": "http://a.org/" + "x" * published.MOST_EXCLUDING}, BOUND),
        ("Exclusion", {"expression": "x" * (published.MOST_EXCLUDING + 1)}, BOUND),
        ("Slowing", {"name": "a.org", "seconds": published.LONGEST_DELAY + 1}, BOUND),
        ("Slowing", {"name": "a" * 301, "seconds": 5.0}, BOUND),
    ],
)
def test_what_makes_no_sense_or_is_out_of_bounds_is_refused(kind: str, fields: Any, why: str) -> None:
    kinds: tuple[Any, ...] = (Redefinition, Seeds, Exclusion, Slowing, Pausing, Limit)
    asked = {each.__name__: each for each in kinds}[kind](**fields)
    with pytest.raises(RefusedError, match=why):
        resolve(requests.checked(asked), KNOWN)
    for seconds in (0.0, 2.1):
        assert resolve(Slowing(name="a.org", seconds=seconds), KNOWN)


def told(asked: Steering, steered: Steered, now: float) -> Record:
    return resolve(asked, Known({}, steered, now=now))[0]


def asked_for(*wanted: Steering) -> Steered:
    steered = Steered()
    for number, asked in enumerate(wanted):
        steered.hear(msgspec.json.encode(told(asked, steered, float(number))))
    return steered


def test_no_more_is_excluded_or_slowed_than_a_frontier_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "MOST_STEERED", 2)
    shop, slow = Exclusion(prefix=SHOP), Slowing(name="a.org", seconds=5.0)
    steered = asked_for(shop, Exclusion(expression="x"), slow, Slowing(name="b.org", seconds=5.0))
    assert told(shop, steered, 9.0)
    assert told(Slowing(name="a.org", seconds=6.0), steered, 9.0)
    for asked in (Exclusion(expression="y"), Slowing(name="c.org", seconds=5.0)):
        with pytest.raises(RefusedError, match="expected at most 2"):
            told(asked, steered, 9.0)


def test_time_and_setting_are_not_the_askers() -> None:
    asked = Limit(name="pages", most=7, setting=9, time=99.0)
    assert told(asked, Steered(), 5.0) == Limit(name="pages", most=7, time=5.0)


# That none of it may be lost or come twice is for the log, whose newest record of a kind and name holds.
prefixes = st.sampled_from(["http://a.org/", "http://a.org/b", "http://b.org/"])
commands = st.one_of(
    st.builds(Pausing, on=st.booleans()),
    st.builds(Exclusion, prefix=prefixes), st.builds(Exclusion, expression=prefixes),
    st.builds(Limit, name=st.sampled_from(["pages", "requests"]), most=st.integers(0, 9)),
    st.builds(Slowing, name=st.sampled_from(["a.org", "B.org:8080"]), seconds=st.floats(0, 9)),
)  # fmt: skip


@given(st.lists(commands, max_size=12))
def test_what_is_asked_twice_is_in_force_once_and_the_newest_word_holds(wanted: list[Steering]) -> None:
    once, twice = asked_for(*wanted), asked_for(*(each for each in wanted for _ in range(2)))
    plain = [[msgspec.structs.replace(each, time=0.0) for each in found.in_force] for found in (once, twice)]
    assert plain[0] == plain[1]
    pauses = [each.on for each in wanted if isinstance(each, Pausing)]
    assert once.paused == (pauses[-1] if pauses else False)
    for each in once.exclusions:
        over = told(Exclusion(name=each.name, on=False), once, 99.0)
        assert over == told(Exclusion(name=each.name, on=False), twice, 99.0)
        once.hear(msgspec.json.encode(over))
    assert once.exclusions == []


def a_definition(**changed: Any) -> bytes:
    """Return a definition of tea with fields that are ``changed``."""
    return msgspec.json.encode(
        msgspec.structs.replace(PredicateDefinition(name="tea", expression='"tea"'), **changed)
    )


@each_case(
    "value",
    [
        None, b"", b"\xff", b"{}", b'{"what":"sunk","time":1}', b'{"what":"paused","on":1,"time":1}',
        b'{"what":"excluded","name":"x","expression":"(","time":1}',
        b'{"what":"delay","name":"a","seconds":-1,"time":1}', a_definition(expression='"tea'),
        a_definition(state="asleep"), a_definition(share=-1.0), a_definition(version=2),
    ],
)  # fmt: skip
def test_what_can_t_be_read_neither_steers_nor_defines_anything(value: bytes | None) -> None:
    steered, found = Steered(), Predicates()
    assert steered.hear(value) is None and steered.in_force == []
    assert found.hear(value) is None
    assert (found.active, found.definitions) == ({}, {})
    with pytest.raises(RecordError):
        read_steering(value or b"")


@pytest.fixture
def crawled(tmp_path: Path) -> Settings:
    """Return the settings of a directory in which a crawl was, that follows nothing."""
    found = Settings(data=tmp_path)
    with a_runtime(found):
        pass
    return found


def test_requests_are_carried_out_in_their_order_and_a_second_time_without_harm(crawled: Settings) -> None:
    Spool(crawled.data).put(TEA)
    submit(crawled, Redefinition("tea", share=7.0))
    assert known_predicates(crawled) == {"tea": PredicateDefinition(name="tea", expression='"tea"', share=7.0)}
    # That kept pages are of concern is part of the definition, and stays so.
    for request in (msgspec.structs.replace(TEA, kept=True), TEA, Redefinition("tea", share=3.0)):
        submit(crawled, request)
        once = known_predicates(crawled)
        submit(crawled, request)
        assert known_predicates(crawled) == once
        assert once["tea"].kept
    with pytest.raises(RefusedError, match="there is no predicate ski here"):
        submit(crawled, Redefinition("ski", share=2.0))
    assert known_predicates(crawled) == once
    assert {path.suffix for path in (crawled.data / DIRECTORY).iterdir()} <= {".done"}


def test_a_request_is_seen_whole_or_not_at_all(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    name = spool.put(TEA)
    (tmp_path / DIRECTORY / "1.json.part").write_bytes(b"half of")
    assert spool.names() == [name]
    assert spool.wait(name, 0.1) is None
    spool.tidy()
    assert [path.name for path in (tmp_path / DIRECTORY).iterdir()] == [f"{name}.json"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / DIRECTORY).write_text("a file")
    with pytest.raises(RefusedError, match=r"can't be put into .*requests: "):
        Spool(tmp_path / "other").put(TEA)


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> Options:
    """Have RocksDB count, in all journals that are opened from here on, how often it waits for the disk."""
    options = database._options()
    options.enable_statistics()
    monkeypatch.setattr(database, "_options", lambda: options)
    return options


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with a_runtime(Settings(data=tmp_path)) as opened:
        yield opened


def looked(runtime: Runtime, looks: int = 1) -> Predicates:
    """Have a crawl's control look at the spool; return the predicates as the other agents hear of them."""
    found = Predicates()
    journal = journal_of(runtime)

    def hear(key: bytes | None, value: bytes | None) -> None:
        if published.defines(key):
            found.hear(value)

    async def look() -> None:
        broadcast = Broadcast(runtime.bus, CONTROL.name, hear, runtime.fail)
        await broadcast.start()
        service = ControlService(runtime, found, Steered(), journal.sync, dict)
        for _ in range(looks):
            await service.look()
        await broadcast.stop()

    asyncio.run(look())
    return found


def test_a_crawl_carries_out_what_waits_in_its_order(runtime: Runtime) -> None:
    spool = Spool(runtime.settings.data)
    for request in (TEA, Redefinition("tea", share=3.0), Redefinition("tea", state="paused")):
        spool.put(request)
    unjudged = spool.put(Redefinition("sport", 'category("Sport")'))
    found = looked(runtime)
    with pytest.raises(RefusedError, match="needs a judge of categories"):
        spool.wait(unjudged, 1)
    assert found.definitions["tea"] == PredicateDefinition(
        name="tea", expression='"tea"', share=3.0, state="paused"
    )
    assert list(found.active) == ["tea"]
    assert spool.names() == []
    spool.put(Redefinition("tea", state="removed"))
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

    for request in (TEA, Redefinition("tea", share=3.0)):
        spool.put(request)
    sys.addaudithook(seen)
    looked(runtime)
    assert removals == [1, 2]


def hostile(directory: Path) -> Iterator[str]:
    """Put into the spool what is no file, under names of requests and of leftovers; yield the requests'."""
    for ending in (".json", ".refused", ".part", ".json.partial"):
        (directory / f"0-directory{ending}").mkdir()
        os.mkfifo(directory / f"1-pipe{ending}")
        (directory / f"2-link{ending}").symlink_to("/dev/zero")
        (directory / f"3-nothing{ending}").symlink_to("nowhere")
    yield from ("0-directory", "1-pipe", "2-link", "3-nothing")


@pytest.mark.timeout(60)
def test_what_is_no_request_is_refused_or_passed_over_and_the_rest_goes_on(runtime: Runtime) -> None:
    rubbish = [
        b"", b"{}", b"\xff\xfe", b"[1]", b'{"what":"predicate","name":"a b","expression":"x"}',
        b"x" * (MOST_BYTES + 1), b'{"a":' + b"[" * 20_000,
    ]  # fmt: skip
    spool, directory = Spool(runtime.settings.data), runtime.settings.data / DIRECTORY
    name = spool.put(TEA)
    for odd in hostile(directory):
        with pytest.raises(RefusedError, match="can't be read"):
            spool.read(odd)
    spool.tidy()
    assert spool.names() == [name]
    for number, data in enumerate(rubbish):
        (directory / f"0000{number}.json").write_bytes(data)
    assert list(looked(runtime).active) == ["tea"]
    assert spool.names() == []
    entries = journal_of(runtime).read(DEAD_LETTERS.name, 0, 0, 10)
    for number, (data, entry) in enumerate(zip(rubbish, entries, strict=True)):
        with pytest.raises(RefusedError):
            spool.wait(f"0000{number}", 1)
        letter = Decoder[DeadLetter](DeadLetter)(entry.value or b"")
        assert (letter.topic, letter.value, letter.why) == ("requests", data[:LETTER_BYTES], "unreadable")
        assert letter.reason.startswith(f"0000{number}: the request can't be read: ")


def test_a_request_that_can_not_go_is_done_once(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    def done(self: Spool, name: str, said: str = "") -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Spool, "done", done)
    Spool(runtime.settings.data).put(TEA)
    assert list(looked(runtime, looks=3).active) == ["tea"]
    assert journal_of(runtime).end(CONTROL.name, 0) == 1
