"""The part of the web that a crawler has to fear: each danger on a host of its own, on loopback.

Some hosts are endless (a calendar, paths, session ids, soft 404s, copies), some unwell (slow, breaking off,
overloaded, sending more than one can bear), and some lead astray (redirects, links to the inside of a network,
forbidden paths).
"""

import datetime
import itertools
import zlib
from contextlib import AbstractContextManager
from functools import cache
from typing import NamedTuple

from tests.webs.serving import Answering, Asked, Exchange, Served, document, prose, serving

#: The network that a crawl has to allow; the hosts' addresses are within it.
NETWORK = "127.0.1.0/24"
#: Where nothing may ever be asked, though something listens there too.
INSIDE = "127.0.0.1"
RETRY_AFTER, CRAWL_DELAY = 3, 2
SESSION_PAGES, COPIES, NEAR_COPIES = 4, 4, 4
BOMB_BYTES, LONG_URL = 2_000_000_000, 100_000
_MEGABYTE, _STREAMED = 1_000_000, 65_536
_CHAIN, _LONG_CHAIN = 3, 30
_PLAIN_PAGES = tuple(f"/page-{number}" for number in range(8))
#: What stands on each page of a calendar, as it does on most of them.
_FRAME = " ".join(prose(f"a calendar, part {part}") for part in range(4))
_PRIVATE = ("/private/ledger", "/private/letters")
_RULES = f"User-agent: *\nCrawl-delay: {CRAWL_DELAY}\nDisallow: /private/\nDisallow: /*?print=\n"


def reached(path: str) -> str:
    """Return the path of a page that is linked from ``path`` alone: asked for, it shows that that was read."""
    return f"/after{path}"


# endless


async def calendar(exchange: Exchange) -> None:
    """A page for each day and month, for ever, each with links to the next and the one before."""
    if exchange.path.startswith("/day/"):
        exchange.page(f"Events of {exchange.path[5:]}", ["/"], f"There are no events on this day. {_FRAME}")
        return
    first = datetime.date.fromisoformat(f"{exchange.query.get('month', '2024-01')}-01")
    later, earlier = first + datetime.timedelta(days=31), first - datetime.timedelta(days=1)
    days = [f"/day/{first:%Y/%m}/{day:02}" for day in range(1, 29)]
    months = [f"/calendar?month={day:%Y-%m}" for day in (later, earlier)]
    exchange.page(f"Events of {first:%B %Y}", [*months, *days], f"There are no events in this month. {_FRAME}")


async def paths(exchange: Exchange) -> None:
    """A link that is relative by mistake, so that it leads deeper each time; a query that grows."""
    if exchange.path == "/list":
        more = [f"{exchange.target}&colour={number}" for number in range(3)]
        exchange.page("A list", more, "This list is empty.")
    else:
        exchange.page("A shelf", ["shelf/", "box/shelf/", "/"], "Nothing lies on this shelf.")


_SESSIONS = itertools.count(1)


async def sessions(exchange: Exchange) -> None:
    """Give each link of each answer a session id that was never used before."""
    path = exchange.path.partition(";")[0]
    pages = [f"/article-{number}" for number in range(SESSION_PAGES)]
    if path not in ("/", *pages):
        exchange.send(404)
        return
    ways = [f"{page}{name}" for name in ("?PHPSESSID=", ";jsessionid=") for page in pages]
    links = [f"{way}{next(_SESSIONS) * 0x9E3779B97F4A7C15 % 2**128:032x}" for way in ways]
    exchange.page(f"Session site {path}", links)


async def soft_404(exchange: Exchange) -> None:
    """Answer every path with 200 and an excuse, which links to more that is not there."""
    links = ["/", f"{exchange.path.rstrip('/')}-old", f"{exchange.path.rstrip('/')}-new"]
    exchange.page("Page not found", links, "Sorry, the page you are looking for does not exist.")


_SAME = tuple(f"/copy-{number}" for number in range(COPIES))
_NEAR = tuple(f"/near-{number}" for number in range(NEAR_COPIES))


