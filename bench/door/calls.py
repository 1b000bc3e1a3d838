"""What the door's calls cost: the transport of leases and answers, and URLs that a client discovers."""

import asyncio
import json
import os
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import httpx
import psutil
from aiohttp import web

from bench.crawl.crawlers import Scentline
from bench.crawl.measure import Usage, whole
from bench.crawl.server import Nginx
from bench.door.pairs import CLIENTS, opened
from scentline.agents.door.agent import DoorAgent
from scentline.agents.door.leases import Parked
from scentline.agents.door.server import Calls
from scentline.agents.door.telling import Lease, Settle
from scentline.agents.offline.archive import Archive
from scentline.models.records import FetchOrder

#: Bytes of a page, as those of the recorded articles are.
PAGE = 21_000
#: Pages of the crawl that has learned something before URLs are discovered; URLs of a call; and hosts of them.
TAUGHT, URLS, HOSTS = 300, 500, 2_000
_TOKEN = "a token of the bench"  # noqa: S105 - of no crawl
#: Seconds of CPU in a second below which a crawl is idle.
_IDLE = 0.1


class Stub:
    """Stands for the door behind its calls: has an order whenever one is asked for, and takes every answer."""

    def __init__(self) -> None:
        self._given = 0

    def state(self) -> str:
        """Return how the crawl stands."""
        return "running"

    async def lease(self, call: Lease, gone: object) -> list[Parked]:
        """Give as many orders as are wanted."""
        return [self._order() for _ in range(call.want)]

    def _order(self) -> Parked:
        self._given += 1
        order = FetchOrder(
            url=f"http://a.test/wiki/{self._given}", order=1, predicate="science", policy="learned",
            explored=False, probability=1.0, priority=1.0, depth=1, lease=9e9,
        )  # fmt: skip
        return Parked(order, int, 0.0, early=False)

    async def settle(self, call: Settle, bodies: object) -> list[str]:
        """Take all."""
        return ["ok"] * len(call.answers)


def lease_settle(archive: Path, place: Path, pages: int) -> str:
    """Return a table of the transport's CPU by answers a call: of the server, of the client, and of both."""
    with Archive([archive]) as recorded:
        bodies = (recorded.answer(url, {}).body for url in recorded.urls())
        body = next(body for body in bodies if PAGE <= len(body) <= 1.05 * PAGE)
    (place / "body").write_bytes(body)
    (place / "token").write_text(_TOKEN)
    lines = [f"\nms of CPU a page of {len(body)} bytes | the door | the client | both", "---|---|---|---"]
    for most, links, goal in ((1, 0, 0.5), (4, 0, 0.5), (16, 0, 0.1), (16, 40, None)):
        server, client = asyncio.run(_transported(place, most, pages, links))
        said = f"{most} a call{f', {links} links a page' if links else ''}"
        aim = f" (goal <= {goal})" if goal else ""
        lines.append(f"{said} | {server:.3f} | {client:.3f} | {server + client:.3f}{aim}")
    packed = _timed(lambda: zlib.compress(body, 1))
    lines.append(f"beyond this machine, more: zlib level 1 | | {packed:.3f} |")
    return "\n".join(lines)


async def _transported(place: Path, most: int, pages: int, links: int) -> tuple[float, float]:
    """Return the milliseconds of CPU a page of server and client."""
    calls = Calls(cast(DoorAgent, Stub()), _TOKEN, dict)
    runner = web.AppRunner(calls.app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    before = time.process_time()
    client = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.door.client", url, str(place / "token"), str(most), str(pages),
        str(place / "body"), str(links),
        env={**os.environ, "PYTHONPATH": f"{CLIENTS}:{os.environ.get('PYTHONPATH', '')}"},
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    told, _ = await client.communicate()
    server = time.process_time() - before
    await runner.cleanup()
    used, counted = json.loads(told)
    return 1000 * server / pages, 1000 * used / counted


def _timed(work: Callable[[], object]) -> float:
    """Return the milliseconds of CPU that a call takes."""
    before = time.process_time()
    for _ in range(200):
        work()
    return 1000 * (time.process_time() - before) / 200


def discover(ours: Scentline, nginx: Nginx, place: Path, urls: int) -> str:
    """Return the CPU of a URL that is discovered by a call, scored for two predicates, and queued."""
    whole(ours, nginx, place / "door", {})  # what it taught scores the URLs
    with opened(replace(ours, pages=None), nginx.url, place / "door") as (process, url, token):
        head = {"Authorization": f"Bearer {Path(token).read_text()}"}
        usage = Usage(process.pid)
        _rest(usage)
        before, begun = usage.cpu, time.monotonic()
        with httpx.Client(base_url=f"{url}/door/1", headers=head, timeout=60.0) as client:
            for start in range(0, urls, URLS):
                found = [_url(n) for n in range(start, min(start + URLS, urls))]
                while (answer := client.post("/discover", json={"client": "bench", "urls": found})).is_error:
                    if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:  # which says: later
                        answer.raise_for_status()
                    time.sleep(0.5)
        taken = time.monotonic() - begun
        _rest(usage)
        cost = 1e6 * (usage.cpu - before) / urls
        memory = psutil.Process(process.pid).memory_info().rss
    return (
        f"\n{urls} URLs discovered, {URLS} a call: {cost:.0f} us of CPU each (goal <= 60), "
        f"{urls / taken:.0f} a second; {memory / 1e6:.0f} MB"
    )


def _url(number: int) -> dict[str, str]:
    return {"url": f"http://h{number % HOSTS}.test/section-{number % 13}/words-of-a-page-{number}.html"}


def _rest(usage: Usage) -> None:
    """Wait until a crawl is idle."""
    before = -1.0
    while usage.look(memory=False) - before > _IDLE:
        before = usage.cpu
        time.sleep(1.0)
