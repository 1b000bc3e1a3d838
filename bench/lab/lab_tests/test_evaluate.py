"""The evaluate command: virtual crawls of an archive, the same whatever the number of processes."""

import csv
import gzip
import io
import os
import re
import signal
from pathlib import Path
from statistics import fmean
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from lxml import html

from scentline.agents.progress import Lines
from scentline.models.crowd.trace import Step, Trace
from scentline.models.page import Link, Page
from scentline.models.predicate import parse
from scentline.streams.configuration import ConfigurationError
from scentline.streams.settings import Settings
from scentline_lab.evaluate.crawls import FIRST, NEW_ONLY, NO_LOG, NO_USERS, REUSE, Evaluation
from scentline_lab.evaluate.results import Result, Results
from scentline_lab.evaluate.run import (
    Options,
    Output,
    halves,
    measures_of,
    prepare,
    read_seeds,
    read_steps,
)
from scentline_lab.evaluate.tables import headline
from scentline_lab.evaluate.webs import read_webs
from scentline_lab.reading import Web, load_web
from scentline_lab.simulation.baselines.simple import BreadthFirst
from scentline_lab.simulation.crawler import Task
from scentline_lab.simulation.policies import Measures, policies
from scentline_lab.simulation.virtual import Terms
from scentline_lab.spread import WorkerError, spread
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import (
    TOLD_TO_END,
    complaint,
    last_line,
    printed,
    running,
    scentline,
    wait_until,
)
from tests.agents.test_archive import page, write
from tests.cases import each_case
from tests.patience import PATIENCE
from tests.window.browser import SCHEMES, WIDTHS, Browser

