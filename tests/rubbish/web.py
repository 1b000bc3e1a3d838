"""A web at random: good pages on several hosts, and whatever else may be answered, on hosts of its own.

What is answered depends on the seed, the host and the path alone.
"""

import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from random import Random

from bench.fuzz.corpus import small
from bench.fuzz.mutators import MUTATORS
from tests.webs.serving import Exchange, serving

#: The network that a crawl without a proxy has to allow.
NETWORK = "127.0.2.0/24"
GOOD_HOSTS, GOOD_PAGES, BAD_HOSTS = 3, 24, 40
#: Bytes of an input that is mutated.
_MOST = 8_192
_WORDS = tuple(map("".join, product(("ba", "de", "ki", "lo", "mu", "ra"), ("lan", "ter", "nos", "vig"))))
#: What is no page to be asked for, or none that answers.
_ODD = [data.decode(errors="surrogateescape") for _, data in small("url", 100_100)]
#: What may follow a page's links, and is forgiven.
_TAILS = (
    b"", b"<b>" * 3000 + b"</i>" * 3000, b"<p>a" + "\u0315".encode() * 3000 + "\u0300".encode() * 3000,
    b"\0<p>", b"\xff\xfe\xc3\x28" * 100, b"<!--", b"<script>", b"<a href=" * 50, b"&#99999999;&amp",
    b"<table><tr>" * 999, b"word " * 150_000,
)  # fmt: skip
_HEADERS = (
    "", "Link: </café>; rel=shortlink\r\n", 'ETag: "é;a=b"\r\n', "X-Robots-Tag: é: archive\r\n",
    "Set-Cookie: a=b\r\n", "Last-Modified: gestern;um=☃\r\n", "Content-Language: ü=ö;\r\n",
)  # fmt: skip
_REASONS = (b"200 OK", b"200", b"200 N\xe3o", b"200 \xcf\xea\xfc")
_STATUSES = (
    b"404 N\xe3o", b"503 Busy", b"429 Slow", b"999 Much", b"204 No", b"206 Part", b"304 Same", b"101 Up",
)  # fmt: skip
_CODINGS = ("gzip", "deflate", "br", "x, gzip")
_MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
#: How long the crawl is asked to wait: obeyed, it would only make the test long.
_DELAYS = re.compile(rb"delay|retry-after", re.IGNORECASE)
#: A host that fails three times is left alone for a minute, and there is no secure one here.
_SECURE = re.compile(rb"https", re.IGNORECASE)
_SEEDS = {
    reader: [data for _, data in small(reader, _MOST)] for reader in ("page", "http", "robots", "sitemap")
}


class Web:
    """The web of a seed: at addresses of `NETWORK`, or with names, where it is asked through a proxy."""

    def __init__(self, seed: int, *, proxied: bool) -> None:
        self._seed = seed
        self.proxied = proxied
        self.port = 0
        self._numbers = {self._name(number): number for number in range(GOOD_HOSTS + BAD_HOSTS)}
        self._paths = {f"/{_WORDS[number]}/": number for number in range(GOOD_PAGES)}

    @property
    def good(self) -> list[str]:
        """The URLs of the good pages; all are reached from the first."""
        return [f"{self._origin(number % GOOD_HOSTS)}{path}" for path, number in self._paths.items()]

    @contextmanager
    def served(self) -> Iterator[None]:
        """Serve the web, each answer in pieces and to the end of its connection."""

        async def answer(exchange: Exchange) -> None:
            found = self.answer(exchange.host if self.proxied else exchange.address, exchange.path)
            for start in range(0, len(found), 5_000):
                await exchange.write(found[start : start + 5_000])
            exchange.finish()

        with serving(answer, *(("127.0.0.1",) if self.proxied else self._numbers)) as served:
            self.port = served.port
            yield

    def answer(self, host: str, path: str) -> bytes:
        """Return the bytes that answer a request for a path of a host."""
        random = Random(f"{self._seed} {host} {path}")
        number = self._numbers.get(host, 0)
        if number < GOOD_HOSTS:
            return self._good(random, path) if host in self._numbers and path in self._paths else _MISSING
        if path == "/robots.txt":
            text = self._mutated("robots", random) + f"\nSitemap: {self._origin(number)}/map".encode()
            ways = (_MISSING, _response(b"200 OK", text), self._mutated("http", random), self._bad(random))
            return random.choice(ways)
        if path == "/map":
            return _response(b"200 OK", self._mutated("sitemap", random))
        return self._bad(random) if path == "/" else _MISSING

    def _name(self, number: int) -> str:
        return f"host{number}.test" if self.proxied else f"127.0.2.{number + 1}"

    def _origin(self, number: int) -> str:
        return f"http://{self._name(number)}" + ("" if self.proxied else f":{self.port}")

    def _rubbish(self, random: Random) -> str:
        return f"{self._origin(random.randrange(GOOD_HOSTS, GOOD_HOSTS + BAD_HOSTS))}/"

    def _good(self, random: Random, path: str) -> bytes:
        """Answer with a page, in one of the ways that are right or are forgiven."""
        number = self._paths[path]
        links = self.good[2 * number + 1 : 2 * number + 3] + random.sample(_ODD, 4)
        links += [self._rubbish(random) for _ in range(5)]
        anchors = "".join(f'<a href="{link}">{random.choice(_WORDS)}</a> ' for link in links)
        text = " ".join(random.choices(_WORDS, k=120))
        body = f"<title>{path}</title><p>{text}</p>{anchors}".encode(errors="surrogateescape") + random.choice(
            _TAILS
        )
        reason, head = random.choice(_REASONS), random.choice(_HEADERS)
        pieces = (body[start : start + 700] for start in range(0, len(body), 700))
        chunks = b"".join(f"{len(piece):x};a=b\r\n".encode() + piece + b"\r\n" for piece in pieces)
        packed = zlib.compress(body[:4000], wbits=31)
        return random.choice((
            _head(reason, f"{head}Transfer-Encoding: chunked\r\n") + chunks + b"0\r\nTrailer: x\r\n\r\n",
            _response(reason, packed, f"{head}Content-Encoding: gzip\r\n"),
            _head(reason, head) + body,  # to the end of the connection
            _response(reason, body, head),
        ))  # fmt: skip

    def _bad(self, random: Random) -> bytes:
        body = self._mutated("page", random)
        whole = _response(b"200 OK", body)
        leads = random.choice([*self.good, *_ODD, self._rubbish(random)]).replace("\0", "")
        return random.choice((
            self._mutated("http", random), self._mutated("http", random), whole,
            whole[: random.randrange(len(whole))], random.randbytes(random.randrange(3000)), b"",
            _response(random.choice(_STATUSES), body),
            _response(b"302 Found", b"", f"Location: {leads}\r\n"),
            _response(b"200 OK", body, f"Content-Encoding: {random.choice(_CODINGS)}\r\n"),
        ))  # fmt: skip

    def _mutated(self, reader: str, random: Random) -> bytes:
        found = MUTATORS[reader](random.choice(_SEEDS[reader]), random)
        return _SECURE.sub(b"http", _DELAYS.sub(b"later", found))


def _head(status: bytes, headers: str) -> bytes:
    return (
        b"HTTP/1.1 "
        + status
        + f"\r\nContent-Type: text/html\r\n{headers}Connection: close\r\n\r\n".encode(errors="surrogateescape")
    )


def _response(status: bytes, body: bytes, headers: str = "") -> bytes:
    return _head(status, f"{headers}Content-Length: {len(body)}\r\n") + body
