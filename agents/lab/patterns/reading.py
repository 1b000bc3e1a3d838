"""The accesses of a log that concern a site, as records of who came to which URL from which."""

from collections.abc import Iterator
from typing import NamedTuple

from agents.lab.logs import LogReader
from agents.lab.progress import Progress
from agents.observe.site import Site as Host
from agents.observe.site import base_url, site_named
from models.url import canonical, host
from streams.records import Access
from streams.settings import ObserveSettings

_WWW = "www."


class Record(NamedTuple):
    """One access; ``referrer`` is None where it is not of the site."""

    user: str
    url: str
    referrer: str | None
    time: float


class Site:
    """A host ``name`` and those beneath it; without one the host of ``base``, without either all of a log.

    ``base`` is the site of a log whose lines hold paths only, by default that of ``name``. To its pages people
    come from its other name as well, with or without "www.": that is the same page.
    """

    def __init__(self, name: str | None, base: str | None) -> None:
        named = None if name is None else site_named(name)
        known = canonical(base_url(named, base) or "")
        paths = None if known is None else Host(known)
        self.base = None if paths is None else paths.base
        self._host = named or paths

    def holds(self, url: str) -> bool:
        """Say whether a canonical URL is of the site."""
        return self._host is None or self._host.holds(url)

    def record(self, access: Access) -> Record | None:
        """Return the record of an access, None of one to another site."""
        if not self.holds(access.url):
            return None
        referrer = access.referrer
        if referrer is not None and self.base is not None and access.url.startswith(f"{self.base}/"):
            referrer = self._same_origin(referrer, self.base)
        if referrer is not None and not self.holds(referrer):
            referrer = None
        return Record(access.user, access.url, referrer, access.time)

    def _same_origin(self, url: str, base: str) -> str:
        if host(url).removeprefix(_WWW) != host(f"{base}/").removeprefix(_WWW):
            return url
        return f"{base}/{url.split('/', 3)[3]}"


def records(
    source: str, settings: ObserveSettings, site: Site, name: str, progress: Progress
) -> Iterator[Record]:
    """Yield the records of a log file in the order of its lines; robots are left out as the settings say.

    ``name`` is what the reading is called. Raises what `LogReader.read` raises.
    """
    reader = LogReader(settings.model_copy(update={"base_url": site.base}), progress, everywhere=True)
    for access in reader.read(source, name):
        record = site.record(access)
        if record is not None:
            yield record
