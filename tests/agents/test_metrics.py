"""What the agents count and tell of themselves: one by one, and in a crawl, which says the same of itself."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import scentline.agents.fetch
import scentline.agents.render
from scentline.agents.fetch.agent import FetchAgent
from scentline.agents.fetch.client import Client
from scentline.agents.fetch.pool import _REASONS
from scentline.agents.fetch.result import OUTCOMES, Body, outcome_of
from scentline.agents.frontier.metrics import CHOSEN, KINDS
from scentline.agents.harvest import HarvestMetrics
from scentline.agents.observe.observer import Observer
from scentline.agents.operate.record import entries, outcomes
from scentline.agents.worker.crawl import Engine, _ready
from scentline.agents.worker.status import Meter
from scentline.models.facts import Early, Missing, Moved
from scentline.models.frontier.flights import TELLING, Tally
from scentline.models.harvest import Harvest
from scentline.models.records import Decoder, FetchedPage, FetchOrder, encode
from scentline.streams.metrics import MOST_PREDICATES, OTHER, Reading, catalogue
from scentline.streams.metrics.catalogue import CATALOGUE, Metric
from scentline.streams.metrics.endpoint import serving_metrics
from scentline.streams.runtime import Runtime
from scentline.streams.settings import Settings
from scentline.streams.topics import ACCESSES, DEAD_LETTERS, FETCHES, PAGES, SIGHTINGS, TABLES
from scentline.streams.transport.journal import Journal
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents import loopback
from tests.agents.scenarios import Frontiers
from tests.agents.shards import a_runtime
from tests.cases import each_case
from tests.e2e.crawls import synthetic, topics, write_labels, write_log
from tests.patience import PATIENCE
from tests.streams.scraping import HOST, PATIENT, Scrape, get, idle
from tests.test_pages import values

NOW = 1000.0
FETCHING = [Path(room.__path__[0]) for room in (scentline.agents.fetch, scentline.agents.render)]
URL = "http://example.org/"


@each_case(("kind", "reasons"))
def test_what_came_of_a_fetch_is_of_one_class(kind: str, reasons: list[str]) -> None:
    assert {outcome_of(Missing("retry", reason)) for reason in reasons} == {kind}
    results = (Body(200, {}, b""), Moved(URL), Early(3.0))
    assert [outcome_of(result) for result in results] == ["2xx", "3xx", "early"]


def test_every_reason_that_a_fetch_may_fail_for_has_its_class() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for room in FETCHING for path in room.glob("*.py"))
    reasons = set(re.findall(r'FetchError\(\s*"\w+",\s*f?"([^"]+)"', sources))
    reasons = {re.sub("{.+}", "404", reason) for reason in reasons} | {reason for _, reason in _REASONS}
    assert len(reasons) > 15
    unclassed = {reason for reason in reasons if outcome_of(Missing("retry", reason)) == "other"}
    assert unclassed == {"no content", "url"}


@given(st.text() | st.builds("{} {}".format, st.sampled_from(["status", "robots.txt", "address"]), st.text()))
def test_no_reason_makes_a_new_class(reason: str) -> None:
    assert outcome_of(Missing("gone", reason)) in OUTCOMES


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with a_runtime(Settings(data=tmp_path / "data"), NOW) as made:
        yield made


def counted(runtime: Runtime, metric: Metric, *labels: str) -> float:
    """Return a counter's value; 0 where its labels were never bound."""
    given = dict(zip(metric.labels, labels, strict=True))
    return runtime.metrics.registry.get_sample_value(metric.name, given) or 0.0


def measured(teller: Any) -> dict[tuple[str, tuple[str, ...]], float]:
    teller.measure(reading := Reading())
    samples = (sample for family in reading.families() for sample in family.samples)
    return {(sample.name, tuple(sample.labels.values())): sample.value for sample in samples}


def test_how_often_and_how_long_fetches_waited_is_told(runtime: Runtime) -> None:
    async def run() -> dict[tuple[str, tuple[str, ...]], float]:
        delayed = loopback.settings(delay_seconds=0.05)
        async with loopback.serving(loopback.fixed(b"hello")) as server, Client(delayed, lambda: NOW) as client:
            for _ in range(2):
                await client.fetch(f"{server.origin}/")
            return measured(FetchAgent(runtime, client))

    found = asyncio.run(run())
    assert found[catalogue.WAITS.name, ()] >= 1
    assert 0 < found[catalogue.WAIT_SECONDS.name, ()] <= 0.05 * found[catalogue.WAITS.name, ()]


