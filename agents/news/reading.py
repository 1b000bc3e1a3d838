"""Logs read line by line into news discovery: nothing of a line is kept but what that counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from agents.lab.progress import Progress
from agents.observation.logfile import LogFile
from agents.observation.observer import Observer
from agents.observation.site import Site, observed
from models.news.clicks import DAY
from models.news.discovery import NewsDiscovery
from streams.records import Access
from streams.settings import ObserveSettings

#: The users' pseudonyms only tell them apart here; they go nowhere.
_KEY = b"scentline news"
_LINES = 1_000
_PER_CENT = 100


@dataclass
class Read:
    """What became of the lines; ``untimely`` of the page ``views`` are of the future or of before 1970."""

    lines: int = 0
    views: int = 0
    untimely: int = 0
    interrupted: bool = False


def read(
    sources: Sequence[str],
    settings: ObserveSettings,
    discovery: NewsDiscovery,
    now: float,
    progress: Progress,
    site: Site | None = None,
) -> Read:
    """Take in the accesses of the logs, which must be in the order of their times; Ctrl-C ends the reading.

    With ``site`` those to other hosts are passed over.
    A line whose time is more than a day after ``now`` would move the window on and empty it: it is passed over.
    Raises `agents.observation.logfile.LogFileError` and `models.accesslog.recognise.LogFormatError`.
    """
    observer = Observer(observed(settings, site), _KEY, everywhere=site is not None)
    found = Read()
    try:
        for source in sources:
            with LogFile(source) as log:
                _read_one(log, observer.another(), site, discovery, now, progress, found)
    except KeyboardInterrupt:
        found.interrupted = True
    found.lines = observer.lines
    return found


def _read_one(
    log: LogFile,
    observer: Observer,
    site: Site | None,
    discovery: NewsDiscovery,
    now: float,
    progress: Progress,
    found: Read,
) -> None:
    observer.recognise(log.sample)
    progress.phase(f"read {log.name}, per cent", _PER_CENT)
    done, lines = 0, iter(log)
    while chunk := list(islice(lines, _LINES)):
        for _, line in chunk:
            access = observer.observe(line)
            if not isinstance(access, Access) or (site is not None and not site.holds(access.url)):
                continue
            found.views += 1
            if 0 <= access.time < now + DAY:
                discovery.visit(access.url, access.user, access.time, access.referrer)
            else:
                found.untimely += 1
        part = _PER_CENT * log.consumed // log.size if log.size else 0
        if part > done:
            progress.advance(part - done)
            done = part
    if done < _PER_CENT:
        progress.advance(_PER_CENT - done)
