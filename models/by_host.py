"""Rules of the settings for hosts: the header that requests to one carry, and the proxy that they take."""

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from scentline.models.url import canonical, origin

#: Headers that are the crawler's: they decide on a request's host, identity, body and version.
_OWN = r"host|user-agent|accept-encoding|connection|content-length|transfer-encoding|te|upgrade|range|if-.*"
_HEADER = re.compile(rf"(?!(?:{_OWN}):)([!#$%&'*+.^_`|~0-9A-Z-]+):[ \t]*([!-~](?:[ -~]*[!-~])?)", re.IGNORECASE)


class Header(NamedTuple):
    """A header of requests to an origin: to a scheme, host and port."""

    origin: str
    name: str
    value: str


def header(rule: str) -> Header:
    """Read a rule such as "members.example.org = Authorization: Bearer abc".

    A host alone is that of https, so that no link to http has a secret sent in clear text. Raises `ValueError`,
    whose text does not quote the rule.
    """
    place, _, field = (part.strip() for part in rule.partition("="))
    url = canonical(place if "://" in place else f"https://{place}")
    found = _HEADER.fullmatch(field)
    if url is None or url != origin(url) + "/" or found is None:
        raise ValueError("expected HOST = NAME: VALUE, such as members.example.org = Authorization: Bearer abc")
    return Header(origin(url), found[1], found[2])


class Route(NamedTuple):
    """The proxy of a host, and of all names below it; None: they are asked directly."""

    host: str
    proxy: str | None


def route(rule: str) -> Route:
    """Read a rule such as "example.org = http://proxy:3128" or "example.org = direct"; raises `ValueError`."""
    name, _, proxy = (part.strip() for part in rule.partition("="))
    place, way = urlsplit(canonical(f"http://{name}") or ""), urlsplit(proxy)
    known = proxy == "direct" or (way.scheme in ("http", "https") and way.hostname)
    if place.hostname is None or place.port or place.path != "/" or not known:
        raise ValueError("expected HOST = PROXY, such as example.org = http://proxy:3128, or HOST = direct")
    return Route(place.hostname, None if proxy == "direct" else proxy)


def names_above(name: str) -> Iterator[str]:
    """Yield a host's name, and then each name that it is below.

    >>> list(names_above("www.example.org"))
    ['www.example.org', 'example.org', 'org']
    """
    while name:
        yield name
        name = name.partition(".")[2]
