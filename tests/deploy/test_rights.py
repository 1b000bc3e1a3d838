"""With the rights of users.yaml, and no others, a real broker lets every role do its work."""

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    ResourcePattern,
    ResourceType,
)
from kafka.errors import TopicAuthorizationFailedError

from deploy.kafka.broker import QUICK, Broker
from deploy.kafka.jars import MissingProgramError
from deploy.manifests.files import DEPLOY
from deploy.ports import free_port
from scentline.streams.settings import Settings
from scentline.streams.topics import (
    FETCHES,
    HARVEST,
    INBOXES,
    INTERESTS,
    PROXY_LOG,
    TABLES,
    changelog_of,
    declared,
    group_of,
)
from scentline.streams.transport.kafka.admin import Admin
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import printed, running
from tests.patience import PATIENCE
from tests.window.windows import entered

pytestmark = pytest.mark.slow

USERS = list(yaml.safe_load_all((DEPLOY / "k8s/base/kafka/users.yaml").read_text(encoding="utf-8")))
PASSWORD = "the same for all"
WEB = (5, 3, 30, 3)  # seed, sites, pages a site, topics
#: What there must be when every role has done something.
WRITTEN = [HARVEST.name, INTERESTS.name, *(changelog_of("scentline", table) for table in TABLES)]


@dataclass
class Guarded:
    """A broker where nobody may do anything but as users.yaml says, and ``plain``, where everybody may all."""

    plain: str
    address: str

    def variables(self, user: str) -> dict[str, str]:
        """Return the environment by which a command is a user."""
        return {
            "SCENTLINE_BROKER": self.address,
            "SCENTLINE_KAFKA__SECURITY": "sasl_plaintext",
            "SCENTLINE_KAFKA__SASL_MECHANISM": "PLAIN",
            "SCENTLINE_KAFKA__USERNAME": f"scentline-{user}",
            "SCENTLINE_KAFKA__PASSWORD": PASSWORD,
        }

    def client(self, user: str) -> dict[str, str]:
        """Return the options by which a client of kafka-python is a user."""
        return {
            "bootstrap_servers": self.address.removeprefix("kafka://"),
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": f"scentline-{user}",
            "sasl_plain_password": PASSWORD,
        }


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    port = free_port()
    names = [user["metadata"]["name"] for user in USERS]
    known = " ".join(f'user_{name}="{PASSWORD}"' for name in names)
    login = "org.apache.kafka.common.security.plain.PlainLoginModule"
    properties = {
        "listeners": f"SASL_PLAINTEXT://127.0.0.1:{port}",
        "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{login} required {known};",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    broker = Broker(tmp_path_factory.mktemp("guarded"), free_port(), properties, QUICK)
    try:
        broker.start()
    except MissingProgramError as error:
        pytest.skip(str(error))
    try:
        with Admin(Settings(broker=broker.address)) as admin:
            admin.create(declared(1), 1)
        with KafkaAdminClient(bootstrap_servers=broker.address.removeprefix("kafka://")) as client:
            client.create_acls([acl for user in USERS for acl in acls(user)])
        yield Guarded(broker.address, f"kafka://127.0.0.1:{port}")
    finally:
        broker.stop()


def acls(user: dict[str, Any]) -> Iterator[ACL]:
    """Yield a KafkaUser's rights as Strimzi's user operator gives them to the broker."""
    name = user["metadata"]["name"]
    for acl in user["spec"]["authorization"]["acls"]:
        resource = acl["resource"]
        kind = ResourceType[_constant(resource["type"])]
        how = "PREFIXED" if resource["patternType"] == "prefix" else "LITERAL"
        pattern = ResourcePattern(kind, resource["name"], ACLResourcePatternType[how])
        for operation in acl["operations"]:
            allowed = ACLOperation[_constant(operation)]
            yield ACL(f"User:{name}", "*", allowed, ACLPermissionType.ALLOW, pattern)


def _constant(name: str) -> str:
    """Return the name of a constant of kafka-python: DESCRIBE_CONFIGS of DescribeConfigs."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


def test_every_role_does_its_work(guarded: Guarded, tmp_path: Path) -> None:
    web = SyntheticWeb(*WEB)
    with ExitStack() as stack:
        proxy = stack.enter_context(synthetic_server(*WEB))
        fetching = {
            "SCENTLINE_FETCH__PROXY": proxy.url,
            "SCENTLINE_FETCH__DELAY_SECONDS": "0",
            "SCENTLINE_FETCH__USER_AGENT": "Tested/1 (+mailto:tester@example.org)",
        }
        workers = {
            role: stack.enter_context(
                running(tmp_path, "worker", role, "--data", role, **guarded.variables(role), **fetching)
            )
            for role in INBOXES
        }
        operator = guarded.variables("operator")
        printed(tmp_path, "predicate", "add", "all", 'not "no such word"', **operator)
        printed(tmp_path, "seed", *web.seeds(2), **operator)
        with KafkaProducer(**guarded.client("shipper")) as shipper:
            for line in web.access_log(users=5, accesses=50):
                shipper.send(PROXY_LOG.name, line.encode()).get(timeout=PATIENCE)
        missing = wait(guarded)
        for worker in workers.values():
            worker.terminate()
        said = {role: worker.communicate()[1] for role, worker in workers.items()}
        assert missing == [], said
        assert {role: worker.returncode for role, worker in workers.items()} == dict.fromkeys(INBOXES, 0), said
        assert "scentline-judge" in printed(tmp_path, "lag", **operator)
        printed(tmp_path, "topics", "check", **operator)
        printed(tmp_path, "snapshot", "--data", "snapshot", **operator)
        with entered(tmp_path / "window", **guarded.variables("window")) as window:
            shown = window.get("/api/crawl").json()
            assert [each["name"] for each in shown["predicates"]] == ["all"]
            request = b'{"type": "change", "name": "all", "state": "paused"}'
            origin = {"Origin": str(window.base_url).rstrip("/")}
            assert window.post("/steer", content=request, headers=origin).status_code == 200


def wait(guarded: Guarded) -> list[str]:
    """Wait until every role has written something; return the topics in which nothing is."""
    end = time.monotonic() + PATIENCE
    while True:
        # A changelog's first record is its owner's claim.
        missing = [topic for topic in WRITTEN if written(guarded, topic) <= topic.endswith("-changelog")]
        if not missing or time.monotonic() > end:
            return missing
        time.sleep(1)


def written(guarded: Guarded, topic: str) -> int:
    with Admin(Settings(broker=guarded.plain)) as admin:
        return sum(admin.ends([(topic, 0)]).values())


def test_keda_sees_the_lag_of_what_it_scales(guarded: Guarded) -> None:
    with KafkaAdminClient(**guarded.client("keda")) as client:
        client.list_group_offsets(group_of("fetch"))
    with KafkaConsumer(**guarded.client("keda")) as consumer:
        place = TopicPartition(FETCHES.name, 0)
        assert consumer.end_offsets([place])[place] >= 0


def test_a_role_is_refused_what_is_not_its_own(guarded: Guarded) -> None:
    with KafkaProducer(**guarded.client("fetch")) as producer, pytest.raises(TopicAuthorizationFailedError):
        producer.send("outcomes", b"a verdict that fetch made up").get(timeout=PATIENCE)
