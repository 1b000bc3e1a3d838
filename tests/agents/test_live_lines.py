"""Lines of a live log come as they are written, and hold nothing up."""

import asyncio
import queue
from collections.abc import Iterator

import pytest

from scentline.agents.observe.live import WAITING, live_lines

Line = tuple[int, bytes]


def of(source: "queue.Queue[Line | None]") -> Iterator[Line]:
    while (line := source.get()) is not None:
        yield line


def test_a_line_is_there_before_the_next_one_is_written() -> None:
    source: queue.Queue[Line | None] = queue.Queue()

    async def follow() -> list[list[Line]]:
        chunks = live_lines(of(source))
        seen = []
        for number in (1, 2):
            source.put((number, b"line"))
            seen.append(await anext(chunks))
        source.put(None)
        return seen + [chunk async for chunk in chunks]

    assert asyncio.run(follow()) == [[(1, b"line")], [(2, b"line")]]


def test_every_line_comes_once_and_in_order_however_many_there_are() -> None:
    lines = [(number, b"x") for number in range(3 * WAITING + 7)]

    async def follow() -> list[Line]:
        return [line async for chunk in live_lines(iter(lines)) for line in chunk]

    assert asyncio.run(follow()) == lines


def test_an_error_of_the_log_comes_after_its_lines() -> None:
    def broken() -> Iterator[Line]:
        yield 1, b"line"
        raise OSError("gone")

    async def follow() -> list[Line]:
        seen: list[Line] = []
        with pytest.raises(OSError, match="gone"):
            async for chunk in live_lines(broken()):
                seen += chunk
        return seen

    assert asyncio.run(follow()) == [(1, b"line")]
