"""The screens Learning, Next and Steer: what was learned, candidates explained, and what is checked."""

import math
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scentline.agents.operate.explaining import Resting
from scentline.agents.window import learnt as screens
from scentline.agents.window import steer
from scentline.agents.window.reading import Reading
from scentline.agents.window.screens import screen
from scentline.models.frontier.keys import PARENT_PREFIX, page_key
from scentline.models.frontier.linking import ParentRow
from scentline.models.frontier.rows import FrontierRow, PageRow
from scentline.models.page import FAILED
from scentline.models.policy.features import BASE
from scentline.models.policy.inputs import NAMED
from scentline.models.policy.speaking import KINDS
from scentline.models.published import Exclusion, Limit, Standing, Upcoming
from scentline.models.semantic import SemanticTableError
from scentline.models.url import host, identifier
from scentline.streams.settings import Settings
from scentline.streams.topics import CONTROL, STANDING
from scentline.streams.transport.journal import Journal
from tests.agents.commands import printed, scentline
from tests.agents.learnt import EXPRESSIONS, Learnt, a_crawl
from tests.cases import each_case
from tests.window.crawls import seen, write_rows

#: What a page may say: markup, what turns text around, what ends a line of a log, and far too much of it.
WORDS = ("<script>alert(1)</script>", "\u202eevil\x1b[2J", "x" * 9_000)
HOSTILE = [f"{kind}{word}" for kind in KINDS.values() for word in WORDS]
PAGE, FROM = "http://www.example.org/tea/pot.html", "http://news.example.net/"
#: A pseudonym.
USER = "3f9c1b77e2"
MARKUP = "<img/src=x/onerror=alert(1)>"


@contextmanager
def reading(data: Path, **frontier: str) -> Iterator[tuple[Reading, Journal, Learnt]]:
    """Give what reads a crawl that has learned a little."""
    with a_crawl(data, **frontier) as (settings, journal, learnt):
        learnt.judge(30)
        learnt.count([BASE, f"u:{USER}"], {"ski": True, "tea": False})
        with closing(Reading(Settings.model_validate(settings.model_dump()), lambda: 100.0)) as opened:
            opened.refresh()
            yield opened, journal, learnt


# learning


def check_ratios(rows: list[dict[str, Any]], policy: str, learnt: Learnt) -> None:
    """Check what links and visits say against the counts, by the paper's equations (5), (6), (12) and (13)."""
    all_pages, all_hits = learnt.counts.get(BASE, "ski")
    cells = {"links from hits": learnt.counts.get("l:ski:1", "ski")}
    pages, hits = cells["visits near hits"] = learnt.counts.get("r:ski", "ski")
    cells["no visits near hits"] = (all_pages - pages, all_hits - hits)
    assert [row["name"] for row in rows] == ([] if policy == "breadth-first" else list(cells))
    rate = all_hits / all_pages
    for row in rows:
        pages, hits = cells[row["name"]]
        assert (row["pages"], row["hits"]) == (pages, hits)
        assert row["weight"] == pytest.approx(math.log(hits / (pages * rate)))
        deviation = math.sqrt(rate * (1 - rate) / pages)
        assert row["significance"] == pytest.approx(abs(hits / pages - rate) / deviation)


