"""How the operator's commands connect by kafka-python: within a bound, and with the reason where they can't."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka.errors import KafkaError as ClientError
from kafka.errors import KafkaTimeoutError

from streams.settings import Settings
from streams.transport.kafka.connection import KafkaError, addresses, kafka_python_arguments

#: Time for brokers that are just starting, too.
_CONNECT_MS = 10_000


class AdminError(KafkaError):
    """Brokers that can't be asked, or refuse; the text names them, what they were asked, and the answer."""


@contextmanager
def connecting(settings: Settings) -> Iterator[dict[str, Any]]:
    """Hand out the arguments of a client that is made within; raises `AdminError` where it can't connect.

    The library logs each attempt and raises a time-out that tells no reason: so its log is heard here, and what
    the last attempt failed of is in the error.
    """
    attempts = _Attempts()
    log = logging.getLogger("kafka")
    log.addHandler(attempts)
    log.propagate = False
    try:
        yield {**kafka_python_arguments(settings), "bootstrap_timeout_ms": _CONNECT_MS}
    except ClientError as error:
        names = ",".join(addresses(settings.broker))
        raise AdminError(f"{names}: can't connect: {attempts.failure or error}") from error
    finally:
        log.propagate = True
        log.removeHandler(attempts)


class _Attempts(logging.Handler):
    """Remembers the last error that a client told of while it connected."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.failure: ClientError | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Look for an error among the values of the message; the library's own time-out tells nothing."""
        for value in record.args if isinstance(record.args, tuple) else ():
            if isinstance(value, ClientError) and not isinstance(value, KafkaTimeoutError):
                self.failure = value
