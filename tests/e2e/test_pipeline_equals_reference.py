"""A real crawl, every agent running, counts what a crawler in memory counts of the same pages."""

import asyncio
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import msgspec
import pytest
from rocksdict import Options, Rdict

from agents.audit.audit import audit, cells_of
from agents.crawl.run import run_crawl
from agents.crawl.seeds import seeds_of_log
from agents.frontier.rows import page_key
from agents.inspect.record import entries, outcomes
from agents.learn.news import shrunk_log_ratio
from agents.learn.rows import FEATURE_PREFIX, FeatureRow, LearnRow, feature_of
from agents.observation.observer import Observer
from agents.offline.process import ServerProcess
from agents.offline.synthetic.web import SyntheticWeb
from models.evaluate.reference import ReferenceCrawler
from models.interest.features import BASE, TOKEN, WORD
from streams.records import Decoder, Interest, Outcome
from streams.settings import Settings
from streams.tables import open_read_only
from streams.topics import INTERESTS
from streams.transport.journal import Journal
from tests.shared import shared

WEB = (3, 4, 60, 4)  # seed, sites, pages a site, topics
BUDGET = 150
SECONDS = 90.0


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    with ServerProcess.synthetic(*WEB) as server:
        yield server.url


def settings_of(data: Path, proxy: str, labels: Path, predicates: dict[str, str], partitions: int) -> Settings:
    return Settings.model_validate(
        {
            "data": data,
            "predicates": predicates,
            "streams": {"partitions": partitions},
            "fetch": {"proxy": proxy, "delay_seconds": 0.0},
            "judge": {"labels": str(labels)},
            "frontier": {"budget": BUDGET, "parents": 3, "explore": 0.1},
        }
    )


