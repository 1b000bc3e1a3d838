"""Connecting to brokers: the arguments of aiokafka, Faust and kafka-python, and retries until one answers.

A request is retried while a broker is down, or a partition changes its leader. All waits of a process for
brokers are here, so that their loss is known and logged once.
"""

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from aiokafka import errors
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import KafkaError as ClientError
from faust import SASLCredentials, SSLCredentials

from scentline.models.errors import EventLog, ScentlineError
from scentline.streams.settings import KafkaSettings, Settings

#: Seconds without an answer until a request is sent again, on a new connection.
REQUEST_SECONDS = 30.0
#: Seconds from a poll, or from a request with messages, to the next, in which more gathers: each costs a client
#: about the same whatever it carries. After a longer pause none waits.
GATHER_SECONDS = 0.02
T = TypeVar("T")
FIRST_SECONDS = 0.05  #: Seconds before the first retry, and at most before any.
MOST_SECONDS = 1.0
#: Seconds without an answer until the brokers count as lost, and between two warnings about it.
QUIET_SECONDS = 2.0
TELL_SECONDS = 60.0
_PASSING = (
    errors.CoordinatorLoadInProgressError, errors.CoordinatorNotAvailableError, errors.KafkaTimeoutError,
    errors.NotCoordinatorError, OSError,
)  # fmt: skip
LOOK_SECONDS = 1.0  #: Seconds between two looks for topics.
ANSWER_MS = 10_000  #: Milliseconds that a broker may take to answer the first time.
_REFUSED = (
    errors.AuthenticationFailedError, errors.IllegalSaslStateError, errors.SaslAuthenticationFailed,
    errors.UnsupportedSaslMechanismError,
)  # fmt: skip
log = EventLog("kafka")


class KafkaError(ScentlineError):
    """The brokers can't be used with these settings; the text holds no secret."""


class UnreachableError(KafkaError):
    """No broker answers; one may later."""


def addresses(broker: str) -> list[str]:
    """Return the HOST:PORT of each broker that a broker URL names.

    >>> addresses("kafka://one:9092;two"), addresses("kafka://one,kafka://two:9093")
    (['one:9092', 'two:9092'], ['one:9092', 'two:9093'])
    """
    names = [name.strip().removeprefix("kafka://").strip("/") for name in broker.replace(",", ";").split(";")]
    return [name if ":" in name.rpartition("]")[2] else f"{name}:9092" for name in names if name]


def aiokafka_arguments(settings: Settings) -> dict[str, Any]:
    """Return the arguments that every client of aiokafka gets. Raises `KafkaError`."""
    return {**kafka_python_arguments(settings), "request_timeout_ms": int(REQUEST_SECONDS * 1000)}


def kafka_python_arguments(settings: Settings) -> dict[str, Any]:
    """Return the arguments that every client of kafka-python gets. Raises `KafkaError`."""
    kafka = settings.kafka
    found = {
        "bootstrap_servers": addresses(settings.broker),
        "security_protocol": kafka.security.upper(),
        "ssl_context": _ssl_context(kafka),
    }
    if kafka.security.startswith("sasl"):
        found |= {
            "sasl_mechanism": kafka.sasl_mechanism, "sasl_plain_username": kafka.username,
            "sasl_plain_password": _password(kafka),
        }  # fmt: skip
    return found


def faust_credentials(settings: Settings) -> SASLCredentials | SSLCredentials | None:
    """Return the credentials of a Faust app, None for plain text. Raises `KafkaError`."""
    given = kafka_python_arguments(settings)
    context = given["ssl_context"]
    if "sasl_mechanism" in given:
        return SASLCredentials(
            username=given["sasl_plain_username"], password=given["sasl_plain_password"],
            mechanism=given["sasl_mechanism"], ssl_context=context,
        )  # fmt: skip
    return None if context is None else SSLCredentials(context)


def _password(kafka: KafkaSettings) -> str:
    if kafka.password is not None:
        return kafka.password.get_secret_value()
    assert kafka.password_file is not None, "the settings check that there is one of the two"
    try:
        return kafka.password_file.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable("password_file", kafka.password_file, error) from None


def _ssl_context(kafka: KafkaSettings) -> ssl.SSLContext | None:
    if not kafka.security.endswith("ssl"):
        return None
    try:
        context = ssl.create_default_context(cafile=kafka.ca_file)
    except OSError as error:
        raise _unreadable("ca_file", kafka.ca_file, error) from None
    if kafka.cert_file is not None and kafka.key_file is not None:
        try:
            # an empty password: a prompt on the terminal would hang a worker
            context.load_cert_chain(kafka.cert_file, kafka.key_file, password="")
        except OSError as error:
            raise _unreadable("cert_file or kafka.key_file", kafka.cert_file, error) from None
    return context