PREDICATES = {"sports": 'category("Sports")', "hockey": 'category("Sports") and "hockey"'}
POLICY = "linkage,breadth-first,learned,oracle"
BUDGET = 120


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a small web: its archive, log and labels."""
    directory = tmp_path_factory.mktemp("web")
    web = SyntheticWeb(3, 6, 30, 4)
    answers = {url: web.answer(url, {}) for url, _ in web.labels()}
    write(
        directory / "pages.warc.gz",
        *((url, "200 OK", list(answer.headers), answer.body) for url, answer in answers.items()),
    )
    log = "".join(f"{line}\n" for line in web.access_log(8, 300)).encode()
    (directory / "access.log.gz").write_bytes(gzip.compress(log))
    (directory / "topics.tsv").write_text("".join(f"{url}\t{name}\n" for url, name in web.labels()))
    return directory


def command(*arguments: str, budget: int = BUDGET) -> list[str]:
    predicates = [part for item in PREDICATES.items() for part in ("--predicate", "=".join(item))]
    return [
        "evaluate", "--archive", "pages.warc.gz", "--log", "access.log.gz", "--labels", "topics.tsv",
        *predicates, "--budget", str(budget), "--starts", "2", "--random-seed", "7", *arguments,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def out(files: Path) -> tuple[Path, Any]:
    """Return the directory that an evaluation made, and the object that it printed."""
    text = printed(files, *command("--policy", POLICY, "--out", "out", "--jobs", "2", "--json"))
    return files / "out", last_line(text)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def order(directory: Path, predicate: str, policy: str, start: int) -> list[dict[str, str]]:
    return rows(Output(directory).order(predicate, policy, start))


def test_every_file_is_the_same_whatever_the_number_of_processes(files: Path, out: tuple[Path, Any]) -> None:
    directory, found = out
    text = printed(files, *command("--policy", POLICY, "--out", "alone", "--jobs", "1", "--json"))
    assert last_line(text) == found
    paths = [path.relative_to(directory) for path in sorted(directory.rglob("*")) if path.is_file()]
    assert len(paths) > 15
    assert [
        path for path in paths if (directory / path).read_bytes() != (files / "alone" / path).read_bytes()
    ] == []


def test_the_json_has_every_crawl_and_the_mean_of_every_policy(out: tuple[Path, Any]) -> None:
    _, found = out
    assert set(found) == {"results", "mean"}
    runs = [(run["predicate"], run["policy"], run["start"]) for run in found["results"]]
    asked = sorted(POLICY.split(","), key=list(policies()).index)
    asked += [f"learned{NO_LOG}", f"learned{NO_USERS}"]
    expected = [(name, policy, start) for name in PREDICATES for policy in asked for start in (1, 2)]
    assert sorted(runs) == sorted(expected)
    for run in found["results"]:
        assert set(run) == {
            "predicate", "policy", "start", "harvest", "harvest_by_request", "sites", "auc", "auc_of_oracle",
            "auc_by_request", "requests_a_page", "brier",
        }  # fmt: skip
        assert set(run["harvest"]) == set(run["sites"]) == {"12", "30", "100"}
        assert (run["brier"] is None) == (not run["policy"].startswith("learned"))
    for policy, mean in found["mean"].items():
        own = [run for run in found["results"] if run["policy"] == policy]
        assert mean["auc"] == pytest.approx(fmean(run["auc"] for run in own), abs=1e-5)
    assert found["mean"]["oracle"]["auc_of_oracle"] == 1


def test_the_figures_are_those_of_the_orders(out: tuple[Path, Any]) -> None:
    directory, found = out
    for run in found["results"]:
        crawl = order(directory, run["predicate"], run["policy"], run["start"])
        assert [int(row["n"]) for row in crawl] == list(range(1, len(crawl) + 1))
        assert len({row["url"] for row in crawl}) == len(crawl)
        pages = [row for row in crawl if row["page"] == "1"]
        assert len(pages) <= BUDGET
        assert run["requests_a_page"] == pytest.approx(len(crawl) / len(pages), abs=1e-5)
        for by, asked in (("", pages), ("_by_request", crawl)):
            hits = [int(row["hit"]) for row in asked] + [0] * BUDGET
            rates = [sum(hits[:n]) / n for n in range(1, BUDGET + 1)]
            assert run[f"harvest{by}"]["100"] == pytest.approx(rates[99], abs=1e-5)
            assert run[f"auc{by}"] == pytest.approx(fmean(rates), abs=1e-5)
        sites = {urlsplit(row["url"]).netloc for row in pages[:100] if row["hit"] == "1"}
        assert run["sites"]["100"] == len(sites)


def test_by_the_clock_hits_are_those_of_the_orders_until_then(files: Path) -> None:
    text = printed(files, *command("--policy", "breadth-first,oracle", "--clock", "25", "--out", "t", "--json"))
    assert "10 s" in text
    found = last_line(text)
    means = {row["policy"]: row for row in rows(files / "t" / "table.csv") if row["predicate"] == "*"}
    for run in found["results"]:
        crawl = order(files / "t", run["predicate"], run["policy"], run["start"])
        assert all(0 < float(row["answered"]) <= 25 for row in crawl)
        hits = [float(row["answered"]) for row in crawl if row["hit"] == "1"]
        assert run["hits"] == {str(time): sum(hit <= time for hit in hits) for time in (10, 20)}
        assert 0 < run["slots"] <= 1
    for policy, mean in found["mean"].items():
        assert float(means[policy]["hits_20s"]) == pytest.approx(mean["hits"]["20"], abs=1e-4)
    assert found["mean"]["oracle"]["hits"]["20"] > found["mean"]["breadth-first"]["hits"]["20"]
    assert "hits within" in (files / "t" / "report.html").read_text()


def test_dead_links_of_the_web_cost_requests(out: tuple[Path, Any]) -> None:
    _, found = out
    assert all(run["requests_a_page"] > 1 for run in found["results"] if run["policy"] == "breadth-first")


def test_the_tables_say_what_the_json_says(out: tuple[Path, Any]) -> None:
    directory, found = out
    table = {(row["predicate"], row["policy"]): row for row in rows(directory / "table.csv")}
    assert len(table) == 3 * 6
    for policy, mean in found["mean"].items():
        assert float(table["*", policy]["auc"]) == mean["auc"]
        assert float(table["*", policy]["harvest_100"]) == mean["harvest"]["100"]
    crawls = rows(directory / "results.csv")
    assert [float(row["auc"]) for row in crawls] == [run["auc"] for run in found["results"]]
    curves = {(row["predicate"], row["policy"], row["pages"]): row for row in rows(directory / "curves.csv")}
    assert float(curves["*", "linkage", "100"]["harvest"]) == found["mean"]["linkage"]["harvest"]["100"]
    assert ("sports", "oracle", str(BUDGET)) in curves


def test_every_crawl_of_a_start_begins_with_the_same_ten_seeds(out: tuple[Path, Any]) -> None:
    directory, found = out
    seeds: dict[int, list[str]] = {1: [], 2: []}
    for row in rows(directory / "seeds.csv"):
        seeds[int(row["start"])].append(row["url"])
    assert len(set(seeds[1])) == 10
    assert seeds[1] != seeds[2]
    for run in found["results"]:
        crawl = order(directory, run["predicate"], run["policy"], run["start"])
        assert [row["url"] for row in crawl[:10]] == seeds[run["start"]]


def test_the_learned_policy_is_compared_with_every_other_one(out: tuple[Path, Any]) -> None:
    directory, found = out
    pairs = {(row["policy"], row["other"]): row for row in rows(directory / "comparisons.csv")}
    for policy in ("linkage", "breadth-first", "oracle"):
        row = pairs["learned", policy]
        areas = [found["mean"][name]["auc"] for name in ("learned", policy)]
        assert float(row["difference"]) == pytest.approx(areas[0] - areas[1], abs=1e-5)
        assert float(row["low"]) <= float(row["difference"]) <= float(row["high"])
        assert (row["predicates"], row["runs"]) == ("2", "4")


def test_the_learned_policy_is_compared_with_itself_without_the_log_and_without_its_users(
    files: Path, out: tuple[Path, Any]
) -> None:
    directory, _ = out
    compared = {(row["policy"], row["other"]): row for row in rows(directory / "comparisons.csv")}
    for less in (NO_LOG, NO_USERS):
        assert compared["learned", f"learned{less}"]["runs"] == "4"
    assert "without log or users" in (directory / "report.html").read_text()
    # Where there is no log, both would be the policy itself.
    alone = [word for word in command("--policy", "learned") if word not in ("--log", "access.log.gz")]
    found = last_line(printed(files, *alone, "--out", "no-log", "--json"))
    assert list(found["mean"]) == ["learned"]
    for start in (1, 2):
        without = order(files / "no-log", "hockey", "learned", start)
        assert order(directory, "hockey", f"learned{NO_LOG}", start) == without


def test_the_headline_sets_each_collaborative_run_against_the_best_of_the_others() -> None:
    areas = {"linkage": (0.2, 0.4), "collaborative": (0.3, 0.6)}
    runs = [
        Result("p", policy, start, np.full(10, area), np.full(10, area), [0] * 10, 10, 10, (), ())
        for policy, found in areas.items()
        for start, area in enumerate(found, start=1)
    ]
    (found,) = headline(Results(runs, 10), 1)
    assert (found.policy, found.other) == ("collaborative", "linkage")
    assert (found.figure, found.others) == pytest.approx((0.45, 0.4))
    assert (found.comparison.difference, found.comparison.ahead) == pytest.approx((0.05, 0.5))
    assert headline(Results(runs[:3], 10), 1) == headline(Results(runs[2:], 10), 1) == []


def test_learning_from_links_is_ahead_of_breadth_first_and_behind_the_oracle(out: tuple[Path, Any]) -> None:
    _, found = out
    area = {policy: mean["auc"] for policy, mean in found["mean"].items()}
    assert area["breadth-first"] < area["linkage"] < area["oracle"]


def test_the_report_is_one_page_that_asks_for_nothing_else(out: tuple[Path, Any]) -> None:
    directory, _ = out
    text = (directory / "report.html").read_text(encoding="utf-8")
    document = html.document_fromstring(text)
    assert document.findtext(".//title") == "Scentline: evaluation"
    elements = [element for element in document.iter() if isinstance(element.tag, str)]
    assert {element.tag for element in elements}.isdisjoint({"script", "link", "iframe", "object", "base"})
    assert not [name for element in elements for name in element.attrib if str(name).startswith("on")]
    pictures = [element.get("src", "") for element in document.iter("img")]
    assert len(pictures) == 2 + len(PREDICATES)
    assert all(source.startswith("data:image/png;base64,") for source in pictures)
    targets = {element.get("href", "") for element in document.iter("a")}
    assert {f"#p-{name}" for name in PREDICATES} < targets
    assert targets <= {f"#{element.get('id')}" for element in elements}
    styles = [element.text for element in document.iter("style")]
    styles += [element.get("style") for element in elements]
    assert "url(" not in "".join(style or "" for style in styles)


def test_the_report_fits_each_window_and_can_be_read_by_everybody(
    out: tuple[Path, Any], browser: Browser
) -> None:
    directory, _ = out
    address = (directory / "report.html").as_uri()
    browser.open(address)
    for scheme in SCHEMES:
        for width in WIDTHS:
            browser.look(width, scheme)
            assert browser.overflow() == 0, width
        assert browser.barriers() == []
    assert browser.complaints() == []
    assert browser.asked() == [address]


def test_the_report_escapes_what_people_wrote(files: Path) -> None:
    expression = 'url("(?P<b>html|/)$|^")'
    given = command("--policy", "random", "--out", "escaped", "--predicate", f"all={expression}", budget=20)
    printed(files, *given)
    document = html.document_fromstring((files / "escaped" / "report.html").read_text(encoding="utf-8"))
    assert expression in [code.text for code in document.iter("code")]


def test_pictures_are_drawn_of_the_mean_and_of_every_predicate(out: tuple[Path, Any]) -> None:
    directory, _ = out
    for path in ("lift.png", "reliability.png", "lift/sports.png", "lift/hockey.png"):
        assert (directory / path).read_bytes().startswith(b"\x89PNG")


def test_an_unknown_policy_is_refused_with_the_nearest_name(files: Path) -> None:
    text = complaint(files, *command("--policy", "linkage,breath-first", "--out", "new"))
    assert text.startswith("--policy 'breath-first': did you mean breadth-first? expected some of random, ")
    assert not (files / "new").exists()


def test_a_predicate_that_no_page_satisfies_is_named(files: Path) -> None:
    given = command("--policy", "random", "--predicate", 'none="word nobody wrote"', "--out", "none")
    text = complaint_after_progress(files, *given)
    assert text == 'predicate none: no page of the archive satisfies "word nobody wrote"; expected at least one'


def test_more_seeds_than_pages_are_refused(files: Path) -> None:
    text = complaint_after_progress(files, *command("--seeds", "5000", "--out", "many"))
    assert text.startswith("--seeds 5000: the archive has ")


def complaint_after_progress(files: Path, *arguments: str) -> str:
    """Return what a command says is wrong that found it out while it was at work."""
    run = scentline(files, *arguments)
    assert (run.returncode, run.stdout) == (2, "")
    return run.stderr.splitlines()[-1].removeprefix("scentline: error: ")


def test_files_that_no_evaluation_made_are_not_touched(files: Path) -> None:
    (files / "mine").mkdir()
    (files / "mine" / "thesis.txt").write_text("mine")
    assert complaint(files, *command("--out", "mine")).startswith(
        "--out mine: holds files that no evaluation made"
    )
    assert [path.name for path in (files / "mine").iterdir()] == ["thesis.txt"]


def test_an_earlier_evaluation_is_replaced_and_another_file_beside_it_kept(files: Path) -> None:
    printed(files, *command("--policy", "random,backlink", "--out", "again", budget=20))
    (files / "again" / "notes.txt").write_text("mine")
    printed(files, *command("--policy", "backlink", "--out", "again", budget=20))
    assert "None of these policies tells probabilities" in (files / "again" / "report.html").read_text("utf-8")
    assert (files / "again" / "notes.txt").read_text() == "mine"
    assert {path.name.split(".")[1] for path in (files / "again" / "orders").iterdir()} == {"backlink"}


def test_a_category_without_labels_is_refused_before_anything_is_read(files: Path) -> None:
    given = ["--archive", "pages.warc.gz", "--predicate", 'a=category("Sports")', "--out", "bare"]
    assert "give --labels TSV" in complaint(files, "evaluate", *given)


@each_case("option", ["--budget", "--starts", "--jobs", "--seeds"])
def test_numbers_have_to_be_positive(files: Path, option: str) -> None:
    run = scentline(files, *command("--out", "zero", option, "0"))
    assert run.returncode == 2
    assert option in run.stderr


def test_records_that_a_crawl_would_not_read_are_no_pages(tmp_path: Path) -> None:
    archive = write(
        tmp_path / "pages.warc.gz",
        page("http://a.example/b", b'<title>Tea</title><p>Pour <a href="/a">it</a>.'),
        page("http://a.example/a", b"<title>Coffee</title>"),
        page("http://a.example/hidden", b'<meta name="robots" content="noindex"><title>Tea</title>'),
        ("http://a.example/gone", "404 Not Found", [("Content-Type", "text/html")], b"<title>Tea</title>"),
        ("http://a.example/moved", "301 Moved", [("Location", "/b")], b""),
        ("http://a.example/tea.pdf", "200 OK", [("Content-Type", "application/pdf")], b"%PDF tea"),
    )
    predicates = {"tea": parse('title("tea")'), "poured": parse('"pour it"')}
    web = load_web([archive], predicates, None, Settings(), 2, Lines(io.StringIO()))
    assert list(web.pages) == ["http://a.example/a", "http://a.example/b"]
    assert web.hits == {"tea": {"http://a.example/b"}, "poured": {"http://a.example/b"}}
    assert web.left_out == 4
    kept = web.pages["http://a.example/b"]
    assert (kept.text, kept.words, kept.links[0].anchor) == ("", ("tea", "pour", "it"), ("it",))


def test_the_steps_of_a_log_are_its_accesses_with_pseudonyms(files: Path) -> None:
    steps = read_steps([str(files / "access.log.gz")], Settings().observe, Lines(io.StringIO()))
    assert 0 < len(steps) <= 300
    assert steps == read_steps([str(files / "access.log.gz")], Settings().observe, Lines(io.StringIO()))
    assert all(len(step.user) == 16 for step in steps)


def test_a_log_is_cut_at_the_middle_of_its_time_and_not_of_its_lines() -> None:
    steps = [Step("u", "a", float(time)) for time in (0, 1, 2, 3, 10)]
    first, second = halves(steps)
    assert ([step.time for step in first], [step.time for step in second]) == ([0, 1, 2, 3], [10])
    assert halves([]) == ([], [])


class Remembering(BreadthFirst):
    """A crawler that has learned which pages it fetched, and what an earlier one has."""

    def __init__(self, task: Task, earlier: tuple[str, ...] = ()) -> None:
        super().__init__(task)
        self.accesses = sum(task.trace.accesses.values())
        self.known = list(earlier)

    def judged(self, page: Page, holds: bool) -> None:
        super().judged(page, holds)
        self.known.append(page.url)

    def export_state(self) -> tuple[str, ...]:
        return tuple(self.known)


def test_reuse_hands_the_state_of_a_first_crawl_to_a_second_one() -> None:
    urls = [f"http://a.example/{number:02}" for number in range(40)]
    pages = {url: Page(url, links=tuple(Link(target) for target in urls)) for url in urls}
    heirs: list[Remembering] = []

    def heir(task: Task, state: tuple[str, ...]) -> Remembering:
        heirs.append(Remembering(task, state))
        return heirs[-1]

    evaluation = Evaluation(
        web=Web(pages, {"odd": frozenset(urls[1::2])}, 0),
        trace=Trace([]),
        first=Trace([Step("u", urls[0], 1.0)]),
        whole=None,
        less={},
        predicates={"odd": parse('"odd"')},
        policies=("remembering",),
        terms=Terms(15),
        starts=1,
        seeds=5,
        sources=urls,
        random_seed=1,
        makers={"remembering": lambda task, truth: Remembering(task)},
        heirs={"remembering": heir},
    )
    (job,) = evaluation.jobs()
    _, crawls = evaluation.run(job)
    fetched = {crawl.policy: [page.url for page in crawl.order] for crawl in crawls}
    name = "remembering"
    assert list(fetched) == [name, name + REUSE, name + NEW_ONLY, name + REUSE + NEW_ONLY]
    known = heirs[0].known[:15]
    assert known[:5] == evaluation.seeds_of(1, FIRST) != evaluation.seeds_of(1)
    assert [found.known[:15] for found in heirs] == [known, known]
    assert [found.accesses for found in heirs] == [0, 0]
    assert fetched[name][:5] == fetched[name + REUSE][:5] == evaluation.seeds_of(1)
    for policy in (name + NEW_ONLY, name + REUSE + NEW_ONLY):
        assert len(fetched[policy]) == 15
        assert set(fetched[policy]).isdisjoint(known)


WEBS = """
starts = 2
budget = 40
policies = ["breadth-first", "oracle", "linkage"]

