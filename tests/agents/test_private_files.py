"""Files of a data directory: their owner's alone, written whole, and none that waits or leads elsewhere."""

import asyncio
import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import zstandard

from scentline.agents.cli.output import csv_line
from scentline.agents.crawl.directory import make_directory
from scentline.agents.frontier.steered import Steered
from scentline.agents.judge.predicates import Predicates
from scentline.agents.observe.positions import Positions
from scentline.agents.observe.pseudonym import KEY_FILE, kept_key, user_key
from scentline.agents.operate.control.requests import AddPredicate, RefusedError
from scentline.agents.operate.control.service import ControlService
from scentline.agents.operate.control.spool import DIRECTORY, Spool
from scentline.agents.operate.privacy.plan import key_of
from scentline.agents.stored import write_stored
from scentline.models.classifier import KIND
from scentline.models.sealed import SealedError, unseal
from scentline.streams.configuration import ConfigurationError
from scentline.streams.records import LogPosition, encode
from scentline.streams.settings import ObserveSettings, Settings
from tests.agents.commands import complaint, printed
from tests.agents.shards import a_runtime
from tests.cases import each_case

LINE = "1700000000.123 10 10.0.0.7 TCP_MISS/200 512 GET http://a.org/page - DIRECT/- text/html\n"
TEA = AddPredicate("tea", '"tea"')


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def open_to_others(directory: Path) -> list[str]:
    return [str(path) for path in (directory, *directory.rglob("*")) if mode(path) & 0o077]


@pytest.fixture
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


# whose the files are