def write_labels(path: Path, labels: Iterable[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{url}\t{category}\n" for url, category in labels))
    return path


def crawl(settings: Settings, seeds: list[str], logs: list[str]) -> int:
    """Crawl to the end; return the pages judged."""

    async def run() -> int:
        observer = Observer(settings.observe, b"key")
        async with asyncio.timeout(SECONDS):
            status, interrupted = await run_crawl(settings, observer, seeds, logs, lambda *_: None)
        assert not interrupted
        return status.fetched

    return asyncio.run(run())


def judged_pages(settings: Settings) -> list[Outcome]:
    with Journal.open(settings.data / "journal", read_only=True) as journal:
        return list(outcomes(journal))


def learned(settings: Settings) -> dict[str, dict[str, tuple[int, int]]]:
    """Return the learner's table, without what came to nothing."""
    decode = msgspec.msgpack.Decoder(LearnRow).decode
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for part in open_read_only(settings.data, "interests").values():
        for key, raw in part.scan(FEATURE_PREFIX):
            row = decode(raw)
            assert isinstance(row, FeatureRow)
            cells = {name: (pages, hits) for name, (pages, hits) in row.counts.items() if pages}
            if cells:
                found[feature_of(key)] = cells
    return found


def reference(settings: Settings, pages: Iterable[Outcome]) -> ReferenceCrawler:
    """Return a crawler in memory that was shown the same pages in the same order."""
    crawler = ReferenceCrawler(settings.predicates, "linkage", Random(0), parents=settings.frontier.parents)
    for page in pages:
        crawler.judged(page.url, page.verdict, page.words, [link.url for link in page.links])
    return crawler


def told(settings: Settings) -> dict[str, dict[str, tuple[int, int]]]:
    """Return what the frontiers have heard of each feature in the end."""
    decode = Decoder[Interest](Interest)
    found: dict[str, dict[str, tuple[int, int]]] = {}
    with Journal.open(settings.data / "journal", read_only=True) as journal:
        for partition in range(journal.partitions(INTERESTS.name)):
            for entry in entries(journal, INTERESTS.name, partition):
                assert entry.key is not None
                found[entry.key.decode()] = decode(entry.value).counts if entry.value else {}
    return found


def check_told(settings: Settings) -> None:
    """Check that base and links were told exactly and whatever else was told to about the threshold."""
    cells, heard = learned(settings), told(settings)
    rates = {name: hits / pages for name, (pages, hits) in cells[BASE].items()}
    for feature, counts in cells.items():
        if feature[:2] not in (WORD, TOKEN):
            assert heard[feature] == counts
            continue
        if feature not in heard:
            continue  # at its default when it last changed: the base may have moved since
        for name, rate in rates.items():
            known, true = heard[feature].get(name, (0, 0)), counts.get(name, (0, 0))
            if rate:
                moved = shrunk_log_ratio(*known, rate) - shrunk_log_ratio(*true, rate)
                assert abs(moved) <= settings.learn.threshold + 0.05, feature


def check(settings: Settings, judged: int) -> None:
    pages = judged_pages(settings)
    assert len({page.url for page in pages}) == judged
    crawler = reference(settings, pages)
    expected = cells_of(crawler.counts)
    assert learned(settings) == expected
    assert any(feature.startswith("w:") for feature in expected)
    assert any(feature.startswith("l:") for feature in expected)
    check_told(settings)
    report = audit(settings)
    assert report.clean, report.examples
    assert (report.judged, report.behind) == (judged, 0)


@pytest.mark.parametrize("partitions", [1, 3])
def test_the_learners_counts_are_those_of_the_reference(tmp_path: Path, proxy: str, partitions: int) -> None:
    web = SyntheticWeb(*WEB)
    topics = sorted(web.facts().pages)
    predicates = {
        "first": f'category("{topics[0]}")',
        "second": f'category("{topics[1]}") or category("{topics[2]}")',
    }
    log = tmp_path / "access.log"
    log.write_text("\n".join(web.access_log(users=20, accesses=300)) + "\n")
    labels = write_labels(tmp_path / "labels.tsv", web.labels())
    settings = settings_of(tmp_path / "data", proxy, labels, predicates, partitions)
    assert crawl(settings, web.seeds(2), [str(log)]) == BUDGET
    check(settings, BUDGET)


def test_the_audit_finds_what_was_changed_in_a_table_and_only_that(tmp_path: Path, proxy: str) -> None:
    web = SyntheticWeb(*WEB)
    labels = write_labels(tmp_path / "labels.tsv", web.labels())
    settings = settings_of(tmp_path / "data", proxy, labels, {"menu": 'title("*")'}, partitions=1)
    crawl(settings, web.seeds(1), [])
    # Faust holds its tables open while the process lives: another directory can be written to.
    settings = settings.model_copy(update={"data": shutil.copytree(settings.data, tmp_path / "copy")})
    assert audit(settings).clean
    interests = open_table(settings, "interests")
    raw = interests[FEATURE_PREFIX]
    base = msgspec.msgpack.decode(raw, type=LearnRow)
    assert isinstance(base, FeatureRow)
    base.counts["menu"][0] += 1
    interests[FEATURE_PREFIX] = msgspec.msgpack.encode(base)
    interests.close()
    report = audit(settings)
    assert (report.judged_twice, report.lost, report.differences) == (1, 0, 1)
    frontier = open_table(settings, "frontier")
    key = page_key(judged_pages(settings)[0].url)
    del frontier[key]
    frontier.close()
    assert audit(settings).lost == 1
    assert not audit(settings).clean


def open_table(settings: Settings, name: str) -> Rdict:
    return Rdict(str(settings.data / "v1" / "tables" / f"{name}-0.db"), Options(raw_mode=True))


@pytest.mark.slow
def test_the_learners_counts_are_those_of_the_reference_on_real_pages(tmp_path: Path) -> None:
    archive = shared("wikispeedia/pages.warc.gz")
    labels = shared("wikispeedia/topics.tsv.gz")
    log = shared("wikispeedia/access.log.gz")
    predicates = {"science": 'category("Science")', "music": 'category("Music")'}
    with ServerProcess.archive([archive]) as server:
        settings = settings_of(tmp_path / "data", server.url, labels, predicates, partitions=1)
        judged = crawl(settings, seeds_of_log(str(log), settings), [])
    assert judged == BUDGET
    check(settings, judged)
