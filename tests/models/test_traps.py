"""Traps: spaces of URLs without end, session ids, soft 404s; and the real URLs and pages that are none."""

import gzip
import re
from collections.abc import Callable, Iterator

import pytest

from scentline.models.traps import Barren, Bounds, dated, pattern, says_missing, space, trap
from scentline.models.url import canonical
from tests.cases import each_case
from tests.shared import shared

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
def test_of_the_urls_of_real_sites_none_is_taken_for_a_trap(
    read: Callable[[str], Iterator[str]], name: str, least: int
) -> None:
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
