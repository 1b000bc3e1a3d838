"""URLs in one spelling each, who owns their hosts, spaces of them without end, and secrets in them."""

import gzip
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from ipaddress import IPv6Address
from random import Random
from urllib.parse import quote, urljoin

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from publicsuffixlist import PublicSuffixList

from scentline.models.secrets import ENDINGS, LONG, NAMES, Secrets
from scentline.models.traps import Barren, Bounds, dated, pattern, says_missing, space, trap
from scentline.models.url import MAX_LENGTH, canonical, domain, owner, server
from tests.cases import each_case
from tests.shared import shared


@each_case(("written", "known_as", "base"))
def test_spellings_of_a_page_have_one_form(written: str, known_as: str | None, base: str | None) -> None:
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
    st.lists(LABEL, max_size=6), st.sampled_from(["org", "o", "1a", "0x7f", "7"]), SEGMENTS,
    st.sampled_from(QUERY.split()),
)  # fmt: skip
@example(["b" * 62] * 4, "org", [], "")
@example(["b" * 61] * 4, "org", [], "")
@example(["www"], "org", ["a" * 1985], "")
@example(["www"], "org", ["a" * 1986], "")
def test_canonical_is_read_as_any_other(labels: list[str], last: str, path: list[str], query: str) -> None:
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


# spaces without end, session ids, soft 404s; and the real URLs and pages that are none


BOUNDS = Bounds()
SITE = "http://example.org"


@each_case(("url", "why"))
def test_a_url_of_a_space_without_end_is_told_by_its_spelling_and_a_page_is_no_trap(url: str, why: str) -> None:
    assert trap(SITE + url, BOUNDS) == why


def logged(name: str) -> Iterator[str]:
    with gzip.open(shared(f"logs/{name}.log.gz"), "rt", errors="replace") as lines:
        for line in lines:
            found = re.search(r'"(?:GET|POST|HEAD) (/\S*)', line)
            if found is not None:
                yield SITE + found[1]


def listed(name: str) -> Iterator[str]:
    with gzip.open(shared(f"{name}/topics.tsv.gz"), "rt") as lines:
        yield from (line.partition("\t")[0] for line in lines)


def graph(name: str) -> Iterator[str]:
    with gzip.open(shared(f"graphs/{name}.dat.gz"), "rt", errors="replace") as lines:
        yield from (line.split()[1] for line in lines if " http" in line)


@pytest.mark.parametrize(
    ("read", "name", "least"),
    [
        *((listed, "wikispeedia", 4000), (listed, "webkb", 1500), (graph, "hollins", 6000)),
        *((logged, "sundog", 30_000), (logged, "semicomplete", 1000)),
    ],
)
def test_no_url_of_a_real_site_is_one(read: Callable[[str], Iterator[str]], name: str, least: int) -> None:
    known = {found for url in read(name) if (found := canonical(url)) is not None}
    assert len(known) >= least
    assert [(url, why) for url in known if (why := trap(url, BOUNDS))] == []


# session ids


@each_case(("url", "page"))
def test_a_session_id_is_no_part_of_a_url(url: str, page: str) -> None:
    assert canonical(SITE + url) == SITE + page


# spaces told by their pages


def test_urls_that_differ_in_numbers_only_are_of_one_space_and_a_copy_in_one_is_a_miss_too() -> None:
    assert space(f"{SITE}/p?id=1&page=22") == space(f"{SITE}/p?id=333&page=4")
    assert space(f"{SITE}/p?id=1") != space(f"{SITE}/q?id=1") != space("http://example2.org/q?id=1")
    assert space("http://h1.example.org:8080/about") is None
    row = Barren()
    row.copied()
    assert (row.copies, row.misses) == (1, 1)


DATED = "/cal/2031/05 /day/2031/05/12/ /cal?month=2031-05 /cal?day=2031-05-12&view=week /cal?year=2031&month=5"
UNDATED = "/2031/05/12/title-7 /node/12345 /book/3/chapter/7"


@each_case(("urls", "is_dated"), [(DATED, True), (UNDATED, False)])
def test_days_and_months_are_told_from_what_happened_on_them(urls: str, is_dated: bool) -> None:
    assert {dated(pattern(SITE + url) or "") for url in urls.split()} == {is_dated}


# soft 404s


