"""A crawler of a few lines, which fetches what a door orders."""

import json
import re
import subprocess
import zlib
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Self

import httpx

from tests.patience import PATIENCE

#: What a client says of a page beside its answer: ``items``, ``links``.
Found = Callable[[httpx.Response], Mapping[str, Any]]


def door_of(crawl: subprocess.Popen[str]) -> str:
    """Return the address of the door that a crawl has opened."""
    assert crawl.stderr is not None
    for line in crawl.stderr:
        if opened := re.match(r"The door: (\S+),", line):
            return opened[1]
    raise AssertionError("no door")


class Client:
    """A client of the door at ``address``, by the token in ``data``; asks the web through ``proxy``."""

    def __init__(self, address: str, data: Path, proxy: str) -> None:
        head = {"Authorization": f"Bearer {(data / 'door/token').read_text()}"}
        self._door = httpx.Client(base_url=f"{address}/door/1", headers=head, timeout=PATIENCE)
        self._web = httpx.Client(proxy=proxy, timeout=PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._door.close()
        self._web.close()

    def call(self, name: str, **said: Any) -> Any:
        return self._door.post(f"/{name}", json={"client": "test", **said}).raise_for_status().json()

    def settle(self, orders: Iterable[Mapping[str, str]], found: Found) -> None:
        answers, bodies = [], b""
        for order in orders:
            page = self._web.get(order["url"])
            body = zlib.compress(page.content)
            answers.append({
                "url": order["url"], "order": order["order"], "status": page.status_code,
                "headers": dict(page.headers), "target": page.headers.get("location", ""), "body": len(body),
                **found(page),
            })  # fmt: skip
            bodies += body
        head = json.dumps({"client": "test", "answers": answers}).encode()
        kind = {"Content-Type": "application/x-scentline"}
        content = len(head).to_bytes(4, "big") + head + bodies
        self._door.post("/settle", content=content, headers=kind).raise_for_status()

    def crawl(self, seeds: Iterable[str], found: Found) -> str:
        """Crawl from ``seeds`` until the door says that it is over; return how it ended."""
        self.call("discover", urls=[{"url": url, "seed": True} for url in seeds])
        for number in count():
            leased = self.call("lease", id=str(number), want=8, wait=20)
            if leased["state"] not in ("starting", "running"):
                break
            self.settle(leased["orders"], found)
        return str(leased["state"])