[webs.one]
archives = ["pages.warc.gz"]
labels = "topics.tsv"
predicates = { sports = 'category("Sports")', hockey = 'category("Sports") and "hockey"' }

[webs.two]
archives = ["pages.warc.gz"]
seed_file = "seeds.txt"
seeds = 2
budget = 30
settings = { "frontier.host_budget" = 4 }
predicates = { hockey = '"hockey"' }
"""


@pytest.fixture(scope="module")
def webs(files: Path) -> tuple[Path, Any]:
    """Return the directory that an evaluation of two webs made, and the object that it printed."""
    (files / "webs.toml").write_text(WEBS)
    (files / "seeds.txt").write_text("".join(f"{url}\n" for url in SyntheticWeb(3, 6, 30, 4).seeds(5)))
    text = printed(files, "evaluate", "--webs", "webs.toml", "--out", "webs", "--jobs", "1", "--json")
    return files / "webs", last_line(text)


def test_each_web_has_its_own_evaluation_and_counts_alike_in_the_mean(webs: tuple[Path, Any]) -> None:
    directory, found = webs
    table = {(row["web"], row["policy"]): row for row in rows(directory / "webs.csv")}
    assert list(found["webs"]) == ["one", "two"]
    assert len(table) == 3 * 3
    for policy in ("breadth-first", "oracle", "linkage"):
        means = [found["webs"][name]["mean"][policy] for name in ("one", "two")]
        assert found["mean"][policy]["auc"] == pytest.approx(fmean(mean["auc"] for mean in means), abs=1e-5)
        assert set(found["mean"][policy]["harvest"]) == {"12", "30"}
        row = table["*", policy]
        assert float(row["auc"]) == found["mean"][policy]["auc"]
        assert float(row["auc_low"]) <= float(row["auc"]) <= float(row["auc_high"])
    assert (directory / "webs" / "two" / "report.html").is_file()
    pairs = {(row["figure"], row["policy"], row["other"]) for row in rows(directory / "comparisons.csv")}
    assert ("auc_by_request", "breadth-first", "linkage") in pairs or (
        "auc_by_request", "linkage", "breadth-first"
    ) in pairs  # fmt: skip


def test_a_web_of_the_file_has_its_own_settings_and_seeds(webs: tuple[Path, Any]) -> None:
    directory, _ = webs
    seeds = {row["url"] for row in rows(directory / "webs" / "two" / "seeds.csv")}
    assert seeds <= set(SyntheticWeb(3, 6, 30, 4).seeds(5))
    crawl = order(directory / "webs" / "two", "hockey", "breadth-first", 1)
    hosts = [urlsplit(row["url"]).netloc for row in crawl if row["page"] == "1"]
    assert max(map(hosts.count, hosts)) == 4
    assert len(order(directory / "webs" / "one", "hockey", "breadth-first", 1)) >= 40


def test_the_command_line_wins_over_the_file_of_webs(files: Path, webs: tuple[Path, Any]) -> None:
    text = printed(
        files, "evaluate", "--webs", "webs.toml", "--web", "one", "--budget", "20", "--starts", "1",
        "--policy", "random", "--out", "less", "--jobs", "1", "--json",
    )  # fmt: skip
    (results,) = last_line(text)["webs"].values()
    assert [(run["policy"], run["start"]) for run in results["results"]] == [("random", 1)] * 2
    assert set(results["results"][0]["harvest"]) == {"12"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("budget = 3", "expected at least one table [webs.NAME]"),
        ("webs = 3", "expected at least one table [webs.NAME]"),
        ("[webs.a", "expected TOML"),
        ("[webs.a]\narchives = ['x']", "webs.a.predicates: Field required"),
        ("[webs.a]\narchives = ['x']\npredicates = {}\nbugdet = 3", "webs.a.bugdet: Extra inputs"),
        ("[webs]\na = 3", "webs.a.archives: Field required"),
        ("[webs.'../a']\narchives = []\npredicates = {}", "String should match pattern"),
    ],
)
def test_what_is_no_file_of_webs_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "webs.toml").write_text(text)
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        read_webs(tmp_path / "webs.toml")


def test_a_web_that_the_file_has_not_is_refused(tmp_path: Path) -> None:
    (tmp_path / "webs.toml").write_text(WEBS)
    assert list(read_webs(tmp_path / "webs.toml", ["two"])) == ["two"]
    with pytest.raises(ConfigurationError, match=r"--web three: .* has one, two"):
        read_webs(tmp_path / "webs.toml", ["three"])


def test_the_webs_behind_the_documented_figures_are_webs() -> None:
    webs = read_webs(Path(__file__).parents[3] / "docs" / "evaluation.toml")
    assert {"wikispeedia", "webkb", "docs"} <= set(webs)
    assert all(parse(text) for web in webs.values() for text in web.predicates.values())


@each_case("given", [[], ["--webs", "webs.toml", "--archive", "pages.warc.gz"]])
def test_either_an_archive_or_a_file_of_webs_is_given(files: Path, given: list[str]) -> None:
    assert "--webs" in complaint(files, "evaluate", "--out", "neither", *given)


def test_seeds_are_drawn_from_a_file_of_urls(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("http://B.example/\nhttp://a.example/x#y\nhttp://b.example/\n")
    assert read_seeds(tmp_path / "seeds.txt") == ("http://b.example/", "http://a.example/x")
    (tmp_path / "seeds.txt").write_text("http://b.example/\nmailto:x\n")
    with pytest.raises(ConfigurationError, match="URL 2"):
        read_seeds(tmp_path / "seeds.txt")


def test_settings_of_the_policies_and_of_the_log_are_honoured(files: Path) -> None:
    bounds = {"visitors": 1, "together": 2, "host_budget": 3, "window_max": 4, "rescored": 6, "parents": 7}
    learn = {"t": 3.0, "significance": "paper", "weights": (0, 0, 1, 0)}
    settings = Settings.model_validate({"frontier": bounds, "learn": learn, "browse": {"reach": 1}})
    options = Options((files / "pages.warc.gz",), (str(files / "access.log.gz"),), ("combined-printed",), 20)
    made = prepare(settings, options, {"all": parse('url("/")')}, {}, {}, Lines(io.StringIO()))
    assert made.terms == Terms(20, 0, 3, 0.05, 4)
    assert measures_of(settings) == Measures(3.0, "paper", (0, 0, 1, 0), 7, 6)
    assert made.whole is not None
    assert {len(users) for users in made.trace.visitors.values()} == {1}
    assert max(len(users) for users in made.whole.visitors.values()) > 1
    assert max(map(len, made.trace.together.values())) == 2 < max(map(len, made.whole.together.values()))


@each_case("text", ["frontier.threshold=0", "frontier.ordering=pagerank"])
def test_a_setting_that_would_be_passed_over_is_refused(files: Path, text: str) -> None:
    key = text.partition("=")[0]
    assert complaint(files, *command("--out", "refused", "--set", text)).startswith(f"{key} is ")


def test_the_paper_as_printed_runs_where_it_is_named(files: Path) -> None:
    given = command("--policy", "linkage-printed,combined-printed,linkage", "--json", "--out", "printed")
    found = last_line(printed(files, *given))["mean"]
    assert list(found) == ["linkage", "linkage-printed", "combined-printed"]
    assert len({figures["auc"] for figures in found.values()}) == 3


def test_the_learned_policy_runs_with_what_it_was_tried_with_where_that_is_named(files: Path) -> None:
    given = command("--policy", "learned,learned+significance,learned+visits", "--json", "--out", "tried")
    found = last_line(printed(files, *given))["mean"]
    assert len({figures["auc"] for figures in found.values()}) == len(found) == 3 + len((NO_LOG, NO_USERS))


def test_reuse_without_a_policy_that_can_is_refused(files: Path) -> None:
    text = complaint(files, *command("--reuse", "--policy", "random", "--out", "reuse"))
    assert text.startswith("--reuse: none of the policies can reuse a crawl's state")


def test_reuse_takes_one_log_or_two(files: Path) -> None:
    logs = ["--log", "access.log.gz"] * 2
    text = complaint(files, *command("--reuse", *logs, "--out", "reuse"))
    assert text == "--reuse: got 3 logs, expected two, or one to split"


def test_spread_work_gives_every_result_once() -> None:
    assert sorted(spread(lambda task: task * task, range(50), 3)) == [number**2 for number in range(50)]
    assert list(spread(abs, [], 2)) == []


def test_an_error_in_a_worker_is_raised_and_ends_the_others() -> None:
    with pytest.raises(ZeroDivisionError):
        list(spread(lambda task: 1 // task, [1, 0, 1], 2))


def test_a_worker_that_dies_is_an_error_and_no_endless_wait() -> None:
    with pytest.raises(WorkerError, match="ended with status -9"):
        list(spread(lambda task: os.kill(os.getpid(), signal.SIGKILL), [1], 1))


@TOLD_TO_END
def test_an_interrupted_one_leaves_the_finished_crawls(
    files: Path, program: tuple[str, ...], number: int
) -> None:
    out = f"told-{number:d}"
    given = command("--policy", "linkage", "--starts", "500", "--out", out, "--jobs", "2")
    orders = files / out / "orders"
    with running(files, *given, program=program) as process:
        wait_until(lambda: orders.is_dir() and any(orders.iterdir()), process)
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    finished = len(list(orders.iterdir()))
    assert errors.splitlines()[-1] == (
        f"Interrupted: {out}/orders has the orders of the {finished} crawls that finished."
    )
    assert "Traceback" not in errors
    assert not (files / out / "report.html").exists()
