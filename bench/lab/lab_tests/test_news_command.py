"""The news command: on a synthetic log with known truth it finds what is there, and says what it left out."""

import os
import signal
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from bench.wang import DECAY, START, NewsWeb
from lab_tests.files import PNG, rows
from scentline.models.accesslog.entry import Entry
from scentline.models.accesslog.formats import parse_combined
from scentline.models.papers.news import day_of
from scentline.models.settings import NewsSettings
from scentline_lab.news import PICTURES, TABLES, short
from tests.agents.commands import last_line, printed, running, scentline
from tests.patience import PATIENCE

SITES, DAYS = 3, 40


@pytest.fixture(scope="module")
def web() -> NewsWeb:
    return NewsWeb(7, SITES, DAYS)


@pytest.fixture(scope="module")
def entries(web: NewsWeb) -> list[Entry]:
    return [parse_combined(line) for line in web.access_log()]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, web: NewsWeb) -> Path:
    directory = tmp_path_factory.mktemp("news")
    lines = list(web.access_log())
    half = len(lines) // 2
    for name, part in (("all.log", lines), ("first.log", lines[:half]), ("second.log", lines[half:])):
        (directory / name).write_text("".join(f"{line}\n" for line in part))
    (directory / "labels.tsv").write_text("".join(f"{url}\t{label}\n" for url, label in web.labels()))
    return directory


@pytest.fixture(scope="module")
def found(files: Path) -> Any:
    """Return the object that the command printed when it wrote the directory ``out``."""
    return last_line(printed(files, "news", "all.log", "--labels", "labels.tsv", "--out", "out", "--json"))


def measure(found: Any, method: str, truth: str, pages: str) -> Any:
    chosen = {"method": method, "truth": truth, "pages": pages}
    (one,) = (each for each in found["measures"] if each.items() >= chosen.items())
    return one


def test_news_lose_their_readers_as_real_news_do(web: NewsWeb, entries: list[Entry]) -> None:
    born = {page.url: page.born for page in web.pages if page.news and len(page.clicks) == len(DECAY)}
    clicks = {(entry.url, entry.client, day_of(entry.time - START)) for entry in entries if entry.url in born}
    ages = Counter(day - born[url] for url, _, day in clicks if born[url] < DAYS - len(DECAY))
    shares = [100 * ages[age] / ages.total() for age in range(len(DECAY))]
    assert shares == pytest.approx([share / sum(DECAY) * 100 for share in DECAY], abs=1.5)


def test_news_are_told_from_others_by_clicks_and_by_prefixes_which_find_pages_born_later(found: Any) -> None:
    told = measure(found, "clicks", "labels", "judged")
    assert told["precision"] > 0.8
    assert told["recall"] > 0.9
    # The folder and the program of news, and not the mixed folder.
    names = [prefix["prefix"] for prefix in found["prefixes"]]
    assert names == ["www.site0.example/news/", "www.site1.example/view.asp?"]
    prefixes, sites = (measure(found, method, "labels", "all") for method in ("prefixes", "sites of hubs"))
    assert prefixes["precision"] > 0.9 > sites["precision"] + 0.15
    assert prefixes["recall"] > 0.6
    later = measure(found, "prefixes of the first half", "labels", "born later")
    assert later["precision"] > 0.9
    assert later["recall"] > 0.6


def test_the_listing_pages_are_the_first_hubs_and_reach_more_than_home_pages(found: Any) -> None:
    first = [hub["url"].removeprefix("http://www.") for hub in found["hubs"][:SITES]]
    assert sorted(first) == ["site0.example/news/", "site1.example/latest.html", "site2.example/articles/"]
    assert found["reach"]["from_hubs"] > found["reach"]["from_homes"] > 0


def test_the_tables_say_what_the_json_says_and_have_each_page_with_its_clicks_and_label(
    files: Path, found: Any, web: NewsWeb, entries: list[Entry]
) -> None:
    out = files / "out"
    names = {*(f"{name}.csv" for name in TABLES), *(f"{name}.png" for name in PICTURES)}
    assert {path.name for path in out.iterdir()} == {".scentline-news", *names}
    assert all((out / f"{name}.png").read_bytes().startswith(PNG) for name in PICTURES)
    table = rows(out / "pages.csv")
    assert Counter(row["kind"] for row in table) == found["pages"]
    hubs = [row["url"] for row in rows(out / "hubs.csv") if row["by"] == "links"]
    assert hubs == [hub["url"] for hub in found["hubs"]]
    prefixes = [row["prefix"] for row in rows(out / "prefixes.csv")]
    assert prefixes == [each["prefix"] for each in found["prefixes"]]
    for row, told in zip(rows(out / "measures.csv"), found["measures"], strict=True):
        assert [row["method"], int(row["right"])] == [told["method"], told["right"]]
        assert float(row["recall"]) == pytest.approx(told["recall"], abs=1e-4)
    visitors: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for entry in entries:
        visitors[entry.url].add((entry.client, day_of(entry.time)))
    labels = dict(web.labels())
    clicks = {url: (len(who), labels[url]) for url, who in visitors.items()}
    assert {row["url"]: (int(row["clicks"]), row["label"]) for row in table} == clicks
    assert found["views"] == len(entries)
    text = "".join(path.read_text() for path in out.glob("*.csv"))
    assert not [client for client in {entry.client for entry in entries} if client in text], "no user is named"


def test_logs_may_come_in_any_order_and_a_line_of_the_future_is_left_out(files: Path, found: Any) -> None:
    lines = (files / "second.log").read_text()
    last = lines.splitlines()[-1]
    (files / "wild.log").write_text(lines + last.replace("/2024:", "/2999:") + "\n")
    out = printed(files, "news", "wild.log", "first.log", "--labels", "labels.tsv", "--json")
    assert "1 page views are in the future or before 1970" in out
    told = last_line(out)
    assert told == found | {"views": found["views"] + 1}, "the window is not moved on, and no click is lost"


def test_a_signal_ends_the_reading_and_what_was_read_is_told(files: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "live.log"
    os.mkfifo(fifo)
    lines = (files / "all.log").read_bytes()[:2_000_000]
    news = running(tmp_path, "news", "live.log", "--out", "out")
    with news as process, fifo.open("wb", buffering=0) as log:
        log.write(lines)  # far more than a pipe holds: when it returns, the command is reading
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Interrupted: these results cover the first" in errors
    assert "Traceback" not in errors
    assert "page views of" in out
    assert rows(tmp_path / "out" / "pages.csv")


def test_a_log_too_short_for_news_says_which_option_would_do(files: Path, tmp_path: Path) -> None:
    lines = (files / "all.log").read_text().splitlines(keepends=True)
    four = [line for line in lines if any(f"[{day:02}/Jan" in line for day in range(8, 12))]
    (tmp_path / "short.log").write_text("".join(four))
    run = scentline(tmp_path, "news", "short.log", "--out", "out")
    assert run.returncode == 0
    assert "in 4 days no page can be more concentrated than 1.33: with --first-days 2" in run.stderr
    assert {row["kind"] for row in rows(tmp_path / "out" / "pages.csv")} == {"young", "rare"}
    assert short(2, NewsSettings(threshold=2.0)) == (
        "in 2 days no page can be more concentrated than 0.67: the log is too short"
    )
    assert short(7, NewsSettings(threshold=2.0)) is None
