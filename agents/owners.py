"""Queries and requests to the processes that hold a crawl's frontiers: answers, addresses, and access.

A crawl answers on loopback, and carries out people's requests there; its data directory has the port and the
token, which only its owner can read. Workers on Kafka answer beside their metrics (``window.workers``), to
requests with the window's token.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from email.message import Message
from hmac import compare_digest
from http import HTTPStatus
from secrets import token_urlsafe
from typing import Any, Protocol, TypeAlias, TypeVar
from urllib.parse import parse_qs

import msgspec

from scentline.agents.frontier.answers import Answers
from scentline.agents.operate.requests import RefusedError
from scentline.agents.stored import write_stored
from scentline.agents.worker.directory import WINDOW
from scentline.models.errors import EventLog
from scentline.models.policy.explain import Explanation
from scentline.models.policy.speaking import Features
from scentline.models.published import Standing
from scentline.streams.metrics.endpoint import Answer, Route, said, serving
from scentline.streams.settings import Settings

#: The file with the `Address`, in the window's directory.
ADDRESS = "owner"
#: Seconds that an answer may take: the frontier may be busy.
ANSWER_SECONDS = 10.0
#: Where people's requests go.
REQUEST = "/request"

log = EventLog("window")
T = TypeVar("T")
#: Carries out a request in JSON and returns what then holds; raises `RefusedError`.
CarryOut: TypeAlias = Callable[[bytes], Awaitable[str]]


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
async def answering(
    settings: Settings, answers: Answers, routes: dict[str, Route], carry_out: CarryOut | None = None
) -> AsyncIterator[None]:
    """Serve answers during the block: on Kafka among the metrics' ``routes``, else on a port of its own.

    There people's requests are carried out, too.
    """
    given = settings.window.token
    if settings.on_kafka:
        if given is not None:
            routes.update(_routes(answers, given.get_secret_value()))
        yield
        return
    token = token_urlsafe(24)
    path = settings.data / WINDOW / ADDRESS
    own = _routes(answers, token) | ({} if carry_out is None else _requests(carry_out, token))
    async with serving("127.0.0.1", 0, own) as url:
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
    def route(path: str) -> Route:
        async def answer(query: str) -> Answer:
            try:
                asked = parse_qs(query, max_num_fields=200)
            except ValueError as error:
                return said(HTTPStatus.BAD_REQUEST, str(error))
            return Answer(HTTPStatus.OK, "application/msgpack", await answers.answer(path, asked))

        return _guarded(answer, token)

    return {path: route(path) for path in answers.paths}


def _requests(carry_out: CarryOut, token: str) -> dict[str, Route]:
    async def answer(request: str) -> Answer:
        try:
            return said(HTTPStatus.OK, await carry_out(request.encode()))
        except RefusedError as error:
            return said(HTTPStatus.BAD_REQUEST, str(error))

    return {f"POST {REQUEST}": _guarded(answer, token)}


def _guarded(answer: Callable[[str], Coroutine[Any, Any, Answer]], token: str) -> Route:
    """Return a route that answers, in the running loop, whoever has the token."""
    loop = asyncio.get_running_loop()

    def route(asked: str, headers: Message) -> Answer:
        if not compare_digest(headers.get("Authorization", "").encode(), f"Bearer {token}".encode()):
            return said(HTTPStatus.UNAUTHORIZED, "expected the window's token: Authorization: Bearer TOKEN")
        found = asyncio.run_coroutine_threadsafe(answer(asked), loop)
        try:
            return found.result(ANSWER_SECONDS)
        except TimeoutError:
            found.cancel()
            return said(HTTPStatus.SERVICE_UNAVAILABLE, "the frontier is at work")

    return route
