"""What a crawl has learned goes into another one's log: once, apart from what that one counts, and it helps."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scentline.agents.learn import PRIOR_PREFIX, LearnAgent, LearnShard, ModelRow, PriorRow, model_key, name_of
from scentline.agents.operate.reuse import Imported, facts, import_state
from scentline.agents.worker.connect import open_journal
from scentline.models.facts import EvidencePack, Label
from scentline.models.frontier.ledger import FrontierLedger
from scentline.models.lessons import lessons
from scentline.models.page import FAILED
from scentline.models.policy.combiner import Combining
from scentline.models.policy.features import BASE, URL_WORD, USER, Base
from scentline.models.policy.inputs import NAMES, prior_covariance
from scentline.models.policy.learned import LearnedScorer
from scentline.models.policy.scoring import PaperScorer
from scentline.models.records import Decoder, Interests
from scentline.models.reuse import Learned, State, pack, unpack
from scentline.models.settings import LearnSettings
from scentline.streams.settings import Settings
from scentline.streams.topics import EVIDENCE
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.cells import a_change
from tests.agents.commands import last_line, printed, running, scentline, wait_until
from tests.agents.learnt import a_shard, an_agent, told
from tests.agents.shards import Disk, rows_of, take_in, write
from tests.agents.test_archive import write as write_archive
from tests.cases import each_case
from tests.e2e.crawls import each, exact, write_log

PSEUDONYM = "0123456789abcdef"
MEAN = np.linspace(-1, 1, len(NAMES)).tobytes()
COMBINING = Combining(NAMES, MEAN, (prior_covariance() / 2).tobytes())
SKI = Learned("ski", '"ski"', 80, 20, {"k:ski": (40, 20), "u:" + PSEUDONYM: (4, 4)}, COMBINING)
TEA = Learned("tea", '"tea"', 80, 8, {"k:tea": (8, 8), "k:ski": (40, 0)})
REQUESTS = Learned(FAILED, "", 120, 40, {"k:ski": (40, 4)}, COMBINING)
STATE = State("learned", [SKI, TEA, REQUESTS])


def written(path: Path, state: State) -> Path:
    path.write_bytes(pack(state, "a test"))
    return path


def packs(settings: Settings) -> list[Any]:
    with open_journal(settings) as journal:
        found = journal.read(EVIDENCE.name, 0, 0, 1000)
    decode = Decoder[EvidencePack](EvidencePack)
    return [decode(entry.value or b"") for entry in found]


def absorb(agent: LearnAgent, shard: LearnShard, found: Sequence[Any]) -> None:
    """Have the agent absorb packs of evidence as new messages, in a group."""
    for pack_of in found:
        for fact in shard.accept(shard.mark.offset + 1, pack_of):
            agent.absorb(shard, fact)
    write(shard)
    agent.committed(shard)


def prior_of(found: list[Interests]) -> dict[str, dict[str, tuple[float, float]]]:
    return {feature: cells for interests in found for feature, cells in interests.prior.items()}


def of(shard: LearnShard) -> tuple[dict[str, dict[str, tuple[float, float]]], dict[str, ModelRow]]:
    features = {name_of(key): row.counts for key, row in shard.scan(PRIOR_PREFIX) if isinstance(row, PriorRow)}
    models = {name: row for name in ("ski", "tea") if isinstance(row := shard.get(model_key(name)), ModelRow)}
    return features, models


def settings_of(data: Path, **predicates: str) -> Settings:
    return Settings.model_validate({"data": data, "predicates": predicates, "learn": {"semantic": None}})


# into the log, and in the learner


def test_a_file_imported_twice_counts_once_and_another_adds(tmp_path: Path, rows: Disk) -> None:
    settings, file = settings_of(tmp_path / "data"), written(tmp_path / "learned.state", STATE)
    assert import_state(settings, file, 0.25) == Imported({"ski": 2, "tea": 2}, 1)
    other = import_state(settings_of(tmp_path / "other", ski='"skiing"', wine='"wine"'), file, 0.25)
    assert [remark.partition(":")[0] for remark in other.remarks] == ["ski", "tea"]
    same = settings_of(tmp_path / "same", ski=' "ski" ', tea='"tea"')
    assert import_state(same, file, 0.25).remarks == []
    found = packs(settings)
    assert import_state(settings, file, 1.0).repeated
    assert packs(settings) == found
    second = State("learned", [Learned("ski", "", 8, 4, {"k:ski": (4, 4)})])
    assert not import_state(settings, written(tmp_path / "other.state", second), 0.25).repeated
    shard = a_shard(rows)
    with an_agent(tmp_path / "agent", "ski", "tea") as agent:
        absorb(agent, shard, found)
        once = of(shard)
        absorb(agent, shard, found)
        assert of(shard) == once
        absorb(agent, shard, packs(settings)[len(found) :])
    assert once[0]["k:ski"] == {"ski": (10, 5), "tea": (10, 0), FAILED: (10, 1)}
    assert once[0][BASE] == {"ski": (20, 5), "tea": (20, 2), FAILED: (30, 10)}
    assert {name: row.mean for name, row in once[1].items()} == {"ski": MEAN}
    assert of(shard)[0]["k:ski"] == {"ski": (11, 6), "tea": (10, 0), FAILED: (10, 1)}


@pytest.mark.parametrize("lost_at", range(5))
def test_a_learner_killed_amid_a_file_counts_it_once(tmp_path: Path, rows: Disk, lost_at: int) -> None:
    features = {f"k:ski{number}": (8.0, float(number % 8)) for number in range(500)}
    big = State("learned", [Learned("ski", "", 80, 20, features, COMBINING)])
    settings = settings_of(tmp_path / "data")
    import_state(settings, written(tmp_path / "big.state", big), 0.5)
    found = packs(settings)
    assert len(found) == 3
    shard = a_shard(rows)
    with an_agent(tmp_path / "first", "ski") as agent:
        absorb(agent, shard, found[: lost_at // 2])
        for fact in found[lost_at // 2].facts if lost_at % 2 else ():  # never written
            agent.absorb(shard, fact[2])
        told(agent)
    again = a_shard(rows)
    with an_agent(tmp_path / "second", "ski") as agent:
        agent.opened(again)
        absorb(agent, again, found[again.mark.offset + 1 :])
        heard = told(agent)
        assert told(agent) == []
    cells, models = of(again)
    expected = {name: (4.0, hits / 2) for name, (_, hits) in features.items()} | {BASE: (40.0, 10.0)}
    assert cells == prior_of(heard) == {name: {"ski": cell} for name, cell in expected.items()}
    assert models["ski"].labels == 0
    assert [name for interests in heard for name in interests.weightings] == ["ski"]


def test_a_combiner_that_has_learned_is_not_started_again(tmp_path: Path, rows: Disk) -> None:
    shard = a_shard(rows)
    with an_agent(tmp_path / "agent", "ski", "tea") as agent:
        take_in(shard, agent, Label("ski", (1.0,) * len(NAMES), True, "selected"))
        before = of(shard)[1]
        take_in(shard, agent, *(fact for _, fact in facts(STATE, 0.25)))
        assert of(shard)[1] == before != {}


# in the frontier


def a_paper_scorer(predicate: str) -> PaperScorer:
    scorer = PaperScorer(LearnSettings(), lessons("combined"))
    scorer.add_predicate(predicate)
    return scorer


def test_a_predicate_unknown_here_is_said(tmp_path: Path, rows: Disk, caplog: pytest.LogCaptureFixture) -> None:
    scorer, paper = LearnedScorer(), a_paper_scorer("tea")
    scorer.add_predicate("tea")
    with an_agent(tmp_path / "agent", "tea") as agent, caplog.at_level(logging.WARNING):
        shard = a_shard(rows)
        take_in(shard, agent, *(fact for _, fact in facts(STATE, 0.25)))
        write(shard)
        agent.committed(shard)
        heard = told(agent)
    assert [record.__dict__["fields"]["predicate"] for record in caplog.records] == ["ski"]
    for scores in (scorer, paper):
        ledger = FrontierLedger(scores, 1000, 1000)
        for interests in heard:
            ledger.hear(interests)
    assert paper.weights("tea").base == Base(20, 2)
    assert (scorer.judged("tea"), paper.judged("tea")) == (0, 0)


PRIOR = {URL_WORD + "ski": {"ski": (40.0, 20.0)}, USER + PSEUDONYM: {"ski": (4.0, 4.0)}}


@each_case("counted_first", [True, False])
def test_the_papers_policies_go_on_from_the_counts_of_the_earlier_crawl(counted_first: bool) -> None:
    scorer = a_paper_scorer("ski" if counted_first else "tea")
    ledger = FrontierLedger(scorer, 1000, 1000)
    ledger.begin(0)
    prior = Interests(prior=PRIOR | {BASE: {"ski": (80.0, 20.0)}})
    for counted in (counted_first, not counted_first):
        if counted:
            ledger.count(0, [a_change([BASE], {"ski": True}), a_change([BASE], {"ski": False}, 9)])
        else:
            ledger.hear(prior)
    scorer.add_predicate("ski")  # perhaps later than all of them
    weights = scorer.weights("ski")
    assert weights.base == Base(90, 21)
    assert weights.cell(USER + PSEUDONYM) == (4, 4)
    assert weights.sum(USER, [PSEUDONYM]) == pytest.approx(np.log(90 / 21))
    assert scorer.judged("ski") == 10, "pages of the earlier crawl are none of this one's"


# whole crawls

#: What the labels call hockey: a name that says nothing, or a crawl would know a word before its first page.
TOPIC = "T1.T2"
WEB = SyntheticWeb(2, 8, 60, 4)


@pytest.fixture(scope="module")
def webs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a small web, its log and labels, and the data of a crawl that ended."""
    directory = tmp_path_factory.mktemp("webs")
    answers = {url: WEB.answer(url, {}) for url, _ in WEB.labels()}
    write_archive(
        directory / "pages.warc.gz",
        *((url, "200 OK", list(answer.headers), answer.body) for url, answer in answers.items()),
    )
    write_log(directory / "access.log", WEB, 8, 300)
    labels = "".join(f"{url}\t{name.replace('Sports.Hockey', TOPIC)}\n" for url, name in WEB.labels())
    (directory / "topics.tsv").write_text(labels)
    crawl(directory, "one", 100, 0, "--log", "access.log")
    printed(directory, "state", "export", "learned.state", "--data", "one")
    return directory


