"""Whom nobody asks: addresses inside a network, those denied, and other ports; and nobody without a contact."""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from scentline.agents.fetch import guard as rules
from scentline.agents.fetch.client import Client
from scentline.agents.fetch.guard import ForbiddenAddressError, Guard, hostname, is_global, literal, stays_home
from scentline.agents.fetch.result import Body, Ended, FetchError
from scentline.agents.fetch.servers import Resolver
from scentline.models.facts import Missing
from scentline.models.settings import FetchSettings
from scentline.models.url import canonical
from scentline.models.url import host as host_of
from scentline.streams.settings import ConfigurationError
from tests.agents.loopback import Names, awaited, failed, fixed, serving, settings, untimed
from tests.cases import each_case, written

KNOWN = written(Path(__file__).with_name("cases.txt"))
ADDRESSES = KNOWN["test_what_is_of_the_open_internet_is_global_and_nothing_else"]
v4 = st.integers(0, 2**32 - 1).map(IPv4Address) | st.sampled_from(
    [IPv4Address(text) for text, _ in ADDRESSES if ":" not in text]
)


SPECIAL = [
    ip_network(text)
    for text in ("192.0.0.0/24", "192.88.99.0/24", "224.0.0.0/4", "64:ff9b:1::/48", "3fff::/20", "2001::/23")
]


@each_case(("text", "expected"))
def test_what_is_of_the_open_internet_is_global_and_nothing_else(text: str, expected: bool) -> None:
    assert is_global(ip_address(text)) is expected


def embedded(inner: IPv4Address) -> list[IPv6Address]:
    """Return the IPv6 addresses by which a translator or tunnel reaches an IPv4 address."""
    number = int(inner)
    starts = (0xFFFF << 32) + number, (0x64FF9B << 96) + number, (0x2002 << 112) + (number << 80) + 1
    return [IPv6Address(start) for start in starts]


@given(
    st.integers(0, 2**128 - 1).map(IPv6Address)
    | st.integers(0, 2**125 - 1).map(lambda n: IPv6Address(2**125 + n))
)
def test_only_global_unicast_and_translations_of_ipv4_are_global(address: IPv6Address) -> None:
    if is_global(address):
        assert address.packed[0] >> 5 == 1 or address.packed[:2] == b"\x00\x64"
        assert address.is_global
        assert not address.is_multicast
        assert not any(address in one for one in SPECIAL)


def test_of_every_block_of_ipv4_what_python_calls_global_is_global_and_nothing_else() -> None:
    for block in range(2**16):
        for number in (block << 16, (block << 16) + 0xFFFF):
            address = IPv4Address(number)
            expected = address.is_global and not any(address in one for one in SPECIAL)
            assert is_global(address) == expected, address
            # Of the forms within IPv6, a part is enough.
            if block % 16 == 0:
                assert [is_global(one) for one in embedded(address)] == [expected] * 3, address


# who is denied


def test_what_is_denied_is_denied_inside_an_ipv6_address_too() -> None:
    guard = Guard(["0.0.0.0/0", "::/0"], deny=["9.9.9.0/24", "2620:fe::/48", "[2606:4700::1]"])
    nines = IPv4Address("9.9.9.9"), IPv4Address("9.9.9.0")
    others = ip_address("2620:fe::9"), ip_address("2606:4700::1")
    for one in (*nines, *embedded(nines[0]), *embedded(nines[1]), *others):
        assert not guard.allows_address(one), one
    for other in ("9.9.8.9", "2620:ff::9", "::ffff:9.9.8.9", "64:ff9b::9.9.8.9"):
        assert guard.allows_address(ip_address(other))


def test_denying_comes_before_allowing() -> None:
    guard = Guard(["10.0.0.0/8", "a.corp.example"], deny=["10.1.0.0/16", "corp.example"])
    assert guard.allows_host("10.2.0.1")
    for host in ("10.1.0.1", "0x0a.65537", "corp.example", "a.corp.example", "A.Corp.Example.:80"):
        assert not guard.allows_host(host), host


@each_case("name")
def test_a_denied_host_is_denied_with_all_names_below_it(name: str) -> None:
    with pytest.raises(FetchError, match="host denied"):
        Guard(deny=["Corp.Example", "münchen.de"]).check(name, 80)


