"""A real crawl, every agent running, counts what a recount of the same pages, requests and accesses finds."""

from itertools import islice
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from scentline.agents.crawl.command import seeds_of_log
from scentline.agents.frontier.ledger import FrontierLedger
from scentline.agents.observe.logfile import LogFile
from scentline.agents.offline.process import ServerProcess
from scentline.agents.operate.audit.audit import audit
from scentline.agents.operate.inspect.record import entries, read_ledger
from scentline.models.interest.features import split
from scentline.models.ledger import Ledger, Slots
from scentline.streams.records import Decoder, Interests
from scentline.streams.settings import Settings
from scentline.streams.topics import INTERESTS
from scentline.streams.transport.journal import Journal
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.encoders import write_words
from tests.agents.shards import table
from tests.e2e.crawls import crawl, write_labels, write_log
from tests.shared import shared

BUDGET = 100
#: Lines of the real log.
LINES = 3_000
#: Kinds of features that a crawl of pages and a log must have come across.
KINDS = {
    "linkage": {"base", "word", "token", "link"},
    "combined": {"base", "word", "token", "link", "user", "signature", "region"},
    "learned": {
        "base", "link", "user", "region", "page word", "anchor", "context", "heading", "URL word", "prefix",
    },
}  # fmt: skip


def settings_of(
    data: Path, proxy: str, labels: Path, predicates: dict[str, str], partitions: int, policy: str = "linkage"
) -> Settings:
    return Settings.model_validate({
        "data": data,
        "predicates": predicates,
        "streams": {"partitions": partitions},
        "fetch": {"proxy": proxy, "delay_seconds": 0.0},
        "judge": {"labels": str(labels)},
        "frontier": {
            "policy": policy, "budget": BUDGET, "parents": 3, "visitors": 5, "together": 16, "explore": 0.1,
        },
    })  # fmt: skip


def learned(settings: Settings) -> dict[str, dict[str, tuple[int, int]]]:
    """Return the learner's table."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    with table(settings.data, "interests") as parts:
        for part in parts:
            for feature, predicate, pages, hits in read_ledger(part).items():
                found.setdefault(feature, {})[predicate] = (pages, hits)
    return found


class Heard:
    """A scorer that keeps what a frontier that starts hears."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.cells: dict[str, dict[str, tuple[int, int]]] = {}

    def learn(self, slots: Slots) -> None:
        cells = self.ledger.take(slots)
        for place, name in enumerate(cells.names):
            assert name is not None
            counts = zip(cells.predicates, cells.pages[:, place], cells.hits[:, place], strict=True)
            found = {predicate: (int(pages), int(hits)) for predicate, pages, hits in counts if pages}
            self.cells[name] = found


def heard(settings: Settings) -> dict[str, dict[str, tuple[int, int]]]:
    """Return what a frontier that starts now hears of each feature."""
    decode = Decoder[Interests](Interests)
    scorer = Heard()
    ledger = FrontierLedger(1_000_000, cast(Any, scorer))
    with Journal.open(settings.data / "journal", read_only=True) as journal:
        for partition in range(journal.partitions(INTERESTS.name)):
            for entry in entries(journal, INTERESTS.name, partition):
                if entry.value is not None:
                    told = decode(entry.value)
                    ledger.hear(msgspec.structs.replace(told, weightings={}))
    return {name: cells for name, cells in scorer.cells.items() if cells}


def check(settings: Settings, judged: int) -> None:
    report = audit(settings)
    assert report.clean, report.examples
    assert (report.judged, report.behind) == (judged, 0)
    expected = learned(settings)
    kinds = {split(feature).kind for feature in expected}
    assert KINDS[settings.frontier.policy] <= kinds
    assert ("subject" in kinds) == (settings.semantic is not None)
    assert heard(settings) == expected


@pytest.mark.parametrize(("policy", "meanings"), [("linkage", False), ("combined", False), ("learned", True)])
def test_the_learners_counts_are_those_of_the_reference(
    tmp_path: Path, web: SyntheticWeb, proxy: str, policy: str, meanings: bool
) -> None:
    topics = sorted(web.facts().pages)
    predicates = {
        "first": f'category("{topics[0]}")',
        "second": f'category("{topics[1]}") or category("{topics[2]}")',
    }
    log = write_log(tmp_path / "access.log", web, users=20, accesses=300)
    labels = write_labels(tmp_path / "labels.tsv", web)
    settings = settings_of(tmp_path / "data", proxy, labels, predicates, 3, policy)
    if meanings:
        table = write_words(tmp_path / "words.table", (url for url, _ in web.labels()))
        learn = settings.learn.model_copy(update={"semantic": str(table)})
        settings = settings.model_copy(update={"learn": learn})
    assert crawl(settings, web.seeds(2), [str(log)]) == BUDGET
    check(settings, BUDGET)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["combined", "learned"])
def test_the_learners_counts_are_those_of_the_reference_on_real_pages_and_a_real_log(
    tmp_path: Path, policy: str
) -> None:
    archive = shared("wikispeedia/pages.warc.gz")
    labels = shared("wikispeedia/topics.tsv.gz")
    log = tmp_path / "access.log"
    with LogFile(str(shared("wikispeedia/access.log.gz"))) as whole:
        log.write_bytes(b"".join(line for _, line in islice(whole, LINES)))
    predicates = {"science": 'category("Science")', "music": 'category("Music")'}
    with ServerProcess.archive([archive]) as server:
        settings = settings_of(tmp_path / "data", server.url, labels, predicates, partitions=1, policy=policy)
        judged = crawl(settings, seeds_of_log(str(log), settings), [str(log)])
    assert judged == BUDGET
    check(settings, judged)
