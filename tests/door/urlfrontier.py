"""A client of URLFrontier's gRPC, with messages as the door makes them, and a crawl that serves it."""

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from scentline.agents.door.proto import SERVICE, message, shape_of
from tests.agents.commands import running
from tests.e2e.crawls import options
from tests.patience import PATIENCE

# Its handlers of forks can stop it for ever when a process is started, as tests start commands.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
grpc = pytest.importorskip("grpc")  # of the extra urlfrontier

#: By name, a value or several.
Metadata = Mapping[str, str | tuple[str, ...]]


class Client:
    """Calls the service at an address."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.insecure_channel(address)
        grpc.channel_ready_future(self._channel).result(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._channel.close()

    def __call__(self, name: str, seconds: float = PATIENCE, **fields: Any) -> Any:
        """Return the answer to a call, a list where it is a stream."""
        kind, request, _ = shape_of(name)
        answer = self._call(name)(request(**fields), timeout=seconds)
        return list(answer) if kind == "unary_stream" else answer

    def send(self, name: str, *requests: Any) -> list[Any]:
        """Return the answers to a stream of requests."""
        return list(self._call(name)(iter(requests), timeout=PATIENCE))

    def _call(self, name: str) -> Any:
        kind, request, answer = shape_of(name)
        return getattr(self._channel, kind)(f"/{SERVICE}/{name}", request.SerializeToString, answer.FromString)

    def put(self, *items: Any) -> list[int]:
        """Put URLs; return the status of each, in their order."""
        for number, item in enumerate(items):
            item.ID = str(number)
        acknowledged = {each.ID: each.status for each in self.send("PutURLs", *items)}
        return [acknowledged[item.ID] for item in items]


def info(url: str, metadata: Metadata | None = None, crawl: str = "") -> Any:
    made = message("URLInfo")(url=url, crawlID=crawl)
    for name, values in (metadata or {}).items():
        made.metadata[name].values.extend((values,) if isinstance(values, str) else values)
    return made


def discovered(url: str, metadata: Metadata | None = None, crawl: str = "") -> Any:
    return message("URLItem")(discovered=message("DiscoveredURLItem")(info=info(url, metadata, crawl)))


def known(url: str, metadata: Metadata | None = None, date: int = 0, crawl: str = "") -> Any:
    item = message("KnownURLItem")(info=info(url, metadata, crawl), refetchable_from_date=date)
    return message("URLItem")(known=item)


def metadata_of(found: Any) -> dict[str, tuple[str, ...]]:
    return {name: tuple(each.values) for name, each in found.metadata.items()}


@contextmanager
def crawling(cwd: Path, *arguments: str, **given: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a crawl by what clients find in pages; yield it, and the address of its URLFrontier."""
    settings = {
        "fetch.delay_seconds": 0, "door.urlfrontier": "127.0.0.1:0", "door.crawls": 2, "streams.partitions": 2,
        **given,
    }  # fmt: skip
    command = ("crawl", "--data", "data", "--door", "127.0.0.1:0", "--json", "--predicate", 'tip=item("Tip")')
    with running(cwd, *command, *options(settings), *arguments) as crawl:
        yield crawl, address_of(crawl.stderr or ())


def address_of(lines: Iterable[str]) -> str:
    for line in lines:
        if opened := re.match(r"URLFrontier: (\S+)", line):
            return opened[1]
    raise AssertionError("no URLFrontier")
