"""The connections to the web: one pool, whose every connection is judged, and its errors as fetch errors.

A URL goes to aiohttp as it is spelled, and what comes back is taken as bytes: nothing on the way decodes a host
name, a reason phrase or a header that a stranger wrote.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

import aiohttp
import httpx
from aiohttp.abc import AbstractResolver
from yarl import URL

from agents.web.body import ENCODINGS
from agents.web.contact import stays_home
from agents.web.guard import ForbiddenAddressError, Guard, connecting
from agents.web.resolver import Resolver
from agents.web.result import FetchError
from agents.web.wire import Connector, FramingError
from models.url import crawlable
from streams.settings import FetchSettings

_ACCEPT = "text/html,application/xhtml+xml,text/plain;q=0.8,*/*;q=0.1"
# Idle connections are bounded by the pages of these seconds.
IDLE_SECONDS = 10.0
HEADER_BYTES = 32_768
HEADERS = 128
# Of one look-up: how long a name server is waited for, and how many times it is asked.
_DNS_SECONDS, _DNS_TRIES = 3.0, 2


class Pool:
    """Opens URLs: `async with pool.open(url) as response`, within the settings' time limits.

    Use it as an asynchronous context manager. ``settings.allow`` must name every host and network that is
    asked though it is not global, and all that is asked where the User-Agent names no contact;
    ``settings.deny`` and ``settings.ports`` say what is not asked. With a proxy, which makes the connections,
    the host in the URL is judged: what a name leads to is left to the proxy.
    """

    def __init__(self, settings: FetchSettings) -> None:
        self._settings = settings
        self._guard = Guard(settings.allow, settings.deny, settings.ports)
        self._stays_home = stays_home(settings)

    async def __aenter__(self) -> "Pool":
        self.resolver = Resolver(aiohttp.AsyncResolver(timeout=_DNS_SECONDS, tries=_DNS_TRIES), time.monotonic)
        # Its authorities are those of certifi, or of SSL_CERT_FILE or SSL_CERT_DIR.
        context = httpx.create_ssl_context()
        self._session = _session(self._settings, self._guard, self.resolver, context)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()
        await self.resolver.close()

    def check(self, url: str) -> URL:
        """Return ``url`` as aiohttp takes it; a "refused" `FetchError` where it may not be asked for."""
        if not crawlable(url):
            raise FetchError("refused", "url")
        # As it is spelled: of itself aiohttp decodes %28 to "(" and the like, so that a server would see
        # another URL than the one under which the page is known.
        asked = URL(url, encoded=True)
        name = asked.raw_host or ""
        if self._stays_home and not self._guard.allows_host(name):
            raise FetchError("refused", "contact missing in fetch.user_agent")
        self._guard.check(name, asked.port or 0)
        if self._settings.proxy:
            self._guard.check_name(name)
        return asked

    @asynccontextmanager
    async def open(
        self, url: str, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Ask for ``url``; its body is not read yet. Redirects are not followed.

        What goes wrong inside the block, reading included, is raised as `FetchError`; the time limits are
        on the block and on the wait for the response's head.
        """
        settings = self._settings
        with errors():
            asked = self.check(url)
            token = connecting.set(asked.raw_host or "")
            try:
                async with asyncio.timeout(min(settings.first_byte_seconds, settings.timeout_seconds)) as limit:
                    end = asyncio.get_running_loop().time() + settings.timeout_seconds
                    async with self._session.get(asked, headers=headers, allow_redirects=False) as response:
                        limit.reschedule(end)
                        yield response
            finally:
                connecting.reset(token)


def _session(
    settings: FetchSettings, guard: Guard, resolver: AbstractResolver, context: ssl.SSLContext
) -> aiohttp.ClientSession:
    connector = Connector(
        limit=settings.connections,
        keepalive_timeout=IDLE_SECONDS,
        resolver=resolver,
        use_dns_cache=False,  # the resolver has one
        ssl=context,
        # All connections of a configured proxy go to the proxy, wherever the operator put it.
        socket_factory=None if settings.proxy else guard.open_socket,
    )
    session = aiohttp.ClientSession(
        connector=connector,
        headers={"User-Agent": settings.user_agent, "Accept": _ACCEPT, "Accept-Encoding": ENCODINGS},
        proxy=settings.proxy,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(),  # the whole is timed in `Pool.open`
        max_line_size=HEADER_BYTES,
        max_field_size=HEADER_BYTES,
        max_headers=HEADERS,
    )
    # Of itself aiohttp asks again, at once, where a kept connection breaks: a site that breaks off would be
    # asked twice without a delay. There is no public way to say so.
    session._retry_connection = False
    return session


@contextmanager
def errors() -> Iterator[None]:
    """Raise what a request is known to raise as `FetchError`."""
    try:
        yield
    except TimeoutError as error:
        raise FetchError("retry", "timeout") from error
    except ForbiddenAddressError as error:
        raise FetchError("refused", f"address {error.address}") from error
    except aiohttp.InvalidURL as error:
        raise FetchError("refused", "url") from error
    except (aiohttp.ClientError, OSError) as error:
        raise _fetch_error(error) from error


def _fetch_error(error: Exception) -> FetchError:
    forbidden = getattr(error, "os_error", None)
    if isinstance(forbidden, ForbiddenAddressError):
        return FetchError("refused", f"address {forbidden.address}")
    for kind, reason in _REASONS:
        if isinstance(error, kind):
            return FetchError("retry", reason)
    return FetchError("retry", "connection")


_REASONS: tuple[tuple[type[BaseException], str], ...] = (
    (aiohttp.ClientResponseError, "broken response"),
    (FramingError, "broken response"),
    (aiohttp.ClientProxyConnectionError, "proxy"),
    (aiohttp.ClientConnectorDNSError, "dns"),
    (aiohttp.ClientConnectorCertificateError, "certificate"),
    (aiohttp.ClientSSLError, "tls"),
    (aiohttp.ClientConnectorError, "connection"),
    (aiohttp.ClientPayloadError, "body cut short"),
)
