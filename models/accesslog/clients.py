"""How many users one client may name: no client must pass for a crowd."""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address

#: Clients whose users are remembered at least.
KEPT = 50_000
_NETWORK = 64
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
#: An IPv4 address, as most lines have, found ten times as fast as by parsing.
_PLAIN = re.compile(rf"(?!0\.0\.0\.0){_BYTE}(?:\.{_BYTE}){{3}}")


def network(client: str) -> str | None:
    """Return the addresses that one client holds, as its name; None where a line does not name its client.

    An IPv4 address is one client, and so is the /64 of an IPv6 address (RFC 6177). A port is left out. What is
    no address, such as a digest, is a client as it is. "", "-" and the unspecified address, which
    cleaned logs have in each line, name no client.

    >>> [network(text) for text in ("192.0.2.7", "192.0.2.7:51234", "2001:db8::7", "::ffff:192.0.2.7", "-")]
    ['192.0.2.7', '192.0.2.7', '2001:db8::/64', '192.0.2.7', None]
    """
    if client in ("", "-"):
        return None
    address = None if _PLAIN.fullmatch(client) is not None else _address(client)
    if address is None:
        return client
    if address.is_unspecified:
        return None
    if isinstance(address, IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    prefix = IPv6Address(int(address) >> _NETWORK << _NETWORK)
    return f"{prefix}/{_NETWORK}"


def _address(text: str) -> IPv4Address | IPv6Address | None:
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return ip_address(text)
    except ValueError:
        return None


class Clients:
    """Bounds the users of each client: the first ``users`` it names count, all others count as the client.

    The result for a line depends on the lines up to it alone. At least the last 50,000 clients are remembered.

    >>> clients = Clients(2)
    >>> [clients.counted("192.0.2.7", user) for user in ("ann", "bob", "cy", "ann")]
    ['ann', 'bob', '192.0.2.7', 'ann']
    """

    def __init__(self, users: int) -> None:
        self._most = users
        self._known: dict[str, tuple[str, ...]] = {}
        self._older: dict[str, tuple[str, ...]] = {}

    def counted(self, client: str, user: str) -> str:
        """Return the user that a line counts for: the one it names, or the client itself."""
        if user == client:
            return client
        named = self._known.get(client)
        if named is None:
            if len(self._known) >= KEPT:
                self._older, self._known = self._known, {}
            named = self._known[client] = self._older.get(client, ())
        if user in named:
            return user
        if len(named) >= self._most:
            return client
        self._known[client] = (*named, user)
        return user
