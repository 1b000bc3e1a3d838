"""Asking brokers again until they answer: what one does while they are down, or change their leader."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    KafkaTimeoutError,
    NotCoordinatorError,
)
from aiokafka.errors import KafkaError as ClientError

from streams.logging import EventLog

T = TypeVar("T")

#: Seconds before the first repetition, and before any.
FIRST_SECONDS = 0.05
MOST_SECONDS = 1.0
#: Seconds until something is said about it, and between two words.
QUIET_SECONDS = 2.0
TELL_SECONDS = 10.0

_PASSING = (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    KafkaTimeoutError,
    NotCoordinatorError,
    OSError,
)

log = EventLog("kafka")


async def persist(client: AIOKafkaClient, what: str, attempt: Callable[[], Awaitable[T]]) -> T:
    """Return what ``attempt`` returns, however often it must be made; raise an error that won't go away."""
    since = time.monotonic()
    pause, tell = FIRST_SECONDS, since + QUIET_SECONDS
    while True:
        try:
            found = await attempt()
        except (ClientError, OSError) as error:
            if not passing(error):
                raise
            if time.monotonic() >= tell:
                tell = time.monotonic() + TELL_SECONDS
                log.warning("a broker does not do it; asking again", what=what, reason=type(error).__name__)
            await client.force_metadata_update()
            await asyncio.sleep(pause)
            pause = min(2 * pause, MOST_SECONDS)
        else:
            if tell > since + QUIET_SECONDS:
                log.info("the broker does it again", what=what, seconds=round(time.monotonic() - since, 1))
            return found


def passing(error: Exception) -> bool:
    """Return whether an error goes away by itself: a broker is down, starting, or no longer the leader."""
    return isinstance(error, _PASSING) or bool(getattr(error, "retriable", False))
