"""What is told to end ends: by Ctrl-C, and by SIGTERM, also where it was started with SIGINT ignored."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import IN_BACKGROUND, TOLD_TO_END, environment, printed, running, wait_until
from tests.agents.test_archive import page, write
from tests.agents.test_cli_crawl import judged_so_far
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


@TOLD_TO_END
def test_a_log_is_followed_until_the_command_is_told_to_end(
    cwd: Path, tmp_path: Path, program: tuple[str, ...], number: int
) -> None:
    follow = ("feed", str(cwd / "access.log"), "--follow", "--data", "data")
    with running(tmp_path, *follow, program=program) as process:
        wait_until((tmp_path / "data" / "journal" / "CURRENT").exists, process)
        status, said = ended(process, number)
    assert (status, "Traceback" in said) == (130, False), said


@TOLD_TO_END
def test_a_log_that_never_ends_is_fed_until_the_command_is_told_to_end(
    tmp_path: Path, program: tuple[str, ...], number: int
) -> None:
    arguments = [*program, "feed", "-", "--data", "data"]
    with subprocess.Popen(
        arguments, cwd=tmp_path, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            wait_until((tmp_path / "data" / "journal" / "CURRENT").exists, process)
            process.send_signal(number)
            # The pipe stays open: nothing but the signal ends it.
            assert process.wait(PATIENCE) == 130
            assert process.stderr is not None
            assert process.stderr.read() == ""
        finally:
            process.kill()


@TOLD_TO_END
def test_a_crawl_whose_log_has_no_line_yet_works_and_can_be_told_to_end(
    cwd: Path, tmp_path: Path, program: tuple[str, ...], number: int
) -> None:
    pages = tmp_path / "pages.warc.gz"
    write(pages, page("http://one.test/", b"<title>one</title>text"))
    given = ("--log", "-", "--archive", str(pages), "--seed", "http://one.test/", *EVERY_PAGE)
    with subprocess.Popen(
        [*program, "crawl", *given, "--data", "data"], cwd=tmp_path, env=environment(),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            wait_until(lambda: judged_so_far(tmp_path / "data") == 1, process)
            process.send_signal(number)
            assert process.wait(PATIENCE) == 130
        finally:
            process.kill()


@TOLD_TO_END
def test_a_harvest_is_followed_until_the_command_is_told_to_end(
    cwd: Path, program: tuple[str, ...], number: int
) -> None:
    with running(cwd, "harvest", "--follow", program=program) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        status, said = ended(process, number)
    assert (status, said) == (0, "")


@TOLD_TO_END
def test_a_worker_that_waits_for_its_broker_can_be_told_to_end(
    tmp_path: Path, program: tuple[str, ...], number: int
) -> None:
    waits = ("worker", "browse", "--broker", "kafka://127.0.0.1:9", "--data", "worker")
    with running(tmp_path, *waits, program=program) as process:
        assert process.stderr is not None
        assert "waiting for Kafka" in process.stderr.readline()
        status, said = ended(process, number)
    assert (status, "Traceback" in said) == (130, False), said


def test_a_demo_ends_before_its_first_crawl_too(tmp_path: Path) -> None:
    with running(tmp_path, "demo", "--out", "out", program=IN_BACKGROUND) as process:
        wait_until((tmp_path / "out").exists, process)
        status, said = ended(process, signal.SIGTERM)
    assert (status, "Traceback" in said) == (130, False), said


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
