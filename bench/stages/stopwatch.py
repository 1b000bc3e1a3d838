"""A stopwatch for nested stages: each gets its own time, without that of the stages that run within it."""

import functools
import gc
import inspect
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any

#: The stage of Python's collector, whatever it interrupts.
COLLECTOR = "garbage collector"


class Stopwatch:
    """Adds up time by stage in ``spent``, and in ``calls`` how often its functions were called.

    ``clock`` is in seconds of one thread's CPU time, that which makes the stopwatch: calls from others are not
    timed.
    """

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.calls: Counter[str] = Counter()
        self._clock = clock
        self._thread = threading.get_ident()
        self._running: list[str] = []
        self._since = 0.0

    def begin(self, stage: str) -> None:
        """Begin a stage within the one that runs."""
        now = self._clock()
        if self._running:
            self.spent[self._running[-1]] += now - self._since
        self._running.append(stage)
        self._since = now

    def end(self) -> None:
        """End the stage that runs, and go on with the one around it."""
        now = self._clock()
        self.spent[self._running.pop()] += now - self._since
        self._since = now

    def watch(self, stages: Mapping[str, Sequence[str]]) -> None:
        """Put the stopwatch on each stage's functions, where they lie, and on Python's collector."""
        for stage, names in stages.items():
            for name in names:
                owner, attribute = place(name)
                setattr(owner, attribute, self.timed(getattr(owner, attribute), stage))
        gc.callbacks.append(self._collecting)

    def timed(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """Return the function with the stopwatch on it; of a coroutine each step is timed, and no wait."""

        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            if threading.get_ident() != self._thread:
                return function(*given, **named)
            self.calls[stage] += 1
            self.begin(stage)
            try:
                return function(*given, **named)
            finally:
                self.end()

        @functools.wraps(function)
        async def steps(*given: Any, **named: Any) -> Any:
            if threading.get_ident() != self._thread:
                return await function(*given, **named)
            self.calls[stage] += 1
            return await _Steps(self, stage, function(*given, **named))

        return steps if inspect.iscoroutinefunction(function) else call

    def _collecting(self, phase: str, _: object) -> None:
        if phase == "start":
            self.calls[COLLECTOR] += 1
            self.begin(COLLECTOR)
        else:
            self.end()


class _Steps(Awaitable[Any]):
    """A coroutine whose steps are timed."""

    def __init__(self, stopwatch: Stopwatch, stage: str, work: Any) -> None:
        self._stopwatch = stopwatch
        self._stage = stage
        self._work = work

    def __await__(self) -> Generator[Any, Any, Any]:
        step, given = self._work.send, None
        while True:
            self._stopwatch.begin(self._stage)
            try:
                awaited = step(given)
            except StopIteration as end:
                return end.value
            finally:
                self._stopwatch.end()
            try:
                step, given = self._work.send, (yield awaited)
            except BaseException as error:
                step, given = self._work.throw, error


def place(name: str) -> tuple[Any, str]:
    """Return the owner of the function that is named so, and its attribute there.

    >>> place("collections:Counter.update")
    (<class 'collections.Counter'>, 'update')
    """
    module, _, path = name.partition(":")
    within, _, attribute = path.rpartition(".")
    owner = import_module(module)
    return (attrgetter(within)(owner) if within else owner), attribute
