"""Which hosts, ports and addresses may be requested: the open internet's, less or more by the settings."""

import re
import socket
from collections.abc import Collection, Iterable
from contextvars import ContextVar
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from scentline.agents.fetch.result import FetchError
from scentline.models.by_host import names_above
from scentline.models.errors import ScentlineError
from scentline.models.settings import FetchSettings
from scentline.models.url import canonical
from scentline.models.url import host as host_of
from scentline.streams.settings import ConfigurationError

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

# Blocks that older releases of Python 3.11 count as global: protocol assignments, 6to4 relays. And Azure's
# WireServer, which gives a virtual machine its settings and secrets, under an address like any other.
_SPECIAL_V4 = (IPv4Network("192.0.0.0/24"), IPv4Network("192.88.99.0/24"), IPv4Network("168.63.129.16/32"))
_GLOBAL_UNICAST = IPv6Network("2000::/3")
# Python does not know the newer documentation block (RFC 9637).
_DOCUMENTATION = IPv6Network("3fff::/20")
_NAT64 = IPv6Network("64:ff9b::/96")

#: Ports that browsers block (Fetch standard, 2.9, "port blocking"): of mail, shells, names and the like, whose
#: servers may take a request for a command.
BAD_PORTS = frozenset({
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103,
    104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513,
    514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720,
    1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
})  # fmt: skip

# Reserved names (RFC 2606, RFC 6761): no contact can be reached there.
_NOBODY = re.compile(r"(?:.*\.)?(?:example(?:\.(?:com|net|org))?|test|invalid|localhost)\.?")
_CONTACT = re.compile(r"(?:https?://|[^\s@<>()]+@)([A-Za-z0-9](?:[A-Za-z0-9-]*\.)+[A-Za-z0-9-]+)")

# The host being connected to: a name that is allowed may resolve to any address. None for a proxy, which may
# be wherever the operator put it.
connecting: ContextVar[str | None] = ContextVar("connecting", default="")


class ForbiddenAddressError(ScentlineError, OSError):
    """A connection to a forbidden address.

    Its text is the same for all: if each of a host's addresses is forbidden, aiohttp raises this very error.
    """

    explains_itself = False

    def __init__(self, address: str) -> None:
        super().__init__("not an address of the open internet")
        self.address = address


def is_global(address: Address) -> bool:
    """Return whether an address belongs to the open internet, and so does any IPv4 address inside it.

    Inside means mapped (::ffff:0:0/96), translated (NAT64, 64:ff9b::/96) or tunnelled (6to4, 2002::/16).
    Teredo (2001::/32) and the local NAT64 block (64:ff9b:1::/48) are never global.
    """
    if isinstance(address, IPv4Address):
        special = any(address in network for network in _SPECIAL_V4)
        return address.is_global and not address.is_multicast and not special
    if address.scope_id is not None:
        return False
    inner = _inner(address)
    if inner is not None and not is_global(inner):
        return False
    if address.ipv4_mapped is not None or address in _NAT64:
        return True
    return address in _GLOBAL_UNICAST and address not in _DOCUMENTATION and address.is_global


