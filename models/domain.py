"""Who owns a host, as far as names and addresses tell: its registered domain, and the network of its address.

A host name costs nothing, a registered domain (one label below a public suffix, https://publicsuffix.org) and a
network do. Private suffixes count: two users of github.io are two owners.
"""

import pkgutil
from collections.abc import Sequence
from functools import cache, lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

from publicsuffixlist import PublicSuffixList

#: Hosts whose owners, and addresses whose networks, are kept in memory.
CACHED = 100_000
#: Bits of an address that tell networks apart: what one customer is given, of either version.
_IPV4_BITS, _IPV6_BITS = 24, 64
# Top levels whose suffixes are kept in memory: more than there are.
_TOPS = 2_000


@lru_cache(_TOPS)
def _suffixes(top: str, encoded: bool) -> PublicSuffixList:
    """Return the suffixes in a top level; where ``encoded``, names beyond ASCII also as URLs have them.

    All at once take ten times as long as the few that most crawls need.
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

    An address, or a name of one label, stands for itself. A top level that the list does not know is a public
    suffix, as the list's algorithm has it.

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
    """Return the /24 or /64 that an address lies in; empty for what is no address.

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
    """Return what is asked as one: an IPv4 address, or the /64 of an IPv6 one, which is a single customer's.

    >>> server("192.0.2.77"), server("2001:db8::1")
    ('192.0.2.77', '2001:db8:0:0::/64')
    """
    found = address_of(address)
    if isinstance(found, IPv6Address):
        return network(address)
    return address if found is None else str(found)


@lru_cache(CACHED)
def owner(host: str) -> str:
    """Return who owns a host, by its name alone: its registered domain, or the network of an address.

    >>> owner("news.example.co.uk"), owner("192.0.2.77:8080")
    ('example.co.uk', '192.0.2.0/24')
    """
    return network(host) or domain(host)


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host


def address_of(text: str) -> IPv4Address | IPv6Address | None:
    """Return the address that a text is, with a port or without; None where it is none."""
    try:
        found = ip_address(_without_port(text))
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, IPv6Address) else found
