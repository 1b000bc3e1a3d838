"""URLs in one spelling each, and who owns their hosts."""

from ipaddress import IPv6Address
from urllib.parse import urljoin

from hypothesis import example, given
from hypothesis import strategies as st
from publicsuffixlist import PublicSuffixList

from scentline.models.domain import domain, owner, server
from scentline.models.url import MAX_LENGTH, canonical
from tests.cases import each_case


@each_case(("written", "known_as", "base"))
def test_each_spelling_of_a_page_has_one_canonical_form(
    written: str, known_as: str | None, base: str | None
) -> None:
    assert canonical(written, base) == known_as


@each_case(
    "url",
    [
        *(f"http://{'a' * 64}.example/", f"http://{'a.' * 127}example/", "http://example.org/\ud800"),
        *(f"http://example.org/{'a' * MAX_LENGTH}", f"http://example.org/{'é' * 400}"),
    ],
)
def test_what_is_not_a_crawlable_url_has_no_canonical_form(url: str) -> None:
    assert canonical(url) is None


LABELS = "a www xn--a xn--n3h a_b - a--b 0x7f 1"
LABEL = st.sampled_from([*LABELS.split(), "b" * 63, "b" * 64, ""])
SEGMENTS = st.lists(st.sampled_from(["", "a", "B-1", ".a", "a.", "..", "c.html", "~d", "sid=1"]), max_size=5)
QUERY = "?a=b ?+,:/a=& ?sid=0123456789abcdef0123456789abcdef&a ?sessid= ? ?zenid=01234567 ?PHPSESSID=12345678"


@given(
    st.lists(LABEL, max_size=6),
    st.sampled_from(["org", "o", "1a", "0x7f", "7"]),
    SEGMENTS,
    st.sampled_from(QUERY.split()),
)
@example(["b" * 62] * 4, "org", [], "")
@example(["b" * 61] * 4, "org", [], "")
@example(["www"], "org", ["a" * 1985], "")
@example(["www"], "org", ["a" * 1986], "")
def test_a_url_that_seems_to_be_canonical_is_read_as_any_other(
    labels: list[str], last: str, path: list[str], query: str
) -> None:
    url = f"http://{'.'.join([*labels, last])}/{'/'.join(path)}{query}"
    # A fragment makes it one that is not told at a glance.
    assert canonical(url) == canonical(f"{url}#") or len(url) == MAX_LENGTH


SEGMENT = st.sampled_from(["a", "b", "..", ".", "c.html", "d%20e"])


@given(st.lists(SEGMENT, max_size=6).map("/".join), st.sampled_from(["", "?q", "?q=/x/../y"]))
def test_joining_agrees_with_rfc_3986_on_plain_paths(path: str, query: str) -> None:
    base = "http://example.org/s/t/u?v"
    assert canonical(path + query, base) == canonical(urljoin(base, path + query))
    assert canonical(f"/{path}{query}", base) == canonical(urljoin(base, f"/{path}{query}"))


# owners of hosts

labels = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)


@given(st.lists(labels, min_size=1, max_size=4), st.sampled_from(["com", "co.uk", "github.io", "xn--p1ai"]))
def test_however_many_names_an_owner_makes_up_the_domain_is_one(names: list[str], suffix: str) -> None:
    assert domain(".".join([*names, "mine", suffix])) == f"mine.{suffix}"


def test_names_beyond_ascii_are_known_in_the_spelling_that_urls_have() -> None:
    lists = PublicSuffixList()
    for suffix in ("xn--55qx5d.cn", "xn--p1ai", "xn--mgba3a4f16a.ir", "www.ck", "city.kawasaki.jp"):
        assert domain(f"a.b.{suffix}") == lists.privatesuffix(f"a.b.{suffix}")


@given(st.integers(1, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_the_addresses_of_one_64_are_one_server(prefix: int, first: int, second: int) -> None:
    one, other = (str(IPv6Address((prefix << 64) + number)) for number in (first, second))
    assert server(one) == server(other)
    assert owner(f"[{one}]:8080") == owner(f"[{other}]")


@each_case(("first", "second", "same"))
def test_who_owns_what(first: str, second: str, same: bool) -> None:
    assert (owner(first) == owner(second)) == same
    assert server("::ffff:192.0.2.1") == server("192.0.2.1") != server("192.0.2.2")
