"""The broker of ``make kafka``: started, stopped, killed, on ports of its own, and no other process touched."""

import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import psutil
import pytest
from kafka.admin import KafkaAdminClient

from deploy.kafka.broker import QUICK, Broker
from deploy.kafka.jars import CACHE, BrokerError, MissingProgramError, classpath
from deploy.kafka.process import find, note
from deploy.ports import HOST, free, free_port
from tests.kafka.crawls import servers


def topics(address: str) -> list[str]:
    with KafkaAdminClient(bootstrap_servers=servers(address)) as admin:
        return sorted(name for name in admin.list_topics() if not name.startswith("__"))


def make(address: str, topic: str) -> None:
    with KafkaAdminClient(bootstrap_servers=servers(address)) as admin:
        admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}}, wait_for_metadata=True)


def test_a_broker_keeps_what_it_had_when_it_is_stopped_or_killed(broker: Broker, empty_kafka: str) -> None:
    make(empty_kafka, "one")
    assert broker.stop()
    assert not broker.running
    assert not broker.stop()
    broker.start()
    make(empty_kafka, "two")
    broker.kill()
    assert not broker.running
    broker.start()
    assert topics(broker.address) == ["one", "two"]


def test_a_broker_of_the_same_directory_is_the_same_a_taken_port_named(broker: Broker, tmp_path: Path) -> None:
    again = Broker(broker.directory, free_port())
    assert (again.running, again.address) == (True, broker.address)
    port = int(broker.address.rpartition(":")[2])
    with pytest.raises(BrokerError, match=f"port {port} of {HOST} is taken"):
        Broker(tmp_path, port).start()


def test_a_broker_listens_or_says_why(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dashed = uuid.UUID(int=0xFB << 120)  # an identity that begins with a dash
    monkeypatch.setattr("deploy.kafka.broker.uuid.uuid4", lambda: dashed)
    port = free_port()
    given = {"listeners": f"SECOND://{HOST}:{port}", "listener.security.protocol.map": "SECOND:PLAINTEXT"}
    second = Broker(tmp_path / "second", free_port(), given, QUICK)
    second.start()
    try:
        assert topics(f"kafka://{HOST}:{port}") == []
    finally:
        second.stop()
    with pytest.raises(BrokerError, match=r"log\.retention\.hours"):
        Broker(tmp_path / "second", free_port(), {"log.retention.hours": "soon"}).start()


def test_without_java_or_maven_the_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingProgramError, match=r"needs java.*apt-get install default-jre-headless"):
        Broker(tmp_path / "broker", free_port()).start()
    with pytest.raises(MissingProgramError, match=r"needs mvn.*apt-get install maven"):
        classpath(tmp_path)


def test_a_jar_that_is_another_one_is_not_run(broker: Broker, tmp_path: Path) -> None:
    shutil.copytree(CACHE / "jars", tmp_path / "jars", copy_function=os.link)
    assert str(tmp_path) in classpath(tmp_path)
    jar, other = tmp_path / "jars" / "kafka_2.13-4.1.0.jar", rb"another one"
    jar.unlink()
    for found in ("none", r"\w{64}"):
        with pytest.raises(
            BrokerError, match=rf"kafka_2\.13-4\.1\.0\.jar: expected SHA-256 \w{{64}}, found {found}"
        ):
            classpath(tmp_path)
        jar.write_bytes(other)


def test_a_process_is_found_by_its_number_its_start_and_its_command_line(tmp_path: Path) -> None:
    file = tmp_path / "process.json"
    assert find(file, "mine") is None
    with subprocess.Popen([sys.executable, "-c", "input()", "mine"], stdin=subprocess.PIPE) as child:
        while "mine" not in psutil.Process(child.pid).cmdline():
            time.sleep(0.01)  # it is forked, and does not run its program yet
        note(file, child.pid, "kafka://here")
        found = find(file, "mine")
        assert found is not None
        assert found.pid == child.pid
        assert find(file, "another's") is None
        began = psutil.Process(child.pid).create_time()
        file.write_text(f'[{child.pid}, {began - 60}, "kafka://here"]')
        assert find(file, "mine") is None
        note(file, child.pid, "kafka://here")
        child.communicate(b"\n")
    assert find(file, "mine") is None
    file.write_text("no note")
    assert find(file, "mine") is None


# ports that are a process's own until it ends


def test_a_port_is_nobody_else_s_and_a_server_of_ours_can_have_it() -> None:
    first = free_port(in_a_row=3)
    for port in range(first, first + 3):
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind((HOST, port))
        assert free(port)
        with socket.create_server((HOST, port)):
            assert not free(port)
        assert free(port)
    given = [free_port(in_a_row=2) for _ in range(50)]
    assert len({*given, *(port + 1 for port in given)}) == 100, "none is given twice"
