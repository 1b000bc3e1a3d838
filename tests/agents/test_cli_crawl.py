"""The commands around a crawl: crawling, reading what it left, feeding, auditing, and what goes wrong."""

import json
import math
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec
import pytest

from scentline.agents.frontier.candidates import Candidates
from scentline.agents.frontier.estimates import Estimates
from scentline.agents.frontier.keys import HOST_PREFIX, PAGE_PREFIX
from scentline.agents.frontier.ledger import FrontierLedger
from scentline.agents.frontier.priorities import LinkPromises
from scentline.agents.frontier.rows import FrontierRow, HostRow, PageRow
from scentline.agents.operate.inspect.explain import Counting, Part, explain
from scentline.agents.operate.inspect.record import entries, outcomes
from scentline.agents.operate.inspect.teaching import Taught, frontier_shard
from scentline.models.learner.inputs import MOST
from scentline.models.learner.plain import PLAIN
from scentline.models.verdict import FAILED
from scentline.streams.published import Outcome
from scentline.streams.records import Decoder, Interests
from scentline.streams.settings import Settings
from scentline.streams.topics import INTERESTS
from scentline.streams.transport.database import JournalMissingError
from scentline.streams.transport.journal import Journal, UnknownTopicError
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import (
    IN_BACKGROUND,
    TOLD_TO_END,
    complaint,
    last_line,
    printed,
    running,
    scentline,
    wait_until,
)
from tests.agents.loopback import USER_AGENT
from tests.agents.shards import put, rows_of, table
from tests.patience import PATIENCE

BUDGET = 60
SIZE = (7, 6, 40, 4)  # seed, sites, pages a site, topics
PREDICATES = (
    "--predicate", 'sports=category("Sports")',
    "--predicate", 'hockey=category("Sports") and "hockey"',
)  # fmt: skip


class Crawl(NamedTuple):
    """A finished crawl: where it was run, with which variables, what it printed."""

    cwd: Path
    variables: dict[str, str]
    out: str
    err: str
    command: tuple[str, ...]

    def read(self, *arguments: str) -> str:
        return printed(self.cwd, *arguments, "--data", "data")

    def outcomes(self) -> list[Outcome]:
        return outcomes_of(self.cwd / "data")

    def pages(self) -> list[PageRow]:
        return pages_of(self.cwd / "data")


def outcomes_of(data: Path) -> list[Outcome]:
    with Journal.open(data / "journal", read_only=True) as journal:
        return list(outcomes(journal))


def pages_of(data: Path) -> list[PageRow]:
    decode = msgspec.msgpack.Decoder(FrontierRow).decode
    rows = (decode(raw) for _, raw in rows_of(data, "frontier", PAGE_PREFIX))
    return [row for row in rows if isinstance(row, PageRow)]


def judged_so_far(data: Path) -> int:
    try:
        return len(outcomes_of(data))
    except (JournalMissingError, UnknownTopicError):
        return 0


@pytest.fixture(scope="module")
def web() -> SyntheticWeb:
    return SyntheticWeb(*SIZE)


@pytest.fixture(scope="module")
def variables() -> Iterator[dict[str, str]]:
    with synthetic_server(*SIZE) as server:
        yield {"SCENTLINE_FETCH__PROXY": server.url, "SCENTLINE_FETCH__DELAY_SECONDS": "0"}