def command(data: str, budget: int, *more: str) -> tuple[str, ...]:
    return (
        "crawl", "--archive", "pages.warc.gz", "--labels", "topics.tsv", "--data", data,
        "--predicate", f'topic=category("{TOPIC}")', "--budget", str(budget), "--json", *more,
    )  # fmt: skip


def crawl(directory: Path, data: str, budget: int, first_seed: int = 7, *more: str) -> Any:
    """Crawl; the first crawl has other seeds and a log, the others have none."""
    urls = sorted(url for url, _ in WEB.labels())
    seeds = each("--seed", urls[first_seed :: len(urls) // 5][:5])
    ended = scentline(directory, *command(data, budget, *seeds, *more))
    assert ended.returncode == 0, ended.stderr
    assert "an earlier crawl's predicate" not in ended.stderr, "it is this one's too"
    return last_line(ended.stdout)


def exported(directory: Path, data: str, *more: str) -> tuple[Any, Sequence[Learned]]:
    """Return what a command that exports a state tells, and what it wrote."""
    told = last_line(printed(directory, "state", "export", f"{data}.state", "--data", data, "--json", *more))
    assert told["bytes"] == (directory / f"{data}.state").stat().st_size < 200_000
    return told, unpack((directory / f"{data}.state").read_bytes())[0].learned


def test_a_crawl_that_starts_with_what_another_learned_begins_better_and_its_audit_is_exact(webs: Path) -> None:
    scratch = crawl(webs, "scratch", 30)["predicates"]["topic"]["hits"]
    printed(webs, "state", "import", "learned.state", "--data", "two")
    reused = crawl(webs, "two", 30)["predicates"]["topic"]["hits"]
    assert reused >= 1.5 * scratch, (reused, scratch)
    exact(webs, "--data", "two", judged=30)
    assert "already" in printed(webs, "state", "import", "learned.state", "--data", "two")
    before, _ = exported(webs, "two")
    assert before["requests"] > 100
    assert crawl(webs, "two", 30)["fetched"] == 30
    assert exported(webs, "two")[0] == before


def test_a_crawl_that_is_killed_after_an_import_knows_it_once(webs: Path) -> None:
    printed(webs, "state", "import", "learned.state", "--data", "killed")
    with running(webs, *command("killed", 60, "--seed", "http://nowhere.example/")) as process:
        wait_until(lambda: rows_of(webs / "killed", "interests", b"") != [], process)
        process.kill()
    crawl(webs, "killed", 30)
    exact(webs, "--data", "killed", judged=30)
    told, found = exported(webs, "killed")
    assert told["predicates"]["topic"] > 100
    first = unpack((webs / "learned.state").read_bytes())[0].learned
    assert [learned.name for learned in found] == [FAILED, "topic"]
    assert found[1].pages == 30 + first[1].pages / 4
    assert found[0].pages >= 30 + first[0].pages / 4


def test_a_file_has_no_pages_and_no_users_where_they_are_left_out(webs: Path) -> None:
    state, _ = unpack((webs / "learned.state").read_bytes())
    requests, learned = state.learned
    assert (state.policy, learned.name, learned.expression) == ("learned", "topic", f'category("{TOPIC}")')
    assert (learned.pages, requests.name, requests.pages - requests.hits) == (100, FAILED, 100)
    assert learned.combining is not None and requests.combining is not None
    kinds = {"p:", "a:", "c:", "h:", "k:", "x:", "u:"}
    assert {name[:2] for name in learned.features} == kinds | {"l:", "r:"}
    assert {name[:2] for name in requests.features} <= kinds
    told, without = exported(webs, "one", "--no-users")
    for bare, full in zip(without, state.learned, strict=True):
        assert bare.features == {name: cell for name, cell in full.features.items() if name[:2] != USER}
    assert (told["users"], told["requests"]) == (0, len(without[0].features))
    assert told["predicates"] == {"topic": len(without[1].features)}
