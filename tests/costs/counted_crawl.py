"""A whole crawl in this process, its work counted where it leaves the project's own code.

``python -m tests.costs.counted_crawl SETTINGS SEED...`` prints the counts as JSON. It is a process of its
own, since the counting encoders have to be in place before the project's modules are imported: those take
msgspec's once.
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")

counts: Counter[str] = Counter()
#: Longer than any crawl that is counted.
LONG_SECONDS = 3600.0
#: The modules of messages.
RECORDS = frozenset(f"scentline.models.{name}" for name in ("facts", "published", "records"))
#: The coroutines of tasks by which Faust's services sleep and look after themselves: so many a second.
ASLEEP = frozenset({"Event.wait", "flight_recorder._waiting"})


def count(done: str, value: Any) -> None:
    """Count what was encoded or decoded: a message's record, or else a table's row.

    What the judge and its examiner tell each other is neither.
    """
    module = type(value).__module__
    if module != "scentline.agents.judge.question":
        counts[f"{'records' if module in RECORDS else 'rows'} {done}"] += 1


class Encoder:
    """msgspec's encoder of MessagePack, counted."""

    def __init__(self, **options: Any) -> None:
        self._encode = _Encoder(**options).encode

    def encode(self, value: Any) -> bytes:
        count("encoded", value)
        return self._encode(value)


class Decoder(Generic[T]):
    """msgspec's decoder of MessagePack, counted."""

    def __init__(self, type: Any = Any, **options: Any) -> None:
        self._decode: Callable[[Any], T] = _Decoder(type, **options).decode

    def decode(self, value: Any) -> T:
        found = self._decode(value)
        count("decoded", found)
        return found


def encode(value: Any) -> bytes:
    return Encoder().encode(value)


def decode(value: Any, *, type: Any = Any) -> Any:
    return Decoder(type).decode(value)


_Encoder, _Decoder = msgspec.msgpack.Encoder, msgspec.msgpack.Decoder


def count_coding() -> None:
    """Have every module that is imported from here on count what it encodes and decodes."""
    for counted in (Encoder, Decoder, encode, decode):
        setattr(msgspec.msgpack, counted.__name__, counted)


def count_scores() -> None:
    from scentline.models.policy.learned import LearnedScorer

    priorities = LearnedScorer.priorities

    def counted(scorer: LearnedScorer, shard: Any, rows: Any, predicates: Any) -> list[dict[str, float]]:
        counts["scores"] += len(rows) * len(predicates)
        return priorities(scorer, shard, rows, predicates)

    setattr(LearnedScorer, "priorities", counted)  # noqa: B010 - mypy lets no method be assigned to


def go_by_no_clock() -> None:
    """Have the frontier choose when something changed, never by the clock: slow machines would choose more."""
    from scentline.models.frontier import core

    core.IDLE_SECONDS = core.SHORT_SECONDS = LONG_SECONDS


def counting_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop that counts the tasks that it starts, but for those that sleep."""

    def start(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> "asyncio.Task[Any]":
        counts["asyncio tasks"] += getattr(work, "__qualname__", "") not in ASLEEP
        return asyncio.Task(work, loop=loop, **options)

    loop = asyncio.new_event_loop()
    loop.set_task_factory(start)
    return loop


def crawl(settings: str, seeds: Sequence[str]) -> int:
    """Crawl to the end, as the settings, a JSON document, have it; return the pages that were judged."""
    from scentline.agents.observe.observer import Observer
    from scentline.agents.worker.crawl import run_crawl
    from scentline.streams.metrics.catalogue import GROUP_ROWS
    from scentline.streams.settings import Settings

    count_scores()
    go_by_no_clock()
    read = Settings.model_validate_json(settings)
    engines: list[Any] = []
    with asyncio.Runner(loop_factory=counting_loop) as runner:
        work = run_crawl(
            read, Observer(read.observe, b"key"), seeds, [], lambda engine, _: engines.append(engine)
        )
        status, _ = runner.run(work)
    count_groups(engines[-1].runtimes["frontier"].metrics.histogram(GROUP_ROWS).collect())
    return status.fetched


def count_groups(histograms: Iterable[Any]) -> None:
    """Take over what the crawl itself has counted of its groups."""
    for sample in (sample for histogram in histograms for sample in histogram.samples):
        if sample.name.endswith("_count"):
            counts["commit groups"] += int(sample.value)
        elif sample.name.endswith("_sum"):
            counts["table rows written"] += int(sample.value)


if __name__ == "__main__":
    count_coding()
    judged = crawl(sys.argv[1], sys.argv[2:])
    print(json.dumps({"pages judged": judged, **counts}))
