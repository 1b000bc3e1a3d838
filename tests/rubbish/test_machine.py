"""A machine in trouble: one clear sentence, nothing lost, and the same command goes on when it is over."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scentline.agents.fetch.agent import IN_A_ROW, Silence
from scentline.agents.fetch.result import Failure, Moved
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import complaint as said_by
from tests.agents.commands import last_line, printed
from tests.rubbish.measured import Ended, complaint, run

WEB = (5, 4, 60, 4)  # seed, sites, pages a site, topics
BUDGET = 60
ROOM = "60m"


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    with synthetic_server(*WEB) as server:
        yield server.url


@pytest.fixture(scope="module")
def access_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "access.log"
    path.write_text("".join(f"{line}\n" for line in SyntheticWeb(*WEB).access_log(users=50, accesses=4_000)))
    return path


def crawl(cwd: Path, proxy: str, log: Path, data: str, first: str = "", prefix: tuple[str, ...] = ()) -> Ended:
    seeds = [word for seed in SyntheticWeb(*WEB).seeds(2) for word in ("--seed", seed)]
    return run(
        cwd, "crawl", *seeds, "--log", str(log), "--predicate", 'any=not "unheard-of"', "--budget", str(BUDGET),
        "--json", "--data", data, "--set", f"fetch.proxy={proxy}", "--set", "fetch.delay_seconds=0",
        first=first, prefix=prefix,
    )  # fmt: skip


def check(cwd: Path, ended: Ended, data: str) -> None:
    """Check that a crawl came to its end with nothing lost or counted otherwise."""
    assert ended.status == 0, ended.err
    assert last_line(ended.out)["fetched"] == BUDGET
    report = json.loads(printed(cwd, "audit", "--json", "--data", data))
    assert (report["judged"], report["judged_twice"], report["lost"], report["differences"]) == (
        BUDGET,
        0,
        0,
        0,
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, proxy: str, access_log: Path) -> Path:
    """Return the data directory of a finished crawl."""
    place = tmp_path_factory.mktemp("finished")
    check(place, crawl(place, proxy, access_log, "data"), "data")
    return place / "data"


def mount(*arguments: str) -> None:
    """Mount, or skip the test where this user or this machine does not let it be."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root may mount a file system")
    done = subprocess.run(["mount", *arguments], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"nothing can be mounted here: {done.stderr.decode(errors='replace').strip()}")


@contextmanager
def small(directory: Path, size: str) -> Iterator[Path]:
    """Give a file system of so many bytes."""
    directory.mkdir()
    mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(directory))
    try:
        yield directory
    finally:
        subprocess.run(["umount", str(directory)], check=True)


# a full disk


@pytest.mark.parametrize("size", ["1m", "3m"])
def test_a_crawl_whose_disk_is_full_at_any_moment_goes_on_when_there_is_room(
    tmp_path: Path, proxy: str, access_log: Path, size: str
) -> None:
    with small(tmp_path / "disk", size):
        line = complaint(crawl(tmp_path, proxy, access_log, "disk/data"))
        assert "No space left on device" in line
        mount("-o", f"remount,size={ROOM}", str(tmp_path / "disk"))
        check(tmp_path, crawl(tmp_path, proxy, access_log, "disk/data"), "disk/data")


def test_a_log_that_is_fed_onto_a_full_disk_is_fed_when_there_is_room(tmp_path: Path, access_log: Path) -> None:
    whole = printed(tmp_path, "feed", str(access_log), "--data", "elsewhere", "--json")
    with small(tmp_path / "disk", "400k"):
        line = complaint(run(tmp_path, "feed", str(access_log), "--data", "disk/data"))
        assert "No space left on device" in line
        mount("-o", f"remount,size={ROOM}", str(tmp_path / "disk"))
        assert printed(tmp_path, "feed", str(access_log), "--data", "disk/data", "--json") == whole


def test_the_demo_on_a_full_disk_says_so(tmp_path: Path) -> None:
    with small(tmp_path / "disk", "64k"):
        line = complaint(run(tmp_path, "demo", "--out", "disk/demo", "--budget", "20"))
        assert "No space left on device" in line


@pytest.mark.parametrize("command", ["harvest --json", "matches any", "audit", "dead-letters", "topics list"])
def test_output_that_can_not_be_written_is_told_in_one_line(
    tmp_path: Path, finished: Path, command: str
) -> None:
    data = () if command == "topics list" else ("--data", str(finished))
    ended = run(tmp_path, *command.split(), *data, prefix=("sh", "-c", 'exec "$@" >/dev/full', "sh"))
    assert complaint(ended) == "writing output: No space left on device"


