"""What a crawl has learned goes into another one's log: once, apart from what that one counts, and it helps."""

import asyncio
import gzip
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scentline.agents.crawl.connect import open_journal
from scentline.agents.frontier.learned import LearnedScorer
from scentline.agents.frontier.ledger import FrontierLedger
from scentline.agents.frontier.scoring import PaperScorer
from scentline.agents.learn.agent import LearnAgent
from scentline.agents.learn.rows import PRIOR_PREFIX, LearnRow, ModelRow, PriorRow, model_key, name_of
from scentline.agents.learn.store import LearnShard
from scentline.agents.operate.reuse import Imported, facts, import_state
from scentline.models.interest.features import BASE, URL_WORD, USER
from scentline.models.interest.ratio import Base
from scentline.models.learner.inputs import NAMES, prior_covariance
from scentline.models.ledger import INT32
from scentline.models.lessons import lessons
from scentline.models.reuse import Combining, Learned, State, pack, unpack
from scentline.models.verdict import FAILED
from scentline.streams.crawl_settings import LearnSettings
from scentline.streams.facts import EvidencePack, Label
from scentline.streams.records import Decoder, Interests
from scentline.streams.settings import Settings
from scentline.streams.topics import EVIDENCE, INTERESTS
from scentline.streams.transport.publisher import JournalPublisher
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.cells import a_count
from tests.agents.commands import last_line, printed, running, wait_until
from tests.agents.shards import Disk, a_runtime, disk, rows_of, take_in, write
from tests.agents.test_archive import write as write_archive
from tests.cases import each_case

PSEUDONYM = "0123456789abcdef"
MEAN = np.linspace(-1, 1, len(NAMES)).tobytes()
COMBINING = Combining(NAMES, MEAN, (prior_covariance() / 2).tobytes())
SKI = Learned("ski", '"ski"', 80, 20, {"k:ski": (40, 20), "u:" + PSEUDONYM: (4, 4)}, COMBINING)
TEA = Learned("tea", '"tea"', 80, 8, {"k:tea": (8, 8), "k:ski": (40, 0)})
REQUESTS = Learned(FAILED, "", 120, 40, {"k:ski": (40, 4)}, COMBINING)
STATE = State("learned", [SKI, TEA, REQUESTS])


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path) as opened:
        yield opened


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "learned.state").write_bytes(pack(STATE, "a test"))
    return tmp_path / "learned.state"


@contextmanager
def an_agent(data: Path, predicates: Sequence[str] = ("ski", "tea")) -> Iterator[LearnAgent]:
    with a_runtime(Settings.model_validate({"data": data, "learn": {"semantic": None}})) as runtime:
        agent = LearnAgent(runtime)
        for name in predicates:
            agent.heard_predicate(name)
        yield agent


def packs(settings: Settings) -> list[Any]:
    """Return the packs of evidence in a log."""
    with open_journal(settings) as journal:
        found = journal.read(EVIDENCE.name, 0, 0, 1000)
    decode = Decoder[EvidencePack](EvidencePack)
    return [decode(entry.value or b"") for entry in found]


def absorb(agent: LearnAgent, shard: LearnShard, found: Sequence[Any]) -> None:
    """Have the agent absorb packs of evidence as new messages."""
    for pack_of in found:
        for fact in shard.accept(shard.mark.offset + 1, pack_of):
            agent.absorb(shard, fact)


def told(agent: LearnAgent) -> list[Interests]:
    """Have the agent tell what there is to tell; return that."""
    publisher = agent.runtime.publisher
    assert isinstance(publisher, JournalPublisher)
    start = publisher._journal.end(INTERESTS.name, 0)
    asyncio.run(agent.publish())
    decode = Decoder[Interests](Interests)
    return [decode(entry.value or b"") for entry in publisher._journal.read(INTERESTS.name, 0, start, 1000)]


def prior_of(found: list[Interests]) -> dict[str, dict[str, tuple[float, float]]]:
    return {feature: cells for interests in found for feature, cells in interests.prior.items()}


def of(shard: LearnShard) -> tuple[dict[str, PriorRow], dict[str, ModelRow]]:
    """Return the rows of what was inherited, and of combiners."""
    features = {name_of(key): row for key, row in shard.scan(PRIOR_PREFIX) if isinstance(row, PriorRow)}
    models = {name: row for name in ("ski", "tea") if isinstance(row := shard.get(model_key(name)), ModelRow)}
    return features, models


