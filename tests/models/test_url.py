from urllib.parse import urljoin, urlsplit

from hypothesis import example, given
from hypothesis import strategies as st

from scentline.models.url import MAX_LENGTH, canonical, host, tokens
from tests.cases import each_case

SPELLINGS = """
    http https : // / \\ .. . %2e %2F % %7e %c3%a9 %zz ? # @ [ ] ::1 :80 :443 example.org EXAMPLE é ß | " ' <
    a b=1 & ; xn-- 0x7f.1 javascript: - _ ~ /../ /.a/ /..a/
"""
PIECES = st.sampled_from(SPELLINGS.split()) | st.sampled_from("\u2028\t\n \0\ud800")
URLISH = st.one_of(st.text(), st.lists(PIECES, max_size=20).map("".join))
LIKELY = URLISH.map(lambda rest: "http://example.org/" + rest)


@each_case(
    ("written", "known_as"),
    [
        ("HTTP://EXAMPLE.ORG", "http://example.org/"),
        ("http://example.org:80/", "http://example.org/"),
        ("https://example.org:443/", "https://example.org/"),
        ("https://example.org:80/", "https://example.org:80/"),
        ("http://example.org./a", "http://example.org/a"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/"),
        ("http://example.org/a/./b/../c", "http://example.org/a/c"),
        ("http://example.org/%2e%2E/a", "http://example.org/a"),
        ("http://example.org/.a/../b^", "http://example.org/b%5E"),
        ("http://example.org/.a/%2e%2e/b^", "http://example.org/b%5E"),
        ("http://example.org/b/.x/../../private/one", "http://example.org/private/one"),
        ("http://example.org/a/.b/../", "http://example.org/a/"),
        ("http://example.org/..a/.././..", "http://example.org/"),
        ("http://example.org/a?", "http://example.org/a"),
        ("http://example.org/a?#b", "http://example.org/a"),
        ("http://example.org/a#b?c", "http://example.org/a"),
        ("http://example.org/?b=2&a=1&b=", "http://example.org/?b=2&a=1&b="),
        ("http://example.org/%7euser/%c3%a9", "http://example.org/~user/%C3%A9"),
        ("http://example.org/a%2fb", "http://example.org/a%2Fb"),
        ("http://example.org/a%252Fb", "http://example.org/a%252Fb"),
        ("http://example.org/100%", "http://example.org/100%25"),
        ("http://example.org/%2%65", "http://example.org/%252e"),
        ("http://example.org/a b|[c]?d=[e] f", "http://example.org/a%20b%7C%5Bc%5D?d=%5Be%5D%20f"),
        ("http://example.org/é?é", "http://example.org/%C3%A9?%C3%A9"),
        ("http://example.org//a//b", "http://example.org//a//b"),
        ("  http:\\\\example.org\\a\n", "http://example.org/a"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[::FFFF:1.2.3.4]:8080/", "http://[::ffff:102:304]:8080/"),
        ("http://a_b.example/", "http://a_b.example/"),
        ("http://@example.org/", "http://example.org/"),
    ],
)
def test_each_spelling_of_a_page_has_one_canonical_form(written: str, known_as: str) -> None:
    assert canonical(written) == known_as


@each_case(
    "url",
    [
        *("", "page.html", "//example.org/", "http://", "ftp://example.org/", "mailto:someone@example.org"),
        *("javascript:alert(1)", "data:text/html,hello", "error:invalid-request", "example.org:443"),
        *("http://user@example.org/", "http://user:password@example.org/", "http://:password@example.org/"),
        *("http://a b/", "http://a..b/", "http://.example.org/", "http://example.org../", "http://a;b/"),
        *("http://1.2.3.4.5/", "http://example.org:99999/", "http://[::1/", "http://xn--a/"),
        *(f"http://{'a' * 64}.example/", f"http://{'a.' * 127}example/", "http://example.org/\ud800"),
        *(f"http://example.org/{'a' * MAX_LENGTH}", f"http://example.org/{'é' * 400}"),
    ],
)
def test_what_is_not_a_crawlable_url_has_no_canonical_form(url: str) -> None:
    assert canonical(url) is None


LABEL = st.sampled_from(
    ["a", "www", "xn--a", "xn--n3h", "a_b", "-", "a--b", "0x7f", "1", "b" * 63, "b" * 64, ""]
)
PATH = st.lists(st.sampled_from(["", "a", "B-1", ".a", "a.", "..", "c.html", "~d", "sid=1"]), max_size=5)
QUERY = "?a=b ?+,:/a=& ?sid=0123456789abcdef0123456789abcdef&a ?sessid= ? ?zenid=01234567 ?PHPSESSID=12345678"


@given(
    st.lists(LABEL, max_size=6),
    st.sampled_from(["org", "o", "1a", "0x7f", "7"]),
    PATH,
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


@each_case(
    ("link", "target"),
    [
        ("c", "http://example.org/a/c"),
        ("./c/", "http://example.org/a/c/"),
        ("../c", "http://example.org/c"),
        ("../../../c", "http://example.org/c"),
        ("/c", "http://example.org/c"),
        ("\\c", "http://example.org/c"),
        ("//other.example/c", "http://other.example/c"),
        ("/\\other.example/c", "http://other.example/c"),
        ("", "http://example.org/a/b?q=1/2"),
        ("#top", "http://example.org/a/b?q=1/2"),
        ("?r", "http://example.org/a/b?r"),
        ("?", "http://example.org/a/b"),
        ("  c\n", "http://example.org/a/c"),
        ("h\nttps://other.example", "https://other.example/"),
        ("http:c", "http://example.org/a/c"),
        ("http:/c", "http://c/"),
        ("https:c", "https://c/"),
        ("c:d", None),
        ("./c:d", "http://example.org/a/c:d"),
        ("mailto:someone@example.org", None),
        ("//user@other.example/", None),
        ("//", None),
    ],
)
def test_a_relative_link_is_joined_as_browsers_do(link: str, target: str | None) -> None:
    assert canonical(link, "http://example.org/a/b?q=1/2") == target


SEGMENT = st.sampled_from(["a", "b", "..", ".", "c.html", "d%20e"])


@given(st.lists(SEGMENT, max_size=6).map("/".join), st.sampled_from(["", "?q", "?q=/x/../y"]))
def test_joining_agrees_with_rfc_3986_on_plain_paths(path: str, query: str) -> None:
    base = "http://example.org/s/t/u?v"
    assert canonical(path + query, base) == canonical(urljoin(base, path + query))
    assert canonical(f"/{path}{query}", base) == canonical(urljoin(base, f"/{path}{query}"))


@given(LIKELY | URLISH, st.none() | LIKELY | URLISH)
@example("x", "")
@example("x", "http://example.org")
@example("\ud800", "http://example.org/")
@example("http://example.org/%" + "2" * 5, None)
@example("http://example.org/.a/../b^", None)
def test_hostile_urls_give_a_canonical_url_or_nothing(url: str, base: str | None) -> None:
    found = canonical(url, base)
    if found is None:
        return
    assert canonical(found) == found
    assert found.isascii()
    assert found.isprintable()
    assert len(found) <= MAX_LENGTH
    parts = urlsplit(found)
    assert parts.scheme in ("http", "https")
    assert parts.path.startswith("/")
    assert {".", ".."}.isdisjoint(parts.path.split("/"))
    assert not parts.fragment
    assert parts.username is None
    assert parts.netloc == host(found)
    assert not {"#", "|", "[", "]", '"', " "} & set(found.split("/", 3)[3])


@given(LIKELY)
def test_a_canonical_base_joined_with_nothing_is_itself(url: str) -> None:
    base = canonical(url)
    if base is not None:
        assert canonical("", base) == base
        assert canonical("#x", base) == base


@each_case(
    "url",
    [" " * 1990 + "x", "%" * 2000, "http://" + "a" * 1990, "http://" + "a." * 990, "\\" * 2000, "../" * 600],
)
def test_adversarial_urls_end_at_once(url: str) -> None:
    found = canonical(url, "http://example.org/a")
    assert found is None or canonical(found) == found


def test_the_host_carries_a_port_that_is_not_the_schemes_own() -> None:
    assert host("http://example.org/") == "example.org"
    assert host("https://example.org:8443/a:1/") == "example.org:8443"
    assert host("http://[::1]:8080/") == "[::1]:8080"


def test_tokens_are_cut_at_dots_and_slashes_alone() -> None:
    assert tokens("http://www.Skyteam.example:8080/NBA/index.html?a=b.c") == {
        *("www", "skyteam", "example:8080", "nba", "index", "html?a=b", "c")
    }
    assert tokens("https://example.org/") == {"example", "org"}