@pytest.mark.parametrize("policy", ["learned", "linkage", "combined", "breadth-first"])
def test_the_screen_shows_what_its_policy_has_learned_whatever_pages_say(tmp_path: Path, policy: str) -> None:
    with reading(tmp_path, policy=policy) as (opened, _, learnt):
        learnt.judge(30)
        for number in range(20):
            learnt.count([BASE, "r:ski", *HOSTILE], dict.fromkeys((*EXPRESSIONS, FAILED), number < 15))
        view = seen(opened, "learning", predicate="tea")
        assert (view["policy"], view["predicate"]) == (policy, "tea")
        assert (view["learned"] is not None) == (policy == "learned")
        assert (FAILED in view["predicates"]) == (policy == "learned")
        assert bool(view["kinds"]) == (policy != "breadth-first")
        check_ratios(seen(opened, "learning", predicate="ski")["ratios"], policy, learnt)
        for kind in view["kinds"]:
            for side in ("against", "for"):
                view = seen(opened, "learning", predicate="ski", kind=kind, side=side)
                assert len(msgspec.json.encode(view)) < 30_000
                rows = view["speaking"]["rows"]
                assert len(rows) == view["speaking"]["shown"] <= screens.SHOWN
                assert all((row["weight"] < 0) == (side == "against") for row in rows)
                assert all(len(row["name"]) <= 600 and row["name"].isprintable() for row in rows)
                significant = [row["significance"] for row in rows if policy != "learned"]
                assert all(each >= opened.settings.learn.t for each in significant)
            assert any("alert(1)" in row["name"] for row in rows), kind
        if view["kinds"]:
            unknown = seen(opened, "learning", predicate="nobody", kind="nothing", offset=1_000)
            assert (unknown["predicate"], unknown["kind"]) == ("ski", view["kinds"][0])
            assert unknown["speaking"]["offset"] == 0
        if policy == "learned":
            assert seen(opened, "learning", predicate=FAILED)["learned"]["judged"] > 0


# next


def explained(opened: Reading, journal: Journal, url: str = PAGE, predicate: str = "tea") -> dict[str, Any]:
    """Return what a view says of a URL of a crawl with a candidate that a page links to in hostile words."""
    said, text = f"{MARKUP}\t{' '.join(f'{MARKUP}{n}' for n in range(500))}\t\x1b[2J", f"tea {MARKUP} \u202etea"
    linking = ParentRow(FROM, True, {"ski": True, MARKUP: False}, text, identifier(PAGE), [4], [f"tea {said}"])
    links = {"ski": [1, 1], "tea": [1, 0]}
    row = PageRow(PAGE, 2, 7, parents=[identifier(FROM)], links=links, visits=2, visitors=[USER])
    write_rows(journal, host(PAGE), {page_key(PAGE): row, PARENT_PREFIX + identifier(FROM): linking})
    view = seen(opened, "next", url=url, predicate=predicate)
    assert len(msgspec.json.encode(view)) < 200_000
    assert USER not in str(view)
    found: dict[str, Any] = view["explained"]
    return found


def test_the_best_candidates_are_those_of_all_workers_in_their_order(tmp_path: Path) -> None:
    speaks = (("siblings", 1.5), (NAMED, 0.5), (MARKUP * 20, -1.0))
    with reading(tmp_path) as (opened, journal, _):
        for worker in "01":
            best = tuple(
                Upcoming(f"http://w{worker}.org/{MARKUP}{n}", 50.0 - n - int(worker) / 2, 0.5, 0.9, 3.0, speaks)
                for n in range(50)
            )
            standing = Standing(
                worker=worker, time=99.0, state="running", partitions=1, of=2, queued={"tea": 70}, best=best,
                best_of="tea",
            )  # fmt: skip
            journal.append(STANDING.name, 0, f"{worker} tea".encode(), msgspec.json.encode(standing), 99.0)
        view = seen(opened, "next", predicate="tea")
        assert [row["priority"] for row in view["best"]] == [50 - n / 2 for n in range(50)]
        assert (view["predicate"], view["queued"], view["time"]) == ("tea", 140, 99.0)
        said = [each["plain"] for each in view["best"][0]["speaks"]]
        assert said[:2] == ["neighbours", NAMED]
        assert len(said[2]) < 100
        assert seen(opened, "next", predicate="ski")["best"] == []


def test_a_url_is_explained_however_it_is_typed(tmp_path: Path) -> None:
    with reading(tmp_path) as (opened, journal, _):
        for typed in (" www.example.org/tea/pot.html", "HTTP://WWW.Example.org:80/tea/pot.html", PAGE):
            found = explained(opened, journal, typed)
            assert found["url"] == PAGE
        assert found["told"][0] == "state: candidate"
        assert 0 < found["expected"] < 1
        assert found["named"] == 2, "its URL names the keyword"
        assert found["words"][0]["word"] == "tea"
        assert found["inputs"][0]["means"].endswith(".")
        [linking] = found["linking"]
        assert (linking["url"], linking["position"], linking["inside"]) == (FROM, 4, f"tea {MARKUP}")
        assert len(linking["around"]) < 400
        assert linking["above"] == "\\x1b[2J"
        texts = [each["word"] for each in found["words"]]
        assert all(text.isprintable() and len(text) <= 100 for text in texts)
        for unknown in ("http://nowhere.example/", "nowhere.example"):
            assert "has not met this URL" in explained(opened, journal, unknown)["trouble"]
        for wrong in ("ftp://www.example.org/", "http://", "javascript:alert(1)", f"http://{MARKUP}/"):
            assert "no address of a page" in explained(opened, journal, wrong)["trouble"]


