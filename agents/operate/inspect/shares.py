"""Whether a host's owner stands back for others, as the orders that a crawl's log keeps tell."""

from contextlib import suppress

from agents.operate.inspect.record import entries
from models.domain import owner
from models.frontier.shares import LEAST, WINDOW
from models.url import host
from streams.records import Decoder, FetchOrder, RecordError
from streams.settings import FrontierSettings
from streams.topics import FETCHES
from streams.transport.journal import Journal


def why_standing_back(journal: Journal, url: str, settings: FrontierSettings) -> str:
    """Return why a URL's owner stands back for others; empty where it does not, as far as names tell."""
    orders = sorted(_latest(journal), key=lambda order: order.lease)[-WINDOW:]
    own = owner(host(url))
    of_owner = [order for order in orders if owner(host(order.url)) == own]
    share = max(settings.domain_share, max((order.vouched or 0.0 for order in of_owner[-1:]), default=0.0))
    if len(of_owner) <= share * max(LEAST, len(orders)):
        return ""
    return (
        f"{own} had {len(of_owner)} of the latest {len(orders)} fetches; above {share:.0%} it is held back "
        "for others worth at least a third as much (frontier.domain_share)"
    )


def _latest(journal: Journal) -> list[FetchOrder]:
    decode, found = Decoder[FetchOrder](FetchOrder), []
    for partition in range(journal.partitions(FETCHES.name)):
        start = max(journal.start(FETCHES.name, partition), journal.end(FETCHES.name, partition) - WINDOW)
        for entry in entries(journal, FETCHES.name, partition, start):
            with suppress(RecordError):
                found.append(decode(entry.value or b""))
    return found
