"""What is told to end ends; a worker plays its roles, and ends with what it runs on, keeping no partition."""

import asyncio
import gc
import signal
import subprocess
import sys
import weakref
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from scentline.agents.observe.observer import Observer
from scentline.agents.worker.crawl import Engine, _ready
from scentline.agents.worker.worker import RENDER, ROLES, STATEFUL, Worker, played
from scentline.streams.settings import ConfigurationError, Settings
from scentline.streams.topics import INBOXES
from scentline_lab.synthetic.web import SyntheticWeb, synthetic_server
from tests.agents.commands import COMMAND, IN_BACKGROUND, TOLD_TO_END, environment, printed, wait_until
from tests.agents.loopback import awaited
from tests.agents.test_archive import page, write
from tests.e2e.crawls import ANY, judged_so_far, options, synthetic, write_log
from tests.patience import PATIENCE

WEB = SyntheticWeb(5, 2, 20, 2)
EVERY_PAGE = ("--predicate", ANY)
BY_CTRL_C, BY_SIGTERM = (COMMAND, signal.SIGINT), (IN_BACKGROUND, signal.SIGTERM)
Process = subprocess.Popen[str]


@contextmanager
def piped(cwd: Path, program: Sequence[str], *arguments: str) -> Iterator[Process]:
    """Start a command whose standard input is a pipe that stays open, and kill it at the end."""
    with subprocess.Popen(
        [*program, *arguments], cwd=cwd, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def ended(process: Process, *numbers: int) -> tuple[int, str]:
    """Tell a command to end, and return its status and what it wrote on standard error."""
    for number in numbers:
        process.send_signal(number)
    status = process.wait(PATIENCE)  # nothing but the signal ends it
    assert process.stderr is not None
    return status, process.stderr.read()


@pytest.fixture(scope="module")
def cwd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a log, an archive and the data of a small crawl."""
    directory = tmp_path_factory.mktemp("signals")
    write_log(directory / "access.log", WEB, 5, 50)
    write(directory / "pages.warc.gz", page("http://one.test/"))
    with synthetic(WEB) as served:
        given = options({"fetch.proxy": served.origin, "fetch.delay_seconds": 0})
        printed(directory, "crawl", "--seed", WEB.seeds(1)[0], *EVERY_PAGE, "--budget", "5", *given)
    return directory


def works(process: Process, sign: str, cwd: Path) -> None:
    """Wait for the sign that a command works: what it says first, or a file."""
    if sign in ("stdout", "stderr"):
        assert getattr(process, sign).readline()
    else:
        wait_until((cwd / sign).exists, process)


FED = "fed/journal/CURRENT"


@pytest.mark.parametrize(
    ("line", "sign", "by", "status"),
    [
        ("feed access.log --follow --data fed", FED, BY_CTRL_C, 130),
        ("harvest --follow", "stdout", BY_CTRL_C, 0),
        ("worker browse --broker kafka://127.0.0.1:9 --data worker", "stderr", BY_SIGTERM, 130),
        ("demo --out out", "out", BY_SIGTERM, 130),
        ("serve-archive pages.warc.gz --log served.log", "stdout", BY_SIGTERM, 0),
        ("window --read-only", "stdout", BY_CTRL_C, 0),
    ],
)
def test_commands_end(cwd: Path, line: str, sign: str, by: tuple[tuple[str, ...], int], status: int) -> None:
    with piped(cwd, by[0], *line.split()) as process:
        works(process, sign, cwd)
        code, said = ended(process, by[1])
    assert (code, "Traceback" in said) == (status, False), said


@TOLD_TO_END
def test_a_crawl_of_a_log_without_lines_ends(tmp_path: Path, program: tuple[str, ...], number: int) -> None:
    pages = tmp_path / "pages.warc.gz"
    write(pages, page("http://one.test/", b"<title>one</title>text"))
    crawl = ("crawl", "--log", "-", "--archive", str(pages), "--seed", "http://one.test/", *EVERY_PAGE)
    with piped(tmp_path, program, *crawl, "--data", "data") as process:
        wait_until(lambda: judged_so_far(tmp_path / "data") == 1, process)
        assert ended(process, number)[0] == 130
    with piped(tmp_path, program, "feed", "-", "--data", "fed") as process:
        works(process, FED, tmp_path)
        assert ended(process, number) == (130, "")


#: Most of the time it is in code that loses what is raised there, as finalizers do.
LOSES = """
import asyncio, sys
from scentline.agents.signals import end_as_by_ctrl_c

async def work():
    while True:
        try:
            for _ in range(2_000_000):
                pass
        except BaseException:
            pass
        print("works", flush=True)
        await asyncio.sleep(0)

async def main():
    working = asyncio.create_task(work())
    await asyncio.sleep(3600)

end_as_by_ctrl_c()
try:
    asyncio.run(main())
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_an_event_loop_started_with_sigint_ignored_is_ended_whatever_it_is_amid(tmp_path: Path) -> None:
    with piped(tmp_path, IN_BACKGROUND[:4], sys.executable, "-c", LOSES) as process:
        assert process.stdout is not None and process.stdout.readline() == "works\n"
        assert ended(process, signal.SIGINT, signal.SIGTERM)[0] == 130


# a worker


@asynccontextmanager
async def a_worker(directory: Path, *roles: str) -> AsyncIterator[Worker]:
    here = Settings(data=directory / "data")
    observer = Observer(here.observe, b"key")
    async with asyncio.timeout(PATIENCE), Worker(here, roles, observer) as worker:
        yield worker


def test_roles_are_played_in_the_order_of_the_flow() -> None:
    assert played(["learn", "observe"]) == ("observe", "learn")
    assert played(["all"]) == ROLES
    assert played(["render", "all"]) == (*ROLES, RENDER)
    assert {*ROLES, RENDER} == INBOXES.keys()
    with pytest.raises(ConfigurationError, match="no role 'learner'; expected some of observe"):
        played(["learner"])


@awaited
async def test_a_worker_has_the_agents_of_its_roles_only(tmp_path: Path) -> None:
    async with a_worker(tmp_path, "learn", "browse") as worker:
        worker.begin()
        assert worker.roles == ("browse", "learn")
        while not all(inbox.shards for inbox in worker.inboxes):
            await asyncio.sleep(0.01)
    assert worker.failure is None


@awaited
async def test_a_worker_fails_with_the_app_that_it_runs_on(tmp_path: Path) -> None:
    async with a_worker(tmp_path, "browse") as worker:
        app: Any = worker.runtimes["browse"].app
        await app.consumer.crash(OSError("the broker is gone"))
        await worker.stopped.wait()
    assert isinstance(worker.failure, OSError)


# a partition that went to another is kept by nobody: while its table is open it can't come back


LARGER = (3, 4, 40, 4)  # seed, sites, pages a site, topics
#: Seconds in which whoever is in the middle of something has ended it.
REST_SECONDS = 1.5


async def kept(settings: Settings, log: Path) -> list[str]:
    """Crawl, and lose every partition; return the roles that keep one all the same."""
    async with asyncio.timeout(PATIENCE), Engine(settings, Observer(settings.observe, b"key")) as engine:
        await _ready(engine)
        await engine.seed(SyntheticWeb(*LARGER).seeds(2))
        await engine.start_feeding([str(log)])
        while not await engine.finished():
            assert engine.failure is None
            await asyncio.sleep(0.05)
        await engine.settle()
        inboxes = {role: getattr(engine, role).inbox for role in STATEFUL}
        lost = [(role, weakref.ref(shard)) for role, box in inboxes.items() for shard in box.shards.values()]
        assert lost
        for inbox in inboxes.values():
            inbox._drop_shards()
        await asyncio.sleep(REST_SECONDS)
        gc.collect()
        return [role for role, shard in lost if shard() is not None]


@pytest.mark.parametrize(
    "frontier",
    [{"depth": "auto", "mode": "instant", "visited_patterns_only": True}, {"ordering": "pagerank"}],
    ids=["learned", "pagerank"],
)
def test_no_role_keeps_a_partition_that_it_lost(tmp_path: Path, frontier: dict[str, Any]) -> None:
    web = SyntheticWeb(*LARGER)
    log = tmp_path / "access.log"
    log.write_text("".join(f"{line}\n" for line in web.access_log(users=10, accesses=100)))
    with synthetic_server(*LARGER) as server:
        settings = Settings.model_validate({
            "data": tmp_path / "data", "predicates": {"any": 'not "unheard-of"'}, "streams": {"partitions": 2},
            "fetch": {"proxy": server.url, "delay_seconds": 0.0}, "frontier": {"budget": 40, **frontier},
        })  # fmt: skip
        assert asyncio.run(kept(settings, log)) == []
