"""A page that hangs, eats memory or crashes where it is read costs that page alone."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from zstandard import ZstdCompressor

from scentline.agents.judge.apart.process import ExaminerProcess
from scentline.agents.judge.question import Examined, PageError, Question, Work
from scentline.streams.configuration import ConfigurationError
from scentline.streams.records import RecordError, encode
from scentline.streams.settings import Settings
from tests.agents.test_keep import fetched
from tests.patience import PATIENCE, wait_for
from tests.rubbish.deadly import installed

ASKED = {"told": 'category("Told")', "any": '"deadly"'}
Use = Callable[[ExaminerProcess], Awaitable[None]]


def question(title: str, asked: dict[str, str] = ASKED) -> Question:
    page = fetched(1)
    page.body = ZstdCompressor().compress(f"<title>{title}</title><p>deadly words".encode())
    return Question(encode(page), asked)


@pytest.fixture
def use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Give what runs a test with an examiner in a process of its own."""
    monkeypatch.setenv("PYTHONPATH", installed(tmp_path))
    monkeypatch.setenv("SCENTLINE_OBSERVE__USER_KEY", "a secret")

    def run(work: Use, **judge: object) -> None:
        given = {"python": "deadly", "seconds": PATIENCE, "cpu_seconds": 1, **judge}
        settings = Settings.model_validate({"judge": given})

        async def main() -> None:
            examiner = ExaminerProcess(Work.of(settings))
            try:
                await examiner.start()
                await work(examiner)
            finally:
                await examiner.close()

        asyncio.run(main())

    return run


async def told(examiner: ExaminerProcess, title: str) -> Examined:
    """Have a page examined while the event loop turns."""
    task = asyncio.create_task(examiner.examine(question(title)))
    turns = 0
    while not task.done():
        await asyncio.sleep(0.01)
        turns += 1
    return await task


async def fine(examiner: ExaminerProcess) -> None:
    """See that the next page is examined as if nothing had been."""
    found = await told(examiner, "fine")
    assert (found.page.title, found.verdict) == ("fine", {"told": True, "any": True})


def test_a_page_that_ends_its_process_is_refused_and_the_next_one_judged(use: Callable[..., None]) -> None:
    over = "over 1 seconds of CPU (judge.cpu_seconds)"
    ends = {"abort": "SIGABRT", "segfault": "SIGSEGV", "kill": "SIGKILL", "exit": "status 0"}
    reasons = {title: f"it ended the process that read it: {end}" for title, end in ends.items()}

    async def work(examiner: ExaminerProcess) -> None:
        found: dict[str, str] = {}
        for title in (*reasons, "loop", "hold"):
            with pytest.raises(PageError) as caught:
                await told(examiner, title)
            found[title] = str(caught.value)
            await fine(examiner)
        assert found == {**reasons, "loop": over, "hold": over}

    use(work)


@pytest.mark.parametrize("title", ["fork", "leave"])
def test_what_a_judge_leaves_behind_holds_up_nobody(
    use: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, title: str
) -> None:
    forked = tmp_path / "forked"
    monkeypatch.setenv("FORKED", str(forked))

    async def work(examiner: ExaminerProcess) -> None:
        await told(examiner, title)
        await fine(examiner)
        async with asyncio.timeout(PATIENCE / 2):  # it is there for longer
            await examiner.close()

    use(work)
    child = int(forked.read_text())
    if title == "leave":
        os.kill(child, signal.SIGKILL)  # it left the session: nobody knows of it
    else:
        wait_for("the end of what was forked", lambda: not running(child))


def running(process: int) -> bool:
    """Return whether a process is there that is not only waiting to be reaped."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_judge_that_waits_for_ever_is_cut_off(use: Callable[..., None]) -> None:
    async def work(examiner: ExaminerProcess) -> None:
        with pytest.raises(PageError, match=r"over 1 seconds \(judge.seconds\)"):
            await told(examiner, "sleep")

    use(work, seconds=1.0)


def test_memory_without_end_is_a_judge_that_fails_or_a_page_that_is_refused(use: Callable[..., None]) -> None:
    async def work(examiner: ExaminerProcess) -> None:
        found = await told(examiner, "allocate")
        assert found.verdict == {"any": True}
        assert found.failure == "the judge of categories failed: MemoryError: "
        await fine(examiner)

    use(work, memory_bytes=100_000_000, cpu_seconds=60)


def test_a_judge_that_prints_disturbs_nobody_and_sees_no_settings(
    use: Callable[..., None], capfd: pytest.CaptureFixture[str]
) -> None:
    async def work(examiner: ExaminerProcess) -> None:
        await told(examiner, "print")
        found = await examiner.examine(question("environment", {"none": 'category("None")'}))
        assert found.verdict == {"none": True}

    use(work)
    assert "print" not in "".join(capfd.readouterr())


def test_what_is_no_page_costs_no_process_and_one_that_is_given_up_or_killed_by_others_only_itself(
    use: Callable[..., None],
) -> None:
    async def work(examiner: ExaminerProcess) -> None:
        child = examiner._child
        with pytest.raises(RecordError, match="not a FetchedPage"):
            await examiner.examine(Question(b"no page", ASKED))
        await fine(examiner)
        assert child is not None and examiner._child is child
        task = asyncio.create_task(examiner.examine(question("sleep")))
        while not examiner._lock.locked():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await fine(examiner)
        assert examiner._child is not None
        os.kill(examiner._child.pid, signal.SIGKILL)
        await fine(examiner)

    use(work)


def test_a_judge_that_is_not_there_is_said_at_the_start(use: Callable[..., None]) -> None:
    async def work(examiner: ExaminerProcess) -> None:
        raise AssertionError("it started")

    with pytest.raises(ConfigurationError, match=r"offers the judge 'missing'; there are: .*deadly"):
        use(work, python="missing")


def test_the_process_dies_with_the_one_that_started_it(use: Callable[..., None]) -> None:
    async def begin(examiner: ExaminerProcess) -> None:
        task = asyncio.create_task(told(examiner, "hold"))
        await asyncio.sleep(0.5)
        assert examiner._child is not None and not task.done()
        os.write(writing, str(examiner._child.pid).encode())
        os.kill(os.getpid(), signal.SIGKILL)

    reading, writing = os.pipe()
    parent = os.fork()
    if not parent:
        use(begin, cpu_seconds=100_000)
    os.waitpid(parent, 0)
    child = int(os.read(reading, 20))
    for end in (reading, writing):
        os.close(end)
    wait_for("the end of the process", lambda: not running(child))
