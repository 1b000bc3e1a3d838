"""What whole crawls share: settings as options, a synthetic web in a thread, and the audit at the end."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from scentline.agents.observe.observer import Observer
from scentline.agents.operate.record import outcomes
from scentline.agents.worker.crawl import run_crawl
from scentline.models.frontier.keys import PAGE_PREFIX
from scentline.models.frontier.rows import FrontierRow, PageRow
from scentline.models.published import Outcome
from scentline.streams.settings import Settings
from scentline.streams.transport.database import JournalMissingError
from scentline.streams.transport.journal import Journal, UnknownTopicError
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import last_line, printed
from tests.agents.shards import rows_of
from tests.patience import PATIENCE
from tests.webs.serving import Exchange, Served, serving

#: The synthetic web of most crawls: seed, sites, pages a site, topics.
SIZE = (5, 4, 60, 4)
#: Seconds by which a request may reach a server late, on a busy machine; few are.
LATE_SECONDS = 2.0
#: A predicate that every page satisfies.
ANY = 'any=not "unheard-of"'


@contextmanager
def synthetic(web: SyntheticWeb) -> Iterator[Served]:
    async def answer(exchange: Exchange) -> None:
        found = web.answer(exchange.target, exchange.headers)
        exchange.send(found.status, found.body, **dict(found.headers))

    with serving(answer) as served:
        yield served


def options(given: Mapping[str, object]) -> list[str]:
    return each("--set", (f"{name}={value}" for name, value in given.items()))


def each(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def write_log(path: Path, web: SyntheticWeb, users: int, accesses: int) -> Path:
    path.write_text("".join(f"{line}\n" for line in web.access_log(users=users, accesses=accesses)))
    return path


def view(time: float, client: str, url: str, referrer: str = "-") -> str:
    """Return the line of a server's log that says that somebody saw a page."""
    at = f"{datetime.fromtimestamp(time, UTC):%d/%b/%Y:%H:%M:%S} +0000"
    return f'{client} - - [{at}] "GET {url} HTTP/1.1" 200 5120 "{referrer}" "Mozilla/5.0"\n'


def write_labels(path: Path, web: SyntheticWeb) -> Path:
    path.write_text("".join(f"{url}\t{category}\n" for url, category in web.labels()))
    return path


def topics(web: SyntheticWeb) -> list[str]:
    return sorted({category.partition(".")[0] for _, category in web.labels() if "." in category})


def exact(cwd: Path, *arguments: str, **expected: int) -> dict[str, Any]:
    """Assert that an audit finds nothing lost or counted otherwise, and what is expected; return its report."""
    report: dict[str, Any] = last_line(printed(cwd, "audit", "--json", *arguments))
    expected = {"judged_twice": 0, "lost": 0, "differences": 0, **expected}
    assert {name: report[name] for name in expected} == expected, report
    assert report["rows"]
    return report


def crawl(settings: Settings, seeds: Sequence[str], logs: Sequence[str] = ()) -> int:
    async def run() -> int:
        observer = Observer(settings.observe, b"key")
        async with asyncio.timeout(PATIENCE):
            status, interrupted = await run_crawl(settings, observer, seeds, logs, lambda *_: None)
        assert not interrupted
        return status.fetched

    return asyncio.run(run())


def outcomes_of(data: Path) -> list[Outcome]:
    with Journal.open(data / "journal", read_only=True) as journal:
        return list(outcomes(journal))


def pages_of(data: Path) -> list[PageRow]:
    decode = msgspec.msgpack.Decoder(FrontierRow).decode
    rows = (decode(raw) for _, raw in rows_of(data, "frontier", PAGE_PREFIX))
    return [row for row in rows if isinstance(row, PageRow)]


def judged_so_far(data: Path) -> int:
    """Return how many pages were judged, also of a crawl that has just begun."""
    try:
        return len(outcomes_of(data))
    except (JournalMissingError, UnknownTopicError):
        return 0


def keeps(times: Sequence[float], delay: float) -> bool:
    """Return whether requests that reached the server at these times may have been sent ``delay`` apart.

    One that comes late makes the gap before the next one shorter. So each is taken to have been sent as late as
    the ones after it allow; half a delay late may be one in twenty, and none by more than `LATE_SECONDS`. A
    crawler that asks too soon again and again is later each time.

    >>> keeps([0.0, 1.0, 2.9, 3.1, 4.0], 1.0)
    True
    >>> keeps([number * 0.9 for number in range(30)], 1.0)
    False
    """
    late = []
    sent = float("inf")
    for time in reversed(times):
        sent = min(time, sent - delay)
        late.append(time - sent)
    hurried = sum(seconds > delay / 2 for seconds in late)
    return hurried <= 1 + len(late) // 20 and all(seconds <= LATE_SECONDS for seconds in late)