@pytest.fixture(scope="module")
def files(web: SyntheticWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("files")
    (directory / "access.log").write_text("".join(f"{line}\n" for line in web.access_log(5, 200)))
    (directory / "labels.tsv").write_text("".join(f"{url}\t{name}\n" for url, name in web.labels()))
    return directory


@pytest.fixture(scope="module")
def crawl(variables: dict[str, str], files: Path) -> Crawl:
    command = (
        "crawl", "--log", "access.log", "--labels", "labels.tsv", *PREDICATES, "--data", "data",
        "--budget", str(BUDGET), "--set", "frontier.explore=0.2", "--set", "learn.semantic=", "--json",
    )  # fmt: skip
    run = scentline(files, *command, **variables)
    assert run.returncode == 0, run.stderr
    return Crawl(files, variables, run.stdout, run.stderr, command)


def test_a_crawl_ends_with_its_figures_as_json(crawl: Crawl) -> None:
    assert crawl.out.count("\n") == 1
    summary = last_line(crawl.out)
    assert list(summary) == [
        "ended", "fetched", "requests", "failed", "refused", "refused_seeds", "seconds", "pages_per_second",
        "policy", "candidates", "predicates",
    ]  # fmt: skip
    assert summary["fetched"] == len(crawl.outcomes()) >= BUDGET
    assert summary["requests"] == sum(row.requests for row in crawl.pages()) >= summary["fetched"]
    assert summary["policy"] == "learned"
    assert summary["candidates"] == sum(row.state in ("candidate", "leased") for row in crawl.pages())
    assert set(summary["predicates"]) == {"sports", "hockey"}
    for name, figures in summary["predicates"].items():
        of_request = ["hits_per_request", "hits_per_minute", "lift"]
        assert list(figures) == ["hits", "judged", "harvest_rate", *of_request]
        assert figures["hits"] == sum(outcome.verdict[name] for outcome in crawl.outcomes())
        assert figures["judged"] == summary["fetched"]
        assert figures["harvest_rate"] == pytest.approx(figures["hits"] / figures["judged"], abs=1e-4)
    # Without seeds it starts at pages of the log.
    seeds, log = [row.url for row in crawl.pages() if row.seed], (crawl.cwd / "access.log").read_text()
    assert len(seeds) == 10 and all(f"GET {url} " in log for url in seeds)


def test_a_crawl_in_a_pipe_says_where_it_stands_in_plain_lines(crawl: Crawl) -> None:
    *_, end, head, one, other = crawl.err.splitlines()
    summary = last_line(crawl.out)
    assert re.match(r"The crawl ended after \d+:\d\d: the budget of \d+ pages is spent\. ", end), end
    assert f" {summary['fetched']} pages of {summary['requests']} requests, " in end
    assert summary["ended"] in end
    assert head.split()[:3] == ["predicate", "hits", "judged"]
    for line, (name, figures) in zip((one, other), summary["predicates"].items(), strict=True):
        assert line.split()[:3] == [name, str(figures["hits"]), str(figures["judged"])]
    running = [line for line in crawl.err.splitlines() if re.match(r"\d+:\d\d  ", line)]
    assert running and all(len(line) <= 100 for line in running)
    assert "\x1b" not in crawl.err


def test_the_same_command_goes_on_without_seeds_and_does_no_more_than_the_budget(
    crawl: Crawl, tmp_path: Path
) -> None:
    shutil.copytree(crawl.cwd, tmp_path, dirs_exist_ok=True)
    before = len(outcomes_of(tmp_path / "data"))
    again = printed(tmp_path, *crawl.command, **crawl.variables)
    assert last_line(again)["fetched"] == len(outcomes_of(tmp_path / "data")) == before
    given = ("crawl", "--data", "data", "--labels", "labels.tsv", "--set", "learn.semantic=")
    spaced = (*given, "--predicate", "sports = category('Sports')", "--budget", str(BUDGET))
    assert f"the budget of {BUDGET} pages is spent" in scentline(tmp_path, *spaced, **crawl.variables).stderr


def test_a_crawl_that_gets_no_page_says_so_and_names_the_seed(tmp_path: Path) -> None:
    given = ("--seed", "http://nowhere.invalid/", "--predicate", 'a="word"', "--time", "3s", "--json")
    run = scentline(tmp_path, "crawl", *given, "--set", f"fetch.user_agent={USER_AGENT}")
    assert run.returncode == 1
    assert "a seed could not be fetched" in run.stderr
    assert "url=http://nowhere.invalid/ reason=dns" in run.stderr
    assert last_line(run.stdout)["fetched"] == 0


def test_a_crawl_that_was_refused_a_seed_says_so_in_its_status(
    web: SyntheticWeb, variables: dict[str, str], tmp_path: Path
) -> None:
    [seed], denied = web.seeds(1), "http://denied.test/"
    given = ("--seed", seed, "--seed", denied, "--set", "fetch.deny=denied.test", "--budget", "10", "--json")
    run = scentline(tmp_path, "crawl", *given, "--predicate", 'a="word"', **variables)
    assert run.returncode == 1
    summary = last_line(run.stdout)
    assert (summary["fetched"], summary["refused_seeds"]) == (10, [denied])
    assert " refused, 1 of them seeds.\n" in run.stderr


def test_harvest_prints_the_newest_point_of_each_predicate(crawl: Crawl) -> None:
    lines = [line.split("\t") for line in crawl.read("harvest").splitlines()]
    head = ["predicate", "pages", "hits", "harvest rate", "lately", "lift (95 %)", "requests", "a request"]
    head += ["current", "age", "revisits"]
    assert lines[0] == head
    made = last_line(crawl.out)["requests"]
    assert all(BUDGET <= int(line[head.index("requests")]) <= made for line in lines[1:])
    summary = last_line(crawl.out)["predicates"]
    found = {name: (int(pages), int(hits)) for name, pages, hits, *_ in lines[1:]}
    assert found == {name: (figures["judged"], figures["hits"]) for name, figures in summary.items()}
    points = [json.loads(line) for line in crawl.read("harvest", "--json").splitlines()]
    for name in ("sports", "hockey"):
        pages = [point["pages"] for point in points if point["predicate"] == name]
        assert pages == sorted(pages) and pages[-1] == summary[name]["judged"]


def test_matches_are_the_pages_that_satisfy_the_predicate(crawl: Crawl) -> None:
    lines = [json.loads(line) for line in crawl.read("matches", "hockey", "--format", "jsonl").splitlines()]
    assert {line["url"] for line in lines} == {row.url for row in crawl.outcomes() if row.verdict["hockey"]}
    assert [line["time"] for line in lines] == sorted(line["time"] for line in lines)
    assert set(lines[0]) == {"url", "title", "time", "depth"}


def test_refused_names_what_brought_no_page_and_why(crawl: Crawl) -> None:
    rows = [row for row in crawl.pages() if row.state in ("refused", "gone", "given up")]
    assert rows
    counts = dict(line.split("\t") for line in crawl.read("refused").splitlines()[1:])
    assert sum(map(int, counts.values())) == len(rows)
    found = [json.loads(line) for line in crawl.read("refused", "--format", "jsonl").splitlines()]
    assert {(each["url"], each["state"], each["reason"]) for each in found} == {
        (row.url, row.state, row.reason) for row in rows
    }
    cause = found[0]["cause"]
    lines = crawl.read("refused", "--reason", cause.upper(), "--format", "csv").splitlines()
    assert [lines[0], len(lines) - 1] == ["url,state,cause,reason", int(counts[cause])]


def test_explain_says_why_a_page_was_fetched(crawl: Crawl) -> None:
    page = next(row for row in reversed(crawl.outcomes()) if row.depth > 0 and not row.explored)
    text = crawl.read("explain", page.url)
    known: dict[str, Any] = json.loads(crawl.read("explain", page.url, "--json", "--features", "99"))
    assert (known["url"], known["state"], known["verdict"]) == (page.url, "judged", page.verdict)
    choice, parts = known["choice"], known["choice"]["parts"]
    assert (choice["predicate"], choice["expected"]) == (page.predicate, page.expected)
    assert parts and sum(parts.values()) <= 1 + 1e-9
    assert 0 < choice["comes"] < 1 and 0 < known["comes"] < 1
    assert set(known["inputs"]) == {"sports", "hockey", FAILED}
    assert known["named"]["sports"] == 0, "it asks for no word"
    inputs = known["inputs"]["sports"]
    effects = [abs(part["value"] * part["weight"]) for part in inputs]
    assert effects == sorted(effects, reverse=True)
    of_log = sum(part["adds"] for part in inputs if PLAIN[part["name"]].source == "users")
    worth = f"sports {of_log:+.2f} of {sum(part['adds'] for part in inputs):+.2f}"
    [word, *_] = known["words"]["sports"]
    worths = sorted(((part, name) for name, part in parts.items()), key=lambda each: -each[0])
    shown = [
        f"{page.url}\nstate: judged\n", f"fetched for {page.predicate} by policy learned",
        "\na page comes with probability 0.", f"\n{page.predicate}: a hit with probability 0.",
        "worth for " + ", ".join(f"{name} {part:.0%}" for part, name in worths),
        f"\n{known['linking'][0]['url']}\t",
        f"\n{word['word']}\t{word['where']}\t{word['pages']}\t{word['hits']}\t",
    ]  # fmt: skip
    assert [each for each in shown if each not in text] == []
    assert ("; put forward by" in text) == bool(known["named"]["hockey"])
    assert (f"what the log adds: {worth}" in text or f", {worth}" in text) == (known["visits"] > 0)


def as_scored(settings: Settings, journal: Journal) -> tuple[Candidates, Taught]:
    """Return the candidates as a frontier has them that has heard all that was told, and who is taught it."""
    estimates = Estimates(settings, lambda: None)
    candidates = Candidates(settings, estimates.scorer, Random(1))
    taught = Taught(journal, settings)
    for name, predicate in taught.predicates.items():
        candidates.add_predicate(name, predicate.topic, predicate.phrases)
    ledger, decode = FrontierLedger(settings.frontier.features, estimates.scorer), Decoder[Interests](Interests)
    for partition in range(journal.partitions(INTERESTS.name)):
        for entry in entries(journal, INTERESTS.name, partition):
            ledger.hear(decode(entry.value or b""))
    shard = frontier_shard(journal, 0)
    candidates.priorities.promises = promises = LinkPromises()
    promises.open(shard)
    candidates.open(shard, 1, math.inf)
    while candidates.opening:
        candidates.take_up(math.inf)
    return candidates, taught


def check_explained(data: Path, policy: str, apart: float) -> None:
    settings = Settings.model_validate(
        {"data": data, "frontier": {"policy": policy}, "learn": {"semantic": ""}}
    )
    with Journal.open(data / "journal", read_only=True) as journal:
        candidates, taught = as_scored(settings, journal)
        urls = sorted(set().union(*candidates.queues.values()))
        assert len(urls) > 50
        for url in urls:
            found = explain(journal, settings, url, lambda: taught)
            assert found is not None
            assert found.priorities == pytest.approx(candidates.priorities_of(url), abs=apart)
            for name in found.words.keys() - found.row.inputs.keys():  # one that was put off keeps its inputs
                check_words(found.inputs[name], found.words[name])


def check_words(inputs: list[Part], words: list[Counting]) -> None:
    """Check that words add what the inputs do that are made of them, where these are within their bounds."""
    if all(abs(part.value) < MOST for part in inputs):
        of_words = [part.adds for part in inputs if "words" in part.name or part.name == "parent page"]
        assert sum(word.adds for word in words) == pytest.approx(sum(of_words), abs=1e-4)


def test_the_explained_priority_is_the_one_in_the_queue(crawl: Crawl) -> None:
    candidate = next(row for row in crawl.pages() if row.state == "candidate")
    text = crawl.read("explain", candidate.url)
    assert "state: candidate\n" in text and "not fetched: others had a higher priority" in text
    # What words weigh may lag behind there, by 2 % of the base rate.
    check_explained(crawl.cwd / "data", "learned", apart=0.3)


def test_explain_names_the_features_that_a_policy_of_the_paper_goes_by(crawl: Crawl, tmp_path: Path) -> None:
    for name in ("access.log", "labels.tsv"):
        shutil.copy(crawl.cwd / name, tmp_path)
    printed(tmp_path, *crawl.command, "--policy", "combined", **crawl.variables)
    page = next(row for row in reversed(outcomes_of(tmp_path / "data")) if not row.explored)
    known = json.loads(printed(tmp_path, "explain", page.url, "--data", "data", "--json"))
    assert set(known["features"]) == {"sports", "hockey"}
    assert known["features"]["sports"]
    assert all(0 <= entry["hits"] <= entry["pages"] for entry in known["features"]["sports"])
    check_explained(tmp_path / "data", "combined", apart=0.3)


def test_the_audit_of_a_crawl_is_clean_and_finds_a_planted_difference(crawl: Crawl, tmp_path: Path) -> None:
    report = last_line(crawl.read("audit", "--json"))
    assert report["rows"] > report["judged"] == len(crawl.outcomes())
    assert [report[name] for name in ("judged_twice", "lost", "differences")] == [0, 0, 0]
    shutil.copytree(crawl.cwd / "data", tmp_path / "data")
    with table(tmp_path / "data", "frontier", read_only=False) as [part]:
        key, raw = next(part.scan(HOST_PREFIX))
        row = msgspec.msgpack.decode(raw, type=FrontierRow)
        assert isinstance(row, HostRow)
        row.judged += 1
        put(part, {key: msgspec.msgpack.encode(row)})
    run = scentline(tmp_path, "audit", "--data", "data", "--json")
    assert run.returncode == 1
    report = last_line(run.stdout)
    assert (report["differences"], report["lost"], report["judged_twice"]) == (1, 0, 0)
    host = key.removeprefix(HOST_PREFIX).decode()
    assert run.stderr == f"host {host}: the state has {row.judged}, the recount {row.judged - 1}\n"


def test_the_audit_tells_of_messages_that_wait_until_the_crawl_goes_on(crawl: Crawl, tmp_path: Path) -> None:
    shutil.copytree(crawl.cwd / "data", tmp_path / "data")
    shutil.copy(crawl.cwd / "labels.tsv", tmp_path)
    (tmp_path / "access.log").write_text("\n".join(SyntheticWeb(*SIZE).access_log(9, 300)) + "\n")
    printed(tmp_path, "feed", "access.log", "--data", "data", **crawl.variables)
    run = scentline(tmp_path, "audit", "--data", "data", "--json")
    assert run.returncode == 1
    report = last_line(run.stdout)
    assert report["behind"] > 0
    assert run.stderr.startswith(f"nothing was compared: {report['behind']:,} messages are not absorbed yet; ")
    assert run.stderr.count("\n") == 1
    printed(tmp_path, *crawl.command, **crawl.variables)
    report = last_line(printed(tmp_path, "audit", "--data", "data", "--json"))
    assert [report[name] for name in ("behind", "judged_twice", "lost", "differences")] == [0, 0, 0, 0]


def test_the_figures_of_feed_add_up_to_the_lines(tmp_path: Path, web: SyntheticWeb) -> None:
    lines = [*web.access_log(3, 50), "damaged", "\x00\x01 not a line either"]
    (tmp_path / "access.log").write_text("".join(f"{line}\n" for line in lines))
    fed = last_line(printed(tmp_path, "feed", "access.log", "--json"))
    assert set(fed) == {"accepted", "filtered", "malformed"}
    assert fed["accepted"] + sum(fed["filtered"].values()) + fed["malformed"] == len(lines)
    assert fed["malformed"] >= 2
    letters = printed(tmp_path, "dead-letters", "--json").splitlines()
    assert len(letters) == fed["malformed"]
    assert json.loads(letters[-1])["offset"] == len(lines)


#: Each host is asked about three times a second: slow enough to be interrupted on the way.
SLOW = {"SCENTLINE_FETCH__DELAY_SECONDS": "0.3"}


@TOLD_TO_END
def test_a_crawl_that_is_told_to_end_prints_its_figures_and_the_same_command_goes_on(
    crawl: Crawl, program: tuple[str, ...], number: int
) -> None:
    called = f"told-{number:d}"
    given = (*crawl.command, "--data", called)
    data = crawl.cwd / called
    with running(crawl.cwd, *given, program=program, **crawl.variables | SLOW) as process:
        wait_until(lambda: judged_so_far(data) >= 5, process)
        if program == IN_BACKGROUND:
            assert "another process writes to it" in complaint(
                crawl.cwd, "feed", "access.log", "--data", called
            )
            process.send_signal(signal.SIGINT)
            wait_until(lambda: judged_so_far(data) >= 10, process)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert 5 <= last_line(out)["fetched"] < BUDGET
    ended = last_line(printed(crawl.cwd, *given, **crawl.variables))
    assert ended["fetched"] >= BUDGET
    report = last_line(printed(crawl.cwd, "audit", "--data", called, "--json"))
    assert report["judged"] == ended["fetched"]
    assert (report["differences"], report["lost"], report["judged_twice"]) == (0, 0, 0)
