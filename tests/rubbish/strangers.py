"""Messages that no agent wrote, for every topic: what can't be read, or changes nothing that counts.

Whoever may write a topic can forge its facts, so none here is whole: each is no record, one of a later version,
or a record with a field that no agent writes.
"""

import asyncio
import math
import os
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import msgspec

from scentline.agents.worker.crawl import Engine
from scentline.streams.inbox import Message
from scentline.streams.topics import TOPICS
from tests.patience import PATIENCE
from tests.streams.test_wire import RECORDS

#: Messages that a crawl gets, and the seconds that it has to end; `make fuzz` has 100,000.
NUMBER = int(os.environ.get("STRANGERS", "2000"))
SECONDS = PATIENCE + NUMBER / 50
#: Messages that are sent at once.
_BATCH = 500
_URLS = (
    "", "x", "http://", "//", "http://u:p@a.test/", "ftp://a.test/", "http://a.test", "\ud7ff", "a" * 5_000,
)  # fmt: skip
_TIMES = (math.nan, math.inf, -math.inf, 1e300, -1e300, 253402300800.0)
_VALUES: tuple[Any, ...] = (
    None, True, -1, 2**63, math.nan, "", "x" * 3_000, b"\xff" * 99, [], {}, [[[[]]]], {"a": {"b": 1}},
)  # fmt: skip
#: How keys begin of the topics whose records are of several kinds.
_KINDS = (b"", b"predicate:", b"harvest ", b"freshness ")
_DEEP = b"\x91" * 20_000 + b"\x90"


def messages(seed: int, partitions: Callable[[str], int]) -> Iterator[Message]:
    """Yield messages for the topics in turn, without an end; ``partitions`` tells how many each has."""
    random = Random(seed)
    while True:
        for topic in TOPICS:
            place = (topic.name, random.randrange(partitions(topic.name)))
            keyed = topic.compacted or random.random() < 0.5
            key = random.choice(_KINDS) + random.randbytes(8) if keyed else None
            yield (*place, key, random.choice(_MAKERS)(topic.name, random))


def _tree(topic: str, random: Random) -> bytes:
    tree = [random.choice(_VALUES) for _ in range(random.randrange(6))]
    return msgspec.msgpack.encode(tree) if random.random() < 0.7 else msgspec.json.encode(tree)


def _cut(topic: str, random: Random) -> bytes:
    whole = _whole(topic, random)
    return whole[: random.randrange(len(whole))] if whole else b""


def _later(topic: str, random: Random) -> bytes:
    tree, version = _record(topic, random), random.randrange(2, 2**31)
    return _encoded(tree | {"version": version} if isinstance(tree, dict) else [version, *tree[1:]])


def _deep(topic: str, random: Random) -> bytes:
    """Return a record with an unknown field at its end that is nested without end."""
    whole = _whole(topic, random)
    if not whole:
        return _DEEP
    if whole.startswith(b"{"):
        return whole[:-1] + b',"later":' + b"[" * 20_000 + b"]" * 20_000 + b"}"
    return bytes((whole[0] + 1,)) + whole[1:] + _DEEP if 0x90 <= whole[0] < 0x9F else _DEEP


def _spoilt(topic: str, random: Random) -> bytes:
    """Return a record whose URLs, times and texts are such as no agent writes."""
    return _encoded(_changed(_record(topic, random), random))


def _encoded(tree: Any) -> bytes:
    return msgspec.json.encode(tree) if isinstance(tree, dict) else msgspec.msgpack.encode(tree)


def _changed(tree: Any, random: Random) -> Any:
    """Change every URL, time, feature and expression, and the size of all that has one."""
    if isinstance(tree, dict):
        return {key: _changed(value, random) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_changed(value, random) for value in tree]
    if isinstance(tree, float):
        return random.choice(_TIMES)
    if isinstance(tree, bytes):
        return tree[: random.randrange(len(tree))] if tree else tree  # what has its whole size may be a forgery
    if isinstance(tree, str) and (":" in tree or "(" in tree):
        return random.choice(_URLS)
    return tree


def _record(topic: str, random: Random) -> Any:
    whole = _whole(topic, random)
    form: Any = msgspec.json if whole.startswith(b"{") else msgspec.msgpack
    return form.decode(whole) if whole else []


def _whole(topic: str, random: Random) -> bytes:
    """Return an example of the topic's records; raw lines have none."""
    return random.choice(RECORDS[topic]) if topic in RECORDS else b""


_MAKERS: tuple[Callable[[str, Random], bytes], ...] = (
    lambda _, random: random.randbytes(random.randrange(300)), _tree, _cut, _later, _deep,
    _spoilt, _spoilt, _spoilt,
)  # fmt: skip


def write_during_crawls(number: int) -> None:
    """Have crawls of this process get ``number`` such messages while they run; they end no sooner."""
    seed, finished = Engine.seed, Engine.finished
    written: list[asyncio.Task[None]] = []

    async def write(engine: Engine) -> None:
        source = messages(number, engine.runtimes["frontier"].bus.partitions)
        for _ in range(number // _BATCH):
            await engine.runtimes["frontier"].bus.send_all([next(source) for _ in range(_BATCH)])
            await asyncio.sleep(0.01)

    async def seed_and_write(engine: Engine, urls: Any) -> None:
        await seed(engine, urls)
        written.append(engine.runtimes["frontier"].spawn(write(engine)))

    async def finished_when_written(engine: Engine) -> bool:
        return written[0].done() and await finished(engine)

    for name, method in (("seed", seed_and_write), ("finished", finished_when_written)):
        setattr(Engine, name, method)


def during(number: int) -> str:
    """Return the Python that a command runs before its crawl, which gets so many of the messages then."""
    return f"from {__name__} import write_during_crawls; write_during_crawls({number})"
