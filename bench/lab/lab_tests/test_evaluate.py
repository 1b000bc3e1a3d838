"""The evaluate command: virtual crawls of an archive, the same whatever the number of processes."""

import signal
from pathlib import Path
from statistics import fmean
from typing import Any
from urllib.parse import urlsplit

import pytest
from lxml import html

from lab_tests.files import PNG, quiet, rows, small_web
from scentline.models.predicate import parse
from scentline.streams.settings import Settings
from scentline_lab.evaluate.run import NO_LOG, NO_USERS, Options, order_name, prepare, read_steps
from scentline_lab.simulation.policies import policies
from scentline_lab.simulation.virtual import Terms
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import last_line, printed, running, wait_until
from tests.patience import PATIENCE

PREDICATES = {"sports": 'category("Sports")', "hockey": 'category("Sports") and "hockey"'}
POLICY = "linkage,breadth-first,learned,oracle"
BUDGET = 120
LESS = tuple(f"learned{less}" for less in (NO_LOG, NO_USERS))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a small web: its archive, log, labels and seeds."""
    directory = tmp_path_factory.mktemp("web")
    small_web(directory)
    return directory


def command(*arguments: str, budget: int = BUDGET) -> list[str]:
    predicates = [part for item in PREDICATES.items() for part in ("--predicate", "=".join(item))]
    return [
        "evaluate", "--archive", "pages.warc.gz", "--log", "access.log.gz", "--labels", "topics.tsv.gz",
        *predicates, "--budget", str(budget), "--starts", "2", "--random-seed", "7", *arguments,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def out(files: Path) -> tuple[Path, Any]:
    """Return the directory that an evaluation made, and the object that it printed."""
    text = printed(files, *command("--policy", POLICY, "--out", "out", "--jobs", "2", "--json"))
    return files / "out", last_line(text)


def order(directory: Path, predicate: str, policy: str, start: int) -> list[dict[str, str]]:
    return rows(directory / f"{order_name(predicate, policy, start)}.csv")


def hosts(crawl: list[dict[str, str]], column: str) -> list[str]:
    return [urlsplit(row["url"]).netloc for row in crawl if row[column] == "1"]


def test_every_file_is_the_same_whatever_the_number_of_processes(files: Path, out: tuple[Path, Any]) -> None:
    directory, found = out
    text = printed(files, *command("--policy", POLICY, "--out", "alone", "--jobs", "1", "--json"))
    assert last_line(text) == found
    paths = [path.relative_to(directory) for path in sorted(directory.rglob("*")) if path.is_file()]
    assert len(paths) > 15
    alone = files / "alone"
    assert [path for path in paths if (directory / path).read_bytes() != (alone / path).read_bytes()] == []


def test_the_figures_are_those_of_the_orders_which_begin_with_the_seeds(out: tuple[Path, Any]) -> None:
    directory, found = out
    asked = [*sorted(POLICY.split(","), key=list(policies(Settings())).index), *LESS]
    expected = [(name, policy, start) for name in PREDICATES for policy in asked for start in (1, 2)]
    assert sorted((run["predicate"], run["policy"], run["start"]) for run in found["results"]) == sorted(
        expected
    )
    seeds: dict[int, list[str]] = {1: [], 2: []}
    for row in rows(directory / "seeds.csv"):
        seeds[int(row["start"])].append(row["url"])
    assert len(set(seeds[1])) == 10
    assert seeds[1] != seeds[2]
    for run in found["results"]:
        crawl = order(directory, run["predicate"], run["policy"], run["start"])
        assert [int(row["n"]) for row in crawl] == list(range(1, len(crawl) + 1))
        assert len({row["url"] for row in crawl}) == len(crawl)
        assert [row["url"] for row in crawl[:10]] == seeds[run["start"]]
        pages = [row for row in crawl if row["page"] == "1"]
        assert len(pages) <= BUDGET
        assert run["requests_a_page"] == pytest.approx(len(crawl) / len(pages), abs=1e-5)
        for by, requests in (("", pages), ("_by_request", crawl)):
            hits = [int(row["hit"]) for row in requests] + [0] * BUDGET
            rates = [sum(hits[:n]) / n for n in range(1, BUDGET + 1)]
            assert set(run[f"harvest{by}"]) == {"12", "30", "100"}
            assert run[f"harvest{by}"]["100"] == pytest.approx(rates[99], abs=1e-5)
            assert run[f"auc{by}"] == pytest.approx(fmean(rates), abs=1e-5)
        assert run["sites"]["100"] == len({*hosts(pages[:100], "hit")})
        assert (run["brier"] is None) == (not run["policy"].startswith("learned"))
    for policy, mean in found["mean"].items():
        own = [run["auc"] for run in found["results"] if run["policy"] == policy]
        assert mean["auc"] == pytest.approx(fmean(own), abs=1e-5)
    assert found["mean"]["oracle"]["auc_of_oracle"] == 1


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


def test_the_tables_say_what_the_json_says(out: tuple[Path, Any]) -> None:
    directory, found = out
    table = {(row["predicate"], row["policy"]): row for row in rows(directory / "table.csv")}
    assert len(table) == 3 * 6
    for policy, mean in found["mean"].items():
        told = table["*", policy]["auc"], table["*", policy]["harvest_100"]
        assert tuple(map(float, told)) == (mean["auc"], mean["harvest"]["100"])
    crawls = rows(directory / "results.csv")
    assert [float(row["auc"]) for row in crawls] == [run["auc"] for run in found["results"]]
    curves = {(row["predicate"], row["policy"], row["pages"]): row for row in rows(directory / "curves.csv")}
    assert float(curves["*", "linkage", "100"]["harvest"]) == found["mean"]["linkage"]["harvest"]["100"]
    area = {policy: mean["auc"] for policy, mean in found["mean"].items()}
    assert area["breadth-first"] < area["linkage"] < area["oracle"]
    assert found["mean"]["breadth-first"]["requests_a_page"] > 1, "dead links cost requests"
    pairs = {(row["policy"], row["other"]): row for row in rows(directory / "comparisons.csv")}
    for policy in ("linkage", "breadth-first", "oracle", *LESS):
        row = pairs["learned", policy]
        assert float(row["difference"]) == pytest.approx(area["learned"] - area[policy], abs=1e-5)
        assert float(row["low"]) <= float(row["difference"]) <= float(row["high"])
        assert (row["predicates"], row["runs"]) == ("2", "4")


def test_without_a_log_there_is_nothing_less_to_compare(files: Path, out: tuple[Path, Any]) -> None:
    # Where there is no log, both would be the policy itself.
    alone = [word for word in command("--policy", "learned") if word not in ("--log", "access.log.gz")]
    found = last_line(printed(files, *alone, "--out", "no-log", "--json"))
    assert list(found["mean"]) == ["learned"]
    for start in (1, 2):
        without = order(files / "no-log", "hockey", "learned", start)
        assert order(out[0], "hockey", LESS[0], start) == without


def test_the_report_is_one_page_that_asks_for_nothing_else(out: tuple[Path, Any]) -> None:
    directory, _ = out
    text = (directory / "report.html").read_text(encoding="utf-8")
    document = html.document_fromstring(text)
    assert document.findtext(".//title") == "Scentline: evaluation"
    assert "without log or users" in text
    elements = [element for element in document.iter() if isinstance(element.tag, str)]
    assert {element.tag for element in elements}.isdisjoint({"script", "link", "iframe", "object", "base"})
    assert not [name for element in elements for name in element.attrib if str(name).startswith("on")]
    for path in ("lift.png", "reliability.png", "lift/sports.png", "lift/hockey.png"):
        assert (directory / path).read_bytes().startswith(PNG)
    pictures = [element.get("src", "") for element in document.iter("img")]
    assert len(pictures) == 2 + len(PREDICATES)
    assert all(source.startswith("data:image/png;base64,") for source in pictures)
    targets = {element.get("href", "") for element in document.iter("a")}
    assert {f"#p-{name}" for name in PREDICATES} < targets
    assert targets <= {f"#{element.get('id')}" for element in elements}
    styles = [element.text for element in document.iter("style")]
    assert "url(" not in "".join(style or "" for style in (*styles, *(each.get("style") for each in elements)))


def test_an_expression_is_escaped_and_a_policy_without_probabilities_has_no_diagram(files: Path) -> None:
    expression = 'url("(?P<b>html|/)$|^")'
    given = "--policy", "random", "--out", "again", "--predicate", f"all={expression}"
    printed(files, *command(*given, budget=20))
    text = (files / "again" / "report.html").read_text(encoding="utf-8")
    assert expression in [code.text for code in html.document_fromstring(text).iter("code")]
    assert "None of these policies gives probabilities" in text


WEBS = """
starts = 2
budget = 40
policies = ["breadth-first", "oracle", "linkage"]

