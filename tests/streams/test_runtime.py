"""What an agent begins beside its stream ends with the program."""

import asyncio
from pathlib import Path

from scentline.streams.settings import Settings
from tests.agents.shards import a_runtime


def test_what_is_begun_after_the_close_does_nothing(tmp_path: Path) -> None:
    done: list[str] = []

    async def work(name: str) -> None:
        done.append(name)

    async def run() -> None:
        with a_runtime(Settings(data=tmp_path)) as runtime:
            runtime.finish(work("before"))
            await runtime.close()
            late = runtime.spawn(work("after"))
            await asyncio.wait([late])
            assert late.cancelled()

    asyncio.run(run())
    assert done == ["before"]