def a_harvest(pages: int, hits: int) -> Harvest:
    harvest = Harvest(window_pages=10, window_seconds=60.0)
    for number in range(pages):
        harvest.add(number < hits, NOW, "linkage", explored=number == 0)
    return harvest


def test_the_figures_of_partitions_add_up_before_their_rate_is_taken(runtime: Runtime) -> None:
    explored = Harvest(10, 60.0)
    for number in range(80):
        explored.add(number < 40, NOW, "linkage", explored=number >= 40)
    states = [("p", a_harvest(30, 20)), ("p", a_harvest(10, 0)), ("q", a_harvest(0, 0)), ("r", explored)]
    found = measured(HarvestMetrics(runtime, lambda: states))
    lifts = {labels: value for (name, labels), value in found.items() if name == catalogue.HARVEST_LIFT.name}
    assert lifts == {("r",): pytest.approx(0.5 / (0.5 / 41))}, "two explored pages say nothing yet"
    assert found[catalogue.HARVEST_PAGES.name, ("p",)] == 40
    assert found[catalogue.HARVEST_RATE.name, ("p",)] == 0.5
    assert found[catalogue.HARVEST_RATE.name, ("q",)] == 0.0


def test_predicates_beyond_the_bound_have_sums_and_no_rate(runtime: Runtime) -> None:
    states = [(f"p{number}", a_harvest(2, 1)) for number in range(MOST_PREDICATES + 3)]
    found = measured(HarvestMetrics(runtime, lambda: states))
    assert found[catalogue.HARVEST_PAGES.name, (OTHER,)] == 6
    assert (catalogue.HARVEST_RATE.name, (OTHER,)) not in found


def test_revisits_that_tell_are_held_against_what_was_expected_of_them() -> None:
    tally = Tally()
    for outcome in ("unchanged", "changed", "retry", "lost", "gone"):
        tally.visited(outcome, 0.75)
    assert sum(tally.visits[outcome] for outcome in TELLING) == 3
    assert tally.expected_unchanged == 0.75 * 3


def test_all_figures_of_a_predicate_are_there_from_its_definition_on(frontier: Frontiers) -> None:
    front = frontier(policy="breadth-first", revisit=0.5)
    front.follow("tea")
    front.agent.core.tally.changes["tea", "appeared"] += 1
    found = measured(front.agent._metrics)
    for kind in KINDS:
        assert found[catalogue.CHANGES.name, ("tea", kind)] == (kind == "appeared")
    for metric in (catalogue.MATCHES, catalogue.MATCHES_CURRENT, catalogue.MATCHES_AGE):
        assert found[metric.name, ("tea",)] == 0
    assert {found[catalogue.ORDERS.name, ("tea", by)] for by in CHOSEN} == {0}


def test_hits_a_minute_are_those_since_a_minute_ago_or_since_the_start(frontier: Frontiers) -> None:
    engine: Any = SimpleNamespace(frontier=frontier().agent)
    meter = Meter(engine)
    since = [meter._a_minute_ago(seconds, {"p": int(seconds)}) for seconds in (1.0, 30.0, 89.0, 90.0, 200.0)]
    assert since == [(start, {"p": int(start)}) for start in (1.0, 1.0, 1.0, 30.0, 90.0)]


WEB = SyntheticWeb(3, 4, 60, 4)
BUDGET = 120
PARTITIONS = 2
#: How the names begin of the metrics of doors, which this crawl has none of.
DOORS = "scentline_door"
#: Labels whose values are on the page.
DECLARED = ("outcome", "reason", "state", "chosen", "kind", "role", "table", "topic")
#: What nobody sent: rubbish, a record of the next schema version, its first field, and an order that came late.
LATE = FetchOrder(
    url="http://late.test/", order=1, predicate="menu", policy="learned", explored=False, probability=0.99,
    priority=1.5, depth=0, lease=1.0,
)  # fmt: skip
STRANGE = [
    (ACCESSES.name, 0, None, b"rubbish"), (SIGHTINGS.name, 1, None, b"\x92\x63\x90"),
    (FETCHES.name, 0, None, b"rubbish"), (FETCHES.name, 1, None, encode(LATE)),
]  # fmt: skip


