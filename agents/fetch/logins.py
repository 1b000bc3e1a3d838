"""What logs the crawler in: an operator's cookies and headers, each sent where it belongs, and nowhere else.

Cookies match by RFC 6265: domain, path, Secure and expiry. No cookie of a response is taken.
"""

import warnings
from collections import defaultdict
from http.cookiejar import Cookie, CookieJar, DefaultCookiePolicy, MozillaCookieJar
from pathlib import Path
from urllib.request import Request

from scentline.models.by_host import header, names_above
from scentline.models.settings import FetchSettings
from scentline.models.url import host, origin
from scentline.streams.settings import ConfigurationError


class Logins:
    """The cookies and headers of the settings; raises `ConfigurationError` for a file of cookies unlike one."""

    def __init__(self, settings: FetchSettings) -> None:
        self._headers: dict[str, dict[str, str]] = defaultdict(dict)
        for rule in settings.headers:
            place, name, value = header(rule.get_secret_value())
            self._headers[place][name] = value
        self._cookies: dict[str, list[Cookie]] = defaultdict(list)
        for cookie in _cookies(settings.cookies) if settings.cookies else ():
            self._cookies[cookie.domain.lstrip(".")].append(cookie)
            if "." not in cookie.domain:
                cookie.domain += ".local"  # the library's name for a host without a dot

    def headers(self, url: str) -> dict[str, str]:
        """Return the headers, secrets all, for a request of a canonical URL."""
        found = self._headers.get(origin(url), {})
        name = host(url).rpartition("]")[0] or host(url).partition(":")[0]
        cookies = [cookie for above in names_above(name) for cookie in self._cookies.get(above, ())]
        if cookies:
            # Else the library sends a host's own cookies to the names below it as well.
            jar = CookieJar(DefaultCookiePolicy(strict_ns_domain=DefaultCookiePolicy.DomainStrictNonDomain))
            for cookie in cookies:
                jar.set_cookie(cookie)
            jar.add_cookie_header(request := Request(url))  # noqa: S310 - nothing is opened
            found = {"Cookie": value, **found} if (value := request.get_header("Cookie")) else found
        return found


def _cookies(path: Path) -> list[Cookie]:
    jar = MozillaCookieJar()
    try:
        with warnings.catch_warnings(action="ignore"):  # the library warns with a line's secrets
            jar.load(str(path), ignore_discard=True, ignore_expires=True)
    except (OSError, ValueError) as error:
        # Of a LoadError, an OSError too, nothing is quoted but that it is one.
        why = getattr(error, "strerror", None) or "without the first line or the tabs of Netscape's format"
        raise ConfigurationError(f"fetch.cookies {path}: {why}") from None
    for cookie in jar:
        cookie.domain = cookie.domain.lower()
        cookie.expires = cookie.expires or None  # 0 is how browsers' tools write the end of a session
    found = [cookie for cookie in jar if not cookie.is_expired()]
    if strange := [cookie.domain for cookie in found if not f"{cookie.name}{cookie.value}".isascii()]:
        raise ConfigurationError(f"fetch.cookies {path}: a cookie of {strange[0]} is not ASCII")
    if not found:
        raise ConfigurationError(f"fetch.cookies {path}: no cookie in it is still valid")
    return found
