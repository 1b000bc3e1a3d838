"""A client that settles what it leases at once, by the code that all clients share.

``python -m bench.door.client URL TOKEN MOST PAGES BODY LINKS``: an answer has the content of the file BODY, and
so many links. Prints its CPU seconds from the second tenth of the pages on, and the pages of that time.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from scentline_client.link import Door, Link, Order

_HEADERS = {"content-type": "text/html; charset=utf-8", "last-modified": "Thu, 26 Nov 2026 18:45:00 GMT"}


async def settle(url: str, token: str, most: int, pages: int, body: bytes, links: int) -> tuple[float, int]:
    """Lease and settle so many pages, up to ``most`` in a call; return CPU seconds, and their pages."""
    found = [{"url": f"http://a.test/wiki/Page_{n}", "text": "", "memo": ""} for n in range(links)]
    marks: list[tuple[float, int]] = []
    over = asyncio.Event()

    def arrived(order: Order) -> None:
        key = (order["url"], order["order"])
        door.settle(
            key, ended=time.monotonic(), body=body, status=200, elapsed=0.01, headers=_HEADERS, items=["item"],
            links=found,
        )  # fmt: skip
        done = door.counts["ok"]
        if done >= (pages if marks else pages // 10):
            marks.append((time.process_time(), done))
        if len(marks) > 1:
            over.set()

    door = Door(Link(url, token), most, arrived, busy=lambda: False)
    door.start()
    await over.wait()
    (first, before), (last, after) = marks[:2]
    return last - first, after - before


if __name__ == "__main__":
    _, given, kept, most_held, count, content, linked = sys.argv
    body_of = Path(content).read_bytes()
    print(json.dumps(asyncio.run(settle(given, kept, int(most_held), int(count), body_of, int(linked)))))
