"""The screen Steer: the budget in force, and what is checked before anything is saved."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from scentline.agents.frontier.keys import page_key
from scentline.agents.frontier.rows import FrontierRow, PageRow
from scentline.agents.window import trials
from scentline.agents.window.reading import Reading
from scentline.agents.window.screens import steer, trial
from scentline.models.url import host
from scentline.streams.published import Limit, Standing
from scentline.streams.settings import Settings
from scentline.streams.topics import STANDING, STEERING, partition_of
from scentline.streams.transport.journal import Journal
from tests.agents.commands import printed, scentline
from tests.agents.learnt import a_crawl as an_empty_crawl
from tests.agents.shards import put
from tests.cases import each_case
from tests.window.crawls import a_crawl

REPORT = Standing(
    worker="0", time=90.0, state="running", partitions=1, of=1, queued={}, budget=500, requests_budget=0
)


@pytest.mark.parametrize(
    ("report", "limited", "in_force"),
    [
        (None, None, {"pages": None, "requests": None}),
        (REPORT, None, {"pages": 500, "requests": 0}),
        (REPORT, 91.0, {"pages": 70, "requests": 0}),
        (REPORT, 89.0, {"pages": 500, "requests": 0}),
        (None, 89.0, {"pages": 70, "requests": None}),
    ],
)
def test_the_budget_in_force_is_what_frontiers_reported_or_what_was_set_since(
    tmp_path: Path, report: Standing | None, limited: float | None, in_force: dict[str, Any]
) -> None:
    with an_empty_crawl(tmp_path) as (settings, journal, _):
        if report is not None:
            journal.append(STANDING.name, 0, b"0", msgspec.json.encode(report), 0.0)
        if limited is not None:
            limit = Limit(name="pages", most=70, setting=60, time=limited)
            journal.append(STEERING.name, 0, b"budget:pages", msgspec.json.encode(limit), 0.0)
        reading = Reading(settings, lambda: 100.0)
        reading.refresh()
        view = msgspec.json.decode(msgspec.json.encode(steer.view(reading, steer.Query())))
        assert view["budget"] == in_force
        reading.close()


# what is checked before anything is saved

SITES = ("http://a.org", "http://b.org", "http://c.org")


def candidates(journal: Journal, pages: int = 60) -> None:
    """Write candidates of some sites, and a page of each that is none any more."""
    for site in SITES:
        rows: dict[bytes, FrontierRow] = {}
        for number in range(pages):
            url = f"{site}/{number}"
            rows[page_key(url)] = PageRow(url, 1, number, state="candidate" if number else "judged")
        encoded = {key: msgspec.msgpack.encode(row) for key, row in rows.items()}
        parts = journal.table("frontier")
        put(parts[partition_of(host(f"{site}/"), len(parts))], encoded)


def checked(reading: Reading, **query: str) -> dict[str, Any]:
    reading.refresh()
    found: dict[str, Any] = msgspec.to_builtins(trial.view(reading, trial.Query(**query)))
    return found


@pytest.mark.parametrize("query", [{"prefix": "http://b.org/"}, {"pattern": "^http://b[.]org/"}])
def test_what_an_exclusion_leaves_out_is_counted_a_piece_at_a_view_and_exact_in_the_end(
    monkeypatch: pytest.MonkeyPatch, query: dict[str, str]
) -> None:
    monkeypatch.setattr(trials, "STEP_SECONDS", 0.0)
    monkeypatch.setattr(trials, "ROWS_AT_ONCE", 10)
    with a_crawl() as (journal, reading):
        candidates(journal)
        views = [trials.Tried(*checked(reading, **query)["tried"])]
        assert not views[0].done
        while not views[-1].done:
            views.append(trials.Tried(*checked(reading, **query)["tried"]))
        assert views[-1] == (59, 177, 177, True)
        assert [each.read for each in views] == sorted(each.read for each in views)


def test_the_command_counts_what_an_exclusion_would_leave_out_and_requests_nothing(tmp_path: Path) -> None:
    with an_empty_crawl(tmp_path / "data") as (_, journal, _):
        candidates(journal)
    command = ("steer", "exclude", "--preview", "--data", "data")
    for what in (("--prefix", "http://b.org/"), ("--expression", "^http://b[.]org/")):
        found = scentline(tmp_path, *command, *what)
        assert found.stdout == "it would leave out 59 of 177 candidates\n"
        assert "100 of 100" in found.stderr
    assert printed(tmp_path, "steer", "list", "--data", "data", "--json").strip() == "[]"
    for wrong, word in (
        (("--prefix", "shop"), "URL"),
        (("--expression", "("), "RE2"),
        (("--expression", "x", "--broker", "kafka://localhost:9092"), "scentline snapshot"),
    ):
        assert word in scentline(tmp_path, *command, *wrong).stderr


@each_case(
    ("expression", "column", "caret"),
    [('"tea', 1, "^"), ('"tea" or colour("x")', 10, " " * 9 + "^"), ('"tea" and', 10, " " * 9 + "^")],
)
def test_the_column_of_a_syntax_error_is_pointed_at(expression: str, column: int, caret: str) -> None:
    found = checked(Reading(Settings()), expression=expression)
    assert (found["column"], found["lines"]) == (column, [expression, caret])
    assert found["problem"]


def test_what_can_be_read_and_what_can_t_be_excluded_is_said(tmp_path: Path) -> None:
    reading = Reading(Settings(data=tmp_path))
    assert checked(reading) == {}
    assert checked(reading, expression='"tea"') == {"read": True}
    assert checked(reading, prefix="http://a.org/") == {"tried": None}
    for query in ({"prefix": "http://a.org"}, {"pattern": "("}, {"prefix": "x", "pattern": "y"}):
        assert checked(reading, **query)["problem"]
