"""Work spread over processes that are forked from this one, so that what they read is shared, not copied."""

import gc
import signal
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Generic, TypeVar

from scentline.models.errors import ScentlineError

T = TypeVar("T")
R = TypeVar("R")
_ENDING = (signal.SIGINT, signal.SIGTERM)


class WorkerError(ScentlineError):
    """A worker process that ended before its work did; the text says how."""


def spread(function: Callable[[T], R], tasks: Iterable[T], processes: int) -> Iterator[R]:
    """Yield what ``function`` returns for each task as it is done, in whatever order.

    ``function`` and all it holds are inherited by ``processes`` workers; tasks and results are pickled. What
    it raises is raised here. When the iteration ends, however it does, the workers are ended: at once, in the
    middle of a task. Raises `WorkerError` when one of them dies.
    """
    waiting = iter(tasks)
    workers: list[_Worker[T, R]] = []
    # What the collector does not touch stays shared: a look at an object writes to its page of memory.
    gc.freeze()
    try:
        workers.extend(_Worker(function) for _ in range(processes))
        busy = [worker for worker in workers if worker.give(waiting)]
        while busy:
            ready = wait([worker.connection for worker in busy])
            for worker in [worker for worker in busy if worker.connection in ready]:
                result = worker.take()
                # The worker goes on while the result is looked at.
                if not worker.give(waiting):
                    busy.remove(worker)
                yield result
    finally:
        gc.unfreeze()
        for worker in workers:
            worker.end()


class _Worker(Generic[T, R]):
    """A process and the connection to it."""

    def __init__(self, function: Callable[[T], R]) -> None:
        context = get_context("fork")
        self.connection, theirs = context.Pipe()
        arguments = (function, self.connection, theirs)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        # None comes between the fork and what the worker does at one.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def give(self, waiting: Iterator[T]) -> bool:
        """Send the next task and return whether there was one."""
        for task in waiting:
            self.connection.send(task)
            return True
        return False

    def take(self) -> R:
        """Return the result of the task."""
        try:
            received: tuple[R, None] | tuple[None, Exception] = self.connection.recv()
        except EOFError:
            self._process.join()
            raise WorkerError(
                f"a worker process ended with status {self._process.exitcode}, expected a result: "
                "is there too little memory?"
            ) from None
        if received[1] is not None:
            raise received[1]
        return received[0]

    def end(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.join()
        self.connection.close()


def _serve(function: Callable[[T], R], parent: Connection, connection: Connection) -> None:
    """Do tasks until the parent closes the connection or ends."""
    # Ctrl-C goes to all processes of a terminal; the parent ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    parent.close()
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        try:
            connection.send((function(task), None))
        except Exception as error:
            connection.send((None, error))
