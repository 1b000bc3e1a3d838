"""Requests to a crawl: they wait in order, are carried out once or refused, and do no harm when repeated."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocksdict import Options

from scentline.agents.frontier.answers import Answers
from scentline.agents.judge.predicates import Predicates
from scentline.agents.operate import requests
from scentline.agents.operate.control import Control, Running, known_predicates, submit
from scentline.agents.operate.requests import (
    Known,
    Record,
    Redefinition,
    RefusedError,
    Seeds,
    resolve,
)
from scentline.agents.owners import ADDRESS, REQUEST, Address, answering
from scentline.agents.worker.directory import WINDOW
from scentline.models import published
from scentline.models.frontier.steered import Steered, read_steering
from scentline.models.published import Exclusion, Limit, Pausing, PredicateDefinition, Slowing, Steering
from scentline.models.records import RecordError
from scentline.streams.metrics.endpoint import MOST_BODY
from scentline.streams.runtime import Broadcast, Runtime
from scentline.streams.settings import Settings
from scentline.streams.topics import CONTROL
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
    submit(crawled, TEA)
    assert submit(crawled, Redefinition("tea", share=7.0)) == "tea is active, with the share 7"
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


@asynccontextmanager
async def a_control(runtime: Runtime) -> AsyncIterator[tuple[Control, Predicates]]:
    """Give a crawl's control, and the predicates as its other agents hear of them."""
    found = Predicates()

    def hear(key: bytes | None, value: bytes | None) -> None:
        if published.defines(key):
            found.hear(value)

    broadcast = Broadcast(runtime.bus, CONTROL.name, hear, runtime.fail)
    await broadcast.start()
    yield Control(runtime, found, Steered(), journal_of(runtime).sync, dict), found
    await broadcast.stop()


def in_control(runtime: Runtime, run: Callable[[Control, Predicates], Awaitable[None]]) -> None:
    async def entered() -> None:
        async with a_control(runtime) as (control, found):
            await run(control, found)

    asyncio.run(entered())


def test_a_crawl_carries_out_requests_in_their_order(runtime: Runtime) -> None:
    async def run(control: Control, found: Predicates) -> None:
        wanted = TEA, Redefinition("tea", share=3.0), Redefinition("tea", state="paused")
        said = await asyncio.gather(*(control.carry_out(msgspec.json.encode(each)) for each in wanted))
        assert said[-1] == "tea is paused"
        assert found.definitions["tea"] == PredicateDefinition(
            name="tea", expression='"tea"', share=3.0, state="paused"
        )
        assert list(found.active) == ["tea"]
        with pytest.raises(RefusedError, match="needs a judge of categories"):
            await control.carry_out(msgspec.json.encode(Redefinition("sport", 'category("Sport")')))
        await control.carry_out(msgspec.json.encode(Redefinition("tea", state="removed")))
        assert (found.active, found.definitions["tea"].state) == ({}, "removed")

    in_control(runtime, run)


def test_a_request_is_answered_when_the_disk_has_what_came_of_it(synced: Options, runtime: Runtime) -> None:
    async def run(control: Control, _: Predicates) -> None:
        for number, request in enumerate((TEA, Redefinition("tea", share=3.0)), 1):
            await control.carry_out(msgspec.json.encode(request))
            found = re.search(r"rocksdb.wal.synced COUNT : (\d+)", synced.get_statistics() or "")
            assert found is not None
            assert int(found[1]) == number

    in_control(runtime, run)


def test_what_is_no_request_is_refused(runtime: Runtime) -> None:
    async def run(control: Control, found: Predicates) -> None:
        misnamed = b'{"what":"predicate","name":"a b","expression":"x"}'
        for request in (b"", b"{}", b"\xff\xfe", b"[1]", misnamed, b'{"a":' + b"[" * 20_000):
            with pytest.raises(RefusedError, match="can't be read"):
                await control.carry_out(request)
        assert found.definitions == {}

    in_control(runtime, run)


def test_a_running_crawl_does_what_whoever_can_read_its_token_asks(runtime: Runtime) -> None:
    tea, settings = msgspec.json.encode(TEA), runtime.settings

    async def run(control: Control, found: Predicates) -> None:
        async def asked(request: bytes) -> str | None:
            return await asyncio.to_thread(crawl.carry_out, request)

        assert await asked(tea) is None, "it does not answer yet"
        answers = Answers(None, lambda: 0.0)  # type: ignore[arg-type]
        async with answering(settings, answers, {}, control.carry_out):
            path = settings.data / WINDOW / ADDRESS
            assert path.stat().st_mode & 0o077 == 0
            address = msgspec.json.decode(path.read_bytes(), type=Address)
            async with httpx.AsyncClient(base_url=address.url) as stranger:
                for headers in ({}, {"Authorization": "Bearer guessed"}):
                    answer = await stranger.post(REQUEST, content=tea, headers=headers)
                    assert answer.status_code == HTTPStatus.UNAUTHORIZED
                assert (await stranger.get(REQUEST)).status_code == HTTPStatus.NOT_FOUND
                for where, content in ((REQUEST, b" " * (MOST_BODY + 1)), ("/standing", tea)):
                    with pytest.raises(httpx.TransportError):  # it reads nothing of it
                        await stranger.post(where, content=content)
            assert found.definitions == {}
            assert await asked(tea) == "tea is active, with the share 2"
            assert list(found.active) == ["tea"]
            for request, why in (
                (b"\xff", "can't be read"),
                (b'{"what":"predicate","name":"ski"}', "no predicate"),
            ):
                with pytest.raises(RefusedError, match=why):
                    await asked(request)
            with pytest.raises(RefusedError, match="expected at most"):
                await asked(b" " * (MOST_BODY + 1))

    with closing(Running(settings)) as crawl:
        in_control(runtime, run)
