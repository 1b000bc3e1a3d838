"""Which addresses may be asked: those of the open internet, and what the operator allows by name."""

import socket
from collections.abc import Iterable
from contextvars import ContextVar
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

# Blocks that older releases of Python 3.11 count as global: protocol assignments, 6to4 relays.
_SPECIAL_V4 = (IPv4Network("192.0.0.0/24"), IPv4Network("192.88.99.0/24"))
_GLOBAL_UNICAST = IPv6Network("2000::/3")
# Python does not know the newer documentation block (RFC 9637).
_DOCUMENTATION = IPv6Network("3fff::/20")
_NAT64 = IPv6Network("64:ff9b::/96")

# The host whose connection is being made: a name that is allowed may lead to any address.
connecting: ContextVar[str] = ContextVar("connecting", default="")


class ForbiddenAddressError(OSError):
    """A connection to an address that may not be asked.

    The text is the same for all addresses: where each of a host's addresses is forbidden, the
    connector then raises this very error instead of a summary.
    """

    def __init__(self, address: str) -> None:
        super().__init__("not an address of the open internet")
        self.address = address


def is_global(address: Address) -> bool:
    """Return whether an address belongs to the open internet, and so does any IPv4 address inside it.

    Inside means mapped (::ffff:0:0/96), translated (NAT64, 64:ff9b::/96) or tunnelled (6to4, 2002::/16).
    Teredo (2001::/32) and the local NAT64 block (64:ff9b:1::/48) are never global.

    >>> is_global(ip_address("192.0.2.1")), is_global(ip_address("9.9.9.9"))
    (False, True)
    >>> is_global(ip_address("::ffff:127.0.0.1")), is_global(ip_address("64:ff9b::9.9.9.9"))
    (False, True)
    """
    if isinstance(address, IPv4Address):
        special = any(address in network for network in _SPECIAL_V4)
        return address.is_global and not address.is_multicast and not special
    if address.scope_id is not None:
        return False
    if address.ipv4_mapped is not None:
        return is_global(address.ipv4_mapped)
    if address in _NAT64:
        return is_global(IPv4Address(address.packed[12:]))
    if address not in _GLOBAL_UNICAST or address in _DOCUMENTATION or not address.is_global:
        return False
    return address.sixtofour is None or is_global(address.sixtofour)


class Guard:
    """Judges addresses before a connection is made to them.

    ``allow`` holds host names, addresses and networks that may be asked although they are not global.

    >>> guard = Guard(["10.1.0.0/16", "intranet.example"])
    >>> guard.allows_address(ip_address("10.1.2.3")), guard.allows_address(ip_address("10.2.0.1"))
    (True, False)
    """

    def __init__(self, allow: Iterable[str] = ()) -> None:
        self._names: set[str] = set()
        self._networks: list[Network] = []
        for entry in allow:
            try:
                self._networks.append(ip_network(entry.strip("[]"), strict=False))
            except ValueError:
                self._names.add(hostname(entry))

    def allows_address(self, address: Address) -> bool:
        """Return whether an address may be asked, whatever name led to it."""
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        judged = (address, mapped) if mapped is not None else (address,)
        return any(one in network for network in self._networks for one in judged) or is_global(address)

    def allows_host(self, host: str) -> bool:
        """Return whether a host, with or without a port, is one that ``allow`` names.

        >>> guard = Guard(["10.1.0.0/16", "intranet.example"])
        >>> guard.allows_host("intranet.example:8080"), guard.allows_host("10.1.2.3")
        (True, True)
        >>> guard.allows_host("example.org")
        False
        """
        name = hostname(host)
        address = literal(name)
        return name in self._names or (address is not None and any(address in one for one in self._networks))

    def check_name(self, host: str) -> None:
        """Raise `ForbiddenAddressError` for a host that is itself a forbidden address, or localhost.

        It judges what is asked of a proxy, which makes the connection where it can't be checked here.
        """
        name = hostname(host)
        if name in self._names:
            return
        if name == "localhost" or name.endswith(".localhost"):
            raise ForbiddenAddressError(name)
        address = literal(name)
        if address is not None and not self.allows_address(address):
            raise ForbiddenAddressError(name)

    def open_socket(self, address_info: tuple[Any, ...]) -> socket.socket:
        """Return a socket for the resolved address that is about to be connected to.

        Raises `ForbiddenAddressError`. It is aiohttp's socket factory: every connection passes here, with
        the very address it goes to, so that no spelling and no change of a DNS answer gets around it.
        """
        family, kind, protocol, _, peer = address_info
        text = str(peer[0])
        if hostname(connecting.get()) not in self._names and not self.allows_address(ip_address(text)):
            raise ForbiddenAddressError(text)
        return socket.socket(family, kind, protocol)


def hostname(host: str) -> str:
    """Return a host without its port, brackets and trailing dot, in lower case.

    >>> hostname("Example.org.:8080"), hostname("[::1]:80"), hostname("::1")
    ('example.org', '::1', '::1')
    """
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    return host.lower().removesuffix(".")


def literal(name: str) -> Address | None:
    """Return the address that a host name is, in whatever spelling; None for a name.

    >>> literal("0x7f.1"), literal("2130706433"), literal("example.org")
    (IPv4Address('127.0.0.1'), IPv4Address('127.0.0.1'), None)
    """
    try:
        return ip_address(name)
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(name))
    except (OSError, ValueError):
        return None
