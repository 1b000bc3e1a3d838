"""A machine in trouble, files that are damaged or huge: one clear sentence, and nothing lost that is whole."""

import gzip
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import zstandard

from scentline.agents.fetch.agent import IN_A_ROW, Silence
from scentline.models.facts import Missing, Moved
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import complaint as said_by
from tests.agents.commands import last_line, printed
from tests.agents.log_lines import squid
from tests.cases import each_case
from tests.e2e.crawls import ANY, each, exact, options, write_log
from tests.rubbish.measured import MEMORY, Ended, complaint, run

BUDGET = 60
#: Sets the clock by so many seconds once it was asked so many times.
JUMPS = """\
import itertools, time
real, asked = time.time, itertools.count()
time.time = lambda: real() + ({seconds} if next(asked) > {calls} else 0)
"""


def limited(which: str) -> tuple[str, ...]:
    return ("sh", "-c", f'ulimit {which}; exec "$@"', "sh")


# The log and the tables fill a disk by growing, a file at a time: a bound on a file's size stops them as a
# full disk does, without one, and without the rights to make one.
FULL = limited("-f 300")


class Machine(NamedTuple):
    """A crawl by the same command each time, of a web and a log."""

    cwd: Path
    command: Sequence[str]
    log: Path

    def crawl(self, data: str = "data", first: str = "", prefix: Sequence[str] = ()) -> Ended:
        return run(self.cwd, *self.command, "--data", data, first=first, prefix=prefix)

    def goes_on(self, data: str = "data", first: str = "", prefix: Sequence[str] = ()) -> None:
        """Crawl to the end: nothing is lost or counted otherwise."""
        ended = self.crawl(data, first, prefix)
        assert ended.status == 0, ended.err
        assert last_line(ended.out)["fetched"] == BUDGET
        exact(self.cwd, "--data", data, judged=BUDGET)


@pytest.fixture
def machine(tmp_path: Path, web: SyntheticWeb, proxy: str) -> Machine:
    log = write_log(tmp_path / "access.log", web, users=50, accesses=4_000)
    command = ("crawl", *each("--seed", web.seeds(2)), "--log", str(log), "--predicate", ANY, "--json")
    given = {"frontier.budget": BUDGET, "fetch.proxy": proxy, "fetch.delay_seconds": 0}
    return Machine(tmp_path, (*command, *options(given)), log)