def _unreadable(key: str, path: Path | None, error: Exception) -> KafkaError:
    reason = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
    return KafkaError(f"kafka.{key} {path}: can't be used: {reason}")


class Outage:
    """The unanswered requests of this process to its brokers, and since when. ``clock`` is monotonic.

    >>> times = iter([0.0, 2.0, 2.5, 9.0])
    >>> outage = Outage(lambda: next(times))
    >>> outage.failed(1, "reading", TimeoutError()), outage.failed(1, "reading", TimeoutError())
    (None, None)
    >>> outage.seconds(), outage.ended(1, answered=True), outage.seconds()
    (2.5, None, 0.0)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failing: dict[object, float] = {}
        self._since: float | None = None
        self._tell = 0.0

    def failed(self, asked: object, what: str, error: Exception) -> None:
        """Note that ``asked`` was not answered; ``what`` it is, and the reason, are logged once a minute."""
        now = self._clock()
        first = self._failing.setdefault(asked, now)
        if now - first < QUIET_SECONDS:
            return
        if self._since is None:
            self._since, self._tell = first, now
        if now >= self._tell:
            self._tell = now + TELL_SECONDS
            told = {"what": what, "reason": type(error).__name__, "seconds": round(now - self._since, 1)}
            log.warning("the brokers do not answer: trying again", **told)

    def ended(self, asked: object, *, answered: bool) -> None:
        """Note that ``asked`` was answered, or given up."""
        if self._failing.pop(asked, None) is None or self._since is None or self._failing:
            return
        since, self._since = self._since, None
        if answered:
            log.info("the brokers answer again", seconds=round(self._clock() - since, 1))

    def seconds(self) -> float:
        """Return for how long the brokers have been lost, 0 while they answer; from any thread."""
        since = self._since
        return 0.0 if since is None else self._clock() - since


OUTAGE = Outage()  #: A process talks to one set of brokers.


async def persist(client: AIOKafkaClient, what: str, attempt: Callable[[], Awaitable[T]]) -> T:
    """Repeat ``attempt`` until it returns, and return its result; raise an error that won't pass."""
    asked, pause = object(), FIRST_SECONDS
    try:
        while True:
            try:
                found = await attempt()
            except (ClientError, OSError) as error:
                if not passing(error):
                    raise
                OUTAGE.failed(asked, what, error)
            else:
                OUTAGE.ended(asked, answered=True)
                return found
            await client.force_metadata_update()
            await asyncio.sleep(pause)
            pause = min(2 * pause, MOST_SECONDS)
    finally:
        OUTAGE.ended(asked, answered=False)


def passing(error: Exception) -> bool:
    """Return whether an error passes by itself: a broker is down, starting, or no longer the leader."""
    return isinstance(error, _PASSING) or bool(getattr(error, "retriable", False))


# beginning


async def wait_for_topics(settings: Settings, names: Iterable[str]) -> Mapping[str, int]:
    """Return the partitions of each topic once a broker answers and all exist; raises `KafkaError`."""
    wanted, said, tell = frozenset(map(settings.named, names)), "", 0.0
    while True:
        try:
            found = await topics(settings)
            missing = sorted(wanted - found.keys())
            if not missing:
                return found
            reason = f"no topics {', '.join(missing)}: make them with scentline topics create"
        except UnreachableError as error:
            reason = str(error)
        if reason != said or time.monotonic() >= tell:
            said, tell = reason, time.monotonic() + TELL_SECONDS
            log.warning("waiting for Kafka", reason=reason)
        await asyncio.sleep(LOOK_SECONDS)


async def topics(settings: Settings) -> Mapping[str, int]:
    """Return the partitions of each existing topic; raises `KafkaError`, above all `UnreachableError`."""
    await probe(settings)
    client = AIOKafkaClient(**aiokafka_arguments(settings))
    try:
        await client.bootstrap()
        found = await client.fetch_all_metadata()
        return {topic: len(found.partitions_for_topic(topic) or ()) for topic in found.topics()}
    except (ClientError, OSError) as error:
        raise UnreachableError(f"Kafka at {','.join(addresses(settings.broker))}: {error}") from error
    finally:
        await client.close()


async def probe(settings: Settings) -> None:
    """Return when a broker accepts the settings; raise `KafkaError` with what is wrong with them."""
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
