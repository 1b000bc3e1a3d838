"""The rights of Kafka's users are exactly what the topology says."""

import pytest
import yaml

from deploy.manifests.files import DEPLOY
from deploy.manifests.users import PARTIES, behind
from scentline.streams.topics import INBOXES, TABLES, TOPICS, changelog_of, group_of
from tests.cases import each_case

ROLES = tuple(INBOXES)
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
    expected: set[Right] = {("group", group_of(role), "literal", "Read")}
    names = {topic.name for topic in TOPICS}
    for topic in TOPICS:
        if told(topic.readers, role):
            expected.add(("topic", topic.name, "literal", "Read"))
        if told(topic.writers, role):
            expected.add(("topic", topic.name, "literal", "Write"))
    for table, inbox in TABLES.items():
        changelog = changelog_of("scentline", table)
        names.add(changelog)
        if inbox is INBOXES[role]:
            expected |= {("topic", changelog, "literal", right) for right in ("Read", "Write")}
            expected.add(("transactionalId", f"{changelog}/", "prefix", "Write"))
    if role == "harvest":  # the points of a predicate have one writer at a time
        expected.add(("transactionalId", "harvest/", "prefix", "Write"))
    if role == "judge":  # it judges kept pages no faster than these take in what comes of it
        expected |= {("group", group_of(other), "literal", "Describe") for other in ("frontier", "learn")}
    # Of the others it may know that they are there, since a worker waits for all.
    others = names - {right[1] for right in expected if right[0] == "topic"}
    assert rights(role) == expected | {("topic", name, "literal", "Describe") for name in others}


def test_log_shippers_keda_and_people_have_no_more_rights_than_they_need() -> None:
    assert rights("shipper") == {("topic", "proxy-log", "literal", "Write")}
    scaled = ("observe", "fetch")
    assert rights("keda") == {
        *(("topic", INBOXES[role].name, "literal", "Describe") for role in scaled),
        *(("group", group_of(role), "literal", "Describe") for role in scaled),
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
    named = {party for topic in TOPICS for party in (*topic.writers, *topic.readers)}
    assert {user for party in named for user in behind(party)} <= set(USERS)
    assert set(PARTIES) <= named
    with pytest.raises(KeyError):
        behind("somebody new")
