"""An examiner in a process of its own: a page that takes too long or too much, or ends it, harms no other page.

The process restarts for the next page. Its environment has no settings, which may hold secrets, and it dies
with its parent, however that ends.
"""

import asyncio
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from typing import TypeVar

import msgspec

from scentline.agents.judge.question import (
    HEAD,
    MOST_BYTES,
    Answer,
    Examined,
    PageError,
    Question,
    Ready,
    Refused,
    Request,
    Seen,
    Show,
    Work,
    framed,
)
from scentline.agents.signals import command, environment, kill_group
from scentline.models.errors import ScentlineError
from scentline.models.records import RecordError
from scentline.streams.settings import PREFIX, ConfigurationError

#: Seconds until the judges must be loaded: a large table of labels takes a minute.
READY_SECONDS = 600.0
#: Seconds to wait for the end of a killed process.
END_SECONDS = 5.0
# Bytes of an answer that are read ahead.
_AHEAD = 1 << 20
_MODULE = "scentline.agents.judge.apart"

_Told = TypeVar("_Told", Examined, Seen)

_decode = msgspec.msgpack.Decoder(Answer).decode


class _EndedError(ScentlineError):
    """The process ended, or broke the protocol, before it answered; the text says how."""

    explains_itself = False


class ExaminerProcess:
    """Examines pages one at a time, in a child process that restarts after each page that ended it."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._child: Process | None = None
        #: Killed processes that may not have ended.
        self._killed: list[Process] = []
        self._lock = asyncio.Lock()

    async def start(self) -> None:
        """Start it, and wait until its judges are loaded; raises `ConfigurationError` where they can't be."""
        async with self._lock:
            await self._started()

    async def examine(self, question: Question) -> Examined:
        """Examine a page; raises `RecordError` where the message holds none, `PageError`."""
        return await self._told(question, Examined)

    async def show(self, page: Show) -> Seen:
        """Return what a page shows; raises `PageError`."""
        return await self._told(page, Seen)

    async def _told(self, asked: Question | Show, kind: type[_Told]) -> _Told:
        """Return the answer of a kind.

        A page that ended the process within its time is tried once more: something else may have killed it, or
        an earlier page may have left it in a bad state.
        """
        async with self._lock:
            try:
                return await self._answered(asked, kind)
            except _EndedError:
                pass
            try:
                return await self._answered(asked, kind)
            except _EndedError as error:
                raise PageError(str(error)) from error

    async def close(self) -> None:
        """End the process."""
        self._kill()
        while self._killed:
            await _end(self._killed.pop())

    async def _answered(self, asked: Question | Show, kind: type[_Told]) -> _Told:
        work = self._work
        child = await self._started()
        try:
            async with asyncio.timeout(work.seconds):
                answer = await self._answer(child, asked)
        except TimeoutError:
            await self.close()
            raise PageError(f"over {work.seconds:g} seconds (judge.seconds)") from None
        except BaseException:
            # Also on cancellation: an unread answer would be taken for the next page's.
            self._kill()
            raise
        if isinstance(answer, kind):
            return answer
        if isinstance(answer, Refused) and answer.kind == "no-page":
            raise RecordError(answer.reason)
        await self.close()
        raise _EndedError(_reason(answer, "broken"))

    async def _answer(self, child: Process, request: Request) -> Answer:
        """Send a request and return the answer; raises `_EndedError`, `PageError`."""
        assert child.stdin is not None and child.stdout is not None
        try:
            child.stdin.write(framed(request))
            await child.stdin.drain()
            size = int.from_bytes(await child.stdout.readexactly(HEAD), "big")
            if size <= MOST_BYTES:
                answer: Answer = _decode(await child.stdout.readexactly(size))
                return answer
            raise _EndedError("its answer is too long")
        except msgspec.MsgspecError as error:
            raise _EndedError("its answer can't be read") from error
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            raise await self._ended(child) from error

    async def _ended(self, child: Process) -> Exception:
        self._child = None
        status = await _end(child)
        if status == -signal.SIGXCPU:
            return PageError(f"over {self._work.cpu_seconds} seconds of CPU (judge.cpu_seconds)")
        if status < 0:
            return _EndedError(f"it ended the process that read it: {signal.Signals(-status).name}")
        return _EndedError(f"it ended the process that read it: status {status}")

    async def _started(self) -> Process:
        """Return the process; start it if there is none."""
        if self._child is not None and self._child.returncode is None:
            return self._child
        inherited = {name: value for name, value in environment().items() if not name.startswith(PREFIX)}
        child = self._child = await asyncio.create_subprocess_exec(
            *command(_MODULE), stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=_AHEAD, env=inherited,
            start_new_session=True,
        )  # fmt: skip
        try:
            async with asyncio.timeout(READY_SECONDS):
                answer = await self._answer(child, self._work)
        except (TimeoutError, _EndedError, PageError) as error:
            raise ConfigurationError(f"the process that judges pages did not start: {error}") from error
        except BaseException:
            self._kill()
            raise
        if isinstance(answer, Ready):
            return child
        raise ConfigurationError(_reason(answer, "not-ready"))

    def _kill(self) -> None:
        """Kill the process, if there is one."""
        child, self._child = self._child, None
        if child is not None:
            kill_group(child.pid)
            self._killed = [*(each for each in self._killed if each.returncode is None), child]


def _reason(answer: Answer, kind: str) -> str:
    if isinstance(answer, Refused) and answer.kind == kind:
        return answer.reason
    return "it answered another question"


async def _end(child: Process) -> int:
    """Kill a process and return its status.

    A grandchild in another session may hold its pipes; asyncio waits for their end, here only for a while.
    """
    kill_group(child.pid)
    try:
        async with asyncio.timeout(END_SECONDS):
            await child.wait()
    except TimeoutError:
        transport: asyncio.SubprocessTransport = child._transport  # type: ignore[attr-defined]
        transport.close()
    return -signal.SIGKILL if child.returncode is None else child.returncode
