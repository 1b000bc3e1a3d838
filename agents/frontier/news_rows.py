"""The rows of the mode "instant": hubs, the clicks of pages, and what is known of news."""

import msgspec

from models.news.clicks import History
from models.news.rate import ArrivalRate
from streams.records import Version


class HubRow(msgspec.Struct, array_like=True, tag="hub"):
    """A page that is revisited for its links until the time ``until``; what came of it so far.

    ``visited`` is the time of the last visit, 0 before the first, ``version`` what was had then, ``brought``
    the links since then that were new. ``orders`` counts revisits that were ordered, ``lease`` is when the
    wait for the answer to the last one ends, 0 where none is waited for. ``failures`` are those in a row,
    ``not_before`` is when it may be asked again. ``moved`` is where it leads for good.
    """

    url: str
    rate: ArrivalRate
    until: float
    visited: float = 0.0
    version: Version | None = None
    brought: int = 0
    orders: int = 0
    lease: float = 0.0
    failures: int = 0
    not_before: float = 0.0
    moved: str = ""
    visits: int = 0
    links: int = 0


class ClicksRow(msgspec.Struct, array_like=True, tag="clicks"):
    """The daily clicks of a page, one a user and day, and how many came from which pages."""

    url: str
    history: History
    referrers: dict[str, int] = {}


class NewsRow(msgspec.Struct, array_like=True, tag="news"):
    """What is known of news in a partition: the prefixes that the clicks told, and when.

    ``clicks`` counts the clicks so far, ``newest`` is the day of the newest. ``pages`` counts the new links to
    news that were fetched, and ``delays`` how long each took since it was published, by the buckets of
    `streams.metrics.catalogue.DELAYS`; ``delay`` is the sum.
    """

    prefixes: list[str] = []
    told: float = 0.0
    clicks: int = 0
    newest: int = 0
    pages: int = 0
    delay: float = 0.0
    delays: list[int] = []