@each_case("name")
def test_other_names_are_not(name: str) -> None:
    Guard(deny=["corp.example", "9.9.9.9"]).check(name, 80)


@given(v4, st.integers(8, 32))
def test_no_address_of_a_denied_network_is_allowed_in_any_form(address: IPv4Address, bits: int) -> None:
    network = ip_network((address, bits), strict=False)
    guard = Guard(["0.0.0.0/0", "::/0", str(network)], deny=[str(network)])
    for one in (network[0], network[-1], address):
        assert isinstance(one, IPv4Address)
        assert not guard.allows_address(one)
        assert not any(map(guard.allows_address, embedded(one)))


@each_case("entry")
def test_an_entry_that_is_none_is_an_error(entry: str) -> None:
    for name in ("deny", "allow"):
        with pytest.raises(ValidationError, match="is no host, address or network"):
            FetchSettings.model_validate({name: (entry,)})


@awaited
async def test_who_is_denied_is_not_asked_and_no_name_is_looked_up() -> None:
    denying, names = settings(deny=("corp.example",), robots=True, delay_seconds=0.001), Names({})
    async with Client(denying, lambda: 0.0) as client:
        client._pool.resolver._ask = names
        for name in ("corp.example", "www.corp.example"):
            assert untimed(await client.fetch(f"http://{name}/")) == failed("refused", "host denied")
    assert names.asked == []


@each_case("allowed", [("localhost",), ("127.0.0.0/8", "::1")])
@awaited
async def test_a_denied_address_is_not_asked_whatever_name_leads_to_it(allowed: tuple[str, ...]) -> None:
    async with serving(fixed(b"secret")) as server:
        denying = settings(allow=allowed, deny=("127.0.0.1", "::1"))
        async with Client(denying, lambda: 0.0) as client:
            for host in ("localhost", "127.0.0.1", "[::ffff:7f00:1]"):
                result = (await client.fetch(f"http://{host}:{server.port}/")).result
                assert isinstance(result, Missing)
                assert result.reason.startswith("address ")
        assert server.connections == 0


@awaited
async def test_a_proxy_is_not_asked_for_who_is_denied_or_inside_a_network() -> None:
    inside = ("169.254.169.254", "127.0.0.1", "2130706433", "[::ffff:10.0.0.1]", "localhost")
    addresses = {host: f"address {host.strip('[]')}" for host in (*inside, "9.9.9.9", "[64:ff9b::909:909]")}
    async with serving(fixed(b"x")) as proxy:
        denying = FetchSettings(proxy=proxy.origin, delay_seconds=0.0, deny=("corp.example", "9.9.9.0/24"))
        async with Client(denying, lambda: 0.0) as client:
            for host, reason in {"www.corp.example": "host denied", **addresses}.items():
                url = f"http://{host}/"
                refused = failed("refused", reason) if canonical(url) == url else failed("failed", "url")
                assert untimed(await client.fetch(url)) == refused
        assert proxy.connections == 0


# ports


@each_case("port")
@awaited
async def test_a_port_that_browsers_block_is_not_asked(port: int) -> None:
    async with Client(settings(robots=True, delay_seconds=0.001), lambda: 0.0) as client:
        result = await client.fetch(f"http://127.0.0.1:{port}/")
        assert untimed(result) == failed("refused", f"port {port}")
        assert not client.robots._sites


def test_where_ports_are_named_no_other_is_asked() -> None:
    for port in (80, 443, 3000, 8000, 8008, 8080, 8443, 8888, 65535):
        Guard().check("a.org", port)
    guard = Guard(ports=[80, 443, 6000])
    for port in (80, 443, 6000):
        guard.check("a.org", port)
    for port in (8080, 22, 0):
        with pytest.raises(FetchError, match=f"port {port}"):
            guard.check("a.org", port)


@awaited
async def test_the_scheme_says_the_port_of_a_url_without_one() -> None:
    async with Client(settings(ports=(443,), deny=("9.9.9.9",)), lambda: 0.0) as client:
        assert untimed(await client.fetch("http://a.org/")) == failed("refused", "port 80")
        assert untimed(await client.fetch("https://9.9.9.9/")) == failed("refused", "address 9.9.9.9")


