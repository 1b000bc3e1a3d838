"""Canonical URLs: the one spelling that identifies a page, and what is derived from it.

Servers add session ids to URLs for visitors without cookies, so that a page has another URL on each visit. An
id is removed only if its name says so and its value looks like nothing else: a lost page is worse than a page
fetched twice, which the detection of near-duplicates finds.
"""

import pkgutil
import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Annotated

import can_ada
import msgspec
from publicsuffixlist import PublicSuffixList

# The servlet standard's path parameter (Jakarta Servlet 7.1.3). Not after a dot: the rest must not be a dot
# segment.
_PATH_PARAMETER = re.compile(r"(?<=[^/.]);(?:jsessionid|phpsessid)=[\w.!~+-]{8,}(?=[/;]|\Z)", re.IGNORECASE)
# ASP.NET without cookies: a segment such as (S(lit3py55t21z5v55vlm25s55)).
_SEGMENT = re.compile(r"/\((?:[A-Z]\(\w{1,40}\)){0,4}S\(\w{24,}\)(?:[A-Z]\(\w{1,40}\)){0,4}\)(?=/)")
_SUSPECT = re.compile(r"sess|sid=|zenid|cftoken", re.IGNORECASE)
_PARAMETERS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # Names that mean nothing else: PHP, servlets, ASP, osCommerce, Zen Cart, xt:Commerce, ColdFusion.
        r"(?:phpsessid|jsessionid|aspsessionid[a-z]{8}|oscsid|zenid|xtcsid)=[\w.!~,-]{8,}",
        r"cftoken=[\w-]{8,}",
        # Names that may also identify a page: the value must be a hash, or long and mixed.
        r"sid=(?:[0-9a-f]{32}|[0-9a-f]{40})",
        r"(?:session|sessid|sessionid|session_id)=(?=[^&]*[0-9])(?=[^&]*[a-z])[0-9a-z]{26,}",
    )
)
_CFID = re.compile(r"cfid=\d{1,20}", re.IGNORECASE)


def without_session(path: str, query: str) -> tuple[str, str]:
    """Return path and query (with its "?", or empty) of a canonical URL without the session ids in them.

    >>> without_session("/shop;jsessionid=0A1B2C3D4E5F", "?sid=0123456789abcdef0123456789abcdef&item=7")
    ('/shop', '?item=7')
    >>> without_session("/talks", "?sid=42&session_id=7")
    ('/talks', '?sid=42&session_id=7')
    """
    if ";" in path:
        path = _PATH_PARAMETER.sub("", path)
    if "S(" in path:
        path = _SEGMENT.sub("", path)
    if query and _SUSPECT.search(query):
        parts = query[1:].split("&")
        kept = [part for part in parts if not any(each.fullmatch(part) for each in _PARAMETERS)]
        if len(kept) < len(parts) and any(part[:8].lower() == "cftoken=" for part in {*parts} - {*kept}):
            kept = [part for part in kept if not _CFID.fullmatch(part)]
        query = "?" + "&".join(kept) if any(kept) else ""
    return path, query


MAX_LENGTH = 2000
#: Cached canonical forms of links, and cached identifiers of URLs: pages link to the same ones.
REMEMBERED = 5_000
#: Bytes of a URL's identifier, which is used where the URL itself would be too long.
IDENTIFIER_BYTES = 12

#: Required form of a URL in a message: as much of the canonical form as its readers rely on.
URL_PATTERN = r"^https?://[^/?#@\x00-\x20]+/"
Url = Annotated[str, msgspec.Meta(pattern=URL_PATTERN, max_length=MAX_LENGTH)]

# The WHATWG parser's output for an http(s) URL that a crawler can request: no user information, a host
# that is a DNS name (labels of 1 to 63 characters) or an IPv6 address. Each character has one way to match,
# so that matching is linear.
_SCHEME_AND_HOST = r"(https?://)((?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}|\[[0-9a-f:.]+\])"
_PORT = r"(:[0-9]+)?"
_CRAWLABLE = re.compile(
    _SCHEME_AND_HOST + r"\.?" + _PORT + r"(/[^?#]*)"
    r"(\?[^#]*)?"
    r"(?:#.*)?",
    re.DOTALL,
)
# URLs that are canonical already, found in a fifth of the time of canonicalising: host and path of the most
# common characters. No segment begins with a dot; the last label of the host has only letters, so that it is no
# address, and none is of IDNA. A query may hold a session id.
_PLAIN = re.compile(
    r"https?://(?=[^/]{1,253}/)(?:(?!xn--)[a-z0-9_-]{1,63}\.)++[a-z]{2,63}(?:/(?!\.)[A-Za-z0-9._~-]*+)++"
    r"(\?[A-Za-z0-9._~=&+,:/-]+)?"
)
_MAX_HOST = 253
# The form of what `canonical` returns.
_WRITTEN = re.compile(_SCHEME_AND_HOST + _PORT + r"/[!\"$-~]*")
_MAX_PORT = 65_535
# Percent escapes to change, stray percent signs, and what RFC 3986 does not allow in a path or query. Each
# match costs a call: a required escape in upper case does not match.
_ESCAPED = "(?:[0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[B-DF])"
_TO_REPAIR = re.compile(rf"%(?!{_ESCAPED})([0-9A-Fa-f]{{2}})?|[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%]")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.?)", re.DOTALL)
_SPACE = "".join(map(chr, range(0x21)))
_BREAKS = re.compile(r"[\t\n\r]")


