"""Log shippers write raw lines to `proxy-log` as the page on live logs tells them to."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from scentline.streams.configuration import load
from scentline.streams.topics import PROXY_LOG
from scentline.streams.transport.kafka.admin import kept
from tests.agents.commands import printed
from tests.kafka.crawls import servers
from tests.patience import PATIENCE, wait_for

PAGE = (Path(__file__).parents[2] / "docs" / "live-logs.md").read_text(encoding="utf-8")
LINES = [
    f"1795288288.38{n}     15 192.0.2.{n} TCP_MISS/200 1654 GET http://example.org/{n} - NONE/- text/html"
    for n in range(9)
]


def section(title: str) -> str:
    """Return the code of a section of the page."""
    found = re.search(rf"### {title}\n.*?```\w*\n(.*?)```", PAGE, re.DOTALL)
    assert found, f"the page has no section {title} with code"
    return found[1]


def program(name: str, package: str) -> str:
    path = shutil.which(name, path=os.pathsep.join((os.environ["PATH"], "/usr/sbin")))
    if path is None:
        pytest.skip(f"needs {name} (on Debian: apt-get install {package})")
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "access.log"
    path.write_text("".join(f"{line}\n" for line in LINES))
    return path


@pytest.fixture
def broker_of_lines(empty_kafka: str, tmp_path: Path) -> str:
    printed(tmp_path, "topics", "create", "--partitions", "2", "--broker", empty_kafka)
    return empty_kafka


def received(broker: str) -> list[str]:
    """Return the lines that have come, in the order of their partition; they are all in one."""
    settings = load({"broker": broker}, environ={}).settings
    found = [list(kept(settings, PROXY_LOG.name, partition)) for partition in range(2)]
    assert [] in found, "the lines of one log are in two partitions"
    return [(entry.value or b"").decode() for entries in found for entry in entries]


def test_rsyslog_sends_each_line_as_it_is(tmp_path: Path, log: Path, broker_of_lines: str) -> None:
    rsyslogd = program("rsyslogd", "rsyslog-kafka")
    if not list(Path("/usr/lib").glob("*/rsyslog/omkafka.so")):
        pytest.skip("needs rsyslog's omkafka (on Debian: apt-get install rsyslog-kafka)")
    config = tmp_path / "rsyslog.conf"
    text = section("rsyslog").replace("/var/log/squid/access.log", str(log))
    text = text.replace("/var/spool/rsyslog", str(tmp_path)).replace("localhost:9092", servers(broker_of_lines))
    config.write_text(f'global(workDirectory="{tmp_path}")\n{text}')
    with subprocess.Popen(
        [rsyslogd, "-n", "-f", str(config), "-i", str(tmp_path / "pid")],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            wait_for("the lines", lambda: len(received(broker_of_lines)) >= len(LINES))
        finally:
            process.kill()
    assert received(broker_of_lines) == LINES


def test_kcat_sends_each_line_as_it_is(log: Path, broker_of_lines: str) -> None:
    kcat = program("kcat", "kcat")
    command = section("kcat").strip().replace("tail -F /var/log/squid/access.log", f"cat {log}")
    command = command.replace("localhost:9092", servers(broker_of_lines)).replace("| kcat", f"| {kcat}")
    subprocess.run(["sh", "-c", command], check=True, timeout=PATIENCE)
    assert received(broker_of_lines) == LINES