def test_no_word_table_is_needed_to_say_that_a_url_is_unknown(tmp_path: Path) -> None:
    with a_crawl(tmp_path) as (settings, journal, _):
        write_rows(journal, host(PAGE), {page_key(PAGE): PageRow(PAGE, 2, 7)})
        learn = settings.learn.model_copy(update={"semantic": str(tmp_path / "lost.table")})
        without = settings.model_copy(update={"learn": learn})
        resting = Resting(journal, without)
        assert resting.explain("http://nowhere.example/") is None
        with pytest.raises(SemanticTableError):
            resting.explain(PAGE)
        with closing(Reading(without, lambda: 100.0)) as opened:
            for url, words in (("nowhere.example", "has not met this URL"), (PAGE, "can't be read: ")):
                assert words in seen(opened, "next", url=url)["explained"]["trouble"]


@pytest.mark.parametrize("policy", ["learned", "collaborative", "linkage", "combined", "breadth-first"])
def test_a_url_is_explained_by_the_policy_of_the_crawl_and_by_its_users_ratios(
    tmp_path: Path, policy: str
) -> None:
    with reading(tmp_path, policy=policy) as (opened, journal, learnt):
        found = explained(opened, journal, predicate="ski")
        told = {each["plain"]: each for each in found["features"] if each["plain"] != NAMED}
        by_users = policy in ("learned", "collaborative", "combined")
        assert ("a visitor" in told, bool(found["inputs"])) == (by_users, policy == "learned")
        assert len(found["features"]) <= screens.PARTS
        if policy in ("linkage", "combined", "breadth-first"):
            assert (found["expected"], isinstance(found["priority"], float)) == (None, True)
            assert ("links from hits" in told) == (policy != "breadth-first")
        else:
            assert [*told] == ["a visitor", "no visits near hits"], "no judged page is near by"
            pages, hits = learnt.counts.get(BASE, "ski")
            visitor, rate = told["a visitor"], hits / pages
            assert (visitor["pages"], visitor["hits"]) == (1, 1)
            assert visitor["ratio"] == pytest.approx(1 / rate)
            assert visitor["significance"] == pytest.approx((1 - rate) / math.sqrt(rate * (1 - rate)))


def test_a_url_that_is_excluded_is_said_to_be(tmp_path: Path) -> None:
    def lines_after(*exclusions: tuple[str, str, str, bool]) -> str:
        for name, prefix, expression, on in exclusions:
            exclusion = Exclusion(name=name, prefix=prefix, expression=expression, on=on, time=5.0)
            journal.append(CONTROL.name, 0, name.encode(), msgspec.json.encode(exclusion), 5.0)
        opened.close()
        opened.refresh()
        return " ".join(explained(opened, journal)["told"])

    with reading(tmp_path) as (opened, journal, _):
        lines = lines_after(("1b", "http://b.org/", "", True), ("1c", "http://www.example.org/tea/", "", True))
        assert ("excluded as 1c" in lines, "1b" in lines) == (True, False)
        lines = lines_after(("1c", "http://www.example.org/tea/", "", False), ("1d", "", "p.t", True))
        assert ("excluded as 1d" in lines, "1c" in lines) == (True, False)
        assert "excluded" not in lines_after(("1d", "", "p.t", False))


# steer

REPORT = Standing(
    worker="0", time=90.0, state="running", partitions=1, of=1, queued={}, budget=500, requests_budget=0
)


