"""The command line: its skeleton, and the commands that look and serve."""

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from scentline.streams.records import DeadLetter, encode
from scentline.streams.topics import DEAD_LETTERS, TOPICS
from scentline.streams.transport.journal import Journal
from tests.agents import commands
from tests.agents.commands import COMMAND, TOLD_TO_END
from tests.patience import PATIENCE


def environment(**variables: str) -> dict[str, str]:
    """Return an environment in which nothing is set, the key of the pseudonyms either."""
    known = commands.environment(**variables)
    return {
        name: value for name, value in known.items() if name in variables or not name.startswith("SCENTLINE_")
    }


def scentline(cwd: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command as it is, nothing imported before it."""
    return subprocess.run(
        [*COMMAND, *arguments], cwd=cwd, env=environment(**variables), capture_output=True, text=True,
        check=False, timeout=PATIENCE,
    )  # fmt: skip


def printed(cwd: Path, *arguments: str, **variables: str) -> str:
    run = scentline(cwd, *arguments, **variables)
    assert (run.returncode, run.stderr) == (0, "")
    return run.stdout


def dead_letter(offset: int, value: bytes = b"\x1b[2J\xff", reason: str = "no time\nin it") -> bytes:
    return encode(
        DeadLetter(topic="proxy-log", partition=0, offset=offset, reason=reason, value=value, time=0.5)
    )


def bury(data: Path, *letters: bytes) -> None:
    with Journal.open(data / "journal") as journal:
        journal.create_topic(DEAD_LETTERS.name, 1, retention=DEAD_LETTERS.retention, compacted=False)
        journal.append_batch(DEAD_LETTERS.name, 0, [(None, letter) for letter in letters], timestamp=1.0)


def test_config_show_prints_every_value_with_its_origin(tmp_path: Path) -> None:
    (tmp_path / "scentline.toml").write_text('[frontier]\nbudget = 7\n[predicates]\nice = "hockey"\n')
    out = printed(
        tmp_path, "config", "show", "--set", "frontier.queue=9", SCENTLINE_BROWSE__WINDOW="8"
    ).splitlines()
    assert out[0] == "key\tvalue\tfrom"
    assert "frontier.budget\t7\tscentline.toml" in out
    assert "frontier.queue\t9\tcommand line" in out
    assert "browse.window\t8\tenvironment SCENTLINE_BROWSE__WINDOW" in out
    assert "frontier.policy\tlearned\tdefault" in out
    assert "predicates.ice\thockey\tscentline.toml" in out
    (tmp_path / "other.toml").write_text("random_seed = 5")
    shown = printed(
        tmp_path, "config", "show", "--json", "--config", "other.toml", SCENTLINE_OBSERVE__USER_KEY="hush"
    )
    values = json.loads(shown)
    assert values["random_seed"] == {"value": 5, "origin": "other.toml"}
    origin = "environment SCENTLINE_OBSERVE__USER_KEY"
    assert values["observe.user_key"] == {"value": "set", "origin": origin}
    assert values["learn.weights"]["value"] == [1.0, 1.0, 1.0, 1.0]


def test_topics_list_prints_the_topology(tmp_path: Path) -> None:
    lines = printed(tmp_path, "topics", "list").splitlines()
    assert [line.split("\t")[0] for line in lines[1:]] == [topic.name for topic in TOPICS]
    rows = json.loads(printed(tmp_path, "topics", "list", "--json", "--set", "streams.partitions=4"))
    by_name = {row["name"]: row for row in rows}
    assert by_name["sightings"]["partitions"] == 4
    assert by_name["predicates"]["partitions"] == 1
    assert by_name["interests"]["compacted"] is True
    assert by_name["fetches"]["retention_seconds"] == 86_400


def test_dead_letters_are_printed_once_each_and_on_one_line(tmp_path: Path) -> None:
    bury(tmp_path / "data", dead_letter(1), dead_letter(2), dead_letter(1), b"not a letter")
    with Journal.open(tmp_path / "data" / "journal"):  # a crawl may be writing it
        lines = printed(tmp_path, "dead-letters", "--data", "data").splitlines()
    assert len(lines) == 1 + 3
    assert lines[1] == "\t".join(
        ["1970-01-01T00:00:00+00:00", "proxy-log/0@1", r"no time\nin it", r"\x1b[2J\\xff"]
    ).replace("\\\\xff", "\\xff")
    assert lines[3].split("\t")[1] == "dead-letters/0@3"
    bury(tmp_path / "data", *(dead_letter(number) for number in range(10, 2510)))
    written = printed(tmp_path, "dead-letters", "--data", "data", "--json").splitlines()
    assert [json.loads(line)["offset"] for line in written[3:]] == list(range(10, 2510))
    assert json.loads(written[0])["reason"] == "no time\nin it"


def test_help_imports_nothing_slow(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom scentline.agents.cli import main\n"
        "try: main(['--help'])\n"
        "finally: print('slow:', {'faust', 'matplotlib', 'pydantic', 'lxml', 'httpx'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(), capture_output=True, text=True,
        check=True, timeout=PATIENCE,
    )  # fmt: skip
    assert "Research" in run.stdout
    assert run.stdout.endswith("slow: set()\n")


def archive(path: Path) -> None:
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nrecorded"
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\n"
        "WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000000>\r\n"
        "WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Target-URI: http://example.org/\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    path.write_bytes(gzip.compress(head.encode() + http + b"\r\n\r\n"))


@contextmanager
def served(
    cwd: Path, *arguments: str, program: Sequence[str] = COMMAND
) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    process = subprocess.Popen(
        [*program, "serve-archive", *arguments], cwd=cwd, env=environment(), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip().rpartition(" ")[2], process
        finally:
            process.kill()


@TOLD_TO_END
def test_serve_archive_answers_as_a_proxy_until_it_is_told_to_end(
    tmp_path: Path, program: tuple[str, ...], number: int
) -> None:
    archive(tmp_path / "pages.warc.gz")
    with served(tmp_path, "pages.warc.gz", "--log", "access.log", program=program) as (url, process):
        with httpx.Client(proxy=url, trust_env=False) as client:
            assert client.get("http://example.org/").text == "recorded"
            assert client.get("http://example.org/absent").status_code == 404
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, errors) == (0, "")
    assert "GET http://example.org/absent" in (tmp_path / "access.log").read_text()
