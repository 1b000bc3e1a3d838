"""Hosts that are unwell: slow, without an end, breaking off, overloaded, or sending more than one can bear."""

import zlib
from functools import cache

from tests.webs.dangers.exchange import Exchange, reached
from tests.webs.dangers.text import document

RETRY_AFTER = 3
BOMB_BYTES = 2_000_000_000
_MEGABYTE = 1_000_000
_STREAMED = 65_536


async def slow(exchange: Exchange) -> None:
    """Send a page a byte a second."""
    if exchange.path == "/":
        exchange.page("A slow host", ["/slow"])
        return
    body = document("A slow page")
    exchange.begin(200, Content_Length=str(len(body)))
    for position in range(len(body)):
        await exchange.write(body[position : position + 1])
        await exchange.pause(1.0)


async def silent(exchange: Exchange) -> None:
    """Take a request and never answer it."""
    if exchange.path == "/":
        exchange.page("A silent host", ["/silent"])
        return
    while True:
        await exchange.pause(60.0)


async def unending(exchange: Exchange) -> None:
    """Send a page that never ends."""
    if exchange.path == "/":
        exchange.page("A talkative host", ["/unending"])
        return
    exchange.begin(200)
    while True:
        await exchange.write(b"<p>more of it " * (_STREAMED // 14))
        await exchange.pause(0.01)


async def breaking(exchange: Exchange) -> None:
    """Break the connection: in the middle of a page, or before its first byte."""
    if exchange.path == "/":
        exchange.page("A host that breaks off", ["/in-the-middle", "/at-once"])
        return
    if exchange.path == "/in-the-middle":
        body = document("Half a page")
        exchange.begin(200, Content_Length=str(len(body)))
        await exchange.write(body[: len(body) // 2])
    exchange.reset()


async def overloaded(exchange: Exchange) -> None:
    """Answer the first request for /busy with 429, and all later ones in peace."""
    if exchange.path == "/":
        exchange.page("A busy host", ["/busy"])
    elif exchange.path == "/busy" and exchange.attempt == 1:
        exchange.send(429, Retry_After=str(RETRY_AFTER))
    else:
        exchange.page("No longer busy", [reached("/busy")])


async def unavailable(exchange: Exchange) -> None:
    """Answer the first request for /down with 503, and all later ones in peace."""
    if exchange.path == "/":
        exchange.page("A host under repair", ["/down"])
    elif exchange.path == "/down" and exchange.attempt == 1:
        exchange.send(503, Retry_After=str(RETRY_AFTER))
    else:
        exchange.page("Repaired", [reached("/down")])


async def oversized(exchange: Exchange) -> None:
    """Answer with a gzip bomb, and with a header of a megabyte."""
    if exchange.path == "/":
        exchange.page("Too much", ["/bomb", "/long-header", "/small"])
    elif exchange.path == "/bomb":
        bomb = _bomb()
        exchange.begin(200, Content_Length=str(len(bomb)), Content_Encoding="gzip")
        for position in range(0, len(bomb), _STREAMED):
            await exchange.write(bomb[position : position + _STREAMED])
    elif exchange.path == "/long-header":
        exchange.send(200, document("Too long a header"), X_Long="x" * _MEGABYTE)
    else:
        exchange.page("Small enough")


async def wordy(exchange: Exchange) -> None:
    """Answer with thousands of headers.

    One page of each of these hosts fails twice: with more, it may back off before its good page is asked.
    """
    if exchange.path == "/":
        exchange.page("Too many words", ["/many-headers", "/terse"])
    elif exchange.path == "/many-headers":
        exchange.send(200, document("Too many headers"), **{f"X_{number}": "x" for number in range(5000)})
    else:
        exchange.page("Few enough")


@cache
def _bomb() -> bytes:
    """Return 2 GB of spaces as gzip writes them: one block of them, again and again."""
    packer = zlib.compressobj(level=9, wbits=31)
    head = packer.compress(document("A bomb")) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b" " * _MEGABYTE) + packer.flush(zlib.Z_FULL_FLUSH)
    # Its end has the check sum of one block, which nobody gets to see.
    return head + block * (BOMB_BYTES // _MEGABYTE) + packer.flush()