def mount(*arguments: str) -> None:
    """Mount, or skip the test where this user or this machine does not let it be."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root may mount a file system")
    done = subprocess.run(["mount", *arguments], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"nothing can be mounted here: {done.stderr.decode(errors='replace').strip()}")


@contextmanager
def mounted(at: Path, *arguments: str) -> Iterator[None]:
    at.mkdir()
    mount(*arguments, str(at))
    try:
        yield
    finally:
        subprocess.run(["umount", str(at)], check=True)


# a full disk


def test_a_crawl_on_a_full_disk_says_so_and_loses_nothing(machine: Machine) -> None:
    line = complaint(machine.crawl(prefix=FULL))
    assert "data" in line
    assert "too large" in line or "No space left" in line
    machine.goes_on()


def test_a_log_that_is_fed_onto_a_full_disk_is_read_again_from_where_it_was(machine: Machine) -> None:
    feed = ("feed", str(machine.log), "--json", "--data")
    whole = printed(machine.cwd, *feed, "elsewhere")
    assert "data" in complaint(run(machine.cwd, *feed, "data", prefix=FULL))
    assert printed(machine.cwd, *feed, "data") == whole


def test_a_crawl_whose_disk_is_full_at_any_moment_goes_on_when_there_is_room(machine: Machine) -> None:
    disk = machine.cwd / "disk"
    with mounted(disk, "-t", "tmpfs", "-o", "size=1m", "tmpfs"):
        for room in ("3m", "60m"):
            assert "No space left on device" in complaint(machine.crawl("disk/data"))
            mount("-o", f"remount,size={room}", str(disk))
        machine.goes_on("disk/data")


# output, or a directory, that can't be written to


def test_what_can_not_be_written_it_says(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> None:
    machine.goes_on()
    full = ("sh", "-c", 'exec "$@" >/dev/full', "sh")
    for words in (("harvest", "--json", "--data", "data"), ("audit", "--data", "data"), ("topics", "list")):
        assert complaint(run(machine.cwd, *words, prefix=full)) == "writing output: No space left on device"
    cwd = tmp_path_factory.mktemp("beside")
    place = cwd / "fixed"
    with mounted(place, "--bind", str(machine.cwd)):
        mount("-o", "remount,bind,ro", str(place))
        for command in (
            machine.command, ("feed", str(machine.log)), ("predicate", "add", "tea", '"tea"'),
            ("forget-user", "10.20.113.74"), ("seed", "http://a.test/"), ("explain", "http://a.test/"),
            ("harvest",), ("audit",), ("matches", "any"),
        ):  # fmt: skip
            assert "Read-only file system" in said_by(cwd, *command, "--data", str(place / "data")), command
        assert "Read-only file system" in complaint(run(cwd, "demo", "--out", str(place / "demo")))
        new = ("--data", str(place / "new"), "--broker", "kafka://127.0.0.1:1")
        assert "Read-only file system" in said_by(cwd, "snapshot", *new)
    exact(machine.cwd, "--data", "data")


# few descriptors, a clock that jumps, no network


def test_a_crawl_with_too_few_descriptors_says_so_and_goes_on_with_64(machine: Machine) -> None:
    assert "Too many open files" in complaint(machine.crawl(prefix=limited("-n 24")))
    machine.goes_on(prefix=limited("-n 64"))


@pytest.mark.parametrize("seconds", [-31_536_000, 31_536_000])
def test_a_clock_that_jumps_within_a_crawl_loses_and_holds_up_nothing(machine: Machine, seconds: int) -> None:
    machine.goes_on(first=JUMPS.format(seconds=seconds, calls=2_000))


def test_a_clock_that_went_back_between_two_runs_holds_nothing_up(machine: Machine) -> None:
    half = run(machine.cwd, *machine.command, "--data", "data", "--budget", str(BUDGET // 2))
    assert half.status == 0, half.err
    machine.goes_on(first=JUMPS.format(seconds=-86_400, calls=0))


def test_a_crawl_without_a_network_says_so_and_goes_on_when_there_is_one(machine: Machine) -> None:
    if subprocess.run(["unshare", "-n", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may not part a process from the network")
    ended = run(machine.cwd, *machine.command, "--data", "data", "--time", "4s", prefix=("unshare", "-n"))
    assert ended.err.count("no host answers: is there a network?") == 1, ended.err
    assert "Traceback" not in ended.err
    machine.goes_on()


def test_that_no_host_answers_is_said_once_until_one_does(caplog: pytest.LogCaptureFixture) -> None:
    dead, found = Missing("retry", "dns"), Moved("http://a.test/b")
    silence = Silence()

    def after(*results: Missing | Moved) -> list[str]:
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
    assert after(Missing("gone", "status 404")) == [again]


# files


CRAWL = ("crawl", "--seed", "http://127.0.0.1:9/", "--set", "fetch.allow=127.0.0.1", "--predicate", ANY)


@each_case(("data", "command"), [("/proc", CRAWL), ("/sys", ("feed", "access.log")), ("taken", CRAWL)])
def test_a_directory_that_takes_no_files_is_named(tmp_path: Path, data: str, command: tuple[str, ...]) -> None:
    (tmp_path / "access.log").write_text("")
    (tmp_path / "taken").mkdir(exist_ok=True)
    (tmp_path / "taken" / "journal").write_text("not a directory")
    assert data in said_by(tmp_path, *command, "--data", data)


def test_a_log_directory_that_is_damaged_is_named(tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text("")
    printed(tmp_path, "feed", "access.log")
    for damage in (b"", b"\0" * 10_000, b"\xff\xfe damaged"):
        (tmp_path / "scentline-data" / "journal" / "CURRENT").write_bytes(damage)
        assert "journal" in said_by(tmp_path, "feed", "access.log")


# logs that are far bigger than they look are read in bounded memory, and the rest of them counts

LINES = [squid(f"http://a.test/{number}", number, client=f"10.0.0.{number}") for number in range(20)]
MEGABYTE = 1_000_000


def pieces(huge: bytes, times: int) -> Iterable[bytes]:
    """Return good lines, one huge line, and good lines again."""
    return chain(LINES[:10], repeat(huge, times), (b"\n", *LINES[10:]))


def check(ended: Ended) -> None:
    """Assert that only the huge line was lost, and in little memory."""
    assert ended.status == 0, ended.err
    assert ended.memory < MEMORY
    found = last_line(ended.out)
    assert (found["accepted"], found["malformed"]) == (20, 1)


@pytest.mark.slow
def test_a_compressed_log_of_a_gigabyte_in_one_line_costs_that_line(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.log.gz"
    with gzip.open(bomb, "wb", compresslevel=1) as file:
        file.writelines(pieces(bytes(MEGABYTE), 1000))
    assert bomb.stat().st_size < 10 * MEGABYTE
    check(run(tmp_path, "feed", str(bomb), "--json"))


@pytest.mark.parametrize("pack", [bytes, zstandard.compress])
def test_a_line_of_a_hundred_megabytes_on_standard_input_costs_that_line(tmp_path: Path, pack: Any) -> None:
    log = tmp_path / "access.log"
    log.write_bytes(pack(b"".join(pieces(b"a" * MEGABYTE, 100))))
    with log.open("rb") as file, subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as cat:
        check(run(tmp_path, "feed", "-", "--json", stdin=cat.stdout or subprocess.DEVNULL))
