"""Access to the window: only with its token, by its own name, from its own pages.

The token keeps out other users and programs of this machine; the ``Host`` header, sites whose names point at
loopback (DNS rebinding); ``Origin`` and ``Sec-Fetch-Site``, pages of other sites that a viewer has open (CSRF).
Answers run no inline or foreign script, and no other site can frame them (Content Security Policy).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hmac import compare_digest
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import quote, unquote

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scentline.streams.metrics.endpoint import MOST_BODY

#: Most bytes of a path with its query.
MOST_TARGET = 8_192
#: Needs no token, and reveals nothing of the crawl: Kubernetes probes it.
HEALTH = "/healthz"
#: Moves the token from the printed address into a cookie.
ENTER = "/enter"
#: The page that asks for the token.
ASKING = f"""<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Scentline: the token</title>
</head>
<body>
  <main>
    <h1>Scentline</h1>
    <p>{{reason}}</p>
    <form action="{ENTER}">
      <label>Token <input type="password" name="token" autocomplete="off" required autofocus></label>
      <button>Open</button>
    </form>
  </main>
</body>
</html>
"""
#: Methods that change nothing.
_READING = frozenset({"GET", "HEAD"})
_OWN_SITES = frozenset({"same-origin", "none"})
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Refusal(NamedTuple):
    """The status and the reason of a refused request."""

    status: HTTPStatus
    reason: str


@dataclass(frozen=True)
class Access:
    """What the window requires of requests."""

    token: str
    #: The names, with ports, that the ``Host`` header may have.
    hosts: frozenset[str]
    #: The name of the token's cookie.
    cookie: str
    #: Whether requests that change something are refused.
    read_only: bool = False

    def admits(self, token: str) -> bool:
        """Return whether a token is the window's, in constant time."""
        return compare_digest(token.encode(), self.token.encode())

    @property
    def kept(self) -> str:
        """The token as a cookie holds it."""
        return quote(self.token, safe="")

    def refusal(self, method: str, path: str, headers: Headers) -> Refusal | None:
        """Return why a request is refused, None if it is not."""
        if headers.get("host", "").lower() not in self.hosts:
            return Refusal(
                HTTPStatus.MISDIRECTED_REQUEST,
                "This window does not go by that name: open it as it was printed, or name it in window.hosts.",
            )
        if path == ENTER:
            return None
        if not any(self.admits(unquote(each)) for each in _cookies(headers, self.cookie)):
            return Refusal(
                HTTPStatus.UNAUTHORIZED, "Open the address that `scentline window` printed, or give its token."
            )
        return self._of_another_site(method, headers)

    def _of_another_site(self, method: str, headers: Headers) -> Refusal | None:
        foreign = Refusal(HTTPStatus.FORBIDDEN, "Pages of other sites may not ask this window for anything.")
        site = headers.get("sec-fetch-site", "none")
        if site not in _OWN_SITES and headers.get("sec-fetch-mode") != "navigate":
            return foreign
        if method in _READING:
            return None
        scheme, _, origin = headers.get("origin", "").partition("://")
        if scheme not in ("http", "https") or origin.lower() not in self.hosts:
            return foreign
        if self.read_only:
            return Refusal(HTTPStatus.FORBIDDEN, "This window is read-only.")
        return None


def _cookies(headers: Headers, name: str) -> Iterator[str]:
    """Yield the values of the cookies of a name: all ports of a host share them.

    >>> list(_cookies(Headers({"Cookie": 'cfg={"a": 1}; token=x; path; token=y'}), "token"))
    ['x', 'y']
    """
    for part in headers.get("cookie", "").split(";"):
        known, _, value = part.strip().partition("=")
        if known == name:
            yield value


def names_of(hosts: Iterable[str], port: int) -> frozenset[str]:
    """Return the allowed ``Host`` headers: hosts with their own port, else with the window's.

    >>> sorted(names_of(["localhost", "crawl.example:80"], 8420))
    ['crawl.example', 'crawl.example:80', 'localhost:8420']
    """
    found: set[str] = set()
    for given in hosts:
        host = given.lower()
        name, colon, own = host.rpartition(":")
        if not colon or host.endswith("]"):
            found.add(f"{host}:{port}")
        else:
            found.add(host)
            if own in ("80", "443"):
                found.add(name)
    return frozenset(found)


class Guard:
    """Lets only permitted requests through to the application, and puts safe headers on every answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, _bounded(receive), with_headers)
        else:
            await _answer(refusal, Headers(scope=scope))(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> Refusal | None:
        if len(scope["path"]) + len(scope["query_string"]) > MOST_TARGET:
            return Refusal(HTTPStatus.REQUEST_URI_TOO_LONG, f"The address is longer than {MOST_TARGET} bytes.")
        if scope["path"] == HEALTH:
            return None
        return self._access.refusal(scope["method"], scope["path"], Headers(scope=scope))


def _answer(refusal: Refusal, headers: Headers) -> Response:
    if refusal.status == HTTPStatus.UNAUTHORIZED and "text/html" in headers.get("accept", ""):
        return HTMLResponse(ASKING.format(reason=refusal.reason), refusal.status)
    return PlainTextResponse(f"{refusal.reason}\n", refusal.status)


def _bounded(receive: Receive) -> Receive:
    """Return a ``receive`` that ends a body beyond its bound as if the client had gone."""
    taken = 0

    async def bounded() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        return {"type": "http.disconnect"} if taken > MOST_BODY else message

    return bounded
