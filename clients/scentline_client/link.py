"""A crawler's side of Scentline's door: its calls over HTTP/1.1, and the orders that the crawler holds.

A call may be repeated, and is, until the door answers; nothing is kept on disk.
"""

import asyncio
import json
import logging
import random
import ssl
import time
import uuid
import zlib
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import accumulate, islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

#: Seconds for which a door that is away is tried again, and between two tries: one that is started again keeps
#: the orders of those who come within ten seconds.
PATIENCE, FIRST_PAUSE, LONGEST_PAUSE = 300.0, 0.3, 3.0
#: Seconds of a lease, of a call that waits for orders, and between two calls that extend the leases.
LEASE, WAIT, BEAT = 60, 20, 3.0
#: Seconds in which answers gather while others are to be expected; answers and URLs of one call.
GATHER, ANSWERS, URLS = 0.05, 16, 500
#: Bytes of the answers of one call, if it has more than one, of a body, and of what the door says.
MOST_BYTES, MOST_SAID = 6 * 2**20, 64 * 2**20
#: Bytes of the robots.txt files of one call, if it has more than one, and of those that wait for a door.
ROBOTS, MOST_ROBOTS = 2**20, 32 * 2**20
#: Characters of a memo, a header and an item's name at most, and of the text of a page that is not HTML.
MEMO, HEADER, NAME, PLAIN = 4_096, 8_000, 100, 100_000
#: Links and kinds of items of a page at most.
LINKS, ITEMS = 1_000, 100
#: The names of this machine.
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})

logger = logging.getLogger(__name__)
Order = dict[str, Any]
Key = tuple[str, str]  #: The URL and the name of an order.


class DoorError(Exception):
    """The door refuses a call, or has been away for too long."""


