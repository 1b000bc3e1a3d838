"""What a partition's clicks say of news: counts, looks at them, and what is kept of a look."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.frontier.agent import FrontierShard
from scentline.models.facts import Found, Visited
from scentline.models.frontier.keys import Rows, clicks_key, news_of
from scentline.models.frontier.news import NewsLooks, Prefixes, clicked
from scentline.models.frontier.rows import AccessRow
from scentline.models.papers.hubs import REFERRERS
from scentline.models.papers.news import DAY, History
from scentline.models.settings import NewsSettings
from scentline.streams.topics import SIGHTINGS
from tests.agents.forms import hub
from tests.agents.scenarios import Frontiers, linked
from tests.agents.shards import emitted, write

ROOT = "http://a.org/"
#: Clicks of a news page on the days after its birth, and of another page.
BREAKING, LASTING = (20, 9, 4, 2, 1, 1, 1, 1), (5,) * 12
WINDOW = 60


@pytest.fixture
def shard(frontier: Frontiers) -> FrontierShard:
    return frontier().shards[0]


def clicks_of(shard: FrontierShard, url: str) -> tuple[History, dict[str, int]]:
    """Return the clicks of a page, and how many came from which pages."""
    row = shard.get(clicks_key(url))
    assert isinstance(row, AccessRow) and row.clicks is not None
    return row.clicks, row.referrers


def click(url: str, day: int, referrer: str | None = None) -> Visited:
    return Visited(url, "u", day * DAY, referrer, first=True)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=40), st.integers(1, 6))
def test_clicks_of_the_last_days_count_in_any_order(frontier: Frontiers, days: list[int], window: int) -> None:
    front = frontier(news={"window": window})
    front.hear(*(click(ROOT, day) for day in days))
    found, _ = clicks_of(front.shards[0], ROOT)
    kept = {found.first + place: clicks for place, clicks in enumerate(found.clicks) if clicks}
    assert kept == {day: days.count(day) for day in days if day > max(days) - window}
    assert len(found.clicks) <= window


def test_referrers_are_bounded_and_answers_of_a_search_keep_no_hub_out(shard: FrontierShard) -> None:
    for number in range(2 * REFERRERS):
        for _ in range(2):
            clicked(shard, click(ROOT, 3, f"{ROOT}{number}"), WINDOW)
    assert clicks_of(shard, ROOT)[1] == {f"{ROOT}{number}": 2 for number in range(REFERRERS)}
    page, hub, front, elsewhere = f"{ROOT}page", f"{ROOT}news", f"{ROOT}?page=1", "http://else.test/list"
    searches = [f"http://search.test/?q={number}" for number in range(2 * REFERRERS)]
    for referrer in (*searches, elsewhere, front, hub, hub, front, searches[-1]):
        clicked(shard, click(page, 3, referrer), WINDOW)
    _, found = clicks_of(shard, page)
    assert (found[hub], found[front], found[elsewhere], len(found)) == (2, 2, 1, REFERRERS)
    assert set(found) - {hub, front, elsewhere} == set(searches[: REFERRERS - 3])


class Looks:
    """Looks at one shard."""

    def __init__(self, shard: FrontierShard, **given: object) -> None:
        self.shard, self.committed = shard, 0
        self.prefixes = Prefixes(("given.org/news/",))
        self._looks = NewsLooks(NewsSettings.model_validate(given), self.prefixes, self._committing)
        self._looks.open(shard)

    def _committing(self, shard: Rows) -> None:
        self.committed += 1

    def look(self, now: float) -> list[Found]:
        """Look once, to the end; return the hubs that are named."""
        before = self.committed
        for _ in range(20):
            self._looks.step(iter([self.shard]), now, 1)
            if self.committed > before:
                break
        return [fact for _, fact in emitted(write(self.shard), SIGHTINGS)]


def clicks(
    shard: FrontierShard, url: str, born: int, daily: tuple[int, ...], referrer: str | None = ROOT
) -> None:
    for day, number in enumerate(daily, born):
        for _ in range(number):
            clicked(shard, click(url, day, referrer), WINDOW)


@pytest.fixture
def paper(shard: FrontierShard) -> FrontierShard:
    """Return a shard with the clicks of a site that has a folder of news."""
    for number in range(4):
        clicks(shard, f"{ROOT}news/{number}", number, BREAKING)
        clicks(shard, f"{ROOT}guide/{number}", 0, LASTING, f"{ROOT}guide/")
    write(shard)
    return shard


def test_a_look_finds_the_news_and_who_leads_there(paper: FrontierShard, frontier: Frontiers) -> None:
    looks = Looks(paper)
    assert looks.look(now=30 * DAY) == [hub(ROOT, 4 / (12 * DAY), 33 * DAY)]
    again = frontier.again({}).shards[0]
    assert news_of(again).prefixes == ["a.org/news/"]
    for prefixes in (looks.prefixes, Looks(again).prefixes):
        assert prefixes.match(f"{ROOT}news/17") == "a.org/news/"
        assert prefixes.match(f"{ROOT}guide/17") is None
        assert prefixes.match("http://given.org/news/1") == "given.org/news/"


def test_links_that_were_read_lead_to_news_too(frontier: Frontiers) -> None:
    front, source = frontier(), "http://a.org/index"
    shard = front.shards[0]
    for number in range(3):
        clicks(shard, f"{ROOT}news/{number}", number, BREAKING, None)
    clicks(shard, f"{ROOT}guide/1", 0, LASTING)
    front.hear(linked(source, [f"{ROOT}news/{number}" for number in range(3)]))
    assert [found.url for found in Looks(shard).look(now=30 * DAY)] == [source]


def test_there_is_no_second_look_until_there_is_something_to_see(paper: FrontierShard) -> None:
    looks = Looks(paper, refresh_seconds=100)
    assert looks.look(now=30 * DAY)
    assert looks.look(now=31 * DAY) == []
    clicked(paper, click(f"{ROOT}news/1", 11, ROOT), WINDOW)
    assert looks.look(now=30 * DAY + 99) == []
    assert looks.look(now=30 * DAY + 100)


def test_a_line_of_the_future_moves_no_day_on(paper: FrontierShard) -> None:
    clicked(paper, click(f"{ROOT}guide/1", 90_000), WINDOW)
    write(paper)
    looks = Looks(paper)
    looks.look(now=11.5 * DAY)
    assert looks.prefixes.match(f"{ROOT}news/17") == "a.org/news/"


def test_pages_without_a_click_in_the_window_are_forgotten(shard: FrontierShard) -> None:
    clicks(shard, f"{ROOT}old", 0, (3,))
    clicks(shard, f"{ROOT}new", 100, LASTING)
    write(shard)
    Looks(shard).look(now=200 * DAY)
    assert shard.get(clicks_key(f"{ROOT}old")) is None
    assert clicks_of(shard, f"{ROOT}new")[0].total == sum(LASTING)
