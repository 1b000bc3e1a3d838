"""The connections to the web: one pool, which checks each connection, and its errors as fetch errors.

Requests and responses are httpx's, the connections aiohttp's, behind httpx's interface of transports. httpx's
own client is not used: it decodes host names, reason phrases and redirect targets, none of which is trusted. A
URL is sent as it is spelled, and no redirect is followed.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from functools import cached_property, lru_cache, partial
from typing import Any

import aiohttp
import httpx
from aiohttp import StreamReader
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.helpers import set_exception
from aiohttp.http_parser import RawResponseMessage
from aiohttp.tracing import Trace
from yarl import URL

from scentline.agents.fetch.guard import ForbiddenAddressError, Guard, connecting, hostname, stays_home
from scentline.agents.fetch.logins import Logins
from scentline.agents.fetch.result import ENCODINGS, FetchError
from scentline.agents.fetch.servers import Resolver, connected
from scentline.models.by_host import names_above
from scentline.models.formats import MEDIA_TYPES, Format
from scentline.models.settings import FetchSettings
from scentline.models.url import canonical, host

_ACCEPT = "text/html,application/xhtml+xml,{}text/plain;q=0.8,*/*;q=0.1"
IDLE_SECONDS = 10.0  #: Seconds that an idle connection is kept.
HEADERS, HEADER_BYTES = 128, 32_768
CHUNK = 16_384  #: Bytes of a body read at a time: its size and its ratio are checked after each.
FRAMING_BYTES = 512 * 1024  #: Bytes that are read of one response, beside twice those of its body.
# Of one look-up: seconds to wait for a name server, and how many times to query it.
_DNS_SECONDS, _DNS_TRIES = 3.0, 2


class FramingError(aiohttp.ClientPayloadError):
    """A response with too much beside its body: endless heads, or chunks with hardly any data."""


class Pool(httpx.AsyncBaseTransport):
    """Opens URLs: `async with pool.open(url, headers) as response`; an asynchronous context manager itself.

    Every request of a host carries its log-in, that of robots.txt as well: what hides all of a host from
    strangers hides its robots.txt too, and rules that are not seen can't be kept.

    ``settings.allow`` must name every requested host and network that is not global, or every one at all if the
    User-Agent names no contact. With a proxy, which makes the connections, the host in the URL is checked: what
    a name resolves to is left to the proxy. ``formats`` are the documents that are asked for, after HTML.
    """

    def __init__(self, settings: FetchSettings, formats: Iterable[Format] = ()) -> None:
        self._settings = settings
        documents = (kind for each in formats for kind in sorted(MEDIA_TYPES[each]))
        self._accept = _ACCEPT.format("".join(f"{kind};q=0.9," for kind in documents))
        self._guard = Guard(settings.allow, settings.deny, settings.ports)
        self._stays_home = stays_home(settings)
        self._routes = settings.routes
        self.logins = Logins(settings)
        self.proxy = lru_cache(10_000)(self._proxy)  #: The proxy for the host of a URL, with or without a port.
        self._judged = lru_cache(10_000)(self._judge)

    async def __aenter__(self) -> "Pool":
        settings = self._settings
        self.resolver = Resolver(aiohttp.AsyncResolver(timeout=_DNS_SECONDS, tries=_DNS_TRIES), time.monotonic)
        connector = Connector(
            limit=settings.connections,
            keepalive_timeout=IDLE_SECONDS,
            resolver=self.resolver,
            use_dns_cache=False,  # the resolver has one
            socket_factory=self._guard.open_socket,
        )
        headers = {"User-Agent": settings.user_agent, "Accept": self._accept, "Accept-Encoding": ENCODINGS}
        if settings.languages:
            headers["Accept-Language"] = settings.languages
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers=headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(),  # the whole is timed in `open`
            max_line_size=HEADER_BYTES,
            max_field_size=HEADER_BYTES,
            max_headers=HEADERS,
        )
        # By default aiohttp retries at once when a kept connection breaks: a site that breaks off would get two
        # requests without a delay. There is no public option.
        self._session._retry_connection = False
        return self

    async def aclose(self) -> None:
        """Close the connections."""
        await self._session.close()
        await self.resolver.close()

    def check(self, url: str) -> None:
        """Raise `FetchError` if the spelling of ``url`` shows that it may not be requested."""
        if canonical(url) != url:
            raise FetchError("failed", "url")  # robots.txt, scope and people saw another, and so may the server
        self._judged(host(url), 443 if url.startswith("https") else 80)

    def _judge(self, name: str, port: int) -> None:
        given = name.rpartition("]")[2].partition(":")[2]
        if self._stays_home and not self._guard.allows_host(name):
            raise FetchError("failed", "contact missing in fetch.user_agent")
        self._guard.check(name, int(given) if given else port)
        if self.proxy(name):
            self._guard.check_name(name)

    def _proxy(self, host: str) -> str | None:
        above = set(names_above(hostname(host)))
        return next((route.proxy for route in self._routes if route.host in above), self._settings.proxy)

    @asynccontextmanager
    async def open(
        self, url: str, headers: Mapping[str, str], method: str = "GET", content: bytes = b""
    ) -> AsyncIterator[httpx.Response]:
        """Request ``url``, without reading its body or following a redirect.

        Errors inside the block, reading included, are raised as `FetchError`; time limits apply to the block
        and to the wait for the response's head.
        """
        settings = self._settings
        with errors():
            self.check(url)
            token = connecting.set(None if self.proxy(host(url)) else host(url))
            try:
                async with asyncio.timeout(min(settings.first_byte_seconds, settings.timeout_seconds)) as limit:
                    end = asyncio.get_running_loop().time() + settings.timeout_seconds
                    # Without the header httpx would decode the host.
                    request = httpx.Request(
                        method, url, headers={"Host": host(url), **headers}, content=content
                    )
                    if str(request.url) != url:
                        raise FetchError("failed", "url")  # httpx spells another URL, which was not checked
                    request.headers.update(self.logins.headers(url))
                    response = await self.handle_async_request(request)
                    limit.reschedule(end)
                    async with aclosing(response):
                        yield response
            finally:
                connecting.reset(token)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response, its body unread."""
        url = str(request.url)
        proxy = self.proxy(host(url))
        response = await self._session.request(
            request.method,
            URL(url, encoded=True),  # aiohttp would decode %28 to "(" and the like
            headers=request.headers,
            data=request.content or None,
            allow_redirects=False,
            proxy=proxy,
            ssl=self._tls if "https:" in (url[:6], (proxy or "")[:6]) else True,
        )
        return httpx.Response(response.status, headers=response.raw_headers, stream=_Content(response))

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """Trusts the authorities of certifi, or of SSL_CERT_FILE or SSL_CERT_DIR; reading them takes 20 ms."""
        return httpx.create_ssl_context()