def settings_of(data: Path, **predicates: str) -> Settings:
    return Settings.model_validate({"data": data, "predicates": predicates, "learn": {"semantic": None}})


# into the log


def test_a_file_that_is_imported_twice_counts_once(tmp_path: Path, file: Path, rows: Disk) -> None:
    settings = settings_of(tmp_path / "data")
    first = import_state(settings, file, 0.25)
    assert first == Imported({"ski": 2, "tea": 2}, 1)
    other = import_state(settings_of(tmp_path / "other", ski='"skiing"', wine='"wine"'), file, 0.25)
    assert [remark.partition(":")[0] for remark in other.remarks] == ["ski", "tea"]
    same = settings_of(tmp_path / "same", ski=' "ski" ', tea='"tea"')
    assert import_state(same, file, 0.25).remarks == []
    found = packs(settings)
    assert import_state(settings, file, 1.0).repeated
    assert packs(settings) == found
    shard = rows.shard(LearnRow, EVIDENCE)
    with an_agent(tmp_path / "agent") as agent:
        absorb(agent, shard, found)
        write(shard)
        once = of(shard)
        absorb(agent, shard, found)
        write(shard)
    assert of(shard) == once
    assert once[0]["k:ski"] == PriorRow({"ski": (10, 5), "tea": (10, 0), FAILED: (10, 1)})
    assert once[0][BASE] == PriorRow({"ski": (20, 5), "tea": (20, 2), FAILED: (30, 10)})
    assert once[1]["ski"].mean == MEAN
    assert "tea" not in once[1]