def canonical(url: str, base: str | None = None) -> str | None:
    r"""Return the canonical form of ``url``, joined to the canonical URL ``base`` if it is relative.

    None if it is not a crawlable URL: another scheme than http(s), user information, a host that DNS
    can't hold, more than 2,000 characters, or no URL at all. The host is in lower case and IDNA, without a
    trailing dot; default port, fragment, dot segments and an empty query are dropped; percent escapes are
    in upper case and only where RFC 3986 requires them. The query keeps its order; session ids are removed
    (`models.url`). The result is ASCII and its own canonical form.

    >>> canonical("HTTP://Example.ORG:80/a/../%7euser/caf\u00e9?b=1&a=2#top")
    'http://example.org/~user/caf%C3%A9?b=1&a=2'
    >>> canonical("../c?", "http://example.org/a/b")
    'http://example.org/c'
    >>> canonical("mailto:someone@example.org") is None
    True
    """
    if len(url) > MAX_LENGTH:
        return None
    if base is None:
        return _canonical(url)
    try:
        return _remembered(_join(base, url))
    except ValueError:  # nothing can be joined to this base
        return None


def _canonical(url: str) -> str | None:
    plain = _PLAIN.fullmatch(url)
    if plain is not None and (plain[1] is None or _SUSPECT.search(plain[1]) is None):
        return url if len(url) <= MAX_LENGTH else None
    try:
        written: str = can_ada.parse(url).href
    except (ValueError, TypeError):  # TypeError: a lone surrogate, which has no UTF-8
        return None
    crawlable = _CRAWLABLE.fullmatch(written)
    if crawlable is None:
        return None
    scheme, name, port, path, query = crawlable.groups()
    if len(name) > _MAX_HOST:
        return None
    path = _TO_REPAIR.sub(_repaired, path)
    if "/." in path:
        path = _without_dot_segments(path)
    query = _TO_REPAIR.sub(_repaired, query) if query and query != "?" else ""
    if query or ";" in path or "(" in path:
        path, query = without_session(path, query)
    found = f"{scheme}{name}{port or ''}{path}{query}"
    return found if len(found) <= MAX_LENGTH else None


_remembered = lru_cache(REMEMBERED)(_canonical)


def crawlable(url: str) -> bool:
    """Return whether a text has the form of a canonical URL, whatever its source.

    >>> crawlable("http://xn--n3h.net/a?b"), crawlable("http://me@example.org/"), crawlable("http://a b/")
    (True, False, False)
    """
    written = _WRITTEN.fullmatch(url) if len(url) <= MAX_LENGTH else None
    return written is not None and len(written[2]) <= _MAX_HOST and int((written[3] or ":0")[1:7]) <= _MAX_PORT


def host(url: str) -> str:
    """Return the host, with any port but the scheme's own, of a canonical URL; empty without one.

    >>> host("http://example.org:8080/a")
    'example.org:8080'
    """
    return url.partition("//")[2].partition("/")[0]


def prefixes_of(host: str) -> tuple[str, str]:
    """Return the prefixes of a host's canonical URLs."""
    return f"http://{host}/", f"https://{host}/"


def origin(url: str) -> str:
    """Return scheme, host and port of a canonical URL: the scope of a robots.txt.

    >>> origin("https://example.org:8080/a")
    'https://example.org:8080'
    """
    return url[: url.index("/", 8)]


@lru_cache(REMEMBERED)
def identifier(url: str) -> bytes:
    """Return the identifier of a canonical URL, for places where the URL itself would be too long.

    >>> identifier("http://example.org/").hex()
    'dccb11ce7b25f43a7ce8f7d0'
    """
    return blake2b(url.encode(), digest_size=IDENTIFIER_BYTES).digest()


def identifiers(urls: Iterable[str]) -> list[bytes]:
    """Return the identifiers of canonical URLs."""
    return [*map(identifier, urls)]


def tokens(url: str) -> frozenset[str]:
    """Return the distinct tokens of a URL: the parts between "." and "/" after the scheme, in lower case.

    Aggarwal (2004), section 3.

    >>> sorted(tokens("http://www.example.org/Sports/hockey.html"))
    ['example', 'hockey', 'html', 'org', 'sports', 'www']
    """
    return frozenset(url.partition("://")[2].lower().replace("/", ".").split(".")) - {""}


def without_query(url: str) -> str:
    """Return a canonical URL without its query string.

    >>> without_query("http://example.org/a?b=1")
    'http://example.org/a'
    """
    return url.partition("?")[0]