# a directory that can't be written to


def test_where_nothing_can_be_written_each_command_says_so_in_one_line(
    tmp_path: Path, proxy: str, access_log: Path, finished: Path
) -> None:
    place = tmp_path / "fixed"
    place.mkdir()
    mount("--bind", str(finished.parent), str(place))
    try:
        mount("-o", "remount,bind,ro", str(place))
        there = ("--data", str(place / "data"))
        for command in (
            *(("feed", str(access_log)), ("predicate", "add", "tea", '"tea"'), ("forget-user", "10.20.113.74")),
            *(
                ("seed", "http://a.test/"),
                ("explain", "http://a.test/"),
                ("harvest",),
                ("audit",),
                ("matches", "any"),
            ),
        ):
            assert "Read-only file system" in said_by(tmp_path, *command, *there), command
        assert "Read-only file system" in complaint(crawl(tmp_path, proxy, access_log, str(place / "data")))
        assert "Read-only file system" in complaint(run(tmp_path, "demo", "--out", str(place / "demo")))
        snapshot = ("snapshot", "--data", str(place / "new"), "--broker", "kafka://127.0.0.1:1")
        assert "Read-only file system" in said_by(tmp_path, *snapshot)
    finally:
        subprocess.run(["umount", str(place)], check=True)
    assert json.loads(printed(tmp_path, "audit", "--json", "--data", str(finished)))["differences"] == 0


# few descriptors


def limited(number: int) -> tuple[str, ...]:
    return ("sh", "-c", f'ulimit -n {number}; exec "$@"', "sh")


def test_a_crawl_with_64_descriptors_is_a_crawl(tmp_path: Path, proxy: str, access_log: Path) -> None:
    check(tmp_path, crawl(tmp_path, proxy, access_log, "data", prefix=limited(64)), "data")


def test_a_crawl_with_too_few_descriptors_says_so_and_goes_on_with_more(
    tmp_path: Path, proxy: str, access_log: Path
) -> None:
    line = complaint(crawl(tmp_path, proxy, access_log, "data", prefix=limited(24)))
    assert "Too many open files" in line
    check(tmp_path, crawl(tmp_path, proxy, access_log, "data"), "data")


# a clock that jumps


#: Sets the clock forward once it was asked so many times.
FORWARD = """\
import itertools, time
real, asked = time.time, itertools.count()
time.time = lambda: real() + ({seconds} if next(asked) > {calls} else 0)
"""


@pytest.mark.parametrize("seconds", [3_600, 31_536_000])
def test_a_clock_that_is_set_forward_within_a_crawl_loses_nothing(
    tmp_path: Path, proxy: str, access_log: Path, seconds: int
) -> None:
    first = FORWARD.format(seconds=seconds, calls=2_000)
    check(tmp_path, crawl(tmp_path, proxy, access_log, "data", first=first), "data")


# no network


def test_a_crawl_without_a_network_says_so_and_goes_on_when_there_is_one(
    tmp_path: Path, proxy: str, access_log: Path
) -> None:
    alone = ("unshare", "-n", "timeout", "-s", "INT", "15")
    if subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may not part a process from the network")
    ended = crawl(tmp_path, proxy, access_log, "data", prefix=alone)
    assert ended.err.count("no host answers: is there a network?") == 1, ended.err
    assert "Traceback" not in ended.err
    check(tmp_path, crawl(tmp_path, proxy, access_log, "data"), "data")


def test_that_no_host_answers_is_said_once_until_one_does(caplog: pytest.LogCaptureFixture) -> None:
    dead, found = Failure("retry", "dns"), Moved("http://a.test/", "http://a.test/b", 301)
    silence = Silence()

    def after(*results: Failure | Moved) -> list[str]:
        caplog.clear()
        with caplog.at_level("INFO"):
            for result in results:
                silence.note(result)
        return [record.getMessage() for record in caplog.records]

    warning, again = "no host answers: is there a network?", "hosts answer again"
    assert after(dead, dead) == [warning]
    assert after(found, dead) == [again]
    assert after(*[dead] * (IN_A_ROW - 2)) == []
    assert after(dead, dead) == [warning]
    assert after(Failure("gone", "status 404")) == [again]