@each_case("reason", ["port 25", "address 127.0.0.2"])
@awaited
async def test_a_robots_txt_or_sitemap_that_leads_inside_is_not_followed(reason: str) -> None:
    async with serving(fixed(b"secret"), "127.0.0.2") as inner:
        place = "http://127.0.0.1:25/" if reason == "port 25" else f"http://127.0.0.2:{inner.port}/"
        moved = fixed(b"", "301 X", location=place)
        async with serving(moved) as outer, Client(settings(robots=True), lambda: 0.0) as client:
            held = untimed(await client.fetch(outer.origin + "/page"))
            assert held == failed("retry", f"robots.txt {reason}", 300.0)
            with pytest.raises(FetchError, match=reason):
                await client._file(place, None, 1000)
        assert (outer.targets(), inner.connections) == (["/robots.txt"], 0)


# who is allowed


def test_addresses_and_networks_are_allowed_in_both_spellings() -> None:
    guard = Guard(["127.0.0.1", "10.1.2.3/16", "fd00::/8", "[::1]"])
    for text in ("127.0.0.1", "::ffff:127.0.0.1", "10.1.255.1", "fd12::1", "::1", "8.8.8.8"):
        assert guard.allows_address(ip_address(text)), text
    for host in ("127.0.0.1:80", "127.0.0.1.", "[::1]:80", "::1"):
        assert guard.allows_host(host), host
    for text in ("127.0.0.2", "10.2.0.1", "fe80::1"):
        assert not guard.allows_address(ip_address(text)), text


@each_case(("host", "allow"))
def test_localhost_and_addresses_are_judged_by_name(host: str, allow: tuple[str, ...]) -> None:
    with pytest.raises(ForbiddenAddressError):
        Guard().check_name(host)
    Guard(allow).check_name(host)
    for other in ("example.org", "8.8.8.8"):
        Guard().check_name(other)


async def asked(host: str, *allow: str, robots: bool = False) -> tuple[list[Ended], int]:
    """Return what three fetches of a real server under ``host`` bring, and the connections it sees."""
    async with serving(fixed(b"secret")) as server:
        async with Client(settings(allow=allow, robots=robots), lambda: 0.0) as client:
            results = [untimed(await client.fetch(f"http://{host}:{server.port}/{i}")) for i in range(3)]
        return results, server.connections


@each_case("host")
@awaited
async def test_neither_spelling_of_an_address_nor_its_canonical_form_leads_to_loopback(host: str) -> None:
    loopback = {f"address {one}" for one in ("127.0.0.1", "0.0.0.0", "::1", "::ffff:7f00:1")}
    proper = host_of(canonical(f"http://{host}/") or "")
    for name, robots in product({host, proper}, (False, True)):
        results, connections = await asked(name, robots=robots)
        assert connections == 0
        for ended in results:
            assert isinstance(ended.result, Missing) and ended.host.retry_after is None
            assert ended.result.reason in (loopback if name == proper else {"url"})


@each_case("allow", ["localhost", "LocalHost.", "127.0.0.0/8"])
@awaited
async def test_a_host_is_reached_when_it_or_its_address_is_allowed(allow: str) -> None:
    results, connections = await asked("localhost", allow, "::1")
    assert all(isinstance(result.result, Body) for result in results)
    assert connections == 1


@awaited
async def test_a_name_that_is_allowed_allows_no_other_host_of_that_address() -> None:
    async with serving(fixed(b"secret")) as server:
        async with Client(settings(allow=("localhost",)), lambda: 0.0) as client:
            for host, kind in (("localhost", Body), ("127.0.0.1", Missing), ("localhost", Body)):
                assert isinstance((await client.fetch(f"http://{host}:{server.port}/")).result, kind)
        assert server.connections == 1


def test_the_socket_is_refused_for_the_address_it_would_connect_to() -> None:
    guard = Guard()
    with pytest.raises(ForbiddenAddressError) as refused:
        guard.open_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("169.254.169.254", 80)))
    assert refused.value.address == "169.254.169.254"
    guard.open_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("9.9.9.9", 80))).close()


