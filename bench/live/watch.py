"""Looking at a crawl's candidates from beside it."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from scentline.models.frontier.keys import page_key
from scentline.models.frontier.rows import FrontierRow, PageRow
from scentline.streams.transport.database import JournalMissingError
from scentline.streams.transport.journal import Journal, TableMissingError

LOOK_SECONDS = 0.1


class WatchError(Exception):
    """What was waited for did not come about; the text says what."""


def visits(data: Path, urls: Mapping[str, float]) -> dict[str, int]:
    """Return how many visits the frontier in ``data`` knows of each URL, those with none left out."""
    decode = msgspec.msgpack.Decoder(FrontierRow).decode
    found = {}
    try:
        with Journal.open(data / "journal", read_only=True) as journal:
            for part in journal.table("frontier").values():
                for url in urls:
                    raw = part.get(page_key(url))
                    row = decode(raw) if raw is not None else None
                    if isinstance(row, PageRow) and row.visits:
                        found[url] = row.visits
    except (JournalMissingError, TableMissingError):
        return {}
    return found


def delays(
    data: Path, asked: Mapping[str, float], clock: Callable[[], float], seconds: float
) -> dict[str, float]:
    """Wait until the frontier knows a visit of each URL; return how long after its time in ``asked``.

    Raises `WatchError` where one is not known ``seconds`` from now.
    """
    found: dict[str, float] = {}
    end = clock() + seconds
    while waiting := {url: since for url, since in asked.items() if url not in found}:
        now = clock()
        if now > end:
            raise WatchError(f"{len(waiting)} of {len(asked)} pages are no candidates, such as {min(waiting)}")
        found |= {url: now - asked[url] for url in visits(data, waiting)}
        time.sleep(LOOK_SECONDS)
    return found
