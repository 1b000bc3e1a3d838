"""The texts of kept pages are searched: all that is kept and nothing else, as a plain scan finds it."""

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.judge.keep.records import Packing
from scentline.agents.judge.keep.store import KeptPages, copies
from scentline.agents.window.index.index import Index
from scentline.agents.window.index.search import Asked, runs
from scentline.agents.window.index.texts import EXCERPT, FoundText, excerpt_of
from scentline.models.page import Page
from scentline.streams.settings import KeepSettings
from scentline.streams.topics import OUTCOMES
from scentline.streams.transport.journal import Journal
from tests.agents.test_keep import again, fetched

WORDS = ("ice", "Hockey", "puck", "Straße", "rink", "e-mail", "हिन्दी", "12345")
PACKING = Packing("all", "Scentline (test)")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Journal.open(tmp_path / "journal") as journal:
        journal.create_topic(OUTCOMES.name, 1, retention=None, compacted=False)
        with closing(Index(tmp_path, journal)) as found:
            yield found


def read(index: Index) -> None:
    index.texts.look()
    while index.step():
        pass


def searched(index: Index, query: str) -> list[FoundText]:
    found: list[FoundText] = []
    while more := index.texts.search(Asked(query), found[-1].id if found else None, 3):
        found += more
    return found


@pytest.mark.parametrize("by", ["age", "priority"])
def test_a_search_finds_the_newest_text_of_each_page_that_is_kept(
    tmp_path: Path, index: Index, by: str
) -> None:
    chance, texts = Random(3), dict[str, str]()
    store = KeptPages(tmp_path, KeepSettings(max_bytes=60_000, by=by))
    for time in range(150):
        page = fetched(time % 110, float(time))
        text = " ".join(chance.choices(WORDS, k=12))
        texts[page.order.url] = text
        body = f"<title>puck</title><p>{text}<script>rink</script>".encode()
        record = PACKING.record(page, body, Page(page.order.url), {})
        store.keep(page.order.url, record, judged=page.time, priority=page.time)
        visit = PACKING.again(again(time % 110, time + 0.5, float(time)), None)
        store.keep(page.order.url, visit, priority=page.time)
        if time in (40, 149):
            read(index)
            check(tmp_path, index, texts)
    store.close()
    assert index.texts.look()[0] == index.texts.look()[1]


def check(data: Path, index: Index, texts: dict[str, str]) -> None:
    there = {url: runs(text) for url, text in texts.items() if copies(data, url)}
    assert there
    for query in (*WORDS, "hoc*", "missing", '"ice hockey"', "ice -- puck*"):
        phrases = Asked(query).phrases
        expected = {url for url, found in there.items() if all(stands(found, *phrase) for phrase in phrases)}
        found = searched(index, query)
        assert sorted(each.url for each in found) == sorted(expected)
        assert all(len(each.parts) > 1 for each in found)


def stands(text: list[str], words: tuple[str, ...], begun: bool) -> bool:
    return any(
        all(run == word for run, word in zip(text[at:], words[:-1], strict=False))
        and at + len(words) <= len(text)
        and (
            text[at + len(words) - 1].startswith(words[-1]) if begun else text[at + len(words) - 1] == words[-1]
        )
        for at in range(len(text))
    )


def test_nothing_is_read_until_somebody_searches(tmp_path: Path, index: Index) -> None:
    store = KeptPages(tmp_path, KeepSettings())
    page = fetched(1)
    store.keep(page.order.url, PACKING.record(page, b"<p>ice", Page(page.order.url), {}), judged=5.5)
    store.close()
    assert not index.step()
    assert searched(index, "ice") == []
    assert index.texts.look() == (0, 1)
    read(index)
    assert [each.url for each in searched(index, "ice")] == [page.order.url]


def test_a_copy_that_can_t_be_read_is_passed_over(tmp_path: Path, index: Index) -> None:
    store = KeptPages(tmp_path, KeepSettings())
    for number in range(3):
        page = fetched(number)
        store.keep(page.order.url, PACKING.record(page, b"<p>ice", Page(page.order.url), {}), judged=5.5)
    store.close()
    damaged = copies(tmp_path, fetched(1).order.url)[0]
    whole = damaged.path.read_bytes()
    end = damaged.offset + damaged.length
    damaged.path.write_bytes(whole[: damaged.offset] + bytes(damaged.length) + whole[end:])
    read(index)
    assert {each.url for each in searched(index, "ice")} == {fetched(number).order.url for number in (0, 2)}


@given(st.text(max_size=400), st.sampled_from(WORDS))
def test_an_excerpt_is_short(text: str, word: str) -> None:
    parts = excerpt_of(Asked(f'"{word}"'), f"{text} {word} {text}")
    assert len("".join(parts)) <= EXCERPT + 2


def test_an_index_goes_on_where_it_was(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as directory, Journal.open(Path(directory) / "journal") as journal:
        data = Path(directory)
        store = KeptPages(data, KeepSettings())
        for number in range(2):
            page = fetched(number)
            store.keep(page.order.url, PACKING.record(page, b"<p>ice", Page(page.order.url), {}), judged=5.5)
            with closing(Index(data, journal)) as index:
                assert index.texts.look() == (number, number + 1)
                read(index)
                assert len(searched(index, "ice")) == number + 1
        store.close()
