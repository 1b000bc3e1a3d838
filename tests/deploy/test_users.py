"""The rights of Kafka's users are what the topology says, and with them every role does its work."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

import pytest
import yaml
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka import admin as module
from kafka.admin import ACL, ACLOperation, ACLPermissionType, KafkaAdminClient, ResourcePattern, ResourceType
from kafka.errors import TopicAuthorizationFailedError

from deploy.kafka.broker import QUICK, Broker
from deploy.manifests.files import DEPLOY
from deploy.manifests.users import PARTIES, behind
from deploy.ports import free_port
from scentline.streams import topics
from scentline.streams.settings import Settings
from scentline.streams.transport.kafka.admin import Admin
from scentline_lab.synthetic.web import SyntheticWeb, synthetic_server
from tests.agents.commands import printed, running
from tests.cases import each_case
from tests.door.clients import call
from tests.kafka.crawls import servers, started
from tests.patience import PATIENCE, wait_for
from tests.window.windows import entered

ROLES = tuple(topics.INBOXES)
USERS = {
    user["metadata"]["name"].removeprefix("scentline-"): user["spec"]
    for user in yaml.safe_load_all((DEPLOY / "k8s/base/kafka/users.yaml").read_text(encoding="utf-8"))
}

Right = tuple[str, str, str, str]


def rights(user: str) -> set[Right]:
    """Return what a user may do: kind of resource, its name, literal or prefix, operation."""
    return {
        (acl["resource"]["type"], acl["resource"]["name"], acl["resource"]["patternType"], operation)
        for acl in USERS[user]["authorization"]["acls"]
        for operation in acl["operations"]
    }


def told(parties: tuple[str, ...], role: str) -> bool:
    """Return whether a role is among the writers or readers of a topic."""
    return any(party == "every agent" or party.split(" (")[0] == role for party in parties)


@each_case("role", ROLES)
def test_a_role_may_do_what_the_topology_says_and_nothing_else(role: str) -> None:
    expected: set[Right] = {("group", topics.group_of(role), "literal", "Read")}
    names = {topic.name for topic in topics.TOPICS}
    for topic in topics.TOPICS:
        if told(topic.readers, role):
            expected.add(("topic", topic.name, "literal", "Read"))
        if told(topic.writers, role):
            expected.add(("topic", topic.name, "literal", "Write"))
    for table, inbox in topics.TABLES.items():
        changelog = topics.changelog_of(table)
        names.add(changelog)
        if inbox is topics.INBOXES[role]:
            expected |= {("topic", changelog, "literal", right) for right in ("Read", "Write")}
            expected.add(("transactionalId", f"{changelog}/", "prefix", "Write"))
    if role == "harvest":  # the points of a predicate have one writer at a time
        expected.add(("transactionalId", "harvest/", "prefix", "Write"))
    if role == "judge":  # it judges kept pages no faster than these take in what comes of it
        expected |= {
            ("group", topics.group_of(other), "literal", "Describe") for other in ("frontier", "learn")
        }
    if role == "fetch":  # a door has its user: it hears how the crawl stands, and tells how its clients do
        expected |= {("topic", topics.STANDING.name, "literal", right) for right in ("Read", "Write")}
        expected.add(("group", topics.group_of("frontier"), "literal", "Describe"))
    # Of the others it may know that they are there, since a worker waits for all.
    others = names - {right[1] for right in expected if right[0] == "topic"}
    assert rights(role) == expected | {("topic", name, "literal", "Describe") for name in others}


def test_log_shippers_keda_and_people_have_no_more_rights_than_they_need() -> None:
    assert rights("shipper") == {("topic", "proxy-log", "literal", "Write")}
    scaled = ("observe", "fetch", "render")
    assert rights("keda") == {
        *(("topic", topics.INBOXES[role].name, "literal", "Describe") for role in scaled),
        *(("group", topics.group_of(role), "literal", "Describe") for role in scaled),
    }
    found = rights("operator")
    assert ("topic", "proxy-log", "literal", "Read") not in found
    assert not {right for right in found if right[1].endswith("-changelog") and right[3] == "Write"}
    assert {right[3] for right in found} == {"Read", "Write", "Describe", "DescribeConfigs"}


def test_every_user_shows_a_certificate_and_may_neither_do_everything_nor_make_a_topic() -> None:
    for user, spec in USERS.items():
        assert not {right[3] for right in rights(user)} & {"All", "Alter", "AlterConfigs", "Create", "Delete"}
        assert not [right for right in rights(user) if right[0] == "cluster" or right[1] == "*"]
        assert (spec["authentication"]["type"], spec["authorization"]["type"]) == ("tls", "simple")


def test_every_writer_and_reader_of_the_topology_is_a_user_and_a_new_one_must_be_given_one() -> None:
    named = {party for topic in topics.TOPICS for party in (*topic.writers, *topic.readers)}
    assert {user for party in named for user in behind(party)} <= set(USERS)
    assert set(PARTIES) <= named
    with pytest.raises(KeyError):
        behind("somebody new")


# on a broker

PASSWORD = "the same for all"
WEB = (5, 3, 30, 3)  # seed, sites, pages a site, topics
#: What there must be when every role has done something.
WRITTEN = [
    topics.HARVEST.name,
    topics.INTERESTS.name,
    *(topics.changelog_of(table) for table in topics.TABLES),
]


@dataclass
class Guarded:
    """A broker where nobody may do anything but as users.yaml says, and ``plain``, where everybody may all."""

    plain: str
    address: str

    def variables(self, user: str) -> dict[str, str]:
        return {
            "SCENTLINE_BROKER": self.address, "SCENTLINE_KAFKA__SECURITY": "sasl_plaintext",
            "SCENTLINE_KAFKA__SASL_MECHANISM": "PLAIN", "SCENTLINE_KAFKA__USERNAME": f"scentline-{user}",
            "SCENTLINE_KAFKA__PASSWORD": PASSWORD,
        }  # fmt: skip

    def client(self, user: str) -> dict[str, str]:
        return {
            "bootstrap_servers": servers(self.address), "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN", "sasl_plain_username": f"scentline-{user}",
            "sasl_plain_password": PASSWORD,
        }  # fmt: skip


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    port = free_port()
    known = " ".join(f'user_scentline-{name}="{PASSWORD}"' for name in USERS)
    login = "org.apache.kafka.common.security.plain.PlainLoginModule"
    properties = {
        "listeners": f"SASL_PLAINTEXT://127.0.0.1:{port}",
        "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{login} required {known};",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with started(Broker(tmp_path_factory.mktemp("guarded"), free_port(), properties, QUICK)) as broker:
        with Admin(Settings(broker=broker.address)) as admin:
            admin.create(topics.declared(1), 1)
        with KafkaAdminClient(bootstrap_servers=servers(broker.address)) as client:
            client.create_acls([acl for user in USERS for acl in acls(user)])
        yield Guarded(broker.address, f"kafka://127.0.0.1:{port}")


def acls(user: str) -> Iterator[ACL]:
    """Yield a user's rights as Strimzi's user operator gives them to the broker."""
    for kind, name, how, operation in rights(user):
        pattern = ResourcePattern(
            ResourceType[_constant(kind)],
            name,
            module.ACLResourcePatternType["PREFIXED" if how == "prefix" else "LITERAL"],
        )
        allowed = ACLOperation[_constant(operation)]
        yield ACL(f"User:scentline-{user}", "*", allowed, ACLPermissionType.ALLOW, pattern)


def _constant(name: str) -> str:
    """Return the name of a constant of kafka-python: DESCRIBE_CONFIGS of DescribeConfigs."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


