"""The way of requests, and of questions, from a command or the window to the crawl.

A running crawl answers them in its own process (`agents.owners`). If none runs, requests go straight into the
log; for a crawl on Kafka, into its topics.
"""

import asyncio
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import httpx
import msgspec

from scentline.agents.judge.predicates import Predicates
from scentline.agents.operate.record import definitions_of, entries, kept_entries, totals
from scentline.agents.operate.requests import (
    Known,
    Record,
    RefusedError,
    Request,
    Seeds,
    checked,
    messages,
    resolve,
)
from scentline.agents.owners import ADDRESS, ANSWER_SECONDS, REQUEST, Address
from scentline.agents.worker.connect import connect
from scentline.agents.worker.directory import WINDOW
from scentline.models.errors import ScentlineError
from scentline.models.frontier.steered import Steered
from scentline.models.policy.explain import Explanation
from scentline.models.policy.speaking import Features
from scentline.models.published import Limit, PredicateDefinition, Standing
from scentline.models.records import UNREADABLE
from scentline.streams.inbox import Message
from scentline.streams.metrics.endpoint import MOST_BODY
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings
from scentline.streams.topics import CONTROL, SIGHTINGS
from scentline.streams.transport.database import Entry, JournalInUseError
from scentline.streams.transport.journal import Journal

#: Seconds that connecting may take, and most bytes of an address.
CONNECT_SECONDS, _MOST_ADDRESS = 1.0, 4_096
#: Seconds between two attempts to have a request carried out.
LOOK_SECONDS = 0.2


def submit(settings: Settings, asked: Request) -> str:
    """Have the crawl of ``settings`` carry out a request; return what then holds, which is in its log.

    Raises `RefusedError`, and `JournalMissingError` where there is no crawl.
    """
    checked(asked)
    if settings.on_kafka:
        return _carry_out_on_kafka(settings, asked)
    Journal.open(settings.data / "journal", read_only=True).close()
    with closing(Running(settings)) as crawl:
        end = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < end:
            with suppress(JournalInUseError), Journal.open(settings.data / "journal") as journal:
                return _carry_out(settings, journal, asked)
            if (said := crawl.carry_out(msgspec.json.encode(asked))) is not None:
                return said
            time.sleep(LOOK_SECONDS)
    raise RefusedError("the crawl runs, and does not answer: it is starting, or busy; try again")


def known_predicates(settings: Settings) -> dict[str, PredicateDefinition]:
    """Return the predicates that the crawl has had, by name; raises `JournalMissingError`."""
    return definitions_of(kept_entries(settings, CONTROL.name))


def check_known(settings: Settings, name: str, *more: Iterable[str]) -> None:
    """Raise `RefusedError` where a crawl has predicates, ``more`` among them, and none of this name."""
    known = set(known_predicates(settings)).union(*more)
    if known and name not in known:
        raise RefusedError(f"no predicate {name!r}; expected one of {', '.join(sorted(known))}")


def known_steering(settings: Settings) -> Steered:
    """Return how the crawl is steered; raises `JournalMissingError`."""
    return Steered(kept_entries(settings, CONTROL.name))


def _carry_out(settings: Settings, journal: Journal, asked: Request) -> str:
    """Carry out a request to a crawl at rest, and return what then holds."""
    found = totals(journal)
    stand = {} if found is None else {"judged": found.judged, "answered": found.requests}
    known = _known(settings, lambda topic: entries(journal, topic, 0), stand)
    record, said = resolve(asked, known)
    journal.append_all(messages(record, journal.partitions), known.now)
    journal.sync()
    return said


def _known(settings: Settings, read: Callable[[str], Iterable[Entry]], stand: Mapping[str, int]) -> Known:
    """Return a crawl's state from its topics, with the budgets that were set by requests."""
    told = list(read(CONTROL.name))
    steered = Steered(told)
    budgets: dict[str, int] = {each.name: each.most for each in steered.in_force if isinstance(each, Limit)}
    predicates = definitions_of(told)
    return Known(predicates, steered, settings.fetch.delay_seconds, {**stand, **budgets}, now=time.time())