def _inner(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that is mapped, translated or tunnelled by an IPv6 address."""
    if address in _NAT64:
        return IPv4Address(address.packed[12:])
    return address.ipv4_mapped or address.sixtofour


class _Hosts:
    """Names, addresses and networks, as an operator wrote them."""

    def __init__(self, entries: Iterable[str]) -> None:
        self.names: set[str] = set()
        self._networks: list[Network] = []
        for entry in entries:
            try:
                self._networks.append(ip_network(entry.strip("[]"), strict=False))
            except ValueError:
                self.names.add(hostname(host_of(canonical(f"http://{entry}/") or f"http://{entry}/")))

    def have(self, *addresses: Address) -> bool:
        """Return whether any of the addresses is in the networks."""
        return any(address in network for network in self._networks for address in addresses)


class Guard:
    """Checks requests, and addresses before a connection is made to them.

    ``allow`` holds host names, addresses and networks that may be requested although they are not global,
    ``deny`` those that never may, whatever else applies: a host name with all names below it, an address also
    inside an IPv6 address. ``ports`` are the allowed ports; if empty, all but `BAD_PORTS`.
    """

    def __init__(
        self, allow: Iterable[str] = (), deny: Iterable[str] = (), ports: Collection[int] = ()
    ) -> None:
        self._allowed = _Hosts(allow)
        self._denied = _Hosts(deny)
        self._ports = frozenset(ports)

    def allows_address(self, address: Address) -> bool:
        """Return whether an address may be requested, whatever name resolved to it."""
        if self._denies_address(address):
            return False
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        return self._allowed.have(*(address, mapped) if mapped else (address,)) or is_global(address)

    def allows_host(self, host: str) -> bool:
        """Return whether a host, with or without a port, is one that ``allow`` names."""
        name = hostname(host)
        address = literal(name)
        if self._denies_name(name) or (address is not None and self._denies_address(address)):
            return False
        return name in self._allowed.names or (address is not None and self._allowed.have(address))

    def check(self, host: str, port: int) -> None:
        """Raise a "refused" `FetchError` for a port or a host that is forbidden whatever its address."""
        if port not in self._ports if self._ports else port in BAD_PORTS:
            raise FetchError("refused", f"port {port}")
        if self._denies_name(hostname(host)):
            raise FetchError("refused", "host denied")

    def _denies_name(self, name: str) -> bool:
        return any(above in self._denied.names for above in names_above(name))

    def _denies_address(self, address: Address) -> bool:
        inner = _inner(address) if isinstance(address, IPv6Address) else None
        return self._denied.have(*(address, inner) if inner else (address,))

    def check_name(self, host: str) -> None:
        """Raise `ForbiddenAddressError` for a host that is itself a forbidden address, or localhost.

        It checks requests through a proxy, whose connections can't be checked here.
        """
        name = hostname(host)
        if name in self._allowed.names:
            return
        if name == "localhost" or name.endswith(".localhost"):
            raise ForbiddenAddressError(name)
        address = literal(name)
        if address is not None and not self.allows_address(address):
            raise ForbiddenAddressError(name)

    def open_socket(self, address_info: tuple[Any, ...]) -> socket.socket:
        """Return a socket for the resolved address that is about to be connected to.

        Raises `ForbiddenAddressError`. It is aiohttp's socket factory: every connection passes here, with the
        very address it goes to, so that no spelling and no change of a DNS answer gets around it.
        """
        family, kind, protocol, _, peer = address_info
        name, text = connecting.get(), str(peer[0])
        if name is not None:
            address = ip_address(text)
            named = hostname(name) in self._allowed.names and not self._denies_address(address)
            if not named and not self.allows_address(address):
                raise ForbiddenAddressError(text)
        return socket.socket(family, kind, protocol)


def hostname(host: str) -> str:
    """Return a host without its port, brackets and trailing dot, in lower case."""
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    return host.lower().removesuffix(".")


def literal(name: str) -> Address | None:
    """Return the address that a host spells, in whatever form; None for a name."""
    try:
        return ip_address(name)
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(name))
    except (OSError, ValueError):
        return None


def product(user_agent: str) -> str:
    """Return the product token of a User-Agent, by which robots.txt knows the crawler, in lower case."""
    return re.split(r"[/\s(]", user_agent.strip(), maxsplit=1)[0].lower()


def names_contact(user_agent: str) -> bool:
    """Return whether a User-Agent holds a URL or a mail address at a name that is not reserved."""
    return any(not _NOBODY.fullmatch(found[1].lower()) for found in _CONTACT.finditer(user_agent))


def stays_home(settings: FetchSettings) -> bool:
    """Return whether only the hosts of ``settings.allow`` may be requested, since no contact is named.

    Proxies on this machine, such as one of an archive, need none: their operator is responsible.
    """
    proxies = (settings.proxy, *(route.proxy for route in settings.routes))
    return not names_contact(settings.user_agent) and not all(map(_on_this_machine, proxies))


def check_contact(settings: FetchSettings, seeds: Iterable[str]) -> None:
    """Raise `ConfigurationError` for a crawl of the open web whose User-Agent names no contact."""
    if not stays_home(settings):
        return
    guard = Guard(settings.allow, settings.deny)
    for seed in seeds:
        if not guard.allows_host(host_of(seed)):
            raise ConfigurationError(
                f"fetch.user_agent: {settings.user_agent!r} names no contact, which a crawl of the open web "
                "needs; expected your URL or e-mail address, such as "
                "fetch.user_agent='MyBot/1.0 (+https://my.site/bot)'. Without one, only the hosts in "
                "fetch.allow can be crawled"
            )


def _on_this_machine(proxy: str | None) -> bool:
    return is_this_machine((urlsplit(proxy).hostname or "") if proxy else "")


def is_this_machine(name: str) -> bool:
    """Return whether a host or address is this machine's own."""
    address = literal(name)
    return name == "localhost" or (address is not None and address.is_loopback)