@pytest.mark.slow
def test_every_role_does_its_work(guarded: Guarded, tmp_path: Path) -> None:
    web = SyntheticWeb(*WEB)
    with ExitStack() as stack:
        proxy = stack.enter_context(synthetic_server(*WEB))
        fetching = {
            "SCENTLINE_FETCH__PROXY": proxy.url, "SCENTLINE_FETCH__DELAY_SECONDS": "0",
            "SCENTLINE_FETCH__USER_AGENT": "Tested/1 (+mailto:tester@example.org)",
        }  # fmt: skip
        workers = {
            role: stack.enter_context(
                running(tmp_path, "worker", role, "--data", role, **guarded.variables(role), **fetching)
            )
            for role in topics.INBOXES
        }
        begun = {role: until_at_work(worker) for role, worker in workers.items()}
        operator = guarded.variables("operator")
        printed(tmp_path, "predicate", "add", "all", 'not "no such word"', **operator)
        printed(tmp_path, "seed", *web.seeds(2), **operator)
        with KafkaProducer(**guarded.client("shipper")) as shipper:
            for line in web.access_log(users=5, accesses=50):
                shipper.send(topics.PROXY_LOG.name, line.encode()).get(timeout=PATIENCE)
        with suppress(AssertionError):
            wait_for("every role to have written something", lambda: missing(guarded) == [], pause=1.0)
        for worker in workers.values():
            worker.terminate()
        said = {role: begun[role] + worker.communicate()[1] for role, worker in workers.items()}
        assert missing(guarded) == [], said
        assert {role: worker.returncode for role, worker in workers.items()} == dict.fromkeys(
            topics.INBOXES, 0
        ), said
        assert "scentline-judge" in printed(tmp_path, "lag", **operator)
        printed(tmp_path, "topics", "check", **operator)
        printed(tmp_path, "snapshot", "--data", "snapshot", **operator)
        with entered(tmp_path / "window", **guarded.variables("window")) as window:
            shown = window.get("/api/crawl").json()
            assert [each["name"] for each in shown["predicates"]] == ["all"]
            request = b'{"what": "predicate", "name": "all", "state": "paused"}'
            origin = {"Origin": str(window.base_url).rstrip("/")}
            assert window.post("/steer", content=request, headers=origin).status_code == 200


