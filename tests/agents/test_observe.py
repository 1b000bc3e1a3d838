"""The observe agent: lines become accesses; a line that can't be read leaves its place, not its content."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from scentline.agents.observe.agent import ObserveAgent
from scentline.agents.observe.observer import Observer
from scentline.streams.facts import Access
from scentline.streams.outbox import Message, Outbox
from scentline.streams.records import DeadLetter, Decoder
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES, DEAD_LETTERS, partition_of
from tests.agents.shards import a_runtime, emitted

LINE = b"1700000000.123 10 10.0.0.7 TCP_MISS/200 512 GET http://a.org/page?q=1 alice DIRECT/- text/html"


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with a_runtime(Settings.model_validate({"data": tmp_path, "streams": {"partitions": 3}})) as opened:
        yield opened


@pytest.fixture
def agent(runtime: Runtime) -> ObserveAgent:
    return ObserveAgent(runtime, Observer(runtime.settings.observe, b"key"))


def observed(agent: ObserveAgent, line: bytes | None, offset: int = 5) -> list[Message]:
    outbox = Outbox("proxy-log/2")
    outbox.begin(offset)
    agent.handle(outbox, SimpleNamespace(value=line, partition=2, offset=offset))
    return outbox.take()


def letter(messages: list[Message]) -> DeadLetter:
    ((topic, _, _, value),) = messages
    assert topic == DEAD_LETTERS.name
    return Decoder[DeadLetter](DeadLetter)(value or b"")


def test_a_line_becomes_an_access_in_the_partition_of_its_user(agent: ObserveAgent) -> None:
    ((partition, access),) = emitted(observed(agent, LINE), ACCESSES)
    assert isinstance(access, Access)
    assert (access.url, access.time) == ("http://a.org/page?q=1", 1700000000.123)
    assert partition == partition_of(access.user, 3)
    assert "alice" not in access.user


@pytest.mark.parametrize(
    "line",
    [b"alice secret http://a.org/?token=secret", b"", None, b"\xff\xfe\x00secret", b"secret " * 10_000],
    ids=["words", "empty", "null", "bytes", "long"],
)
def test_a_malformed_line_is_buried_with_its_place_and_reason_and_without_its_content(
    agent: ObserveAgent, line: bytes | None
) -> None:
    found = letter(observed(agent, line, offset=9))
    assert (found.topic, found.partition, found.offset, found.time) == ("proxy-log", 2, 9, 1000.0)
    assert found.reason
    assert found.value == b""
    assert "secret" not in found.reason
    assert "alice" not in found.reason
    assert agent.observer.malformed == 1


@pytest.mark.parametrize(
    "line",
    [
        LINE,
        b'10.0.0.7 - alice [14/Nov/2023:22:13:20 +0000] "GET http://a.org/page?q=1 HTTP/1.1" 200 5',
        b'10.0.0.7 - alice [14/Nov/2023:22:13:20 +0000] "GET http://a.org/page?q=1 HTTP/1.1" 200 5 "-" "M"',
        b'{"client": "10.0.0.7", "user": "alice", "ts": 1700000000, "method": "GET", '
        b'"url": "http://a.org/page?q=1", "status": 200}',
        b"2023-11-14 22:13:20 10.0.0.7 alice GET http://a.org/page?q=1 200",
    ],
    ids=["squid", "common", "combined", "json", "w3c"],
)
def test_raw_lines_of_every_format_are_read(agent: ObserveAgent, line: bytes) -> None:
    head = b"#Fields: date time c-ip cs-username cs-method cs-uri sc-status"
    assert observed(agent, head) == []
    ((_, access),) = emitted(observed(agent, line), ACCESSES)
    assert (access.url, int(access.time)) == ("http://a.org/page?q=1", 1700000000)


def test_a_partition_is_a_log_of_its_own(agent: ObserveAgent) -> None:
    def sent(partition: int, url: bytes) -> list[Message]:
        outbox = Outbox(f"proxy-log/{partition}")
        line = LINE.replace(b"/page?q=1", url)
        agent.handle(outbox, SimpleNamespace(value=line, partition=partition, offset=1))
        return outbox.take()

    assert sent(0, b"/robots.txt") == []
    assert sent(0, b"/a") == []
    assert len(sent(1, b"/a")) == 1
    assert agent.observer.filtered == {"robot by robots.txt": 2}
