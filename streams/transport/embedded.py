"""The Faust transport over a journal in this process: ``embedded:///ABSOLUTE/DIRECTORY``.

One process holds every partition. Its journal lies in ``DIRECTORY/journal``; the consumer group is the app's
id.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from faust.fixups import FIXUPS
from faust.stores import STORES
from faust.transport import base
from faust.transport.drivers import TRANSPORTS
from faust.transport.producer import Producer

from streams.transport.consumer import Consumer

SCHEME = "embedded"


def register() -> None:
    """Make Faust know the scheme, of the broker and of the tables' store."""
    for known in (FIXUPS, STORES, TRANSPORTS):
        known.namespaces.clear()  # it would look through all installed packages for more, once for each
    TRANSPORTS.aliases.setdefault(SCHEME, "streams.transport.embedded:Transport")
    STORES.aliases.setdefault(SCHEME, "streams.transport.one_batch:Store")


class Transport(base.Transport):
    """What Faust makes for a broker URL ``embedded:///ABSOLUTE/DIRECTORY``.

    Its producer sends nothing: agents write by `streams.transport.publisher.JournalPublisher`, in groups.
    """

    Consumer = Consumer
    Producer = Producer
    driver_version = SCHEME
    default_port = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.path = journal_path(self.url)

    def in_session(self) -> bool:
        """Return True: no other process may take what this one reads."""
        return True

    async def gone(self, tp: Any, due: int, offset: int) -> bool:
        """Return True: a journal's messages come in their turn, but for those it keeps no more."""
        return True

    def rejoin(self) -> None:
        """Do nothing: there is nobody to share with."""


def journal_path(urls: Sequence[Any]) -> Path:
    """Return the directory of the journal that a broker URL names. Raises `ValueError`."""
    if len(urls) != 1 or urls[0].host or not urls[0].path.strip("/"):
        shown = ";".join(map(str, urls))
        raise ValueError(f"broker {shown}: expected {SCHEME}:///ABSOLUTE/DIRECTORY")
    return Path(urls[0].path) / "journal"