@pytest.mark.parametrize("lost_at", range(5))
def test_a_learner_that_is_killed_while_it_takes_up_a_file_counts_it_once(
    tmp_path: Path, rows: Disk, lost_at: int
) -> None:
    features = {f"k:ski{number}": (8.0, float(number % 8)) for number in range(500)}
    path = tmp_path / "big.state"
    path.write_bytes(pack(State("learned", [Learned("ski", "", 80, 20, features, COMBINING)]), ""))
    settings = settings_of(tmp_path / "data")
    import_state(settings, path, 0.5)
    found = packs(settings)
    assert len(found) == 3
    shard = rows.shard(LearnRow, EVIDENCE)
    with an_agent(tmp_path / "first") as agent:
        absorb(agent, shard, found[: lost_at // 2])
        write(shard)
        absorb(agent, shard, found[lost_at // 2 : lost_at // 2 + lost_at % 2])  # never written
        told(agent)
    again = rows.shard(LearnRow, EVIDENCE)
    with an_agent(tmp_path / "second") as agent:
        agent.opened(again)
        absorb(agent, again, found[again.mark.offset + 1 :])
        write(again)
        heard = told(agent)
    cells, models = of(again)
    expected = {name: (4.0, hits / 2) for name, (_, hits) in features.items()} | {BASE: (40.0, 10.0)}
    assert {name: row.counts["ski"] for name, row in cells.items()} == expected
    assert models["ski"].labels == 0
    assert prior_of(heard) == {name: {"ski": cell} for name, cell in expected.items()}
    assert [name for interests in heard for name in interests.weightings] == ["ski"]


def test_a_second_file_adds_to_the_first(tmp_path: Path, file: Path, rows: Disk) -> None:
    settings, other = settings_of(tmp_path / "data"), tmp_path / "other.state"
    other.write_bytes(pack(State("learned", [Learned("ski", "", 8, 4, {"k:ski": (4, 4)})]), ""))
    import_state(settings, file, 0.25)
    assert not import_state(settings, other, 0.25).repeated
    shard = rows.shard(LearnRow, EVIDENCE)
    with an_agent(tmp_path / "agent") as agent:
        absorb(agent, shard, packs(settings))
    write(shard)
    assert of(shard)[0]["k:ski"].counts == {"ski": (11, 6), "tea": (10, 0), FAILED: (10, 1)}


# in the learner


def test_what_was_inherited_is_told_once_and_again_after_a_restart(tmp_path: Path, rows: Disk) -> None:
    shard = rows.shard(LearnRow, EVIDENCE)
    with an_agent(tmp_path / "first") as agent:
        take_in(shard, agent, a_count(("k:ski", "k:new", BASE), {"ski": True}))
        write(shard)
        assert prior_of(told(agent)) == {}
        take_in(shard, agent, *(fact for _, fact in facts(STATE, 0.25)))
        write(shard)
        heard = prior_of(told(agent))
        assert heard["k:ski"] == {"ski": (10, 5), "tea": (10, 0), FAILED: (10, 1)}
        assert heard[BASE] == {"ski": (20, 5), "tea": (20, 2), FAILED: (30, 10)}
        assert "k:new" not in heard
        assert told(agent) == []
    with an_agent(tmp_path / "second") as agent:
        agent.opened(rows.shard(LearnRow, EVIDENCE))
        again = told(agent)
    assert prior_of(again) == heard
    assert {name for interests in again for name in interests.names} == {"k:ski", "k:new", BASE}


def test_a_combiner_that_has_learned_is_not_started_again(tmp_path: Path, rows: Disk) -> None:
    shard = rows.shard(LearnRow, EVIDENCE)
    with an_agent(tmp_path / "agent") as agent:
        take_in(shard, agent, Label("ski", (1.0,) * len(NAMES), True, "selected"))
        row = of(shard)[1]["ski"]
        take_in(shard, agent, *(fact for _, fact in facts(STATE, 0.25)))
        assert of(shard)[1]["ski"] == row


def test_a_predicate_that_the_crawl_does_not_have_is_passed_over_and_said(
    tmp_path: Path, rows: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    scorer = LearnedScorer()
    scorer.add_predicate("tea")
    paper = PaperScorer(LearnSettings(), lessons("combined"))
    paper.add_predicate("tea")
    with an_agent(tmp_path / "agent", ["tea"]) as agent, caplog.at_level(logging.WARNING):
        shard = rows.shard(LearnRow, EVIDENCE)
        take_in(shard, agent, *(fact for _, fact in facts(STATE, 0.25)))
        write(shard)
        heard = told(agent)
    assert [record.__dict__["fields"]["predicate"] for record in caplog.records] == ["ski"]
    for scores in (scorer, paper):
        ledger = FrontierLedger(1000, scores)
        for interests in heard:
            ledger.hear(interests)
    assert paper.weights("tea").base == Base(20, 2)
    assert (scorer.judged("tea"), paper.judged("tea")) == (0, 0)


# in the frontier


PRIOR = {
    URL_WORD + "ski": {"ski": (40.0, 20.0)},
    USER + PSEUDONYM: {"ski": (4.0, 4.0)},
    BASE: {"ski": (80.0, 20.0)},
}


@each_case("counted_first", [True, False])
def test_the_papers_policies_go_on_from_the_counts_of_the_earlier_crawl(counted_first: bool) -> None:
    scorer = PaperScorer(LearnSettings(), lessons("combined"))
    scorer.add_predicate("ski")
    ledger = FrontierLedger(1000, scorer)
    pages, hits = (np.array([number], INT32).tobytes() for number in (10, 1))
    told = [Interests(predicates=("ski",), names=(BASE,), pages=pages, hits=hits), Interests(prior=PRIOR)]
    for interests in told if counted_first else reversed(told):
        ledger.hear(interests)
    weights = scorer.weights("ski")
    assert weights.base == Base(90, 21)
    assert weights.cell(USER + PSEUDONYM) == (4, 4)
    assert weights.users.logs[PSEUDONYM] == pytest.approx(np.log(90 / 21))
    assert scorer.judged("ski") == 10, "pages of the earlier crawl are none of this one's"


# whole crawls

#: What the labels call hockey: a name that says nothing, or a crawl would know a word before its first page.
TOPIC = "T1.T2"


@pytest.fixture(scope="module")
def webs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a small web, its log and labels, and the data of a crawl that ended."""
    directory = tmp_path_factory.mktemp("webs")
    web = SyntheticWeb(2, 8, 60, 4)
    answers = {url: web.answer(url, {}) for url, _ in web.labels()}
    write_archive(
        directory / "pages.warc.gz",
        *((url, "200 OK", list(answer.headers), answer.body) for url, answer in answers.items()),
    )
    log = "".join(f"{line}\n" for line in web.access_log(8, 300)).encode()
    (directory / "access.log.gz").write_bytes(gzip.compress(log))
    (directory / "topics.tsv").write_text(
        "".join(f"{url}\t{name.replace('Sports.Hockey', TOPIC)}\n" for url, name in web.labels())
    )
    crawl(directory, "one", 100, first=True)
    printed(directory, "state", "export", "learned.state", "--data", "one")
    return directory


def crawl(directory: Path, data: str, budget: int, first: bool = False) -> Any:
    """Crawl; the first crawl has other seeds and a log, the others have none."""
    web = SyntheticWeb(2, 8, 60, 4)
    urls = sorted(url for url, _ in web.labels())
    seeds = urls[:: len(urls) // 5][:5] if first else urls[7 :: len(urls) // 5][:5]
    out = printed(
        directory, "crawl", "--archive", "pages.warc.gz", "--labels", "topics.tsv", "--data", data,
        "--predicate", f'topic=category("{TOPIC}")', "--budget", str(budget), "--json",
        *(["--log", "access.log.gz"] if first else []), *(part for url in seeds for part in ("--seed", url)),
    )  # fmt: skip
    return last_line(out)


def test_a_crawl_that_starts_with_what_another_learned_begins_better_and_its_audit_is_exact(webs: Path) -> None:
    scratch = crawl(webs, "scratch", 30)["predicates"]["topic"]["hits"]
    printed(webs, "state", "import", "learned.state", "--data", "two")
    reused = crawl(webs, "two", 30)["predicates"]["topic"]["hits"]
    assert reused >= 1.5 * scratch, (reused, scratch)
    report = last_line(printed(webs, "audit", "--data", "two", "--json"))
    assert (report["judged"], report["differences"], report["lost"]) == (30, 0, 0)
    assert "already" in printed(webs, "state", "import", "learned.state", "--data", "two")
    before = last_line(printed(webs, "state", "export", "two.state", "--data", "two", "--json"))
    assert before["requests"] > 100
    assert crawl(webs, "two", 30)["fetched"] == 30
    assert last_line(printed(webs, "state", "export", "two.state", "--data", "two", "--json")) == before


def test_a_crawl_that_is_killed_after_an_import_knows_it_once(webs: Path) -> None:
    printed(webs, "state", "import", "learned.state", "--data", "killed")
    arguments = (
        "crawl", "--archive", "pages.warc.gz", "--labels", "topics.tsv", "--data", "killed",
        "--predicate", f'topic=category("{TOPIC}")', "--budget", "60", "--seed", "http://nowhere.example/",
    )  # fmt: skip
    with running(webs, *arguments) as process:
        wait_until(lambda: rows_of(webs / "killed", "interests", b"") != [], process)
        process.kill()
    crawl(webs, "killed", 30)
    report = last_line(printed(webs, "audit", "--data", "killed", "--json"))
    assert (report["judged"], report["differences"], report["lost"]) == (30, 0, 0)
    exported = printed(webs, "state", "export", "killed.state", "--data", "killed", "--json")
    assert last_line(exported)["predicates"]["topic"] > 100
    found = unpack((webs / "killed.state").read_bytes())[0].learned
    first = unpack((webs / "learned.state").read_bytes())[0].learned
    assert [learned.name for learned in found] == [FAILED, "topic"]
    assert found[1].pages == 30 + first[1].pages / 4
    assert found[0].pages >= 30 + first[0].pages / 4


def test_a_file_has_no_pages_and_no_users_where_they_are_left_out(webs: Path) -> None:
    state, _ = unpack((webs / "learned.state").read_bytes())
    requests, learned = state.learned
    assert (state.policy, learned.name, learned.expression) == ("learned", "topic", f'category("{TOPIC}")')
    assert learned.pages == 100
    assert learned.combining is not None
    assert {name[:2] for name in learned.features} == {"p:", "a:", "c:", "h:", "k:", "x:", "u:", "l:", "r:"}
    assert (requests.name, requests.pages - requests.hits) == (FAILED, 100)
    assert requests.combining is not None
    assert {name[:2] for name in requests.features} <= {"p:", "a:", "c:", "h:", "k:", "x:", "u:"}
    told = last_line(
        printed(webs, "state", "export", "no-users.state", "--data", "one", "--no-users", "--json")
    )
    without = unpack((webs / "no-users.state").read_bytes())[0].learned
    for bare, full in zip(without, state.learned, strict=True):
        assert bare.features == {name: cell for name, cell in full.features.items() if name[:2] != USER}
    assert told["users"] == 0
    assert told["predicates"] == {"topic": len(without[1].features)}
    assert told["requests"] == len(without[0].features)
    assert told["bytes"] == (webs / "no-users.state").stat().st_size < 200_000
