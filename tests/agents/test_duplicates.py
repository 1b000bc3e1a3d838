"""Near-duplicates among judged pages: what is found, what is not, and what a crash leaves."""

import pytest

from scentline.agents.judge.duplicates import BAND_PREFIX, SPACE_TEXTS, BandRow, DuplicateRow, Duplicates
from scentline.models.duplicates import BAND_PAGES, fingerprint
from scentline.models.page import Page
from scentline.models.settings import JudgeSettings
from scentline.streams.inbox import Shard
from scentline.streams.topics import PAGES
from tests.agents.judging import archived
from tests.agents.shards import Disk, write
from tests.cases import each_case

WORDS = ("snow", "lies", "on", "the", "high", "alps", "from", "october", "to", "may", "and", "trains", "run")


@pytest.fixture
def shard(rows: Disk) -> Shard[DuplicateRow]:
    return rows.shard(DuplicateRow, PAGES)


def a_page(name: str, changed: int = 0, length: int = 400, start: int = 0) -> Page:
    """Return a page of its own words by ``start``, the first of them ``changed``."""
    text = [f"{WORDS[n % len(WORDS)]}{start + n}" for n in range(length)]
    text[:changed] = [f"other{n}" for n in range(changed)]
    return Page(f"http://a.org/{name}", title="Alps", text=" ".join(text))


def look(
    shard: Shard[DuplicateRow], *pages: Page, vouched: float | None = None, **changed: object
) -> list[str | None]:
    settings = JudgeSettings.model_validate(changed)
    duplicates, least = Duplicates(settings), settings.least_words
    return [duplicates.original(shard, page.url, fingerprint(page, least), vouched) for page in pages]


def test_a_page_like_a_judged_one_is_its_duplicate(shard: Shard[DuplicateRow]) -> None:
    copies = [a_page("first"), a_page("second"), a_page("third", changed=15), a_page("fourth", changed=30)]
    found = look(shard, *copies)
    assert found == [None, "http://a.org/first", "http://a.org/first", None], "no copies of copies"
    assert look(shard, a_page("fifth", changed=100)) == [None]


def test_a_judged_page_that_comes_again_is_no_duplicate(shard: Shard[DuplicateRow]) -> None:
    first, second = a_page("first"), a_page("second", start=1000)
    again = Page(first.url, first.title, second.text)
    assert look(shard, first, first, second, again) == [None] * 4, "of itself or of a later one"


def at(url: str, page: Page) -> Page:
    return Page(url, page.title, page.text)


@each_case(
    ("first", "second", "duplicate"),
    [
        (("mirror.net", 0.01), ("first.org", 0.2), False), (("mirror.net", 0.0), ("first.org", 0.0), False),
        (("original.org", 0.2), ("mirror.net", 0.01), True), (("192.0.2.1", 0.01), ("192.0.2.99", 0.02), True),
        (("www.mirror.net", 0.01), ("shop.mirror.net", 0.02), True),
    ],
)  # fmt: skip
def test_a_copy_is_one_of_whom_is_trusted_more_or_of_the_same_owner(
    rows: Disk, first: tuple[str, float], second: tuple[str, float], duplicate: bool
) -> None:
    fresh = rows.shard(DuplicateRow, PAGES)
    (one, trust), (other, less) = (f"http://{first[0]}/1", first[1]), (f"http://{second[0]}/1", second[1])
    assert look(fresh, at(one, a_page("")), vouched=trust) == [None]
    assert look(fresh, at(other, a_page("")), vouched=less) == [one if duplicate else None]


def test_a_mirror_that_is_likest_does_not_hide_a_copy_on_the_own_site(shard: Shard[DuplicateRow]) -> None:
    assert look(shard, at("http://mirror.net/", a_page("mirrored")), vouched=0.01) == [None]
    own, again = a_page("own", changed=16), a_page("again")
    assert look(shard, own, again, vouched=0.2) == [None, "http://a.org/own"]


