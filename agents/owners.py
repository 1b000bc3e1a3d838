"""Queries to the processes that hold a crawl's frontiers: the answers, the addresses, and access.

A crawl answers on loopback; its data directory has the port and the token, which only its owner can read.
Workers on Kafka answer beside their metrics (``window.workers``), to requests with the window's token.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from email.message import Message
from hmac import compare_digest
from http import HTTPStatus
from pathlib import Path
from secrets import token_urlsafe
from typing import Any, Protocol, TypeVar
from urllib.parse import parse_qs

import httpx
import msgspec

from scentline.agents.frontier.answers import Answers
from scentline.agents.stored import write_stored
from scentline.agents.worker.directory import WINDOW
from scentline.models.errors import EventLog, ScentlineError
from scentline.models.policy.explain import Explanation
from scentline.models.policy.speaking import Features
from scentline.models.published import Standing
from scentline.models.records import UNREADABLE
from scentline.streams.metrics.endpoint import Answer, Route, said, serving
from scentline.streams.settings import Settings

#: The file with the `Address`, in the window's directory.
ADDRESS = "owner"
#: Timeouts in seconds: of an answer, for the frontier may be busy, and of connecting.
ANSWER_SECONDS, CONNECT_SECONDS = 10.0, 1.0
#: Most bytes of an address.
_MOST_ADDRESS = 4_096

log = EventLog("window")
T = TypeVar("T")


class UnansweredError(ScentlineError):
    """No process with a frontier of the running crawl has answered."""


class Owner(Protocol):
    """Answers about a crawl's frontier."""

    def standings(self, predicate: str = "", hosts: Sequence[str] = ()) -> list[Standing]:
        """Return each worker's standing, with a predicate's best candidates, and with these hosts."""

    def explain(self, url: str) -> Explanation | None:
        """Return what is known about a canonical URL, None if it was never met."""

    def features(self, predicate: str, kind: str = "", side: str = "for") -> Features | None:
        """Return what was learned about a predicate, None if that is unknown."""


class Address(msgspec.Struct, frozen=True):
    """A process's URL, and the token that it requires."""

    url: str
    token: str


# answering


@asynccontextmanager
async def answering(settings: Settings, answers: Answers, routes: dict[str, Route]) -> AsyncIterator[None]:
    """Serve answers during the block: on Kafka among the metrics' ``routes``, else on a port of its own."""
    given = settings.window.token
    if settings.on_kafka:
        if given is not None:
            routes.update(_routes(answers, given.get_secret_value()))
        yield
        return
    token = token_urlsafe(24)
    path = settings.data / WINDOW / ADDRESS
    async with serving("127.0.0.1", 0, _routes(answers, token)) as url:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_stored(path, msgspec.json.encode(Address(url, token)))
        except OSError as error:
            log.warning("nobody can ask how this crawl stands", path=str(path), reason=error.strerror)
        try:
            yield
        finally:
            with suppress(OSError):
                path.unlink()


def _routes(answers: Answers, token: str) -> dict[str, Route]:
    loop = asyncio.get_running_loop()

    def route(path: str) -> Route:
        def answer(query: str, headers: Message) -> Answer:
            if not compare_digest(headers.get("Authorization", "").encode(), f"Bearer {token}".encode()):
                return said(HTTPStatus.UNAUTHORIZED, "expected the window's token: Authorization: Bearer TOKEN")
            try:
                asked = parse_qs(query, max_num_fields=200)
            except ValueError as error:
                return said(HTTPStatus.BAD_REQUEST, str(error))
            found = asyncio.run_coroutine_threadsafe(answers.answer(path, asked), loop)
            try:
                return Answer(HTTPStatus.OK, "application/msgpack", found.result(ANSWER_SECONDS))
            except TimeoutError:
                found.cancel()
                return said(HTTPStatus.SERVICE_UNAVAILABLE, "the frontier is at work")

        return answer

    return {path: route(path) for path in answers.paths}


# asking


class Running:
    """The workers of a running crawl, each queried for its partitions; silent ones are left out."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
        self._client = httpx.Client(timeout=timeout, trust_env=False, verify=False)  # noqa: S501 - plain HTTP

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def standings(self, predicate: str = "", hosts: Sequence[str] = ()) -> list[Standing]:
        """Return the standing of each worker."""
        with suppress(UnansweredError):
            return self._ask("/standing", Standing, predicate=predicate, host=tuple(hosts))
        return []

    def explain(self, url: str) -> Explanation | None:
        """Return what the worker with its host knows about a URL."""
        return next(iter(self._ask("/explain", Explanation, url=url)), None)

    def features(self, predicate: str, kind: str = "", side: str = "for") -> Features | None:
        """Return what was learned about a predicate, from the worker with most judged pages."""
        found = self._ask("/features", Features, predicate=predicate, kind=kind, side=side)
        return max(found, key=lambda each: each.judged, default=None)

    def _ask(self, path: str, of: type[T], **query: str | Sequence[str]) -> list[T]:
        """Return all answers but nil; raises `UnansweredError` if no worker answers."""
        addresses = list(self._addresses())
        with ThreadPoolExecutor(max(1, len(addresses))) as threads:
            found = list(threads.map(lambda each: self._asked(each, path, query), addresses))
        if all(data is None for data in found):
            expected = ", by window.workers and with window.token" if self._settings.on_kafka else ""
            raise UnansweredError(f"the crawl runs, and nobody answers{expected}: it is starting, or busy")
        return [each for data in found if (each := _decoded(data, of)) is not None]

    def _asked(self, address: Address, path: str, query: Any) -> bytes | None:
        headers = {"Authorization": f"Bearer {address.token}"}
        try:
            found = self._client.get(address.url + path, params=query, headers=headers)
        except httpx.HTTPError:
            return None
        return found.content if found.status_code == HTTPStatus.OK else None

    def _addresses(self) -> Iterator[Address]:
        given = self._settings.window
        if not self._settings.on_kafka:
            found = _kept(self._settings.data / WINDOW / ADDRESS)
            if found is not None:
                yield found
            return
        if given.token is None or not given.workers:
            return
        name, _, port = given.workers.rpartition(":")
        try:
            found_at = socket.getaddrinfo(name, int(port), type=socket.SOCK_STREAM)
        except OSError:
            return
        for host in sorted({str(each[4][0]) for each in found_at}):
            literal = f"[{host}]" if ":" in host else host
            yield Address(f"http://{literal}:{port}", given.token.get_secret_value())


def _kept(path: Path) -> Address | None:
    try:
        return msgspec.json.decode(path.read_bytes()[:_MOST_ADDRESS], type=Address)
    except (OSError, msgspec.MsgspecError):
        return None


def _decoded(data: bytes | None, of: type[T]) -> T | None:
    """Decode an answer; an unreadable one is from another release, and counts as none."""
    with suppress(*UNREADABLE):
        return None if data is None else msgspec.msgpack.decode(data, type=of | None)
    return None
