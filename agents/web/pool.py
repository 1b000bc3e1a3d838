"""The connections to the web: one pool, whose every connection is judged, and its errors as fetch errors.

httpx asks through aiohttp's connections (httpx-aiohttp): a quarter of the CPU time of httpx's own pool.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from http.cookiejar import CookieJar
from typing import Any

import aiohttp
import httpx
from aiohttp.abc import AbstractResolver
from httpx_aiohttp import AiohttpTransport
from yarl import URL

from agents.web.body import ENCODINGS
from agents.web.contact import stays_home
from agents.web.guard import ForbiddenAddressError, Guard, connecting
from agents.web.resolver import Resolver
from agents.web.result import FetchError
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
    asked though it is not global, and all that is asked where the User-Agent names no contact. With a proxy,
    which makes the connections, the host in the URL is judged: what a name leads to is left to the proxy.
    """

    def __init__(self, settings: FetchSettings) -> None:
        self._settings = settings
        self._guard = Guard(settings.allow)
        self._stays_home = stays_home(settings)

    async def __aenter__(self) -> "Pool":
        settings = self._settings
        context = httpx.create_ssl_context()
        self.resolver = Resolver(aiohttp.AsyncResolver(timeout=_DNS_SECONDS, tries=_DNS_TRIES), time.monotonic)
        self._session = _session(settings, self._guard, self.resolver, context)
        proxy = httpx.Proxy(settings.proxy) if settings.proxy else None
        self._client = httpx.AsyncClient(
            transport=_Transport(self._session, verify=context, proxy=proxy),
            headers={
                "User-Agent": settings.user_agent,
                "Accept": _ACCEPT,
                "Accept-Encoding": ENCODINGS,
            },
            cookies=_NoCookies(),
            timeout=httpx.Timeout(None),  # the whole is timed in `open`
            trust_env=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()
        await self._session.close()
        await self.resolver.close()

    @asynccontextmanager
    async def open(self, url: str, headers: Mapping[str, str] | None = None) -> AsyncIterator[httpx.Response]:
        """Ask for ``url``; its body is not read yet. Redirects are not followed.

        What goes wrong inside the block, reading included, is raised as `FetchError`; the time limits are
        on the block and on the wait for the response's head.
        """
        settings = self._settings
        with _errors():
            asked = httpx.URL(url)
            if self._stays_home and not self._guard.allows_host(asked.host):
                raise FetchError("refused", "contact missing in fetch.user_agent")
            if settings.proxy:
                self._guard.check_name(asked.host)
            token = connecting.set(asked.host)
            try:
                async with asyncio.timeout(min(settings.first_byte_seconds, settings.timeout_seconds)) as limit:
                    end = asyncio.get_running_loop().time() + settings.timeout_seconds
                    async with self._client.stream("GET", asked, headers=headers) as response:
                        limit.reschedule(end)
                        yield response
            finally:
                connecting.reset(token)


class _Transport(AiohttpTransport):
    """httpx's way to one aiohttp session, and to no other: only its connections are judged."""

    def __init__(self, session: aiohttp.ClientSession, **options: Any) -> None:
        super().__init__(**options)
        self._asking = _Asking(session)

    def get_client(self) -> "_Asking":
        return self._asking


class _Asking:
    """What httpx's transport asks: an aiohttp session that leaves the URL's spelling alone.

    Of itself aiohttp decodes %28 to "(" and the like, so that a server would see another URL than the one
    under which the page is known.
    """

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    def request(self, method: str, url: str, **options: Any) -> Any:
        return self._session.request(method, URL(url, encoded=True), **options)


class _NoCookies(CookieJar):
    """Keeps and sends no cookies."""

    def extract_cookies(self, response: object, request: object) -> None:
        pass


def _session(
    settings: FetchSettings, guard: Guard, resolver: AbstractResolver, context: ssl.SSLContext
) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(
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
        cookie_jar=aiohttp.DummyCookieJar(),
        max_line_size=HEADER_BYTES,
        max_field_size=HEADER_BYTES,
        max_headers=HEADERS,
    )
    # Of itself aiohttp asks again, at once, where a kept connection breaks: a site that breaks off would be
    # asked twice without a delay. There is no public way to say so.
    session._retry_connection = False
    return session


@contextmanager
def _errors() -> Iterator[None]:
    """Raise what a request can raise as `FetchError`."""
    try:
        yield
    except TimeoutError as error:
        raise FetchError("retry", "timeout") from error
    except ForbiddenAddressError as error:
        raise FetchError("refused", f"address {error.address}") from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise FetchError("refused", "url") from error
    except (httpx.HTTPError, aiohttp.ClientError, OSError) as error:
        raise _fetch_error(error) from error


def _fetch_error(error: Exception) -> FetchError:
    # httpx-aiohttp reports some of aiohttp's errors as others than they are; the cause says which it was.
    cause = error.__cause__ if isinstance(error, httpx.HTTPError) and error.__cause__ else error
    forbidden = getattr(cause, "os_error", None)
    if isinstance(forbidden, ForbiddenAddressError):
        return FetchError("refused", f"address {forbidden.address}")
    if isinstance(cause, aiohttp.ClientResponseError):
        return FetchError("retry", "broken response")
    for kind, reason in _REASONS:
        if isinstance(cause, kind):
            return FetchError("retry", reason)
    return FetchError("retry", "connection")


_REASONS: tuple[tuple[type[BaseException], str], ...] = (
    (aiohttp.ClientProxyConnectionError, "proxy"),
    (aiohttp.ClientConnectorDNSError, "dns"),
    (aiohttp.ClientConnectorCertificateError, "certificate"),
    (aiohttp.ClientSSLError, "tls"),
    (aiohttp.ClientConnectorError, "connection"),
    (aiohttp.ClientPayloadError, "body cut short"),
)
