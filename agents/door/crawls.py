"""The crawls that URLFrontier's clients name: this process's own, and further ones with a directory each."""

import asyncio
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Final, TypeAlias

from scentline.agents.door.crawl import Crawl

#: The name of the crawl of this process, also of a call that names none.
DEFAULT: Final = "DEFAULT"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
#: Runs the crawl of a directory, which may be new.
Run: TypeAlias = Callable[[Path], AbstractAsyncContextManager[Crawl]]


class Crawls:
    """The crawls by name: ``own`` is the default; up to ``most`` further ones lie in ``directory``.

    An async context manager: further ones run, by ``run``, from the first call that names them to its end.
    """

    def __init__(self, own: Crawl, directory: Path, most: int = 0, run: Run | None = None) -> None:
        self.own = own
        self._directory = directory
        self._most, self._run = most, run
        self._running: dict[str, tuple[Crawl, AsyncExitStack]] = {}
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> "Crawls":
        return self

    async def __aexit__(self, *_: object) -> None:
        async with self._turn:
            while self._running:
                await self._running.popitem()[1][1].aclose()

    def names(self) -> Iterator[str]:
        """Yield the names of all crawls, also of those that do not run."""
        yield DEFAULT
        if self._most and self._directory.is_dir():
            yield from sorted(each.name for each in self._directory.iterdir() if _NAME.fullmatch(each.name))

    async def find(self, name: str, *, begin: bool = False) -> Crawl | None:
        """Return the crawl of a name; ``begin`` makes one where there is room. None without one."""
        if name in ("", DEFAULT):
            return self.own
        async with self._turn:
            if name in self._running:
                return self._running[name][0]
            there = self._directory / name
            may = self._run is not None and len(self._running) < self._most and _NAME.fullmatch(name)
            if self._run is None or not may or not (begin or there.is_dir()):
                return None
            resources = AsyncExitStack()
            crawl = await resources.enter_async_context(self._run(there))
            self._running[name] = crawl, resources
            return crawl

    async def delete(self, name: str) -> None:
        """End a further crawl, and remove its directory."""
        async with self._turn:
            if name in self._running:
                await self._running.pop(name)[1].aclose()
            if self._most and _NAME.fullmatch(name):
                await asyncio.to_thread(shutil.rmtree, self._directory / name, ignore_errors=True)