def until_at_work(worker: Popen[str]) -> str:
    """Return what a worker says until it works: told to end before, as while its browser starts, it fails."""
    assert worker.stderr is not None
    said = ""
    while "worker: working" not in said and (line := worker.stderr.readline()):
        said += line
    return said


def missing(guarded: Guarded) -> list[str]:
    """Return the topics in which nothing is; a changelog's first record is its owner's claim."""
    with Admin(Settings(broker=guarded.plain)) as admin:
        ends = {topic: sum(admin.ends([(topic, 0)]).values()) for topic in WRITTEN}
    return [topic for topic, end in ends.items() if end <= topic.endswith("-changelog")]


@pytest.mark.slow
def test_a_door_does_its_work_with_the_rights_of_fetch(guarded: Guarded, tmp_path: Path) -> None:
    address, place = f"127.0.0.1:{free_port()}", (topics.STANDING.name, 0)
    options = ("worker", "door", "--data", "door", "--set", f"door.address={address}")
    with Admin(Settings(broker=guarded.plain)) as admin:
        before = admin.ends([place])[place]
        with running(tmp_path, *options, **guarded.variables("fetch")) as worker:
            wait_for("its standing", lambda: admin.ends([place])[place] > before)
            given = [{"url": "http://example.org/", "seed": True}]
            said = call(f"http://{address}", tmp_path / "door", "discover", urls=given)["said"]
            assert said == ["taken"]
            worker.terminate()
            assert worker.wait(PATIENCE) == 0


@pytest.mark.slow
def test_keda_sees_the_lag_of_what_it_scales(guarded: Guarded) -> None:
    with KafkaAdminClient(**guarded.client("keda")) as client:
        client.list_group_offsets(topics.group_of("fetch"))
    with KafkaConsumer(**guarded.client("keda")) as consumer:
        place = TopicPartition(topics.FETCHES.name, 0)
        assert consumer.end_offsets([place])[place] >= 0


@pytest.mark.slow
def test_a_role_is_refused_what_is_not_its_own(guarded: Guarded) -> None:
    with KafkaProducer(**guarded.client("fetch")) as producer, pytest.raises(TopicAuthorizationFailedError):
        producer.send("outcomes", b"a verdict that fetch made up").get(timeout=PATIENCE)