@pytest.mark.usefixtures("usual_umask")
def test_what_commands_write_is_their_owners_alone(tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text(LINE)
    printed(tmp_path, "feed", "access.log", "--data", "data", SCENTLINE_OBSERVE__USER_KEY="")
    printed(tmp_path, "predicate", "add", "tea", '"tea"', "--data", "data")
    assert open_to_others(tmp_path / "data") == []
    assert (tmp_path / "data" / KEY_FILE).is_file()


@pytest.mark.usefixtures("usual_umask")
def test_a_directory_of_an_earlier_version_is_closed_to_others_but_for_what_is_not_ours(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for name in ("journal", "kept", DIRECTORY):
        (data / name).mkdir(parents=True)
    (data / "policy").write_text("learned\n")
    make_directory(data)
    assert [mode(path) for path in (data, data / "journal", data / "kept", data / DIRECTORY)] == [0o700] * 4
    assert mode(data / "policy") == 0o600
    (tmp_path / "journal").mkdir()
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "kept").symlink_to("notes")
    make_directory(tmp_path)
    assert [mode(tmp_path / name) for name in ("journal", "notes")] == [0o700, 0o644]


# the key


def test_an_empty_key_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text(LINE)
    for content in (b"", b"\n", bytes(32)):
        (tmp_path / KEY_FILE).write_bytes(content)
        (tmp_path / KEY_FILE).chmod(0o600)
        with pytest.raises(ConfigurationError, match="the file is empty, expected the key"):
            key_of(Settings(data=tmp_path))
    said = complaint(tmp_path, "feed", "access.log", "--data", ".", SCENTLINE_OBSERVE__USER_KEY="")
    assert "the file is empty, expected the key" in said and "\n" not in said


@pytest.mark.parametrize(("given", "why"), [(0o644, "read"), (0o660, "write"), (0o606, "write")])
def test_a_key_that_others_may_read_or_write_is_closed_with_a_warning(
    tmp_path: Path, given: int, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    kept = tmp_path / KEY_FILE
    kept.write_bytes(b"k" * 32)
    kept.chmod(given)
    with caplog.at_level(logging.WARNING):
        assert kept_key(kept) == b"k" * 32
    assert mode(kept) == 0o600
    assert f"others could {why} the key" in caplog.text and "kkkk" not in caplog.text


@pytest.mark.timeout(60)
def test_a_key_follows_no_link_and_is_a_plain_file(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("theirs")
    for name in (f"{KEY_FILE}.new", f"{KEY_FILE}.partial"):
        (tmp_path / name).symlink_to("theirs")
    key = user_key(ObserveSettings(), tmp_path / KEY_FILE)
    assert (tmp_path / "theirs").read_text() == "theirs"
    assert (tmp_path / KEY_FILE).read_bytes() == key and not (tmp_path / KEY_FILE).is_symlink()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    for name in ("pipe", "directory"):
        with pytest.raises(ConfigurationError, match="can't be read: not a plain file"):
            kept_key(tmp_path / name)
    write_stored(tmp_path / "file", b"first")
    (tmp_path / "file.partial").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_stored(tmp_path / "file", b"second")
    assert (tmp_path / "file").read_bytes() == b"first"


# the spool


def hostile(data: Path) -> None:
    """Put into the spool what is no request, under names of requests and of leftovers."""
    directory = data / DIRECTORY
    directory.mkdir()
    for ending in (".json", ".refused", ".part", ".json.partial"):
        (directory / f"0-directory{ending}").mkdir()
        os.mkfifo(directory / f"1-pipe{ending}")
        (directory / f"2-link{ending}").symlink_to("/dev/zero")
        (directory / f"3-nothing{ending}").symlink_to("nowhere")


def unsynced() -> None:
    """Nothing is carried out here that a disk should have."""


@pytest.mark.timeout(60)
def test_what_is_no_request_neither_stops_nor_ends_a_crawl(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path)
    hostile(tmp_path)
    with a_runtime(settings) as runtime:
        predicates = Predicates()
        service = ControlService(runtime, predicates, Steered(), unsynced, dict)
        spool = Spool(tmp_path)
        spool.tidy()
        name = spool.put(TEA)

        async def look() -> None:
            task = asyncio.ensure_future(service.look())
            await asyncio.sleep(0.1)
            task.cancel()  # nobody tells it of the predicate here

        assert spool.names() == [name]
        asyncio.run(look())


@pytest.mark.timeout(60)
def test_what_takes_a_requests_place_is_not_waited_for(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    spool.put(TEA, "1")
    for make in (os.mkfifo, os.mkdir):
        path = tmp_path / DIRECTORY / f"{make.__name__}.json"
        make(path)
        with pytest.raises(RefusedError, match="can't be read"):
            spool.read(path.stem)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / DIRECTORY).write_text("a file")
    with pytest.raises(RefusedError, match=r"can't be put into .*requests: "):
        Spool(tmp_path / "other").put(TEA)


def test_a_request_that_can_not_be_removed_is_carried_out_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []

    def read(self: Spool, name: str) -> None:
        taken.append(name)
        raise RefusedError("no")

    def done(self: Spool, name: str) -> None:
        raise PermissionError(13, "Permission denied")

    with a_runtime(Settings(data=tmp_path)) as runtime:
        service = ControlService(runtime, Predicates(), Steered(), unsynced, dict)
        monkeypatch.setattr(Spool, "read", read)
        monkeypatch.setattr(Spool, "done", done)
        Spool(tmp_path).put(TEA, "1")
        for _ in range(3):
            asyncio.run(service.look())
        assert taken == ["1"]


# what is read again


def test_a_deep_unknown_field_in_a_stored_file_is_told_in_a_sentence() -> None:
    for place in ("name", "body"):
        deep = msgspec.msgpack.encode({"name": KIND.name, "version": KIND.version})[1:]
        nested = b"\x91" * 100_000 + b"\xc0"
        document = (
            b"\x83" + b"\xa4deep" + nested + deep if place == "name" else b"\x83" + deep + b"\xa4deep" + nested
        )
        with pytest.raises(SealedError):
            unseal(KIND, zstandard.ZstdCompressor().compress(document), dict)


def test_a_position_that_is_no_record_is_passed_over() -> None:
    positions = Positions("a reading")
    positions.hear(b"log", encode(LogPosition(line=7, reading="a reading")))
    for key, value in ((b"log", b"garbage"), (b"\xff", b"\x81" * 100_000), (b"log", b"")):
        positions.hear(key, value)
    assert positions.line("log") == 7


@each_case("sign", ["=", "+", "-", "@", "＝", "＋", "－", "＠", "﹢", "﹦", "﹫", "⁼", "⁺", " ＝"])
def test_no_cell_of_csv_begins_a_formula_in_any_width(sign: str) -> None:
    assert csv_line([f"{sign}1+1"]).startswith("'")