def test_short_pages_are_like_none(shard: Shard[DuplicateRow]) -> None:
    assert look(shard, a_page("first", length=30), a_page("second", length=30)) == [None, None]
    assert look(shard, a_page("x", length=30), a_page("y", length=30), least_words=20)[1] == "http://a.org/x"


def test_duplicates_are_judged_where_the_setting_says_so(shard: Shard[DuplicateRow]) -> None:
    assert look(shard, a_page("first"), a_page("second"), duplicates=False) == [None, None]
    assert not shard.size()[1]


def test_of_several_pages_the_likest_is_named(shard: Shard[DuplicateRow]) -> None:
    near, nearest, page = a_page("near"), a_page("nearest", changed=24), a_page("page", changed=16)
    assert look(shard, near, nearest, page) == [None, None, "http://a.org/nearest"]
    assert look(shard, page, likeness=0.99) == [None]


def test_what_is_kept_of_a_band_is_bounded(shard: Shard[DuplicateRow]) -> None:
    for number in range(3 * BAND_PAGES):
        # So strict that none is the duplicate of another, although their bands are alike.
        look(shard, a_page(f"page{number}", changed=number), likeness=1.0)
    write(shard)
    sizes = [len(row.pages) for _, row in shard.scan(BAND_PREFIX) if isinstance(row, BandRow)]
    assert max(sizes) == BAND_PAGES


def repeated(shard: Shard[DuplicateRow], path: str, text: str) -> bool:
    page = Page(f"http://a.org/{path}", title="Events", text=text)
    return Duplicates(JudgeSettings()).repeated(shard, page.url, fingerprint(page, 50))


def test_a_text_is_repeated_where_only_digits_differ_in_it_and_its_url(shard: Shard[DuplicateRow]) -> None:
    months = [*enumerate(("May", "June", "July"))]
    assert not any(repeated(shard, f"day/{n}", f"{month} {n}: none") for n, month in months)
    assert all(repeated(shard, f"day/{n + 40}", f"{month} {n + 40}: none") for n, month in months)
    for path, text in {"day/50": "May 50: a concert", "night/50": "May 50: none", "day": "May 1: none"}.items():
        assert not repeated(shard, path, text)
    assert not repeated(shard, "day", "May 1: none")


def test_what_is_kept_of_a_space_is_bounded(shard: Shard[DuplicateRow]) -> None:
    assert not any(repeated(shard, f"{n}", "x" * n) for n in range(2 * SPACE_TEXTS))
    assert repeated(shard, f"{SPACE_TEXTS}", "x" * SPACE_TEXTS)
    assert not repeated(shard, f"{SPACE_TEXTS - 1}", "x" * (SPACE_TEXTS - 1))


def test_of_recorded_articles_the_ten_copies_alone_are_found(shard: Shard[DuplicateRow]) -> None:
    copies = {
        "Ceres_%28dwarf_planet%29": "1_Ceres", "Flemish_dialects": "Flemish_%28linguistics%29",
        "Fossil_record": "Fossil", "Pigeon": "Dove", "Senate_of_Canada": "Canadian_Senate",
        "Polish-Muscovite_War_%281605%E2%80%931618%29": "Polish%E2%80%93Muscovite_War_%281605%E2%80%931618%29",
        "Snowdonia_National_Park": "Snowdonia", "The_Bahamas": "Bahamas",
        "White%27s_Tree_Frog": "Australian_Green_Tree_Frog", "William_Gladstone": "William_Ewart_Gladstone",
    }  # fmt: skip
    found = {}
    for number, page in enumerate(archived("wikispeedia", 8, {*copies, *copies.values()})):
        assert page.words and not page.barred
        (original,) = look(shard, page)
        if original is not None:
            found[page.url.rpartition("/")[2]] = original.rpartition("/")[2]
        if number % 200 == 0:
            write(shard)
    assert found == copies
