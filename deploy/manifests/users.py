"""Kafka users and their rights, from the writers and readers in streams/topics.py.

A worker waits until every topic of a crawl exists, and logs the missing ones. So it may request any topic's
name and partitions (Describe), but messages only of the topics that it reads. It creates no topic and changes
nothing else of the cluster. Reading and writing imply describing (kafka.apache.org/documentation, "Operations
in Kafka").
"""

from collections.abc import Iterator
from typing import Any

from deploy.manifests.topics import CLUSTER
from scentline.agents.operate.topics import LEFT_OUT
from scentline.agents.worker.connect import REJUDGED
from scentline.streams.topics import APP_ID, INBOXES, TABLES, TOPICS, Topic, changelog_of, group_of

ROLES = tuple(INBOXES)
#: The role of each table: the one whose inbox is the table's.
OWNERS = {table: next(role for role in ROLES if INBOXES[role] is inbox) for table, inbox in TABLES.items()}
#: The roles without tables, which scale by the lag of their inbox.
STATELESS = tuple(role for role in ROLES if role not in OWNERS.values())

OPERATOR = "operator"
WINDOW = "window"
SHIPPER = "shipper"
#: The users behind the names in streams/topics.py that are not roles.
PARTIES = {
    "log shippers": (SHIPPER,),
    "every agent": ROLES,
    "door": ("fetch",),  # it stands in the place of that role
    "feed": (OPERATOR,),
    "crawl": (OPERATOR,),
    "control": (OPERATOR, WINDOW),
    "state import": (OPERATOR,),
    "audit": (OPERATOR,),
    "matches": (OPERATOR,),
    "changes": (OPERATOR,),
    "window": (WINDOW,),
    "people": (OPERATOR,),
}

Acl = dict[str, Any]


def users(prefix: str = "") -> list[dict[str, Any]]:
    """Return a ``KafkaUser`` for each role, for people and their window, for log shippers and for KEDA.

    ``prefix``, the setting ``kafka.prefix``, begins the users' names too.
    """
    rights = {
        role: [*_messages(role), *_changelogs(role), *_fences(role), _group(role, "Read")] for role in ROLES
    }
    rights["judge"] += [_group(role, "Describe") for role in REJUDGED]
    rights["fetch"] += [_group("frontier", "Describe")]  # as a door: its clients wait with what they discover
    rights[SHIPPER] = [
        _acl("topic", topic.name, *operations)
        for topic in TOPICS
        if (operations := _operations(topic, SHIPPER))
    ]
    rights[WINDOW] = [*_inspection(WINDOW)]
    rights[OPERATOR] = [*_inspection(OPERATOR), *(_group(role, "Describe") for role in ROLES)]
    rights["keda"] = [
        acl
        for role in STATELESS
        for acl in (_acl("topic", INBOXES[role].name, "Describe"), _group(role, "Describe"))
    ]
    return [_user(f"{prefix}{APP_ID}-{name}", prefix, acls) for name, acls in rights.items()]


def behind(party: str) -> tuple[str, ...]:
    """Return the users behind a writer or reader named in streams/topics.py; raises `KeyError`.

    >>> behind("learn (every worker reads all of it)")
    ('learn',)
    """
    name = party.partition(" (")[0]
    return (name,) if name in ROLES else PARTIES[name]


def _messages(role: str) -> Iterator[Acl]:
    for topic in TOPICS:
        yield _acl("topic", topic.name, *(_operations(topic, role) or ["Describe"]))


def _changelogs(role: str) -> Iterator[Acl]:
    for table, owner in OWNERS.items():
        changelog = changelog_of(table)
        if owner == role:
            yield _acl("topic", changelog, "Read", "Write")
            yield _claiming(changelog)
        else:
            yield _acl("topic", changelog, "Describe")


def _fences(role: str) -> Iterator[Acl]:
    return (_claiming(topic.name) for topic in TOPICS if topic.fenced and "Write" in _operations(topic, role))


def _claiming(topic: str) -> Acl:
    """Return the right to claim a topic's partitions: streams/transport/kafka/lane.py."""
    return _acl("transactionalId", f"{topic}/", "Write", pattern="prefix")


def _operations(topic: Topic, user: str) -> list[str]:
    parties = {"Read": topic.readers, "Write": topic.writers}
    return [operation for operation, named in parties.items() if any(user in behind(party) for party in named)]


def _inspection(user: str) -> Iterator[Acl]:
    """Yield the rights of people's commands: `topics check`, `lag`, `snapshot` of most topics, and `seed`.

    A window mirrors what a snapshot copies, and sends the same requests as the commands.
    """
    shown = ("Describe", "DescribeConfigs")
    for topic in TOPICS:
        operations = _operations(topic, user)
        if topic.name not in LEFT_OUT and "Read" not in operations:
            operations.insert(0, "Read")
        yield _acl("topic", topic.name, *operations, *shown)
    for table in TABLES:
        yield _acl("topic", changelog_of(table), "Read", *shown)


def _group(role: str, operation: str) -> Acl:
    return _acl("group", group_of(role), operation)


def _acl(kind: str, name: str, *operations: str, pattern: str = "literal") -> Acl:
    return {
        "resource": {"type": kind, "name": name, "patternType": pattern},
        "operations": list(operations),
    }


def _user(name: str, prefix: str, acls: list[Acl]) -> dict[str, Any]:
    for acl in acls:
        acl["resource"]["name"] = prefix + acl["resource"]["name"]
    return {
        "apiVersion": "kafka.strimzi.io/v1",
        "kind": "KafkaUser",
        "metadata": {"name": name, "labels": {"strimzi.io/cluster": CLUSTER}},
        "spec": {"authentication": {"type": "tls"}, "authorization": {"type": "simple", "acls": acls}},
    }
