"""A real crawl's metrics agree with what the crawl itself says of itself, and are those that were declared."""

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

import pytest
import zstandard

from scentline.agents.crawl.engine import Engine
from scentline.agents.crawl.run import Meter, Status, _ready
from scentline.agents.observe.observer import Observer
from scentline.agents.operate.inspect.record import entries, outcomes
from scentline.streams.metrics import catalogue
from scentline.streams.metrics.catalogue import CATALOGUE
from scentline.streams.metrics.endpoint import serving
from scentline.streams.records import Decoder, FetchedPage
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES, DEAD_LETTERS, FETCHES, PAGES, SIGHTINGS, TABLES
from scentline.streams.transport.journal import Journal
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.metrics_page import values
from tests.patience import PATIENCE
from tests.streams.scraping import HOST, PATIENT, Scrape, get, idle

WEB = (3, 4, 60, 4)  # seed, sites, pages a site, topics
BUDGET = 120
PARTITIONS = 2
#: Labels whose values are on the page.
DECLARED = ("outcome", "reason", "state", "chosen", "kind", "role", "table", "topic")
#: A record of the next schema version: its first field is the version.
NEWER = b"\x92\x63\x90"


class Crawled(NamedTuple):
    settings: Settings
    status: Status
    accepted: int
    malformed: int
    features: int
    candidates: int
    early: tuple[int, str]
    late: tuple[int, str]
    scrape: Scrape


async def crawl(settings: Settings, observer: Observer, seeds: list[str], log: str) -> Crawled:
    early: list[tuple[int, str]] = []
    async with asyncio.timeout(PATIENCE), Engine(settings, observer) as engine:
        metrics = engine.runtime.metrics
        async with serving(HOST, 0, PATIENT, metrics) as url:
            early.append(await get(f"{url}/readyz"))
            await _ready(engine)
            meter = Meter(engine)
            await engine.runtime.publisher.send_all(
                [(ACCESSES.name, 0, None, b"rubbish"), (SIGHTINGS.name, 1, None, NEWER)]
            )
            await engine.seed(seeds)
            await engine.start_feeding([log])
            while not await engine.finished() and engine.failure is None:
                await asyncio.sleep(0.05)
            await engine.settle()
            late = await get(f"{url}/readyz")
            scrape = await idle(url)
            features = engine.learn.totals().features
            candidates = len(engine.frontier.candidates.queues["menu"])
            status = meter.status()
    if engine.failure is not None:
        raise engine.failure
    return Crawled(
        settings, status, observer.accepted, observer.malformed, features, candidates, early[0], late, scrape
    )


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    place = tmp_path_factory.mktemp("metrics")
    web = SyntheticWeb(*WEB)
    labels = place / "labels.tsv"
    labels.write_text("".join(f"{url}\t{category}\n" for url, category in web.labels()))
    log = place / "access.log"
    log.write_text("\n".join(web.access_log(users=10, accesses=100)) + "\n")
    topic = sorted(web.facts().pages)[0]
    with synthetic_server(*WEB) as server:
        settings = Settings.model_validate(
            {
                "data": place / "data",
                "predicates": {"first": f'category("{topic}")', "menu": 'title("*")'},
                "streams": {"partitions": PARTITIONS},
                "fetch": {"proxy": server.url, "delay_seconds": 0.0},
                "judge": {"labels": str(labels)},
                "frontier": {"budget": BUDGET, "explore": 0.2},
            }
        )
        yield asyncio.run(crawl(settings, Observer(settings.observe, b"key"), web.seeds(2), str(log)))


@pytest.fixture
def scrape(crawled: Crawled) -> Scrape:
    return crawled.scrape


@pytest.fixture
def journal(crawled: Crawled) -> Iterator[Journal]:
    with Journal.open(crawled.settings.data / "journal", read_only=True) as opened:
        yield opened


def length(journal: Journal, topic: str) -> int:
    return sum(journal.end(topic, partition) for partition in range(journal.partitions(topic)))


def test_a_crawl_is_ready_once_its_tables_are_recovered(crawled: Crawled) -> None:
    status, text = crawled.early
    assert (status, text) == (200, "ok\n") or (status == 503 and text.startswith("all: partitions are being"))
    assert crawled.late == (200, "ok\n")
    assert crawled.scrape.of(catalogue.READY, role="all") == 1
    assert crawled.scrape.of(catalogue.RECOVERY, role="all") > 0


def test_metrics_and_their_labels_are_those_that_are_declared(scrape: Scrape) -> None:
    own = {name: kind for name, kind in scrape.kinds.items() if not name.startswith("process_")}
    assert own == {metric.name: metric.kind for metric in CATALOGUE}
    seen = {name: {label for label, _ in labels if label != "le"} for name, labels in scrape.samples}
    for metric in CATALOGUE:
        for name in (
            [metric.name] if metric.kind != "histogram" else [f"{metric.name}_sum", f"{metric.name}_count"]
        ):
            assert seen[name] == set(metric.labels)


def test_every_value_of_a_label_is_one_of_the_few(crawled: Crawled) -> None:
    names = {*crawled.settings.predicates}
    for name, labels in crawled.scrape.samples:
        metric = next((m.name for m in CATALOGUE if name.startswith(m.name)), "")
        for label, value in labels:
            if label == "predicate":
                assert value in names
            elif label in DECLARED:
                of = metric if label in ("outcome", "reason", "state", "chosen", "kind") else "all"
                assert value in values(label, of), (name, label, value)
            else:
                assert label in ("le", "version", "python")


