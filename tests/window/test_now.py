"""Where a crawl stands, on the window's first screen and in a terminal: while it runs, stopped, and killed."""

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from scentline.agents.operate.record import totals
from scentline.agents.window.reading import Reading
from scentline.agents.window.screens import screen
from scentline.agents.window.top import shown, sparkline
from scentline.models.frontier.rows import TotalsRow
from scentline.streams.settings import Settings
from tests.agents.commands import COMMAND, environment, printed, running, wait_until
from tests.patience import PATIENCE, come

PREDICATES = ("sports", "music")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("now")
    printed(found, "synthetic", "--out", "web", "--sites", "4", "--pages", "60", "--users", "2")
    return found


def a_crawl(directory: Path, budget: int) -> list[str]:
    seed = (directory / "web" / "seeds.txt").read_text().split()[0]
    predicates = [part for name in PREDICATES for part in ("--predicate", f'{name}=category("{name.title()}")')]
    return [
        "crawl", "--archive", "web/pages.warc.gz", "--labels", "web/topics.tsv.gz", "--seed", seed, *predicates,
        "--data", "data", "--budget", str(budget), "--set", "fetch.delay_seconds=0.4",
    ]  # fmt: skip


def seen(reading: Reading, until: Callable[[dict[str, Any]], bool] = bool, **asked: Any) -> dict[str, Any]:
    """Return the view of a directory, as the window makes it, as soon as a condition holds."""

    def view() -> dict[str, Any] | None:
        found = screen("now", asked)(reading)
        return found if until(found) else None

    return come("a view", view, 0.25)


def test_a_crawl_is_seen_as_it_runs_is_stopped_is_killed_and_ends(directory: Path) -> None:
    reading = Reading(Settings(data=directory / "data"))
    view = seen(reading)
    assert (view["begun"], view["state"]["mood"]) == (False, "rest")
    with running(directory, *a_crawl(directory, 200)) as crawl:
        found = seen(reading, lambda view: view.get("figures", {}).get("judged", 0) >= 12)
        assert found["running"]
        assert found["state"]["mood"] in ("good", "waits")
        found = seen(reading, lambda view: bool(view["figures"]["pages_a_second"]))
        figures = found["figures"]
        assert figures["queued"] > 0
        assert figures["ready"] + sum(figures["waiting"].values()) == figures["hosts"] > 0
        assert (figures["budget"], figures["left"]) == (200, 200 - figures["judged"])
        assert [each["name"] for each in found["predicates"]] == sorted(PREDICATES)
        assert [each["name"] for each in seen(reading, search="SPO")["predicates"]] == ["sports"]
        assert seen(reading, offset=1)["predicates"][0]["name"] == "sports"
        assert re.search(r"[\d.]+ pages/s.*\d+ pages, \d+ left", printed(directory, "top", "--data", "data"))
        crawl.send_signal(signal.SIGTERM)
        crawl.wait(PATIENCE)
    found = seen(reading, lambda view: view["state"]["mood"] == "rest")
    assert "it was stopped" in found["state"]["text"]
    kept, figures = totals(reading.journal), found["figures"]
    assert isinstance(kept, TotalsRow)
    assert (figures["judged"], figures["requests"]) == (kept.judged, kept.requests)
    assert {each["pages"] for each in found["predicates"]} == {kept.judged}
    for name in PREDICATES:
        [last] = reading.standings(name)
        assert (last.state, last.final, last.judged) == ("ended", True, kept.judged)
        assert [each.url for each in last.best]

    with running(directory, *a_crawl(directory, 200)) as crawl:
        wait_until(lambda: seen(reading)["running"], crawl)
        # Some more: the last group may not be on disk yet.
        wait_until(lambda: seen(reading)["figures"]["judged"] > kept.judged + 5, crawl)
        crawl.kill()
        crawl.wait(PATIENCE)
    found = seen(reading, lambda view: view["state"]["mood"] == "bad")
    assert not found["running"]
    judged = found["figures"]["judged"]
    assert judged > kept.judged

    printed(directory, *a_crawl(directory, judged + 3))
    found = seen(reading)
    assert f"the budget of {judged + 3} pages is spent" in found["state"]["text"]
    assert found["figures"]["left"] == 0


def read_until(terminal: int, text: str) -> None:
    read, end = "", time.monotonic() + PATIENCE
    while text not in read:
        assert time.monotonic() < end, read
        if select.select([terminal], [], [], 1)[0]:
            read += os.read(terminal, 65_536).decode(errors="replace")


def test_in_a_terminal_it_goes_on_until_it_is_told_to_end(directory: Path) -> None:
    if not (directory / "data").exists():
        printed(directory, *a_crawl(directory, 5))
    for keys, number in (("q", None), ("", signal.SIGINT)):
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [*COMMAND, "top", "--data", "data"], cwd=directory, env=environment(TERM="xterm-256color"),
            stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, start_new_session=True,
        ) as process:  # fmt: skip
            try:
                read_until(ours, "lift (95 %)")
                os.write(ours, keys.encode())
                if number is not None:
                    process.send_signal(number)
                read_until(ours, "\x1b[?1049l")  # the screen is as it was
                assert process.wait(PATIENCE) == 0
            finally:
                process.kill()
                os.close(ours)
                os.close(theirs)


def test_what_a_crawl_is_called_moves_no_cursor_and_widths_are_kept() -> None:
    figures = dict.fromkeys(
        ("judged", "requests", "nothing", "discovered", "failed", "refused", "ready", "in_flight", "window"), 7
    )
    view = {
        "begun": True,
        "data": "\x1b[2J\x1b]0;gone\x07",
        "state": {"mood": "good", "word": "Fetching", "text": "1 page is in flight."},
        "figures": figures
        | {"pages_a_second": 1.5, "on_average": None, "queued": None, "hosts": 3, "waiting": {}, "left": None}
        | {"slots": 0.25, "held_by": "network", "held": 2},
        "door": "",
        "window_pages": 500,
        "total": 9,
        "predicates": [{"name": f"p{number}", "state": "active", "pages": 0} for number in range(6)],
    }
    for width in (40, 80, 200):
        console = Console(width=width, record=True, file=StringIO(), force_terminal=True)
        console.print(shown(view, width))
        text = console.export_text()
        assert "\x1b" not in text
        assert "3 predicates more" in text
        assert max(map(len, text.splitlines())) <= width
    assert [sparkline([]), sparkline([0.0, 0.0]), len(sparkline([0.5] * 120))] == ["", "▁▁", 24]
