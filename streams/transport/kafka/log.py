"""Kafka, as a worker connects to it: first it waits until the brokers answer and have the topics."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import faust
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import (
    AuthenticationFailedError,
    IllegalSaslStateError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)
from aiokafka.errors import KafkaError as ClientError

from scentline.streams.app import create_app
from scentline.streams.logging import EventLog
from scentline.streams.settings import Settings
from scentline.streams.topics import APP_ID, TABLES, TOPICS, changelog_of
from scentline.streams.transport.kafka.connection import OUTAGE, KafkaError, addresses, aiokafka_arguments
from scentline.streams.transport.kafka.fetcher import Fetcher, KafkaReader
from scentline.streams.transport.kafka.publisher import KafkaPublisher

LOOK_SECONDS = 1.0  #: Seconds between two looks, and between two words about the same.
TELL_SECONDS = 30.0
ANSWER_MS = 10_000  #: Milliseconds that a broker may take to answer.

_REFUSED = (
    AuthenticationFailedError,
    IllegalSaslStateError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)

log = EventLog("kafka")


class UnreachableError(KafkaError):
    """No broker answers; one may later."""


async def wait_for_topics(settings: Settings, names: Iterable[str]) -> None:
    """Return once a broker answers and all topics exist; raises `KafkaError` for wrong settings."""
    wanted, said, tell = frozenset(map(settings.named, names)), "", 0.0
    while True:
        try:
            missing = sorted(wanted - await topics(settings))
            if not missing:
                return
            reason = f"no topics {', '.join(missing)}: make them with scentline topics create"
        except UnreachableError as error:
            reason = str(error)
        if reason != said or time.monotonic() >= tell:
            said, tell = reason, time.monotonic() + TELL_SECONDS
            log.warning("waiting for Kafka", reason=reason)
        await asyncio.sleep(LOOK_SECONDS)


async def topics(settings: Settings) -> frozenset[str]:
    """Return the names of the topics that there are; raises `KafkaError`, and `UnreachableError` among them."""
    await probe(settings)
    client = AIOKafkaClient(**aiokafka_arguments(settings))
    try:
        await client.bootstrap()
        return frozenset((await client.fetch_all_metadata()).topics())
    except (ClientError, OSError) as error:
        raise UnreachableError(f"Kafka at {','.join(addresses(settings.broker))}: {error}") from error
    finally:
        await client.close()


async def probe(settings: Settings) -> None:
    """Return when one of the brokers takes the settings; raise `KafkaError` with what is wrong with them."""
    silent: list[str] = []
    for address in addresses(settings.broker):
        try:
            return await _probe(settings, address)
        except UnreachableError as error:
            silent.append(str(error))
    raise UnreachableError("; ".join(silent))


async def _probe(settings: Settings, address: str) -> None:
    arguments: dict[str, Any] = aiokafka_arguments(settings) | {"request_timeout_ms": ANSWER_MS}
    del arguments["bootstrap_servers"]
    host, _, port = address.rpartition(":")
    where = f"connecting to Kafka at {address}"
    connection = AIOKafkaConnection(host.strip("[]"), int(port), **arguments)
    try:
        await connection.connect()
    except ssl.SSLCertVerificationError as error:
        raise KafkaError(
            f"{where}: its certificate is not trusted ({error.verify_message}); expected one "
            "for that host, signed by kafka.ca_file"
        ) from None
    except ssl.SSLError as error:
        raise KafkaError(f"{where}: no TLS ({error.reason}); check kafka.security") from None
    except OSError as error:
        raise _silent(where, settings, error) from None
    except _REFUSED:
        await _close(connection)
        raise KafkaError(
            f"{where}: it refuses kafka.username and password ({settings.kafka.sasl_mechanism})"
        ) from None
    except ClientError as error:
        await _close(connection)
        raise _silent(where, settings, error) from None
    await _close(connection)


async def _close(connection: AIOKafkaConnection) -> None:
    await asyncio.wait([connection.close()], timeout=1)


def _silent(where: str, settings: Settings, error: Exception) -> KafkaError:
    causes = (error, error.__cause__, error.__context__)
    alert = next((cause.reason for cause in causes if isinstance(cause, ssl.SSLError)), None)
    if alert is not None:
        return KafkaError(
            f"{where}: it refuses the connection ({alert}); are kafka.cert_file and key_file right?"
        )
    reason = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
    return UnreachableError(
        f"{where}: no answer ({reason}); does it run, with kafka.security {settings.kafka.security}?"
    )


class KafkaLog:
    """A broker's topics: each role has an app, and a consumer group, of its own."""

    def __init__(
        self, settings: Settings, reader: KafkaReader, publisher: KafkaPublisher, fetcher: Fetcher
    ) -> None:
        self.reader = reader
        self.publisher = publisher
        self._settings = settings
        self._fetcher = fetcher
        self._apps: dict[str, faust.App] = {}

    def app(self, role: str) -> faust.App:
        """Return the app of a role."""
        found = self._apps.get(role)
        if found is None:
            found = self._apps[role] = create_app(self._settings, role)
            transport: Any = found.transport
            transport.fetcher = self._fetcher
        return found

    def lost_seconds(self) -> float:
        """Return for how long the brokers have not answered, 0 where they do; from any thread."""
        return OUTAGE.seconds()


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[KafkaLog]:
    """Connect once a broker answers and every topic exists; raises `KafkaError`."""
    changelogs = (changelog_of(APP_ID, table) for table in TABLES)
    await wait_for_topics(settings, [*(topic.name for topic in TOPICS), *changelogs])
    async with AsyncExitStack() as resources:
        fetcher = Fetcher(settings)
        await fetcher.start()
        resources.push_async_callback(fetcher.stop)
        reader = KafkaReader(settings, fetcher)
        await reader.start()
        resources.push_async_callback(reader.stop)
        publisher = KafkaPublisher(settings, reader)
        await publisher.start()
        resources.push_async_callback(publisher.stop)
        yield KafkaLog(settings, reader, publisher, fetcher)