async def crawl(settings: Settings, log: Path) -> SimpleNamespace:
    """Crawl among strange messages; return what the crawl says of itself, and what was scraped."""
    found, observer = SimpleNamespace(settings=settings), Observer(settings.observe, b"key")
    async with asyncio.timeout(PATIENCE), Engine(settings, observer) as engine:
        metrics = engine.runtimes["frontier"].metrics
        async with serving_metrics(HOST, 0, PATIENT, metrics) as url:
            found.early = await get(f"{url}/readyz")
            await _ready(engine)
            meter = Meter(engine)
            await engine.runtimes["frontier"].bus.send_all(STRANGE)
            await engine.seed(WEB.seeds(2))
            await engine.start_feeding([str(log)])
            while not await engine.finished() and engine.failure is None:
                await asyncio.sleep(0.05)
            await engine.settle()
            found.late, found.scrape = await get(f"{url}/readyz"), await idle(url)
            found.features = engine.frontier.core.ledger.features
            found.candidates = len(engine.frontier.core.candidates.queues["menu"])
            found.status = meter.status()
    if engine.failure is not None:
        raise engine.failure
    found.accepted, found.malformed = observer.counts.accepted, observer.counts.malformed
    return found


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    place = tmp_path_factory.mktemp("metrics")
    log = write_log(place / "access.log", WEB, users=10, accesses=100)
    with synthetic(WEB) as served:
        settings = Settings.model_validate({
            "data": place / "data",
            "predicates": {"first": f'category("{min(topics(WEB))}")', "menu": 'title("*")'},
            "streams": {"partitions": PARTITIONS},
            "fetch": {"proxy": served.origin, "delay_seconds": 0.0},
            "judge": {"labels": str(write_labels(place / "labels.tsv", WEB))},
            "frontier": {"budget": BUDGET, "explore": 0.2},
        })  # fmt: skip
        return asyncio.run(crawl(settings, log))


@pytest.fixture
def scrape(crawled: SimpleNamespace) -> Scrape:
    found: Scrape = crawled.scrape
    return found


@pytest.fixture
def journal(crawled: SimpleNamespace) -> Iterator[Journal]:
    with Journal.open(crawled.settings.data / "journal", read_only=True) as opened:
        yield opened


def length(journal: Journal, topic: str) -> int:
    return sum(journal.end(topic, partition) for partition in range(journal.partitions(topic)))


def test_a_crawl_is_ready_once_its_tables_are_recovered(crawled: SimpleNamespace, scrape: Scrape) -> None:
    status, text = crawled.early
    assert (status, text) == (200, "ok\n") or (status == 503 and text.startswith("all: partitions are being"))
    assert crawled.late == (200, "ok\n")
    assert scrape.of(catalogue.READY, role="all") == 1
    assert scrape.of(catalogue.RECOVERY, role="all") > 0


def test_metrics_and_their_labels_are_those_that_are_declared(scrape: Scrape) -> None:
    own = {name: kind for name, kind in scrape.kinds.items() if not name.startswith("process_")}
    declared = [metric for metric in CATALOGUE if not metric.name.startswith(DOORS)]
    assert own == {metric.name: metric.kind for metric in declared}
    seen = {name: {label for label, _ in labels if label != "le"} for name, labels in scrape.samples}
    for metric in declared:
        for suffix in ("_sum", "_count") if metric.kind == "histogram" else ("",):
            assert seen[metric.name + suffix] == set(metric.labels)


def test_every_value_of_a_label_is_one_of_the_few(crawled: SimpleNamespace, scrape: Scrape) -> None:
    for name, labels in scrape.samples:
        metric = next((m.name for m in CATALOGUE if name.startswith(m.name)), "")
        for label, value in labels:
            if label == "predicate":
                assert value in crawled.settings.predicates
            elif label in DECLARED:
                of = metric if label in ("outcome", "reason", "state", "chosen", "kind") else "all"
                assert value in values(label, of), (name, label, value)
            else:
                assert label in ("le", "version", "python")