def _carry_out_on_kafka(settings: Settings, asked: Request) -> str:
    """Carry out a request and return what then holds; it is in the log when this returns.

    Raises `RefusedError` if it can't be, and `streams.transport.kafka.connection.KafkaError`.
    """
    counts = _partitions(settings)
    known = _known(settings, partial(kept_entries, settings), {})._replace(judges=settings.judge)
    record, said = resolve(asked, known)
    asyncio.run(_send(settings, messages(record, counts.__getitem__)))
    return said


async def _send(settings: Settings, sent: list[Message]) -> None:
    async with connect(settings) as bus:
        await bus.send_all(sent)


def _partitions(settings: Settings) -> dict[str, int]:
    from scentline.streams.transport.kafka.admin import Admin

    names = (CONTROL.name, SIGHTINGS.name)
    with Admin(settings) as admin:
        found = admin.topics(names)
    for name in names:
        if name not in found:
            raise RefusedError(f"there is no topic {name} at the broker; scentline topics create makes it")
    return {name: topic.partitions for name, topic in found.items()}


#: Seconds between two checks that the crawl has read a record.
HEARD_SECONDS = 0.01

T = TypeVar("T")
_decode: Callable[[bytes], Request] = msgspec.json.Decoder(Request).decode


class Control:
    """Carries out requests to a running crawl, one after the other.

    ``sync`` returns once the disk has what was sent, ``stand`` the crawl's figures, as `Known` has them.
    """

    def __init__(
        self,
        runtime: Runtime,
        predicates: Predicates,
        steered: Steered,
        sync: Callable[[], None],
        stand: Callable[[], Mapping[str, int]],
    ) -> None:
        self._runtime = runtime
        settings = runtime.settings
        self._known = Known(
            predicates.definitions, steered, settings.fetch.delay_seconds, judges=settings.judge
        )
        self._sync = sync
        self._stand = stand
        self._turn = asyncio.Lock()

    async def carry_out(self, request: bytes) -> str:
        """Carry out a request, in JSON, and return what then holds; raises `RefusedError`."""
        try:
            asked = _decode(request)
        except UNREADABLE as error:
            raise RefusedError(f"the request can't be read: {error}") from error
        async with self._turn:
            bus = self._runtime.bus
            record, said = resolve(asked, self._known._replace(stand=self._stand(), now=self._runtime.clock()))
            await bus.send_all(messages(record, bus.partitions))
            while not self._heard(record):  # the next request may build on it
                await asyncio.sleep(HEARD_SECONDS)
            self._sync()
            return said

    def _heard(self, record: Record) -> bool:
        if isinstance(record, PredicateDefinition):
            return self._known.predicates.get(record.name) == record
        return isinstance(record, Seeds) or self._known.steered.heard(record)


# asking


class UnansweredError(ScentlineError):
    """No process with a frontier of the running crawl has answered."""


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

    def carry_out(self, request: bytes) -> str | None:
        """Have a crawl carry out a request in JSON; return what then holds, None if it does not answer.

        Raises `RefusedError`.
        """
        if len(request) > MOST_BODY:
            raise RefusedError(f"a request of {len(request):,} bytes, expected at most {MOST_BODY:,}")
        for address in self._addresses():
            found = self._sent(address, "POST", REQUEST, content=request)
            if found is not None and found.status_code == HTTPStatus.OK:
                return found.text.rstrip("\n")
            if found is not None and found.status_code == HTTPStatus.BAD_REQUEST:
                raise RefusedError(found.text.rstrip("\n"))
        return None

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
        found = self._sent(address, "GET", path, params=query)
        return found.content if found is not None and found.status_code == HTTPStatus.OK else None

    def _sent(self, address: Address, method: str, path: str, **asked: Any) -> httpx.Response | None:
        headers = {"Authorization": f"Bearer {address.token}"}
        try:
            return self._client.request(method, address.url + path, headers=headers, **asked)
        except httpx.HTTPError:
            return None

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
