"""A client of URLFrontier's gRPC, with messages as the door makes them, and a crawl that serves it."""

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from scentline.agents.door.proto import SERVICE, message, shape_of
from tests.agents.commands import apart, running
from tests.e2e.crawls import options
from tests.patience import PATIENCE

pytest.importorskip("grpc")  # of the extra urlfrontier

#: By name, a value or several.
Metadata = Mapping[str, str | tuple[str, ...]]


class CallError(Exception):
    """A call that ended with another status than OK, which it names."""


class Client(ExitStack):
    """Calls the service at an address.

    The calls leave from a process that starts no other: where one does, gRPC's threads may stop for ever.
    """

    def __init__(self, address: str) -> None:
        super().__init__()
        self._calls, theirs = Pipe()
        self.enter_context(self._calls)
        with theirs:
            self.enter_context(apart(_carry_out, address, theirs))

    def __call__(self, name: str, seconds: float = PATIENCE, **fields: Any) -> Any:
        """Return the answer to a call, a list where it is a stream; raises `CallError`."""
        kind, request, _ = shape_of(name)
        answers = self._call(name, [request(**fields)], seconds)
        return answers if kind == "unary_stream" else answers[0]

    def send(self, name: str, *requests: Any) -> list[Any]:
        """Return the answers to a stream of requests; raises `CallError`."""
        return self._call(name, requests, PATIENCE)

    def _call(self, name: str, requests: Iterable[Any], seconds: float) -> list[Any]:
        self._calls.send((name, seconds, [each.SerializeToString() for each in requests]))
        # gRPC's own deadline has been seen to stay away.
        code, answers = self._calls.recv() if self._calls.poll(seconds + 10) else ("DEADLINE_EXCEEDED", [])
        if code:
            raise CallError(code)
        return [shape_of(name)[2].FromString(each) for each in answers]

    def put(self, *items: Any) -> list[int]:
        """Put URLs; return the status of each, in their order."""
        for number, item in enumerate(items):
            item.ID = str(number)
        acknowledged = {each.ID: each.status for each in self.send("PutURLs", *items)}
        return [acknowledged[item.ID] for item in items]


def _carry_out(address: str, calls: Connection) -> None:
    """Make the calls that come, name, seconds and requests, and send back a status or the answers."""
    import grpc

    channel = grpc.insecure_channel(address)
    grpc.channel_ready_future(channel).result(PATIENCE)
    while True:
        name, seconds, requests = calls.recv()
        asked, said = shape_of(name)[0].split("_")
        call = getattr(channel, f"{asked}_{said}")(f"/{SERVICE}/{name}")
        try:
            answer = call(iter(requests) if asked == "stream" else requests[0], timeout=seconds)
            calls.send(("", list(answer) if said == "stream" else [answer]))
        except grpc.RpcError as error:
            calls.send((error.code().name, []))


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
