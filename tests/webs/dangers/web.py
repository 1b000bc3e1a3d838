"""All dangerous hosts, each at an address of its own, and what is true of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.webs.dangers import ailing, endless, leading
from tests.webs.dangers.exchange import Answering, Exchange, reached

#: The network that a crawl has to allow; the hosts' addresses are within it.
NETWORK = "127.0.1.0/24"
#: Where nothing may ever be asked, though something listens there too.
FORBIDDEN = "127.0.0.1"
_PLAIN_PAGES = tuple(f"/page-{number}" for number in range(8))


@dataclass(frozen=True)
class Facts:
    """What is true of the dangerous web, for tests to compare with.

    ``good`` are the targets that a crawl has to ask each host for, ``forbidden`` those that it must not;
    ``crawl_delays`` are in seconds. Hosts are known by their names; `address` gives their addresses.
    """

    good: Mapping[str, frozenset[str]]
    forbidden: Mapping[str, frozenset[str]]
    crawl_delays: Mapping[str, float]


def hosts(port: int) -> dict[str, Answering]:
    """Return what answers at each host, by the host's name; the servers listen on ``port``."""
    dangers: dict[str, Answering] = {
        "calendar": endless.calendar,
        "paths": endless.paths,
        "sessions": endless.Sessions(),
        "soft-404": endless.soft_404,
        "copies": endless.copies,
        "slow": ailing.slow,
        "silent": ailing.silent,
        "unending": ailing.unending,
        "breaking": ailing.breaking,
        "overloaded": ailing.overloaded,
        "unavailable": ailing.unavailable,
        "oversized": ailing.oversized,
        "wordy": ailing.wordy,
        "redirects": leading.redirects,
        "inward": leading.Inward(port),
        "private": leading.private,
        "encodings": leading.encodings,
    }
    addresses = {name: f"127.0.1.{number}" for number, name in enumerate(("home", *dangers), start=1)}
    roots = [f"http://{addresses[name]}:{port}/" for name in dangers]

    async def home(exchange: Exchange) -> None:
        exchange.page(f"Home {exchange.path}", [*roots, *_PLAIN_PAGES])

    return {"home": home, **dangers}


def address(name: str) -> str:
    """Return the address of a host.

    >>> address("home")
    '127.0.1.1'
    """
    return f"127.0.1.{list(hosts(0)).index(name) + 1}"


class Dangers:
    """The dangerous web as its servers take it."""

    @property
    def addresses(self) -> dict[str, str]:
        """The address of each host, home first."""
        return {name: address(name) for name in hosts(0)}

    def hosts(self, port: int) -> Mapping[str, Answering]:
        """Return what answers at each host."""
        return hosts(port)


def facts() -> Facts:
    """Return what is true of this web."""
    good = {name: {"/"} for name in hosts(0)}
    good["home"] |= set(_PLAIN_PAGES)
    good["calendar"] |= {"/about"}
    good["paths"] |= {"/opening-hours"}
    good["soft-404"] |= {"/offers"}
    good["copies"] |= {"/original"}
    good["overloaded"] |= {"/busy", reached("/busy")}
    good["unavailable"] |= {"/down", reached("/down")}
    good["oversized"] |= {"/small"}
    good["wordy"] |= {"/terse"}
    good["redirects"] |= {reached("/chain")}
    good["inward"] |= {reached("/inside")}
    good["private"] |= {"/garden", "/hall"}
    good["encodings"] |= {reached(path) for path in (*leading.ENCODINGS, "/invalid-utf-8", "/nul-bytes")}
    return Facts(
        good={name: frozenset(targets) for name, targets in good.items()},
        forbidden={"private": frozenset((*leading.PRIVATE, "/garden?print=1"))},
        crawl_delays={"private": float(leading.CRAWL_DELAY)},
    )