def test_predicates_figures_are_those_of_the_crawl(crawled: Crawled, scrape: Scrape) -> None:
    for name, figures in crawled.status.predicates.items():
        for pages, hits in (
            (catalogue.HARVEST_PAGES, catalogue.HARVEST_HITS),
            (catalogue.JUDGED, catalogue.HITS),
        ):
            assert scrape.of(pages, predicate=name) == figures.judged
            assert scrape.of(hits, predicate=name) == figures.hits
        assert scrape.of(catalogue.HARVEST_RATE, predicate=name) == pytest.approx(figures.harvest_rate)
        lift = scrape.sum(catalogue.HARVEST_LIFT, predicate=name)
        assert lift == pytest.approx(figures.lift.lift if figures.lift is not None else 0)
        recent = scrape.of(catalogue.WINDOW_HITS, predicate=name) / scrape.of(
            catalogue.WINDOW_PAGES, predicate=name
        )
        assert recent == pytest.approx(figures.recent_rate)
    assert crawled.status.predicates["menu"].hits == crawled.status.predicates["menu"].judged == BUDGET


def test_the_frontiers_figures_are_those_of_the_crawl(crawled: Crawled, scrape: Scrape) -> None:
    status = crawled.status
    found = {state: scrape.of(catalogue.FOUND, state=state) for state in values("state", catalogue.FOUND.name)}
    assert found["judged"] == status.fetched == BUDGET
    assert found["gone"] + found["given_up"] == status.failed
    assert found["refused"] == status.refused
    assert found["open"] == status.candidates
    assert scrape.sum(catalogue.IN_FLIGHT) == status.in_flight
    assert scrape.of(catalogue.QUEUED, predicate="menu") == crawled.candidates
    assert scrape.of(catalogue.QUEUE_LIMIT) == crawled.settings.frontier.queue


def test_what_was_ordered_fetched_and_judged_is_what_the_log_holds(
    scrape: Scrape, journal: Journal, crawled: Crawled
) -> None:
    ordered = length(journal, FETCHES.name)
    assert scrape.sum(catalogue.ORDERS) == scrape.sum(catalogue.FETCHED) == ordered
    assert scrape.sum(catalogue.ORDERS, chosen="chance") > 0
    assert scrape.of(catalogue.FETCHED, outcome="2xx") == length(journal, PAGES.name)
    assert scrape.sum(catalogue.PAGES_READ) == length(journal, PAGES.name)
    judged = list(outcomes(journal))
    assert scrape.of(catalogue.PAGES_READ, outcome="judged") == len(judged)
    decode, decompress = Decoder[FetchedPage](FetchedPage), zstandard.ZstdDecompressor().decompress
    pages = (entry for n in range(PARTITIONS) for entry in entries(journal, PAGES.name, n))
    sizes = [len(decompress(decode(entry.value or b"").body)) for entry in pages]
    assert scrape.of(catalogue.FETCHED_BYTES) == sum(sizes)
    assert scrape.of(catalogue.FETCH_SECONDS, "_count") >= len(sizes)
    assert scrape.of(catalogue.FETCHING) == 0
    assert scrape.of(catalogue.FETCH_SLOTS) == crawled.settings.fetch.connections


def test_everything_sent_to_an_inbox_was_taken_in_and_committed_in_groups(
    scrape: Scrape, journal: Journal
) -> None:
    for table, topic in TABLES.items():
        sent = length(journal, topic.name)
        assert scrape.of(catalogue.TAKEN, topic=topic.name) == sent
        assert scrape.of(catalogue.GROUP_MESSAGES, "_sum", table=table) == sent
        groups = scrape.of(catalogue.GROUP_MESSAGES, "_count", table=table)
        assert groups == scrape.of(catalogue.GROUP_SECONDS, "_count", table=table) > 0
        rows = sum(len(list(part.scan(b""))) for part in journal.table(table).values())
        assert scrape.of(catalogue.GROUP_ROWS, "_sum", table=table) >= rows > 0
        assert scrape.of(catalogue.GROUPS_LOST, table=table) == 0
        assert scrape.of(catalogue.TABLE_ROWS, table=table) > 0
        assert scrape.of(catalogue.TABLE_BYTES, table=table) > 0
        assert scrape.of(catalogue.PARTITIONS, topic=topic.name) == PARTITIONS
        assert scrape.of(catalogue.LAG, topic=topic.name) == 0


def test_what_could_not_be_read_is_counted_once(scrape: Scrape, journal: Journal, crawled: Crawled) -> None:
    assert scrape.of(catalogue.DEAD_LETTERS, topic=ACCESSES.name, reason="unreadable") == 1
    assert scrape.of(catalogue.DEAD_LETTERS, topic=SIGHTINGS.name, reason="version") == 1
    assert scrape.sum(catalogue.DEAD_LETTERS) == 2
    assert scrape.of(catalogue.LINES, outcome="malformed") == crawled.malformed > 0
    assert length(journal, DEAD_LETTERS.name) == 2 + crawled.malformed
    assert scrape.of(catalogue.LINES, outcome="accepted") == crawled.accepted > 0


def test_the_learners_size_is_the_crawls(scrape: Scrape, crawled: Crawled) -> None:
    assert scrape.of(catalogue.FEATURES) == crawled.features > 0
    assert scrape.of(catalogue.FORGOTTEN) == 0
    assert scrape.sum(catalogue.LABELS) > 0 and scrape.of(catalogue.PUBLISHED) > 0
