"""What steering would come to is counted before it is asked for: a piece at a time, and exact in the end."""

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from scentline.agents.frontier.keys import PAGE_PREFIX
from scentline.agents.frontier.rows import FrontierRow, PageRow
from scentline.agents.operate.inspect.record import current_pages
from scentline.agents.window import trials as module
from scentline.agents.window.reading import Reading
from scentline.agents.window.screens import trial as screen
from scentline.agents.window.trials import Judging, Tried
from scentline.streams.settings import Settings
from scentline.streams.topics import PAGES
from scentline.streams.transport.journal import Journal
from tests.agents.commands import printed, scentline
from tests.agents.shards import rows_of
from tests.patience import PATIENCE
from tests.window.windows import entered

BUDGET = 60


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a crawl at rest, of two partitions."""
    directory = tmp_path_factory.mktemp("crawl")
    printed(directory, "synthetic", "--out", "web", "--sites", "3", "--pages", "60", "--users", "3")
    printed(
        directory, "crawl", "--archive", "web/pages.warc.gz", "--log", "web/access.log.gz",
        "--predicate", 'long=title("*")', "--data", "data", "--budget", str(BUDGET),
        "--set", "streams.partitions=2",
    )  # fmt: skip
    return directory / "data"


@pytest.fixture
def reading(data: Path) -> Reading:
    reading = Reading(Settings(data=data))
    reading.refresh()
    return reading


def asked(reading: Reading, **query: str) -> dict[str, object]:
    found = screen.view(reading, screen.Query(**query))
    assert isinstance(found, dict)
    return found


def tried(reading: Reading, **query: str) -> Tried:
    found = asked(reading, **query)["tried"]
    assert isinstance(found, dict)
    return Tried(**found)


def judge(reading: Reading, pieces: int = 10_000) -> None:
    """Have pages judged until nobody waits for any more, or so many pieces of them."""

    async def in_turn(work: object) -> object:
        assert callable(work)
        return work()

    async def all_of_them() -> None:
        judging = Judging(lambda: reading.settings, reading.next_pages, lambda: False, in_turn)
        left = pieces
        while left and await judging._look():
            left -= 1
        await judging._end()

    asyncio.run(all_of_them())


def titles(data: Path) -> list[str]:
    with Journal.open(data / "journal", read_only=True) as journal:
        return [page.title for page in current_pages(journal).values()]


def kept(data: Path) -> int:
    """Return how many fetched pages are kept; one that the crawl did not get to judge is among them."""
    with Journal.open(data / "journal", read_only=True) as journal:
        return sum(journal.end(PAGES.name, each) - journal.start(PAGES.name, each) for each in range(2))


def candidates(data: Path) -> list[str]:
    decode = msgspec.msgpack.Decoder(FrontierRow).decode
    rows = [decode(raw) for _, raw in rows_of(data, "frontier", PAGE_PREFIX)]
    return [row.url for row in rows if isinstance(row, PageRow) and row.state == "candidate"]


# predicates


def test_a_predicate_is_tried_on_the_pages_that_are_kept(reading: Reading, data: Path) -> None:
    word = titles(data)[0].split()[0].lower()
    holding = sum(word in title.lower().split() for title in titles(data))
    expression, of = f'title("{word}")', kept(data)
    assert of >= BUDGET
    assert tried(reading, expression=expression) == Tried(0, 0, of, done=False)
    judge(reading, 2)
    some = tried(reading, expression=expression)
    assert 0 < some.read <= 2 * module.PAGES_AT_ONCE
    assert not some.done
    judge(reading)
    assert 0 < holding < of
    assert tried(reading, expression=expression) == Tried(holding, of, of, done=True)
    assert tried(reading, expression=f"  {expression}") == Tried(holding, of, of, done=True)


def test_the_newest_pages_are_tried_and_no_more_than_a_bound(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_PAGES", 20)
    tried(reading, expression='title("*")')
    judge(reading)
    assert tried(reading, expression='title("*")') == Tried(20, 20, 20, done=True)


def test_who_types_on_lets_go_of_what_was_tried(reading: Reading) -> None:
    now = 0.0
    reading.trials._pages._clock = lambda: now
    tried(reading, expression='"one"')
    now = module.LOOKED_SECONDS - 1
    tried(reading, expression='"two"')
    now = module.LOOKED_SECONDS
    judge(reading, 1)
    assert tried(reading, expression='"two"').read > 0
    now += module.LOOKED_SECONDS
    assert reading.next_pages() is None


@pytest.mark.parametrize(
    ("expression", "column", "caret"),
    [('"tea', 1, "^"), ('"tea" or colour("x")', 10, " " * 9 + "^"), ('"tea" and', 10, " " * 9 + "^")],
)
def test_where_a_predicate_can_t_be_read_is_pointed_at(
    reading: Reading, expression: str, column: int, caret: str
) -> None:
    found = asked(reading, expression=expression)
    assert (found["column"], found["lines"]) == (column, [expression, caret])
    assert found["problem"]


def test_categories_that_nobody_tells_are_not_counted(reading: Reading) -> None:
    found = tried(reading, expression='category("Sports")')
    assert found.done
    assert "settings of this window" in found.trouble


# exclusions


@pytest.mark.parametrize("pattern", [False, True])
def test_what_an_exclusion_leaves_out_is_estimated_and_then_exact(
    reading: Reading, data: Path, monkeypatch: pytest.MonkeyPatch, *, pattern: bool
) -> None:
    urls = candidates(data)
    site = urls[0].partition("//")[2].partition("/")[0]
    prefix = f"http://{site}/"
    expected = sum(url.startswith(prefix) for url in urls)
    monkeypatch.setattr(module, "STEP_SECONDS", 0.0)
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 10)
    query = {"pattern": f"^http://{site}/"} if pattern else {"prefix": prefix}
    told = [tried(reading, **query)]
    assert not told[0].done
    while reading.trials.step() and not told[-1].done:
        told.append(tried(reading, **query))
    assert tried(reading, **query) == Tried(expected, len(urls), len(urls), done=True)
    assert 0 < expected < len(urls)
    assert [each.read for each in told] == sorted(each.read for each in told)


def test_the_command_counts_what_an_exclusion_would_leave_out_and_asks_for_nothing(data: Path) -> None:
    urls = candidates(data)
    site = "/".join(urls[0].split("/")[:3])
    expected = sum(url.startswith(f"{site}/") for url in urls)
    command = ("steer", "exclude", "--preview", "--data", "data")
    for what in (("--prefix", f"{site}/"), ("--expression", f"^{site}/")):
        found = scentline(data.parent, *command, *what)
        assert found.stdout == f"it would leave out {expected} of {len(urls)} candidates\n"
        assert "100 of 100" in found.stderr
    assert printed(data.parent, "steer", "list", "--data", "data", "--json").strip() == "[]"
    for wrong, why in (
        (("--prefix", "shop"), "begins no URL"),
        (("--expression", "("), "no regular expression as RE2"),
    ):
        assert why in scentline(data.parent, *command, *wrong).stderr
    on_kafka = ("--expression", "x", "--broker", "kafka://localhost:9092")
    assert "scentline snapshot" in scentline(data.parent, *command, *on_kafka).stderr


@pytest.mark.parametrize(
    "query", [{"prefix": "http://a.org"}, {"pattern": "("}, {"prefix": "x", "pattern": "y"}]
)
def test_what_can_t_be_excluded_is_said(reading: Reading, query: dict[str, str]) -> None:
    assert asked(reading, **query)["problem"]


def test_nothing_is_tried_of_nothing(reading: Reading, tmp_path: Path) -> None:
    assert asked(reading) == {}
    empty = Reading(Settings(data=tmp_path))
    empty.refresh()
    assert asked(empty, expression='"tea"') == {"tried": None}


def test_the_window_judges_while_somebody_waits(data: Path) -> None:
    query = {"expression": 'title("*")'}
    with (
        entered(data) as client,
        client.stream("GET", "/events/trial", params=query, timeout=PATIENCE) as stream,
    ):
        views = (json.loads(line.removeprefix("data: ")) for line in stream.iter_lines() if '"tried"' in line)
        found = next(view["tried"] for view in views if view["tried"]["done"])
    assert Tried(**found) == Tried(kept(data), kept(data), kept(data), done=True)