MISSING = """
    404 | 404 Not Found | 404 - Page Not Found | Error 404 | Error 404 (Not Found)!!1 | Not Found
    HTTP Error 404.0 - Not Found | Object not found! | Example: Page not found | Page Not Found — Example
    Example » File not found | Oops! The page you requested could not be found. | Oops, page not found
    Seite nicht gefunden – Beispiel | Page introuvable - Exemple | Página no encontrada | Страница не найдена
"""
PRESENT = """
    Peugeot 404 | HTTP 404 | 404 ways to cook an egg and one not to | Lost and not found | Area code 404
    How to design a page not found page | Room 404: opening hours | Files | The page turner
"""


def test_a_page_is_a_soft_404_by_its_title_or_without_one_by_its_first_words_unless_there_are_many() -> None:
    for titles, missing in ((MISSING, True), (PRESENT, False)):
        for title in re.split(r" \| |\n +", titles.strip()):
            assert says_missing(title, "Try the search.") is missing, title
    assert says_missing("Page not found | Example", "Try the search.")
    assert not says_missing("", "Try the search.")
    assert not says_missing("404 Not Found", "word " * 300)
    assert says_missing("", "Not Found The requested URL /x was not found on this server.")
    assert not says_missing("", "Not Found " + "but much else " * 30)


# secrets: they leave visited URLs, and what is no secret stays as it was


def strip(url: str, *more: str) -> str | None:
    return Secrets(more).strip(url)


@each_case(("url", "left"))
def test_secrets_go_and_the_rest_stays(url: str, left: str) -> None:
    assert strip(f"http://e.org{url}") == f"http://e.org{left}"


def test_more_names_can_be_given() -> None:
    assert strip("http://e.org/a?ref_code=7&b=1") == "http://e.org/a?ref_code=7&b=1"
    assert strip("http://e.org/a;REFCODE=7?ref_code=7&b=1", "ref-code") == "http://e.org/a?b=1"


@each_case("name")
def test_a_parameter_that_says_that_it_is_secret_or_names_a_person_goes(name: str) -> None:
    left = strip(f"http://e.org/a?{name}=7b1&page=2")
    assert left is None or left == "http://e.org/a?page=2"


@each_case("parameter")
def test_a_value_that_is_secret_goes_whatever_its_name(parameter: str) -> None:
    assert strip(f"http://e.org/a?page=2&{parameter}") == "http://e.org/a?page=2"


@each_case("url")
def test_a_link_that_acts_works_once_or_is_itself_a_secret_is_not_to_be_followed(url: str) -> None:
    assert strip(f"http://e.org{url}") is None


@each_case("url")
def test_what_only_resembles_a_secret_stays(url: str) -> None:
    assert strip(f"http://e.org{url}") == f"http://e.org{url}"


@each_case("kind", ["hexadecimal", "base64"])
def test_nearly_every_token_is_seen_to_be_drawn_by_chance(kind: str) -> None:
    random = Random(7)
    drawn = [random.randbytes(24) for _ in range(1_000)]
    texts = [data.hex() if kind == "hexadecimal" else urlsafe_b64encode(data).decode() for data in drawn]
    assert sum(strip(f"http://e.org/a?x={text}") == "http://e.org/a" for text in texts) > 980


#: Parts that a hostile URL repeats.
PARTS = """eyJ eyJaaaaaaaa. aB1- //a 'a': a@ //a@ %2525 reset/ logout verif invit&"""


@pytest.mark.timeout(60)
@pytest.mark.parametrize("part", PARTS.split())
def test_a_url_of_one_part_again_and_again_is_read_in_a_time_that_grows_with_it(part: str) -> None:
    text = part * (200_000 // len(part))
    for where in ("", "?", "?x="):
        strip(f"http://e.org/{where}{text}")


PARAMETERS = st.tuples(
    st.sampled_from([*sorted(NAMES), *(f"x_{end}" for end in ENDINGS), *sorted(LONG), "page", "q"]),
    st.text(st.characters(min_codepoint=0x21, max_codepoint=0x2FF), max_size=20),
    st.booleans(),
)


@given(st.lists(PARAMETERS, max_size=6), st.sampled_from("&;"))
def test_no_secret_is_left_and_the_result_stays(parameters: list[tuple[str, str, bool]], mark: str) -> None:
    planted = "SeCr3tVaLuE-0123456789"
    query = mark.join(
        f"{name.upper() if upper else name}={planted if name not in ('page', 'q') else quote(value)}"
        for name, value, upper in parameters
    )
    url = canonical(f"http://e.org/a?{query}")
    assert url is not None
    left = strip(url)
    assert left is not None
    assert planted not in left
    assert canonical(left) == left
    assert strip(left) == left