async def copies(exchange: Exchange) -> None:
    """Answer one page under many URLs: exact copies, and copies with another word or two."""
    text = " ".join(prose(f"an article, part {part}") for part in range(3))
    near = f" Printed in {exchange.path[6:]} copies." if exchange.path in _NEAR else ""
    exchange.page("An article", ["/"], text + near)


# unwell


async def unwell(exchange: Exchange) -> None:
    """Send a byte a second, nothing, or no end of it; or break off, in the middle or before the first byte."""
    body = document(f"A page {exchange.path}")
    if exchange.path == "/slow":
        exchange.begin(200, Content_Length=str(len(body)))
        for byte in body:
            await exchange.write(bytes((byte,)))
            await exchange.pause(1.0)
    elif exchange.path == "/silent":
        while True:
            await exchange.pause(60.0)
    elif exchange.path == "/unending":
        exchange.begin(200)
        while True:
            await exchange.write(b"<p>more of it " * (_STREAMED // 14))
            await exchange.pause(0.01)
    elif exchange.path == "/in-the-middle":
        exchange.begin(200, Content_Length=str(len(body)))
        await exchange.write(body[: len(body) // 2])
    exchange.reset()


async def ailing(exchange: Exchange) -> None:
    """Answer the first request for /busy with 429, for /down with 503, and all later ones in peace."""
    if exchange.attempt == 1:
        exchange.send(429 if exchange.path == "/busy" else 503, Retry_After=str(RETRY_AFTER))
    else:
        exchange.page(f"In order: {exchange.path}", [reached(exchange.path)])


async def oversized(exchange: Exchange) -> None:
    """Answer with a gzip bomb."""
    bomb = _bomb()
    exchange.begin(200, Content_Length=str(len(bomb)), Content_Encoding="gzip")
    for position in range(0, len(bomb), _STREAMED):
        await exchange.write(bomb[position : position + _STREAMED])


@cache
def _bomb() -> bytes:
    """Return 2 GB of spaces as gzip writes them: one block of them, again and again."""
    packer = zlib.compressobj(level=9, wbits=31)
    head = packer.compress(document("A bomb")) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b" " * _MEGABYTE) + packer.flush(zlib.Z_FULL_FLUSH)
    # Its end has the check sum of one block, which nobody gets to see.
    return head + block * (BOMB_BYTES // _MEGABYTE) + packer.flush()


# leading astray

_SIGNS = {
    "/circle/a": "/circle/b", "/circle/b": "/circle/a", "/self": "/self", "/to/file": "file:///etc/passwd",
    "/to/metadata": "http://169.254.169.254/latest/meta-data/", "/to/itself": "javascript:alert(1)",
    **{f"/chain/{step}": f"/chain/{step + 1}" for step in range(_CHAIN)}, f"/chain/{_CHAIN}": reached("/chain"),
    **{f"/long/{step}": f"/long/{step + 1}" for step in range(_LONG_CHAIN)}, f"/long/{_LONG_CHAIN}": "/too-far",
}  # fmt: skip


async def redirects(exchange: Exchange) -> None:
    """Redirect: to a page in a few steps, in too many, in circles, and to where no page may be."""
    if exchange.path in _SIGNS:
        permanent = exchange.path.startswith(("/long", "/self"))
        exchange.send(301 if permanent else 302, Location=_SIGNS[exchange.path])
    else:
        exchange.page("Where the signpost led")


async def inward(exchange: Exchange) -> None:
    """Link and redirect to this machine, to a cloud's metadata and to files."""
    port = exchange.port
    names = (
        "localhost", "127.0.0.1", "2130706433", "0x7f.1", "127.1", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]",
        "user:word@127.0.0.1",
    )  # fmt: skip
    links = [
        *(f"http://{name}:{port}/secret" for name in names), "http://169.254.169.254/latest/meta-data/",
        "file:///etc/passwd", "ftp://127.0.0.1/", f"http://127.0.0.1:{port}/{'a' * LONG_URL}",
        f"/{'long/' * (LONG_URL // 5)}", "/away", reached("/inside"),
    ]  # fmt: skip
    if exchange.path == "/away":
        exchange.send(302, Location=f"http://localhost:{port}/secret")
    else:
        exchange.page("Inside", links)


async def nowhere(exchange: Exchange) -> None:
    """Answer a page that may be asked for by nobody."""
    exchange.page(f"Not for you: {exchange.target}")


# all of them


class Host(NamedTuple):
    """A host: links of its front page (none: it answers that too), plain pages, and others to be asked for."""

    answering: Answering
    links: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


HOSTS = {
    "calendar": Host(calendar, ("/calendar?month=2024-01", "/about"), ("/about",)),
    "paths": Host(paths, ("shelf/", "/list?page=1", "/opening-hours"), ("/opening-hours",)),
    "sessions": Host(sessions),
    "soft-404": Host(soft_404, ("/offers", *(f"/sold/{number}" for number in range(12))), ("/offers",)),
    "copies": Host(copies, ("/original", *_SAME, *_NEAR), (), ("/original",)),
    "slow": Host(unwell, ("/slow",)),
    "silent": Host(unwell, ("/silent",)),
    "unending": Host(unwell, ("/unending",)),
    "breaking": Host(unwell, ("/in-the-middle", "/at-once")),
    "overloaded": Host(ailing, ("/busy",), (reached("/busy"),), ("/busy",)),
    "unavailable": Host(ailing, ("/down",), (reached("/down"),), ("/down",)),
    "oversized": Host(oversized, ("/bomb", "/small"), ("/small",)),
    "redirects": Host(
        redirects,
        ("/chain/0", "/long/0", "/circle/a", "/self", "/to/file", "/to/metadata", "/to/itself"),
        (reached("/chain"),),
    ),
    "inward": Host(inward, (), (reached("/inside"),)),
    "private": Host(nowhere, (*_PRIVATE, "/garden?print=1", "/garden", "/hall"), ("/garden", "/hall")),
}
#: The address of each host; a crawl starts at home.
ADDRESSES = {name: f"127.0.1.{number}" for number, name in enumerate(("home", *HOSTS), start=1)}
#: What is true of this web: the targets that a crawl has to ask each host for, and those that it must not.
GOOD = {"home": {"/", *_PLAIN_PAGES}} | {name: {"/", *of.plain, *of.others} for name, of in HOSTS.items()}
FORBIDDEN = {*_PRIVATE, "/garden?print=1"}
_NAMES = {address: name for name, address in ADDRESSES.items()}


async def _answer(exchange: Exchange) -> None:
    name = _NAMES.get(exchange.address)
    host = HOSTS.get(name or "")
    if name is None:
        exchange.page("A secret that nobody may read")
    elif exchange.path == "/robots.txt":
        exchange.send(200 if name == "private" else 404, _RULES.encode(), "text/plain")
    elif host is None:
        roots = [f"http://{ADDRESSES[name]}:{exchange.port}/" for name in HOSTS]
        exchange.page(f"Home {exchange.path}", [*roots, *_PLAIN_PAGES])
    elif exchange.path == "/" and host.links:
        exchange.page(f"The front page of {name}", host.links)
    elif exchange.target in host.plain:
        exchange.page(f"In order: {exchange.path}", ["/"])
    else:
        await host.answering(exchange)


def dangers() -> AbstractContextManager[Served]:
    """Serve the dangerous web."""
    return serving(_answer, *ADDRESSES.values(), INSIDE)


def by_host(served: Served) -> dict[str, list[Asked]]:
    """Return the requests to each host in the order in which they began; to what lies `INSIDE` under that."""
    found: dict[str, list[Asked]] = {}
    for asked in sorted(served.asked, key=lambda asked: asked.began):
        found.setdefault(_NAMES.get(asked.address, asked.address), []).append(asked)
    return found