class Link:
    """Connections to the door at ``url``, with the token in a file; raises `ValueError` for another URL.

    ``ca`` is the PEM file of the authority of the door's certificate; ``certificate`` that of the client's own
    one, with its key.
    """

    def __init__(self, url: str, token: str, ca: str | None = None, certificate: str | None = None) -> None:
        self._url, self._token = urlsplit(url), Path(token)
        if self._url.scheme not in ("http", "https") or not self._url.hostname:
            raise ValueError(f"{url}: expected the URL of a door, such as http://127.0.0.1:7070")
        self._tls = ssl.create_default_context(cafile=ca) if self._url.scheme == "https" else None
        if self._tls is not None and certificate:
            self._tls.load_cert_chain(certificate)
        self._local = self._url.hostname in LOCAL
        self._away = False  #: Whether the door is, as far as the log says.
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def call(
        self, name: str, content: Callable[[], bytes] = bytes, seconds: float = 30.0, patience: float = PATIENCE
    ) -> dict[str, Any]:  # fmt: skip
        """Return the answer to a call, whose content is made anew for each try; raises `DoorError`."""
        since, pause = 0.0, 0.0
        while True:
            try:
                status, body = await asyncio.wait_for(self._ask(name, content()), seconds)
                if status == 200:
                    if self._away:
                        logger.info("Scentline's door answers")
                    self._away = False
                    return dict(json.loads(body))
                problem = f"status {status}, {body[:300].decode(errors='replace').strip()}"
                if status < 500:
                    self.close()
                    what = f"the token in {self._token}" if status == 401 else f"a call, {name}"
                    raise DoorError(f"the door refuses {what}: {problem}")
            except ssl.SSLCertVerificationError as error:
                raise DoorError(f"the door's certificate: {error.verify_message}") from error
            except (OSError, EOFError, ValueError, asyncio.TimeoutError, asyncio.LimitOverrunError) as error:
                status, problem = 0, str(error) or repr(error)
                self.close()
            now = time.monotonic()
            since = now if status == 503 else since or now  # a door that is busy is there
            if now - since >= patience:
                raise DoorError(f"the door has been away for {now - since:.0f} seconds: {problem}")
            if pause == FIRST_PAUSE and not self._away:
                self._away = True
                at = self._url.netloc
                logger.warning("Scentline's door %s is away; it is tried for %.0f s: %s", at, patience, problem)
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            # At once, then ever later: it may only have closed a connection that was kept.
            pause = min(LONGEST_PAUSE, 2 * pause or FIRST_PAUSE)

    async def _ask(self, name: str, content: bytes) -> tuple[int, bytes]:
        """Return the status and the body of the answer to one request."""
        port = self._url.port or (443 if self._tls else 80)
        if self._idle:
            reader, writer = self._idle.pop()
        else:
            self._bearer = self._read_token()
            reader, writer = await asyncio.open_connection(self._url.hostname, port, ssl=self._tls)
        head = (
            f"{'POST' if content else 'GET'} {self._url.path.rstrip('/')}/door/1/{name} HTTP/1.1\r\n"
            f"Host: {self._url.netloc}\r\nAuthorization: Bearer {self._bearer}\r\n"
            f"Content-Type: application/{'x-scentline' if name == 'settle' else 'json'}\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        try:
            writer.write(head.encode() + content)
            await writer.drain()
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
            [length] = [int(line.partition(":")[2]) for line in lines if line.startswith("content-length:")]
            if length > MOST_SAID:
                raise ValueError(f"an answer of {length} bytes")
            body = await reader.readexactly(length)
        except BaseException:
            writer.close()
            raise
        self._idle.append((reader, writer))
        return int(first.split()[1]), body

    def level(self, body: bytes) -> int:
        """Return the level to compress a body with: 0 where it stays on this machine, unless it is large."""
        return 0 if self._local and len(body) < MOST_BYTES // 2 else 1

    def _read_token(self) -> str:
        token = self._token.read_text(encoding="latin-1").strip()
        # The content of another file is not to be sent.
        if not (token and token.isascii() and token.isprintable()):
            raise ValueError(f"the token's file, {self._token}, has no token")
        return token

    def close(self) -> None:
        """Close the connections that no call uses."""
        while self._idle:
            self._idle.pop()[1].close()


class Door:
    """Holds up to ``most`` orders of a door, which it passes to ``arrived``, and tells what became of each.

    ``busy`` returns whether the crawler may discover more without an order.
    """

    def __init__(
        self, link: Link, most: int, arrived: Callable[[Order], None], busy: Callable[[], bool]
    ) -> None:
        self._link, self._most, self._arrived, self._busy = link, most, arrived, busy
        self._client = uuid.uuid4().hex[:16]
        self.state = "starting"
        self.lost = ""  #: Why the door is given up, if it is.
        self.figures: dict[str, Any] = {}  #: What the crawl has found, as the door said it at the end.
        self.counts: Counter[str] = Counter()
        self.held: dict[Key, bool] = {}  #: The orders, and whether their answer waits to be sent.
        self._answers: deque[tuple[Key, bytes, bytes, float]] = deque()
        self._found: deque[dict[str, Any]] = deque()
        self._robots: dict[str, bytes] = {}
        self._wanted = 0  #: Orders that calls without an answer yet ask for.
        self._news, self._changed = asyncio.Event(), asyncio.Event()

    def start(self) -> None:
        """Begin to lease and to send."""
        self._tasks = [asyncio.ensure_future(self._kept(work)) for work in (self._lease(), self._send())]

    @property
    def over(self) -> bool:
        """Whether the crawl is over, at least for this client."""
        return bool(self.lost) or self.state in ("spent", "done", "ended")

    def discover(self, **found: Any) -> None:
        """Tell of a URL, with ``text``, ``memo``, ``seed`` and ``parent``."""
        self._found.append(found)
        self._news.set()

    def saw_robots(self, url: str, status: int, text: str) -> None:
        """Tell of a robots.txt, of which the last one of a site counts."""
        self._robots[url] = _encoded(url=url, status=status, text=text[:500_000])
        while sum(map(len, self._robots.values())) > MOST_ROBOTS:
            del self._robots[next(iter(self._robots))]
        self._news.set()

    def settle(self, key: Key, *, ended: float = 0.0, body: bytes = b"", **answer: Any) -> None:
        """Tell, once, what became of an order that is held: its request ``ended`` then (monotonic), or now."""
        if self.held.get(key) is False:
            self.held[key] = True
            packed = zlib.compress(body, self._link.level(body)) if body else b""
            if len(packed) > MOST_BYTES:
                answer, packed = {"reason": "size"}, b""
            said = _encoded(**answer, url=key[0], order=key[1], body=len(packed))
            self._answers.append((key, said, packed, ended or time.monotonic()))
            self._news.set()

    async def room(self) -> None:
        """Wait until the door has taken most of what was discovered."""
        while len(self._found) > 2 * URLS and not self.over:
            self._changed.clear()
            await self._changed.wait()

    async def close(self, seconds: float = 10.0) -> None:
        """Give back the orders without an answer, and send what waits, for some seconds at most."""
        self._tasks[0].cancel()
        self._most = 0
        end = time.monotonic() + seconds * (self.state != "starting")  # what never began can wait
        while (
            (self.held or self._found or self._robots) and not self._tasks[1].done() and time.monotonic() < end
        ):
            for key in self.held:
                self.settle(key, reason="back")
            await asyncio.sleep(0.02)
        self._tasks[1].cancel()
        if not self.over:
            with suppress(DoorError):
                self.figures = await self._link.call("state", seconds=5.0, patience=0.0)
        self._link.close()

    async def _kept(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:
            if not self.over:
                self.lost = str(error) or repr(error)
                logger.error("%s", self.lost, exc_info=not isinstance(error, DoorError))
            for task in self._tasks:
                task.cancel()
        self._changed.set()

    async def _call(self, name: str, content: Callable[[], bytes], seconds: float = 30.0) -> dict[str, Any]:
        found = await self._link.call(name, content, seconds, 2.0 if self.over else PATIENCE)
        self.state, self.figures = found["state"], found
        return found

    async def _lease(self) -> None:
        while not self.over:
            if len(self.held) + self._wanted >= self._most:
                self._changed.clear()
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), BEAT)
            want = max(0, self._most - len(self.held) - self._wanted)
            asking = self._asking(want, wait=0 if not want else BEAT if self._busy() else WAIT)
            self._take(await self._call("lease", asking, WAIT + 30.0), want)

    def _asking(self, want: int, wait: float = 0.0) -> Callable[[], bytes]:
        """Begin to ask for orders; return what makes the content of a lease."""
        self._wanted += want
        asked = {"id": uuid.uuid4().hex, "want": want, "seconds": LEASE, "busy": self._busy(), "wait": wait}
        return lambda: _encoded(client=self._client, holding=[*self.held], **asked)

    def _take(self, found: dict[str, Any], want: int) -> None:
        """Take the orders of a call that asked for so many."""
        self._wanted -= want
        for order in found.get("orders", ()):
            key = (order["url"], order["order"])
            if key not in self.held:
                self.held[key] = False
                self.counts["leased"] += 1
                if self._most:
                    self._arrived(order)

    async def _send(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            if len(self._answers) < min(ANSWERS, len(self.held)):
                await asyncio.sleep(GATHER)
            while self._found:
                content = _encoded(client=self._client, urls=[*islice(self._found, URLS)])
                found = await self._call("discover", partial(bytes, content))
                for said in found["said"]:
                    self._found.popleft()
                    self.counts[said.partition(":")[0]] += 1
                self._changed.set()
            while self._answers or self._robots:
                await self._settle()

    async def _settle(self) -> None:
        sizes = (len(said) + len(body) for _, said, body, _ in self._answers)
        part = [*islice(self._answers, _together(sizes, MOST_BYTES))]
        read = dict(islice(self._robots.items(), _together(map(len, self._robots.values()), ROBOTS)))
        # A lease that waits gets what there is.
        want = 0 if self._wanted else max(0, self._most - len(self.held) + len(part))
        asking = self._asking(want) if want else lambda: b"null"

        def content() -> bytes:
            now = time.monotonic()
            answers = (b'%s,"ago":%.3f}' % (said[:-1], max(0.0, now - ended)) for _, said, _, ended in part)
            each = (self._client.encode(), asking(), b",".join(read.values()), b",".join(answers))
            head = b'{"client":"%s","lease":%s,"robots":[%s],"answers":[%s]}' % each
            return b"".join([len(head).to_bytes(4, "big"), head, *(body for _, _, body, _ in part)])

        found = await self._call("settle", content, 60.0)
        for said in found["said"]:
            del self.held[self._answers.popleft()[0]]
            self.counts[said] += 1
        self._robots = {url: each for url, each in self._robots.items() if each is not read.get(url)}
        self._take(found, want)
        if len(self.held) < self._most:
            self._changed.set()


def _together(sizes: Iterable[int], most: int) -> int:
    """Return how many go in one call, at least one, of those with these sizes in bytes."""
    return max(1, sum(size <= most for size in accumulate(islice(sizes, ANSWERS))))


def headers_of(response: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a response that say something of its page, by their names in lower case."""
    found = {name.lower()[:200]: value[:HEADER] for name, value in response.items()}
    found.pop("set-cookie", None)
    return found


def found_in(
    items: Iterable[str], links: Iterable[dict[str, Any]], body: bytes, text: str | None = None
) -> dict[str, Any]:
    """Return what a page has; of one with a ``text``, this if anything was found, else its body."""
    found = {"items": [*items][:ITEMS], "links": [*links]}
    # What has items is a page, whatever its type.
    plain = text is not None and any(found.values())
    return {**found, "text": (text or "")[:PLAIN]} if plain else {**found, "body": body}


def memo_of(given: dict[str, Any]) -> str | None:
    """Return what is set of ``given`` as a memo, None if that is too long, or not as it was after JSON."""
    memo = {name: value for name, value in given.items() if value}
    try:
        text = _encoded(**memo).decode() if memo else ""
        return text if len(text) <= MEMO and (not memo or json.loads(text) == memo) else None
    except (TypeError, ValueError):
        return None


def _encoded(**head: Any) -> bytes:
    return json.dumps(head, separators=(",", ":")).encode()