def test_predicates_figures_are_those_of_the_crawl(crawled: SimpleNamespace, scrape: Scrape) -> None:
    for name, each in crawled.status.predicates.items():
        figures: Harvest = each.harvest
        for pages in (catalogue.HARVEST_PAGES, catalogue.JUDGED):
            assert scrape.of(pages, predicate=name) == figures.pages
        for hits in (catalogue.HARVEST_HITS, catalogue.HITS):
            assert scrape.of(hits, predicate=name) == figures.hits
        assert scrape.of(catalogue.HARVEST_RATE, predicate=name) == pytest.approx(figures.rate)
        lift = scrape.sum(catalogue.HARVEST_LIFT, predicate=name)
        assert lift == pytest.approx(figures.lift_if_sure.lift if figures.lift_if_sure is not None else 0)
        of = scrape.of(catalogue.WINDOW_PAGES, predicate=name)
        assert scrape.of(catalogue.WINDOW_HITS, predicate=name) / of == pytest.approx(figures.rate_by_pages)
    menu = crawled.status.predicates["menu"].harvest
    assert menu.hits == menu.pages == BUDGET


def test_the_frontiers_figures_are_those_of_the_crawl(crawled: SimpleNamespace, scrape: Scrape) -> None:
    status = crawled.status
    found = {state: scrape.of(catalogue.FOUND, state=state) for state in values("state", catalogue.FOUND.name)}
    assert found["judged"] == status.fetched == BUDGET
    assert found["gone"] + found["given_up"] == status.failed
    assert found["refused"] == status.refused
    assert found["open"] == status.candidates
    assert scrape.sum(catalogue.IN_FLIGHT) == status.in_flight
    assert scrape.of(catalogue.QUEUED, predicate="menu") == crawled.candidates
    assert scrape.of(catalogue.QUEUE_LIMIT) == crawled.settings.frontier.queue


def test_what_was_fetched_is_in_the_log(scrape: Scrape, journal: Journal, crawled: SimpleNamespace) -> None:
    orders = length(journal, FETCHES.name) - 1  # that can be read
    assert scrape.sum(catalogue.ORDERS) + 1 == scrape.sum(catalogue.FETCHED) == orders
    assert scrape.of(catalogue.FETCHED, outcome="expired") == 1
    assert scrape.sum(catalogue.ORDERS, chosen="chance") > 0
    assert scrape.of(catalogue.TAKEN, topic=FETCHES.name) == orders + 1
    assert scrape.of(catalogue.FETCHED, outcome="2xx") == length(journal, PAGES.name)
    assert scrape.sum(catalogue.PAGES_READ) == length(journal, PAGES.name)
    assert scrape.of(catalogue.PAGES_READ, outcome="judged") == len(list(outcomes(journal)))
    decode, decompress = Decoder[FetchedPage](FetchedPage), zstandard.ZstdDecompressor().decompress
    pages = (entry for n in range(PARTITIONS) for entry in entries(journal, PAGES.name, n))
    sizes = [len(decompress(decode(entry.value or b"").body)) for entry in pages]
    assert scrape.of(catalogue.FETCHED_BYTES) == sum(sizes)
    assert scrape.of(catalogue.FETCH_SECONDS, "_count") >= len(sizes)
    assert scrape.of(catalogue.FETCHING) == 0
    assert scrape.of(catalogue.FETCH_SLOTS) == crawled.settings.fetch.connections


def test_all_that_was_sent_to_an_inbox_was_committed_in_groups(scrape: Scrape, journal: Journal) -> None:
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


def test_what_can_not_be_read_counts_once(scrape: Scrape, journal: Journal, crawled: SimpleNamespace) -> None:
    for topic, why in ((ACCESSES, "unreadable"), (SIGHTINGS, "version"), (FETCHES, "unreadable")):
        assert scrape.of(catalogue.DEAD_LETTERS, topic=topic.name, reason=why) == 1
    assert scrape.sum(catalogue.DEAD_LETTERS) == 3
    assert scrape.of(catalogue.LINES, outcome="malformed") == crawled.malformed > 0
    assert length(journal, DEAD_LETTERS.name) == 3 + crawled.malformed
    assert scrape.of(catalogue.LINES, outcome="accepted") == crawled.accepted > 0


def test_the_learners_size_is_the_crawls(scrape: Scrape, crawled: SimpleNamespace) -> None:
    assert scrape.of(catalogue.FEATURES) == crawled.features > 0
    assert scrape.of(catalogue.FORGOTTEN) == 0
    assert scrape.sum(catalogue.LABELS) > 0 and scrape.of(catalogue.PUBLISHED) == 0
