"""Which messages were being taken in when processes ended."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scentline.streams.attempts import SLOTS, Attempts, Place

HERE, THERE = Place("pages", 0, 7), Place("pages", 1, 7)


def test_a_process_that_is_killed_leaves_what_it_was_taking_in(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path\n"
        "from scentline.streams.attempts import Attempts, Place\n"
        "attempts = Attempts(Path(sys.argv[1]))\n"
        "with attempts.taking(Place('pages', 1, 7)): pass\n"
        "with attempts.taking(Place('pages', 0, 7)): os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    for times in (1, 2):
        run = subprocess.run([sys.executable, "-c", program, str(tmp_path / "attempts")], check=False)
        assert run.returncode == -signal.SIGKILL
        attempts = Attempts(tmp_path / "attempts")
        assert attempts.deaths(HERE) == times
        assert attempts.deaths(THERE) == 0
        attempts.close()


@pytest.mark.parametrize("deaths", [0, 1, 2])
def test_a_suspicion_lasts_until_the_message_is_taken_in_put_off_or_not(tmp_path: Path, deaths: int) -> None:
    for _ in range(deaths):
        Attempts(tmp_path / "attempts").taking(HERE).__enter__()
    assert Attempts(tmp_path / "attempts").deaths(HERE) == deaths
    attempts = Attempts(tmp_path / "attempts")
    with attempts.taking(HERE):
        pass
    assert attempts.deaths(HERE) == 0
    attempts.suspect(HERE, deaths)
    assert attempts.deaths(HERE) == Attempts(tmp_path / "attempts").deaths(HERE) == deaths
    with attempts.taking(HERE):
        pass
    assert Attempts(tmp_path / "attempts").deaths(HERE) == 0


@pytest.mark.parametrize(("error", "counted"), [(OSError, 0), (KeyboardInterrupt, 0), (MemoryError, 1)])
def test_only_want_of_memory_is_held_against_a_message(
    tmp_path: Path, error: type[BaseException], counted: int
) -> None:
    attempts = Attempts(tmp_path / "attempts")
    with pytest.raises(error), attempts.taking(HERE):
        raise error
    assert Attempts(tmp_path / "attempts").deaths(HERE) == counted


def test_more_messages_at_a_time_than_there_is_room_for_are_taken_in_unnoted() -> None:
    attempts = Attempts(slots=2)
    with attempts.taking(HERE), attempts.taking(THERE), attempts.taking(Place("pages", 2, 7)):
        pass
    assert attempts.deaths(HERE) == 0


@pytest.mark.parametrize("content", [b"", b"rubbish", os.urandom(100), b"\xff" * SLOTS * 32], ids=range(4))
def test_a_file_that_is_none_is_begun_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "attempts").write_bytes(content)
    attempts = Attempts(tmp_path / "attempts")
    with attempts.taking(HERE):
        assert Attempts(tmp_path / "attempts").deaths(HERE) == 1


def test_the_file_is_nobody_elses_and_no_link_is_followed(tmp_path: Path) -> None:
    Attempts(tmp_path / "attempts")
    assert (tmp_path / "attempts").stat().st_mode & 0o777 == 0o600
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="link"):
        Attempts(tmp_path / "link")