class _Content(httpx.AsyncByteStream):
    """The body of a response as it comes, in its content encoding."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._response.content.iter_chunked(CHUNK):
            yield chunk

    async def aclose(self) -> None:
        """Return the connection to the pool, or close it if data is left to read."""
        await self._response.__aexit__(None, None, None)


#: Why a request failed, by aiohttp's exception; all others are "connection".
_REASONS: tuple[tuple[type[BaseException], str], ...] = (
    (aiohttp.ClientResponseError, "broken response"),
    (FramingError, "broken response"),
    (aiohttp.ClientProxyConnectionError, "proxy"),
    (aiohttp.ClientConnectorDNSError, "dns"),
    (aiohttp.ClientConnectorCertificateError, "certificate"),
    (aiohttp.ClientSSLError, "tls"),
    (aiohttp.ClientPayloadError, "body cut short"),
)
#: The host's own failures: a part of its response came.
_ANSWERED = frozenset({"broken response", "body cut short"})


@contextmanager
def errors() -> Iterator[None]:
    """Raise a request's known errors as `FetchError`."""
    try:
        yield
    except TimeoutError as error:
        raise FetchError("retry", "timeout", unanswered=True) from error
    except (aiohttp.InvalidURL, httpx.InvalidURL) as error:
        raise FetchError("failed", "url") from error
    except (aiohttp.ClientError, OSError) as error:
        forbidden = getattr(error, "os_error", error)
        if isinstance(forbidden, ForbiddenAddressError):
            raise FetchError("refused", f"address {forbidden.address}") from error
        reason = next((reason for kind, reason in _REASONS if isinstance(error, kind)), "connection")
        raise FetchError("retry", reason, unanswered=reason not in _ANSWERED) from error


class BoundedHandler(ResponseHandler):
    """aiohttp's reader of a connection, which breaks off beyond `FRAMING_BYTES`.

    aiohttp bounds each line of a head, and their number. It bounds neither how many responses with a status of
    1xx come before the final one, nor what chunks hold beside data (RFC 9112, 7.1.1): such bytes cost time, and
    may never end.
    """

    _received = 0
    _body: StreamReader | None = None

    def set_response_params(self, **options: Any) -> None:
        """Start reading a response."""
        self._received = 0
        self._body = None
        super().set_response_params(**options)

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Accept a head, and the body that will follow it."""
        message, body = data
        if message.code >= 200:
            self._body = body
        super().feed_data(data, size)

    def data_received(self, data: bytes) -> None:
        """Accept data, unless too much has come already."""
        body = 0 if self._body is None else self._body.total_bytes
        if self._received <= FRAMING_BYTES + 2 * body:
            self._received += len(data)
            super().data_received(data)
            return
        if self.transport is not None:
            self.transport.close()
        self._parser = None  # else the end of the connection would be reported instead
        error = FramingError("too much that is no body")
        self.set_exception(error)
        if self._payload is not None:
            set_exception(self._payload, error)


class Connector(aiohttp.TCPConnector):
    """Connections that are read by `BoundedHandler` and report their addresses."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        handler: type[ResponseHandler] = BoundedHandler
        self._factory = partial(handler, self._loop)  # there is no public option

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> Connection:
        """Return a connection for a request, a new or a kept one."""
        connection = await super().connect(req, traces, timeout)
        tell = connected.get()
        peer = connection.transport.get_extra_info("peername") if connection.transport else None
        if tell is not None and peer and not req.proxy:
            tell(str(peer[0]))
        return connection
