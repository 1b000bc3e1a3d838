"""The mark in tables on Kafka that says that a user is being forgotten: until that is done, nothing goes on.

The data directory of an embedded log has a file instead (`agents.operate.privacy.plan`).
"""

from scentline.streams.configuration import ConfigurationError
from scentline.streams.inbox import Store

#: The key of the mark, in every partition of every changelog.
FORGETTING = b"\x00forgetting"


def check_not_forgetting(store: Store, what: str) -> None:
    """Raise `ConfigurationError` where the mark is in a partition of a table; ``what`` is what it hinders."""
    if store.get(FORGETTING) is not None:
        raise ConfigurationError(
            f"{what}: forget-user is running on this broker, or was interrupted; run the same command again "
            "first"
        )
