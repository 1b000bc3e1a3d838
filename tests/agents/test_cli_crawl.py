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

from scentline.agents.operate.explaining import Resting
from scentline.agents.operate.record import definitions, entries
from scentline.models.frontier.candidates import Candidates
from scentline.models.frontier.keys import ALIKE_PREFIX, BLOCK_PREFIX, HOST_PREFIX, SEGMENT_PREFIX, page_key
from scentline.models.frontier.ledger import FrontierLedger
from scentline.models.frontier.rows import CountsRow, FrontierRow, HostRow, PageRow
from scentline.models.page import FAILED
from scentline.models.policy.estimates import Estimates
from scentline.models.policy.explain import Counting, Part
from scentline.models.policy.features import BASE
from scentline.models.policy.inputs import MOST, PLAIN
from scentline.models.policy.priorities import LinkPromises
from scentline.models.predicate import parse
from scentline.models.published import Outcome
from scentline.models.records import Decoder, Interests
from scentline.models.traps import Barren, space
from scentline.streams.inbox import Codec, Shard
from scentline.streams.settings import Settings
from scentline.streams.topics import INTERESTS
from scentline.streams.transport.journal import Journal
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents import commands
from tests.agents.commands import TOLD_TO_END, complaint, last_line, printed, running, scentline, wait_until
from tests.agents.loopback import USER_AGENT
from tests.agents.shards import put, table
from tests.e2e.crawls import exact, judged_so_far, outcomes_of, pages_of, synthetic, write_labels, write_log
from tests.patience import PATIENCE

BUDGET = 60
WEB = SyntheticWeb(7, 6, 40, 4)
CRAWL = ("crawl", "--log", "access.log", "--budget", f"{BUDGET}", "--json")
SETTINGS = """
[fetch]
proxy = "{proxy}"
delay_seconds = 0
[judge]
labels = "labels.tsv"
[learn]
semantic = ""
[frontier]
explore = 0.2
[predicates]
sports = 'category("Sports")'
hockey = 'category("Sports") and "hockey"'
"""