def spellings(address: IPv4Address) -> list[str]:
    number = int(address)
    first, *rest = (int(part) for part in str(address).split("."))
    tail = number & 0xFFFFFF
    return [
        str(number), hex(number), f"0{number:o}",
        f"{first}.{tail}", f"0x{first:x}.{tail}", f"0{first:o}.{tail}",
        ".".join(hex(part) for part in (first, *rest)), ".".join(f"0{part:o}" for part in (first, *rest)),
        f"{first}.{rest[0]}.{tail & 0xFFFF}",
    ]  # fmt: skip


@given(v4)
def test_every_spelling_of_an_ipv4_address_is_judged_as_that_address(address: IPv4Address) -> None:
    for text in spellings(address):
        assert literal(text) == address, text
        assert host_of(canonical(f"http://{text}/") or "http://none/") == str(address), text
        if is_global(address):
            Guard().check_name(text)
        else:
            with pytest.raises(ForbiddenAddressError):
                Guard().check_name(text)


@given(st.text(alphabet="0123456789abcdefx.:[]%-", max_size=40))
def test_a_name_that_is_no_address_is_taken_for_none(text: str) -> None:
    found = literal(text)
    assert found is None or isinstance(found, IPv4Address | IPv6Address)
    assert Guard(["192.0.2.0/24"]).allows_host(text) == (
        (address := literal(hostname(text))) is not None and address in ip_network("192.0.2.0/24")
    )


@awaited
async def test_a_name_that_changes_its_address_between_two_connections_is_judged_each_time() -> None:
    names, time = Names({"rebinding.test": ["127.0.0.1"]}), [0.0]
    async with serving(fixed(b"x", connection="close"), "0.0.0.0") as server:
        async with Client(settings(allow=("127.0.0.1",)), lambda: 0.0) as client:
            resolver = Resolver(names, lambda: time[0])
            client._pool._session.connector._resolver = resolver  # type: ignore[union-attr]  # instead of DNS
            url = f"http://rebinding.test:{server.port}/"
            assert isinstance((await client.fetch(url)).result, Body)
            names.known, time[0] = {"rebinding.test": ["127.0.0.2"]}, 1000.0
            assert untimed(await client.fetch(url)) == failed("refused", "address 127.0.0.2")
        assert server.connections == 1


# who asks: no crawl of the open web without a contact


ANONYMOUS = FetchSettings().user_agent


@each_case(("user_agent", "named"), [(ANONYMOUS, False)])
def test_a_url_or_mail_address_is_a_contact_and_a_name_of_nobody_is_none(user_agent: str, named: bool) -> None:
    assert rules.names_contact(user_agent) is named
    assert stays_home(FetchSettings(user_agent=user_agent)) is not named


@each_case(("proxy", "home"))
def test_only_a_proxy_on_this_machine_needs_none(proxy: str, home: bool) -> None:
    assert stays_home(FetchSettings(proxy=proxy)) is home


def test_a_crawl_of_the_open_web_without_a_contact_does_not_start() -> None:
    allowed = FetchSettings(allow=("intranet.example", "10.0.0.0/8"))
    rules.check_contact(allowed, ["http://intranet.example/", "http://10.1.2.3:8080/a"])
    rules.check_contact(settings(), ["https://www.wikipedia.org/"])
    with pytest.raises(ConfigurationError, match=r"fetch.user_agent: .* names no contact.*expected your URL"):
        rules.check_contact(allowed, ["http://intranet.example/", "https://www.wikipedia.org/"])


@awaited
async def test_without_a_contact_only_the_hosts_that_are_allowed_are_asked_for_robots_txt_too() -> None:
    missing = "contact missing in fetch.user_agent"
    alone = {"user_agent": ANONYMOUS, "allow": ("localhost", "127.0.0.1")}
    async with serving(fixed(b"x")) as server, Client(settings(**alone), lambda: 0.0) as client:
        for name in ("127.0.0.1", "localhost"):
            assert isinstance((await client.fetch(f"http://{name}:{server.port}/")).result, Body)
        assert untimed(await client.fetch("http://www.wikipedia.org/")) == failed("failed", missing)
    moved = fixed(b"", "301 X", location="http://127.0.0.2:1/robots.txt")
    async with serving(moved) as server, Client(settings(robots=True, **alone), lambda: 0.0) as client:
        held = untimed(await client.fetch(server.origin + "/"))
        assert held == failed("retry", f"robots.txt {missing}", 300.0)
        assert untimed(await client.fetch("http://www.wikipedia.org/")) == failed("failed", missing)
