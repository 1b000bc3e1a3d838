"""A role as a worker plays it: its agent, and what the worker does for it."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from streams.records import Interests, PredicateDefinition
from streams.stateful import Stateful

Agent = TypeVar("Agent")

#: Work that goes on beside the agent's stream, without end.
Task: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class Part(Generic[Agent]):
    """An agent and its inbox, if it is a stateful one.

    ``tasks`` run while the worker does; ``hears_predicate`` and ``hears_interests`` are told what every worker
    hears; ``finish`` is what a graceful stop does for it before the inboxes are flushed, ``report`` after.
    """

    agent: Agent
    inbox: Stateful[Any] | None = None
    tasks: tuple[Task, ...] = ()
    hears_predicate: Callable[[PredicateDefinition], None] | None = None
    hears_interests: Callable[[Interests], None] | None = None
    finish: Callable[[], Awaitable[None]] | None = None
    report: Callable[[], Awaitable[None]] | None = None