[webs.one]
archives = ["pages.warc.gz"]
labels = "topics.tsv.gz"
predicates = { sports = 'category("Sports")', hockey = 'category("Sports") and "hockey"' }

[webs.two]
archives = ["pages.warc.gz"]
seed_file = "seeds.txt"
seeds = 2
budget = 30
settings = { "frontier.host_budget" = 4 }
predicates = { hockey = '"hockey"' }
"""


def test_each_web_of_a_file_has_its_own_evaluation_settings_and_seeds_and_counts_alike(files: Path) -> None:
    (files / "webs.toml").write_text(WEBS)
    text = printed(files, "evaluate", "--webs", "webs.toml", "--out", "webs", "--jobs", "1", "--json")
    directory, found = files / "webs", last_line(text)
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
    pairs = {
        (row["figure"], *sorted((row["policy"], row["other"]))) for row in rows(directory / "comparisons.csv")
    }
    assert ("auc_by_request", "breadth-first", "linkage") in pairs
    two = directory / "webs" / "two"
    assert (two / "report.html").is_file()
    assert {row["url"] for row in rows(two / "seeds.csv")} <= set(SyntheticWeb(3, 6, 30, 4).seeds(200))
    own = hosts(order(two, "hockey", "breadth-first", 1), "page")
    assert max(map(own.count, own)) == 4
    # Policies out of contest are those that are named, and the command line wins.
    printed_ones = ["linkage", "linkage-printed", "combined-printed"]
    named = [*printed_ones, "learned", "learned+significance", "learned+visits"]
    text = printed(
        files, "evaluate", "--webs", "webs.toml", "--web", "one", "--budget", "100", "--starts", "1",
        "--policy", ",".join(named), "--out", "less", "--jobs", "1", "--json",
    )  # fmt: skip
    (results,) = last_line(text)["webs"].values()
    assert {(run["policy"], run["start"]) for run in results["results"]} == {(name, 1) for name in named}
    assert set(results["results"][0]["harvest"]) == {"12", "30", "100"}
    assert len({results["mean"][name]["auc"] for name in printed_ones}) == 3


def test_settings_of_crawls_and_of_the_log_are_honoured(files: Path) -> None:
    bounds = {"visitors": 1, "together": 2, "host_budget": 3, "window_max": 4}
    settings = Settings.model_validate({"frontier": bounds, "browse": {"reach": 1}})
    archives, logs = (files / "pages.warc.gz",), (str(files / "access.log.gz"),)
    options = Options(archives=archives, logs=logs, policies=("combined-printed",), budget=20)
    assert {len(step.user) for step in read_steps(logs, settings.observe, quiet())} == {16}, "pseudonyms"
    made = prepare(settings, options, {"all": parse('url("/")')}, {}, quiet())
    assert made.terms == Terms(20, 3, 0.05, 4)
    assert made.whole is not None
    assert {len(users) for users in made.trace.visitors.values()} == {1}
    assert max(len(users) for users in made.whole.visitors.values()) > 1
    assert max(map(len, made.trace.together.values())) == 2 < max(map(len, made.whole.together.values()))


def test_an_interrupted_one_leaves_the_finished_crawls(files: Path) -> None:
    orders = files / "told" / "orders"
    given = command("--policy", "linkage", "--starts", "500", "--out", "told", "--jobs", "2")
    with running(files, *given) as process:
        wait_until(lambda: orders.is_dir() and any(orders.iterdir()), process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    finished = len(list(orders.iterdir()))
    said = f"Interrupted: told/orders has the orders of the {finished} crawls that finished."
    assert errors.splitlines()[-1] == said
    assert "Traceback" not in errors
    assert not (files / "told" / "report.html").exists()
