"""The properties of one broker that is its own controller (KRaft), for one machine.

The keys are Kafka's (kafka.apache.org/documentation, "Broker Configs").
"""

from collections.abc import Mapping
from pathlib import Path

MIB = 1024 * 1024

#: Keys whose given values are appended, not replaced.
_JOINED = ("listeners", "listener.security.protocol.map")


def server_properties(
    data: Path, port: int, controller_port: int, given: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the properties of a broker that listens on loopback only, and those ``given``.

    Given listeners are added to the plain one on ``port``; any other given key replaces.

    >>> given = {"listeners": "SSL://127.0.0.1:9094", "ssl.client.auth": "required"}
    >>> server_properties(Path("data"), 9092, 9093, given)["listeners"]
    'PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093,SSL://127.0.0.1:9094'
    """
    given = given or {}
    own = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": str(data),
        # Topics are declared with their configuration, and never created by a request for them.
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "1000",
        # The defaults fit large clusters; on one machine they cost memory and a slow start.
        "offsets.topic.num.partitions": "4",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.num.partitions": "4",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "log.cleaner.dedupe.buffer.size": str(16 * MIB),
        "num.network.threads": "2",
        "num.io.threads": "4",
    }
    joined = {key: f"{own[key]},{given[key]}" for key in _JOINED if key in given}
    return own | dict(given) | joined


def read_properties(text: str) -> dict[str, str]:
    r"""Read the plain form of a Java properties file: ``key=value`` lines, comments and empty lines.

    Raises `ValueError` for any other line, such as one that continues on the next.

    >>> read_properties("# mutual TLS\nssl.client.auth = required\n")
    {'ssl.client.auth': 'required'}
    >>> read_properties("ssl.key.password = begun \\\n  and not ended\n")
    Traceback (most recent call last):
    ValueError: line 1 of the properties: expected KEY=VALUE on one line
    """
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith(("#", "!")):
            key, equals, value = line.partition("=")
            if not equals or line.endswith("\\"):
                # Not the line itself: it may hold a password.
                raise ValueError(f"line {number} of the properties: expected KEY=VALUE on one line")
            found[key.strip()] = value.strip()
    return found


def write_properties(properties: Mapping[str, str]) -> bytes:
    """Return a Java properties file, whose encoding is Latin-1."""
    text = "".join(f"{key}={value}\n" for key, value in properties.items())
    return text.encode("latin-1", errors="backslashreplace")
