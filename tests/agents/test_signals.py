"""What is told to end ends: by Ctrl-C, and by SIGTERM, also where it was started with SIGINT ignored."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import (
    COMMAND,
    IN_BACKGROUND,
    TOLD_TO_END,
    environment,
    printed,
    running,
    wait_until,
)
from tests.agents.test_archive import page, write
from tests.e2e.crawls import judged_so_far
from tests.patience import PATIENCE

WEB = (5, 2, 20, 2)  # seed, sites, pages a site, topics
EVERY_PAGE = ("--predicate", 'all=not "unheard-of"')


@pytest.fixture(scope="module")
def cwd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a log and the data of a small crawl."""
    directory = tmp_path_factory.mktemp("signals")
    web = SyntheticWeb(*WEB)
    (directory / "access.log").write_text("".join(f"{line}\n" for line in web.access_log(5, 50)))
    crawl = ("crawl", "--seed", web.seeds(1)[0], *EVERY_PAGE, "--budget", "5")
    with synthetic_server(*WEB) as server:
        printed(directory, *crawl, SCENTLINE_FETCH__PROXY=server.url, SCENTLINE_FETCH__DELAY_SECONDS="0")
    return directory


def ended(process: subprocess.Popen[str], number: int) -> tuple[int, str]:
    """Tell a command to end, and return its status and what it wrote on standard error."""
    process.send_signal(number)
    _, said = process.communicate(timeout=PATIENCE)
    return process.returncode, said


BY_CTRL_C, BY_SIGTERM = (COMMAND, signal.SIGINT), (IN_BACKGROUND, signal.SIGTERM)
#: Commands without an end: the file that is there, or what they have said, once they work; and their status.
ENDLESS: dict[str, tuple[tuple[str, ...], str, int]] = {
    "feed": (("feed", "access.log", "--follow", "--data", "fed"), "fed/journal/CURRENT", 130),
    "harvest": (("harvest", "--follow"), "stdout", 0),
    "worker": (("worker", "browse", "--broker", "kafka://127.0.0.1:9", "--data", "worker"), "stderr", 130),
    "demo": (("demo", "--out", "out"), "out", 130),
}


@pytest.mark.parametrize(
    ("name", "by"),
    [("feed", BY_CTRL_C), ("harvest", BY_CTRL_C), ("worker", BY_SIGTERM), ("demo", BY_SIGTERM)],
)
def test_a_command_without_an_end_is_told_to_end(cwd: Path, name: str, by: tuple[tuple[str, ...], int]) -> None:
    arguments, works, status = ENDLESS[name]
    with running(cwd, *arguments, program=by[0]) as process:
        if works in ("stdout", "stderr"):
            assert getattr(process, works).readline()
        else:
            wait_until((cwd / works).exists, process)
        code, said = ended(process, by[1])
    assert (code, "Traceback" in said) == (status, False), said


@TOLD_TO_END
def test_a_crawl_whose_log_has_no_line_yet_works_and_can_be_told_to_end(
    tmp_path: Path, program: tuple[str, ...], number: int
) -> None:
    pages = tmp_path / "pages.warc.gz"
    write(pages, page("http://one.test/", b"<title>one</title>text"))
    given = ("--log", "-", "--archive", str(pages), "--seed", "http://one.test/", *EVERY_PAGE)
    crawl, feed = ("crawl", *given, "--data", "data"), ("feed", "-", "--data", "fed")
    for arguments, works in ((crawl, None), (feed, tmp_path / "fed" / "journal" / "CURRENT")):
        with subprocess.Popen(
            [*program, *arguments], cwd=tmp_path, env=environment(), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            try:
                ready = works.exists if works is not None else lambda: judged_so_far(tmp_path / "data") == 1
                wait_until(ready, process)
                process.send_signal(number)
                # The pipe stays open: nothing but the signal ends it.
                assert process.wait(PATIENCE) == 130
                assert process.stderr is not None
                assert works is None or process.stderr.read() == ""
            finally:
                process.kill()


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


def test_an_event_loop_started_with_sigint_ignored_is_ended_whatever_it_is_amid() -> None:
    with subprocess.Popen(
        [*IN_BACKGROUND[:4], sys.executable, "-c", LOSES], env=environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "works\n"
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 130
        finally:
            process.kill()
