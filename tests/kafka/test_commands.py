"""The operator's commands on a real broker, and log shippers as the page on live logs has them."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from kafka.admin import KafkaAdminClient

from scentline.agents.operate.topics import Difference, Lag, TopicsError, check, create, lags
from scentline.models.records import DeadLetter, encode
from scentline.streams.settings import Settings, load
from scentline.streams.topics import INBOXES, PROXY_LOG, declared
from scentline.streams.transport.kafka.admin import Admin, AdminError, kept
from tests.agents.commands import complaint, printed, running, scentline
from tests.agents.test_changes import a_change
from tests.kafka.crawls import commit, drop, send, servers
from tests.patience import PATIENCE, wait_for


def settings(broker: str, partitions: int = 3, replication: int = 1) -> Settings:
    options = {"broker": broker, "streams.partitions": partitions, "kafka.replication": replication}
    return load(options, environ={}).settings


def configure(broker: str, topic: str, configs: dict[str, str]) -> None:
    with Admin(settings(broker)) as admin:
        admin.configure({topic: configs})


def delete(broker: str, topic: str) -> None:
    with KafkaAdminClient(bootstrap_servers=servers(broker)) as admin:
        admin.delete_topics([topic])
        wait_for(f"{topic} to go", lambda: topic not in admin.list_topics())


# topics


def test_every_topic_and_changelog_is_made_and_kept_as_it_is_declared(empty_kafka: str) -> None:
    here = settings(empty_kafka)
    names = [topic.name for topic in declared(3)]
    assert {(each.topic, each.done) for each in create(here)} == {(name, "made") for name in names}
    with Admin(here) as admin:
        found = admin.topics(names)
    for topic in declared(3):
        there = found[topic.name]
        assert (there.partitions, there.replication) == (topic.partitions, 1)
        assert {key: there.configs[key] for key in topic.configs} == topic.configs
    assert check(here) == []
    assert {each.done for each in create(here)} == {"unchanged"}

    configure(empty_kafka, "pages", {"retention.ms": "1000", "compression.type": "zstd"})
    configure(empty_kafka, "interests", {"cleanup.policy": "delete"})
    delete(empty_kafka, "outcomes")
    assert check(here) == [
        Difference("pages", "retention.ms", "86400000", "1000"),
        Difference("outcomes", "topic", "3 partitions", None),
        Difference("interests", "cleanup.policy", "compact", "delete"),
    ]
    again = {each.topic: each for each in create(here)}
    assert (again["pages"].done, again["pages"].keys) == ("configured", ("retention.ms",))
    assert (again["outcomes"].done, again["fetches"].done) == ("made", "unchanged")
    assert check(here) == []
    with Admin(here) as admin:
        assert admin.topics(["pages"])["pages"].configs["compression.type"] == "zstd"  # nobody declares it


def test_other_numbers_of_partitions_and_replicas_change_nothing(empty_kafka: str, tmp_path: Path) -> None:
    with pytest.raises(AdminError, match=r"can't make proxy-log: .*only 1 broker"):
        create(settings(empty_kafka, replication=2))
    two = ("--broker", empty_kafka, "--partitions", "2")
    made = printed(tmp_path, "topics", "create", *two)
    assert made.splitlines()[:2] == ["name\tpartitions\tdone", "proxy-log\t2\tmade"]
    assert printed(tmp_path, "topics", "check", *two) == "every topic is as declared\n"
    assert json.loads(printed(tmp_path, "topics", "check", *two, "--json")) == []
    configure(empty_kafka, "pages", {"retention.ms": "1000"})
    with pytest.raises(TopicsError, match=r"^proxy-log has 2 partitions, expected 3\..*--partitions 2"):
        create(settings(empty_kafka, 3))
    found = check(settings(empty_kafka, 3))
    assert Difference("scentline-users-changelog", "partitions", "3", "2") in found
    assert Difference("pages", "retention.ms", "86400000", "1000") in found
    assert "predicates" not in {each.topic for each in found}
    assert Difference("accesses", "replication", "2", "1") in check(settings(empty_kafka, 2, replication=2))
    with pytest.raises(TopicsError, match=r"has 1 replicas, expected 2: .*--replication 1"):
        create(settings(empty_kafka, 2, replication=2))
    create(settings(empty_kafka, 2))
    delete(empty_kafka, "fetches")
    run = scentline(tmp_path, "topics", "check", *two)
    assert run.returncode == 1
    assert run.stdout == "topic\twhat\tdeclared\tfound\nfetches\ttopic\t2 partitions\tmissing\n"


# lag


def test_lag_is_what_waits_in_each_partition_and_what_expired_is_told(empty_kafka: str, tmp_path: Path) -> None:
    assert json.loads(printed(tmp_path, "lag", "--broker", empty_kafka, "--json")) == []
    here = settings(empty_kafka, 2)
    create(here)
    send(empty_kafka, "pages", 1, [b"page"] * 5)
    commit(empty_kafka, "scentline-judge", "pages", 1, 3)
    send(empty_kafka, "fetches", 0, [b"order"] * 4)
    send(empty_kafka, "proxy-log", 0, [b"line"] * 5)
    commit(empty_kafka, "scentline-observe", "proxy-log", 0, 1)
    drop(empty_kafka, "proxy-log", 0, 4)
    found = list(lags(here))
    assert [each.topic for each in found] == [topic.name for topic in INBOXES.values() for _ in range(2)]
    assert Lag("scentline-judge", "pages", 1, 5, 3, 2, 0) in found
    assert Lag("scentline-judge", "pages", 0, 0, None, 0, 0) in found
    assert Lag("scentline-fetch", "fetches", 0, 4, None, 4, 0) in found
    assert found[0] == Lag("scentline-observe", "proxy-log", 0, 5, 1, 1, 3)
    assert sum(each.lag for each in found) == 7
    run = scentline(tmp_path, "lag", "--broker", empty_kafka, "--set", "streams.partitions=2")
    assert run.stderr.startswith("proxy-log/0: 3 messages expired before scentline-observe read them")
    assert run.stdout.splitlines()[:2] == [
        "group\ttopic\tpartition\tend\tcommitted\tlag",
        "scentline-observe\tproxy-log\t0\t5\t1\t1",
    ]


# what is read of topics


def asking(broker: str, directory: Path, command: str) -> tuple[str, ...]:
    """Return a command about a topic of its name, which is made when it was asked for without one."""
    asked = (command, "--broker", broker)
    said = f"has no topic {command}: make it with scentline topics create"
    assert complaint(directory, *asked).endswith(said)
    create(settings(broker))
    return asked


def test_dead_letters_are_printed_oldest_first_and_each_once(empty_kafka: str, tmp_path: Path) -> None:
    asked = asking(empty_kafka, tmp_path, "dead-letters")
    assert printed(tmp_path, *asked, "--json") == ""
    letters = [
        DeadLetter(topic="accesses", partition=2, offset=offset, reason="no", value=b"\xff\x1b", time=0.0)
        for offset in (6, 7, 8, 7)
    ]
    send(empty_kafka, "dead-letters", 0, [*map(encode, letters), b"no letter"])
    drop(empty_kafka, "dead-letters", 0, 1)
    assert [entry.offset for entry in kept(settings(empty_kafka), "dead-letters", 0)] == [1, 2, 3, 4]
    lines = printed(tmp_path, *asked, "--json").splitlines()
    places = [(found["topic"], found["offset"]) for found in map(json.loads, lines)]
    assert places == [("accesses", 7), ("accesses", 8), ("dead-letters", 4)]
    table = printed(tmp_path, *asked)
    assert table.splitlines()[1] == "1970-01-01T00:00:00+00:00\taccesses/2@7\tno\t\\xff\\x1b"


def change(number: int) -> bytes:
    return msgspec.json.encode(a_change(number, kind="appeared"))


def urls(printed: str) -> list[str]:
    return [json.loads(line)["url"][-1] for line in printed.splitlines()]


def test_changes_of_all_partitions_are_printed_in_time_and_followed(empty_kafka: str, tmp_path: Path) -> None:
    asked = asking(empty_kafka, tmp_path, "changes")
    assert "only a crawl that visits pages again" in complaint(tmp_path, *asked)
    assert len(printed(tmp_path, *asked, "--set", "frontier.revisit=0.5").splitlines()) == 1, "the head alone"
    send(empty_kafka, "changes", 0, [change(1), change(4), b"rubbish", change(1)])
    send(empty_kafka, "changes", 1, [change(2), change(3)])
    assert urls(printed(tmp_path, *asked, "--format", "jsonl")) == ["1", "2", "3", "4"]
    drop(empty_kafka, "changes", 0, 3)
    drop(empty_kafka, "changes", 1, 2)
    with running(tmp_path, *asked, "--format", "jsonl", "--follow") as process:
        assert process.stdout is not None
        assert urls(process.stdout.readline()) == ["1"]
        for number, partition in ((5, 1), (6, 0)):
            send(empty_kafka, "changes", partition, [change(number)])
            assert urls(process.stdout.readline()) == [str(number)]
        process.terminate()
        assert process.wait(PATIENCE) == 0


# log shippers write raw lines to `proxy-log`


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