@pytest.mark.parametrize(
    ("report", "limited", "in_force"),
    [
        (None, None, (None, None)), (REPORT, None, (500, 0)), (REPORT, 91.0, (70, 0)), (REPORT, 89.0, (500, 0)),
        (None, 89.0, (70, None)),
    ],
)  # fmt: skip
def test_the_budget_in_force_is_what_frontiers_reported_or_what_was_set_since(
    tmp_path: Path, report: Standing | None, limited: float | None, in_force: tuple[int | None, int | None]
) -> None:
    with a_crawl(tmp_path) as (settings, journal, _):
        if report is not None:
            journal.append(STANDING.name, 0, b"0", msgspec.json.encode(report), 0.0)
        if limited is not None:
            limit = Limit(name="pages", most=70, setting=60, time=limited)
            journal.append(CONTROL.name, 0, b"budget:pages", msgspec.json.encode(limit), 0.0)
        with closing(Reading(settings, lambda: 100.0)) as opened:
            opened.refresh()
            assert tuple(seen(opened, "steer")["budget"].values()) == in_force


def candidates(journal: Journal) -> None:
    """Write candidates of some sites, and a page of each that is none any more."""
    for site in ("a.org", "b.org", "c.org"):
        rows: dict[bytes, FrontierRow] = {}
        for number in range(60):
            url = f"http://{site}/{number}"
            rows[page_key(url)] = PageRow(url, 1, number, state="candidate" if number else "judged")
        write_rows(journal, site, rows)


def checked(opened: Reading, **query: str) -> dict[str, Any]:
    return screen("trial", query)(opened)


@pytest.mark.parametrize("query", [{"prefix": "http://b.org/"}, {"pattern": "^http://b[.]org/"}])
def test_what_an_exclusion_leaves_out_is_counted_a_piece_at_a_time_and_exact_in_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, query: dict[str, str]
) -> None:
    monkeypatch.setattr(steer, "PIECE_SECONDS", 0.0)
    with a_crawl(tmp_path) as (settings, journal, _), closing(Reading(settings, lambda: 100.0)) as opened:
        candidates(journal)
        views = [checked(opened, **query)["tried"] for _ in range(3)]
        assert views[0][1] < views[1][1] < views[2][1], "a view goes on with it, too"
        while opened.work() is not None:
            views.append(checked(opened, **query)["tried"])
        views.append(checked(opened, **query)["tried"])
        assert (views[0][3], views[-1]) == (False, [59, 177, 177, True])
        read = [read for _, read, _, _ in views]
        assert (read, len(set(read)) > 80) == (sorted(read), True)


def test_the_command_counts_what_an_exclusion_would_leave_out_and_requests_nothing(tmp_path: Path) -> None:
    with a_crawl(tmp_path / "data") as (_, journal, _):
        candidates(journal)
    command = ("steer", "exclude", "--preview", "--data", "data")
    for what in (("--prefix", "http://b.org/"), ("--expression", "^http://b[.]org/")):
        found = scentline(tmp_path, *command, *what)
        assert found.stdout == "it would leave out 59 of 177 candidates\n"
    assert printed(tmp_path, "steer", "list", "--data", "data", "--json").strip() == "[]"


@each_case(
    ("expression", "column", "caret"),
    [('"tea', 1, "^"), ('"tea" or colour("x")', 10, " " * 9 + "^"), ('"tea" and', 10, " " * 9 + "^")],
)
def test_the_column_of_a_syntax_error_is_pointed_at(expression: str, column: int, caret: str) -> None:
    found = checked(Reading(Settings()), expression=expression)
    assert (found["column"], found["lines"]) == (column, [expression, caret])
    assert found["problem"]


def test_what_can_be_read_and_what_can_t_be_excluded_is_said(tmp_path: Path) -> None:
    opened = Reading(Settings(data=tmp_path))
    assert checked(opened) == {"begun": False}
    assert checked(opened, expression='"tea"') == {"begun": False, "read": True}
    assert checked(opened, prefix="http://a.org/")["tried"] is None
    for query in ({"prefix": "http://a.org"}, {"pattern": "("}, {"prefix": "x", "pattern": "y"}):
        assert checked(opened, **query)["problem"]