def _repaired(match: re.Match[str]) -> str:
    digits = match[1]
    if digits is None:
        return f"%{ord(match[0]):02X}"
    character = chr(int(digits, 16))
    return character if character in _UNRESERVED else f"%{digits.upper()}"


def _without_dot_segments(path: str) -> str:
    """Return a repaired path without the dot segments that the parser may have left.

    It leaves them in paths with a segment that begins with a dot: /.a/../b stays as it is. Servers and browsers
    remove them (WHATWG URL standard, 4.4, path state).
    """
    segments = path.split("/")[1:]
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def _join(base: str, url: str) -> str:
    """Return ``url`` made absolute (WHATWG URL standard, 4.4); the parser removes the dot segments."""
    url = _BREAKS.sub("", url.strip(_SPACE))
    named = _SCHEME.match(url)
    if named is not None:
        same = base.startswith(f"{named[1].lower()}:")
        if not same or named[2] in ("/", "\\"):
            return url
        url = url[named.end(1) + 1 :]  # "http:page" is relative to a base of the same scheme
    path_start = base.index("/", base.index("://") + 3)
    head = url[:1].replace("\\", "/")
    if head == "/":
        slashes = url[:2].replace("\\", "/")
        return base[: base.index(":") + 1 if slashes == "//" else path_start] + url
    path = base.partition("?")[0]
    if head == "?":
        return path + url
    if head in ("", "#"):
        return base
    return path[: path.rindex("/") + 1] + url


#: Hosts with cached owners, and addresses with cached networks.
CACHED = 100_000
#: Network bits of an address of either version: what one customer is given.
_IPV4_BITS, _IPV6_BITS = 24, 64
# Top-level domains with cached suffixes: more than there are.
_TOPS = 2_000


@lru_cache(_TOPS)
def _suffixes(top: str, encoded: bool) -> PublicSuffixList:
    """Return the suffixes in a top-level domain; if ``encoded``, non-ASCII names also in their IDNA form.

    To load all takes ten times as long as the few that most crawls need.
    """
    try:
        listed_as = top.encode().decode("idna")
    except UnicodeError:
        listed_as = top
    below = f".{listed_as}"
    rules = [line for line in _lines() if line == listed_as or line.endswith(below)]
    return PublicSuffixList(rules, accept_encoded_idn=encoded)


@cache
def _lines() -> Sequence[str]:
    return (pkgutil.get_data("publicsuffixlist", "public_suffix_list.dat") or b"").decode().splitlines()


def domain(host: str) -> str:
    """Return the registered domain of a canonical URL's host, which may have a port.

    An address, or a name of one label, stands for itself. A top-level domain that the list lacks is a public
    suffix, as in the list's algorithm.

    >>> domain("news.example.co.uk:8080"), domain("someone.github.io")
    ('example.co.uk', 'someone.github.io')
    >>> domain("127.0.0.1:8080"), domain("[2001:db8::1]"), domain("intranet"), domain("wiki.example.internal")
    ('127.0.0.1', '2001:db8::1', 'intranet', 'example.internal')
    """
    name = _without_port(host)
    if address_of(name) is not None:
        return name
    return _suffixes(name.rpartition(".")[2], "xn--" in name).privatesuffix(name) or name


@lru_cache(CACHED)
def network(address: str) -> str:
    """Return the /24 or /64 of an address; empty if the text is no address.

    >>> network("192.0.2.77"), network("2001:db8::1:2:3:4")
    ('192.0.2.0/24', '2001:db8:0:0::/64')
    >>> network("::ffff:192.0.2.77"), network("example.org")
    ('192.0.2.0/24', '')
    """
    found = address_of(address)
    if isinstance(found, IPv4Address):
        return f"{found.exploded.rpartition('.')[0]}.0/{_IPV4_BITS}"
    if found is None:
        return ""
    groups = found.exploded.split(":")[: _IPV6_BITS // 16]
    return f"{':'.join(format(int(group, 16), 'x') for group in groups)}::/{_IPV6_BITS}"


def server(address: str) -> str:
    """Return the server of an address: an IPv4 address itself, or the /64 of an IPv6 one, a single customer's.

    >>> server("192.0.2.77"), server("2001:db8::1")
    ('192.0.2.77', '2001:db8:0:0::/64')
    """
    found = address_of(address)
    if isinstance(found, IPv6Address):
        return network(address)
    return address if found is None else str(found)


@lru_cache(CACHED)
def owner(host: str) -> str:
    """Return the owner of a host, by its name alone: its registered domain, or the network of an address.

    >>> owner("news.example.co.uk"), owner("192.0.2.77:8080")
    ('example.co.uk', '192.0.2.0/24')
    """
    return network(host) or domain(host)


def owners_of(urls: Iterable[str]) -> set[str]:
    """Return the owners of the hosts of canonical URLs."""
    return {owner(host(url)) for url in urls}


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host


def address_of(text: str) -> IPv4Address | IPv6Address | None:
    """Return the address in a text, with a port or without; None if it is none."""
    try:
        found = ip_address(_without_port(text))
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, IPv6Address) else found
