"""Who owns a host: registered domains by the public suffix list, networks by address."""

from ipaddress import IPv6Address

from hypothesis import given
from hypothesis import strategies as st
from publicsuffixlist import PublicSuffixList

from scentline.models.domain import domain, network, owner, server
from tests.cases import each_case

labels = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)


@given(st.lists(labels, min_size=1, max_size=4), st.sampled_from(["com", "co.uk", "github.io", "xn--p1ai"]))
def test_however_many_names_an_owner_makes_up_the_domain_is_one(names: list[str], suffix: str) -> None:
    assert domain(".".join([*names, "mine", suffix])) == f"mine.{suffix}"


def test_names_beyond_ascii_are_known_in_the_spelling_that_urls_have() -> None:
    lists = PublicSuffixList()
    for suffix in ("xn--55qx5d.cn", "xn--p1ai", "xn--mgba3a4f16a.ir", "www.ck", "city.kawasaki.jp"):
        assert domain(f"a.b.{suffix}") == lists.privatesuffix(f"a.b.{suffix}")


@given(st.text("abc.-_[]:0123456789", max_size=40))
def test_any_text_has_an_owner(text: str) -> None:
    assert owner(text) == owner(text)
    assert isinstance(network(text), str)


@given(st.integers(1, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_the_addresses_of_one_64_are_one_server(prefix: int, first: int, second: int) -> None:
    one, other = (str(IPv6Address((prefix << 64) + number)) for number in (first, second))
    assert server(one) == server(other)
    assert owner(f"[{one}]:8080") == owner(f"[{other}]")


@each_case(
    ("first", "second", "same"),
    [
        ("127.0.1.1:8000", "127.0.1.60:8000", True),
        ("127.0.1.1", "127.0.2.1", False),
        ("a.github.io", "b.github.io", False),
        ("www.a.co.uk", "shop.a.co.uk", True),
        ("a.co.uk", "b.co.uk", False),
        ("intranet", "wiki", False),
        ("intranet.example.internal", "wiki.example.internal", True),
        ("co.uk", "com", False),
        ("[2001:db8::1]", "[2001:db8:0:1::1]", False),
        ("[::ffff:192.0.2.1]", "192.0.2.9", True),
    ],
)
def test_who_owns_what(first: str, second: str, same: bool) -> None:
    assert (owner(first) == owner(second)) == same


def test_ipv4_servers_are_told_apart_by_address() -> None:
    assert server("192.0.2.1") != server("192.0.2.2")
    assert server("::ffff:192.0.2.1") == server("192.0.2.1") == "192.0.2.1"