class Crawl(NamedTuple):
    """A finished crawl: where it was run, and what it printed."""

    cwd: Path
    out: str
    err: str

    def read(self, *arguments: str) -> str:
        return printed(self.cwd, *arguments)

    def rows(self, *arguments: str) -> list[dict[str, Any]]:
        return list(map(json.loads, self.read(*arguments, "--format", "jsonl").splitlines()))

    @property
    def data(self) -> Path:
        return self.cwd / "scentline-data"

    def outcomes(self) -> list[Outcome]:
        return outcomes_of(self.data)

    def pages(self) -> list[PageRow]:
        return pages_of(self.data)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a directory with settings, a log and labels, of which nothing was crawled."""
    directory = tmp_path_factory.mktemp("files")
    write_log(directory / "access.log", WEB, 5, 200)
    write_labels(directory / "labels.tsv", WEB)
    with synthetic(WEB) as served:
        (directory / "scentline.toml").write_text(SETTINGS.format(proxy=served.origin))
        yield directory


@pytest.fixture(scope="module")
def crawl(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    cwd = tmp_path_factory.mktemp("crawl")
    shutil.copytree(files, cwd, dirs_exist_ok=True)
    run = scentline(cwd, *CRAWL)
    assert run.returncode == 0, run.stderr
    return Crawl(cwd, run.stdout, run.stderr)


@pytest.fixture
def fresh(files: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(files, tmp_path / "fresh"))


@pytest.fixture
def copy(crawl: Crawl, tmp_path: Path) -> Crawl:
    return crawl._replace(cwd=Path(shutil.copytree(crawl.cwd, tmp_path / "copy")))


def test_a_crawl_ends_with_its_figures_as_json(crawl: Crawl) -> None:
    assert crawl.out.count("\n") == 1
    summary = last_line(crawl.out)
    assert list(summary) == [
        "ended", "fetched", "requests", "failed", "refused", "closed", "refused_seeds", "seconds",
        "pages_per_second", "policy", "candidates", "predicates",
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
    assert running and all(line.endswith(" candidates") for line in running)
    assert "\x1b" not in crawl.err


def test_the_same_command_goes_on_without_seeds_and_does_no_more_than_the_budget(copy: Crawl) -> None:
    before = len(copy.outcomes())
    assert last_line(copy.read(*CRAWL))["fetched"] == len(copy.outcomes()) == before
    spaced = ("crawl", "--predicate", "sports = category('Sports')", "--budget", f"{BUDGET}")
    assert f"the budget of {BUDGET} pages is spent" in scentline(copy.cwd, *spaced).stderr


def test_a_crawl_that_gets_no_page_says_so_and_names_the_seed(tmp_path: Path) -> None:
    given = ("--seed", "http://nowhere.invalid/", "--predicate", 'a="word"', "--time", "3s", "--json")
    run = scentline(tmp_path, "crawl", *given, "--set", f"fetch.user_agent={USER_AGENT}")
    assert run.returncode == 1
    assert "a seed could not be fetched" in run.stderr
    assert "url=http://nowhere.invalid/ reason=dns" in run.stderr
    assert last_line(run.stdout)["fetched"] == 0


def test_a_crawl_that_was_refused_a_seed_says_so_in_its_status(fresh: Path) -> None:
    [seed], denied = WEB.seeds(1), "http://denied.test/"
    given = ("--seed", seed, "--seed", denied, "--set", "fetch.deny=denied.test", "--budget", "10", "--json")
    run = scentline(fresh, "crawl", *given)
    assert run.returncode == 1
    summary = last_line(run.stdout)
    assert (summary["fetched"], summary["refused_seeds"]) == (10, [denied])
    assert " refused, 1 of them seeds, " in run.stderr


def test_harvest_prints_the_newest_point_of_each_predicate(crawl: Crawl) -> None:
    head, *lines = [line.split("\t") for line in crawl.read("harvest").splitlines()]
    assert head == [
        "predicate", "pages", "hits", "harvest rate", "lately", "lift (95 %)", "requests", "a request",
        "current", "age", "revisits",
    ]  # fmt: skip
    made = last_line(crawl.out)["requests"]
    assert all(BUDGET <= int(line[head.index("requests")]) <= made for line in lines)
    summary = last_line(crawl.out)["predicates"]
    found = {name: (int(pages), int(hits)) for name, pages, hits, *_ in lines}
    assert found == {name: (figures["judged"], figures["hits"]) for name, figures in summary.items()}
    for name in ("sports", "hockey"):
        pages = [point["pages"] for point in crawl.rows("harvest") if point["predicate"] == name]
        assert pages == sorted(pages) and pages[-1] == summary[name]["judged"]


def test_matches_are_the_pages_that_satisfy_the_predicate(crawl: Crawl) -> None:
    lines = crawl.rows("matches", "hockey")
    assert {line["url"] for line in lines} == {row.url for row in crawl.outcomes() if row.verdict["hockey"]}
    assert [line["time"] for line in lines] == sorted(line["time"] for line in lines)
    assert set(lines[0]) == {"url", "title", "time", "depth"}


def test_refused_names_what_brought_no_page_and_why(crawl: Crawl) -> None:
    rows = [row for row in crawl.pages() if row.state in ("refused", "gone", "given up")]
    assert rows
    counts = dict(line.split("\t") for line in crawl.read("refused").splitlines()[1:])
    assert sum(map(int, counts.values())) == len(rows)
    found = crawl.rows("refused")
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


def as_scored(settings: Settings, journal: Journal) -> Candidates:
    """Return the candidates as a frontier has them that has heard all that was told."""
    estimates = Estimates(settings, None)
    candidates = Candidates(settings, estimates.scorer, Random(1))
    for name, definition in definitions(journal).items():
        candidates.add_predicate(name, parse(definition.expression).sought)
    ledger, decode = FrontierLedger(estimates.scorer, 1_000_000, 1_000_000), Decoder[Interests](Interests)
    codec: Codec[FrontierRow] = Codec(FrontierRow)
    shard = Shard(0, "test", journal.table("frontier")[0], codec, 1_000_000)
    ledger.open(shard)
    for partition in range(journal.partitions(INTERESTS.name)):
        for entry in entries(journal, INTERESTS.name, partition):
            ledger.hear(decode(entry.value or b""))
    candidates.priorities.promises = promises = LinkPromises()
    promises.open(shard)
    candidates.open(shard, math.inf)
    while candidates.opening:
        candidates.take_up(math.inf)
    return candidates


def check_explained(data: Path, policy: str, apart: float) -> None:
    settings = Settings.model_validate(
        {"data": data, "frontier": {"policy": policy}, "learn": {"semantic": ""}}
    )
    with Journal.open(data / "journal", read_only=True) as journal:
        candidates, resting = as_scored(settings, journal), Resting(journal, settings)
        urls = sorted(set().union(*candidates.queues.values()))
        assert len(urls) > 50
        for url in urls:
            found = resting.explain(url)
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
    # What words weigh may lag behind there, by 2 % of the base rate.
    check_explained(crawl.data, "learned", apart=0.3)


def test_explain_says_what_keeps_a_page_from_being_fetched(copy: Crawl) -> None:
    candidates = [row for row in copy.pages() if row.state == "candidate" and not (row.choice or row.seed)]
    spent, trapped, *others = (row for row in candidates if space(row.url))
    waiting = next(row for row in others if space(row.url) != space(spent.url))
    trapped.state = "trapped"
    with table(copy.data, "frontier", read_only=False) as [part]:
        like = HostRow(alike="/#", barren=Barren(99))
        rows = {page_key(trapped.url): trapped, ALIKE_PREFIX + (space(spent.url) or b""): like}
        put(part, {key: msgspec.msgpack.encode(row) for key, row in rows.items()})
    for row, why in (
        (waiting, "others had a higher priority, or "),
        (trapped, "this URL looks like part of an endless space (frontier.traps)"),
        (spent, "the last 99 pages like /# were copies but for numbers, or soft 404s"),
    ):
        said = copy.read("explain", row.url)
        assert f"state: {row.state}\n" in said and f"not fetched: {why}" in said


def test_explain_names_the_features_that_a_policy_of_the_paper_goes_by(fresh: Path) -> None:
    printed(fresh, *CRAWL, "--policy", "combined")
    page = next(row for row in reversed(outcomes_of(fresh / "scentline-data")) if not row.explored)
    known = json.loads(printed(fresh, "explain", page.url, "--json"))
    assert set(known["features"]) == {"sports", "hockey"}
    assert known["features"]["sports"]
    assert all(0 <= entry["hits"] <= entry["pages"] for entry in known["features"]["sports"])
    check_explained(fresh / "scentline-data", "combined", apart=0.3)


def test_the_audit_finds_what_was_changed_in_a_table_and_only_that(copy: Crawl) -> None:
    report = exact(copy.cwd, judged=len(copy.outcomes()))
    assert report["rows"] > report["judged"]

    def found() -> tuple[list[int], str]:
        run = scentline(copy.cwd, "audit", "--json")
        assert run.returncode == 1
        report = last_line(run.stdout)
        return [report[name] for name in ("judged_twice", "lost", "differences")], run.stderr

    with table(copy.data, "frontier", read_only=False) as [part]:
        key, raw = next(part.scan(HOST_PREFIX))
        row = msgspec.msgpack.decode(raw, type=FrontierRow)
        assert isinstance(row, HostRow)
        row.judged += 1
        put(part, {key: msgspec.msgpack.encode(row)})
    host = key.removeprefix(HOST_PREFIX).decode()
    said = f"host {host}: the state has {row.judged}, the recount {row.judged - 1}\n"
    assert found() == ([0, 0, 1], said)
    with table(copy.data, "frontier", read_only=False) as [part]:
        raws = [each for prefix in (BLOCK_PREFIX, SEGMENT_PREFIX) for each in part.scan(prefix)]
        rows = [(key, msgspec.msgpack.decode(raw, type=FrontierRow)) for key, raw in raws]
        counts = [(key, row) for key, row in rows if isinstance(row, CountsRow)]
        key, of = next((key, row) for key, row in reversed(counts) if BASE in row.names)
        one_more = of.cells.counts.copy()
        one_more[::2, of.names.index(BASE)] += 1
        put(part, {key: msgspec.msgpack.encode(msgspec.structs.replace(of, counts=one_more.tobytes()))})
    assert found()[0] == [1, 0, 2]
    with table(copy.data, "frontier", read_only=False) as [part]:
        put(part, {page_key(copy.outcomes()[0].url): None})
    assert found()[0][1] == 1


def test_the_audit_tells_of_messages_that_wait_until_the_crawl_goes_on(copy: Crawl) -> None:
    write_log(copy.cwd / "access.log", WEB, 9, 300)
    copy.read("feed", "access.log")
    run = scentline(copy.cwd, "audit", "--json")
    assert run.returncode == 1
    report = last_line(run.stdout)
    assert report["behind"] > 0
    assert run.stderr.startswith(f"nothing was compared: {report['behind']:,} messages are not absorbed yet; ")
    assert run.stderr.count("\n") == 1
    copy.read(*CRAWL)
    exact(copy.cwd, behind=0)


@TOLD_TO_END
def test_a_crawl_told_to_end_prints_figures_goes_on(fresh: Path, program: tuple[str, ...], number: int) -> None:
    data = fresh / "scentline-data"
    # Each host is asked about three times a second: slow enough to be interrupted on the way.
    with running(fresh, *CRAWL, "--set", "fetch.delay_seconds=0.3", program=program) as process:
        wait_until(lambda: judged_so_far(data) >= 5, process)
        if program == commands.IN_BACKGROUND:
            assert "another process writes to it" in complaint(fresh, "feed", "access.log")
            process.send_signal(signal.SIGINT)
            wait_until(lambda: judged_so_far(data) >= 10, process)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert 5 <= last_line(out)["fetched"] < BUDGET
    ended = last_line(printed(fresh, *CRAWL))
    assert ended["fetched"] >= BUDGET
    exact(fresh, judged=ended["fetched"])
