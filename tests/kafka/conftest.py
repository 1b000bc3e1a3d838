"""One broker a process of tests: started by the first that asks for it, stopped at the end of the run.

Topics have fixed names, so each worker of pytest-xdist has a broker of its own: 200 MB and three seconds, and
no test waits for another one's.
"""

import gc
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka.admin import KafkaAdminClient, MemberToRemove

from deploy.kafka.broker import QUICK, Broker
from deploy.ports import free_port
from tests.kafka.crawls import servers, started
from tests.patience import wait_for


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let pass what kafka-python leaves: the socket of a connection that was being made when it was closed."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """Free what a client left: aiokafka forgets a connection that it was just making when it was closed.

    Its warnings would else come up in whatever test frees it.
    """
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Return a running broker, which a test may end and start again."""
    with started(Broker(tmp_path_factory.mktemp("broker"), free_port(), java=QUICK)) as running:
        yield running


@pytest.fixture
def empty_kafka(broker: Broker) -> str:
    """Return the broker's address, without a topic and without a consumer group."""
    if not broker.running:
        broker.start()
    with KafkaAdminClient(bootstrap_servers=servers(broker.address)) as admin:
        wait_for("the groups to go", lambda: not _delete_groups(admin), 0.05)
        wait_for("the topics to go", lambda: not _delete_topics(admin), 0.05)
    return broker.address


def _delete_groups(admin: KafkaAdminClient) -> list[str]:
    """Delete every group, and first the members that died without a word; return those that were there."""
    groups = [group["group_id"] for group in admin.list_groups()]
    for group, described in admin.describe_groups(groups).items():
        members = [MemberToRemove(member_id=member["member_id"]) for member in described["members"]]
        admin.remove_group_members(group, members)
    admin.delete_groups(groups)
    return groups


def _delete_topics(admin: KafkaAdminClient) -> list[str]:
    """Delete every topic; return those that were there: that they are gone is seen a little later."""
    topics = [name for name in admin.list_topics() if not name.startswith("__")]
    if topics:
        admin.delete_topics(topics, raise_errors=False)
    return topics
