"""A server's answer, any bytes: over a real connection, through the client and the judge, to a kept page."""

import asyncio
import io
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from warcio.archiveiterator import ArchiveIterator

from scentline.agents.fetch.client import Client
from scentline.agents.fetch.orders import page_of
from scentline.agents.fetch.result import OUTCOMES, Body, Ended, Result, outcome_of
from scentline.agents.judge.examiner import Examiner
from scentline.agents.judge.question import Work
from scentline.agents.judge.warc import packed
from scentline.models.facts import Missing, Moved
from scentline.models.records import FetchOrder, encode
from scentline.models.settings import FetchSettings
from scentline.models.url import crawlable
from scentline.streams.settings import Settings

#: Nothing but loopback is asked: the User-Agent names no contact.
_SETTINGS = FetchSettings(allow=("127.0.0.1",), delay_seconds=0.0, timeout_seconds=2.0, first_byte_seconds=2.0)
_NO_ROBOTS = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
_READER = Examiner(Work.of(Settings(fetch=_SETTINGS)))


async def asked(answer: bytes) -> None:
    """Ask a server that answers everything so, and one that answers pages so; read and keep what is a page."""
    async with (
        _serving(answer, answer) as one,
        _serving(answer, _NO_ROBOTS) as other,
        Client(_SETTINGS, time.time) as client,
    ):
        for origin in (one, other):
            url = f"{origin}/page"
            ended = await client.fetch(url)
            check(ended.result)
            if isinstance(ended.result, Body):
                _keep(url, ended, ended.result)


def check(result: Result) -> None:
    """Check what every result must be, whatever it came from: it is one, and can be told of."""
    assert outcome_of(result) in set(OUTCOMES) - {"error"}, result
    if isinstance(result, Missing):
        assert result.reason.isprintable() and result.reason.isascii() and len(result.reason) < 100
    if isinstance(result, Moved):
        assert crawlable(result.target)


def _keep(url: str, ended: Ended, result: Body) -> None:
    """Send a page to the judge, and have it kept: the records can be read again."""
    order = FetchOrder(
        url=url, order=1, predicate="any", policy="learned", explored=False, probability=1.0,
        priority=0.0, depth=0, lease=0.0,
    )  # fmt: skip
    fetched = _READER.decode(encode(page_of(order, ended, 0.0)))
    _, page = _READER.read(fetched)
    records = packed(fetched, result.body, page, {"any": True}, _SETTINGS.user_agent)
    kinds = [record.rec_type for record in ArchiveIterator(io.BytesIO(records))]
    assert kinds == ["request", "response", "metadata"], kinds


@asynccontextmanager
async def _serving(answer: bytes, robots: bytes) -> AsyncIterator[str]:
    """Serve on loopback: each request is answered with bytes, and the connection ends."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(robots if b"/robots.txt " in head else answer)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()
