"""A predicate that comes to a crawl of two judges counts every page once, those judged before it too."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from bench.faults.workers import WorkerProcess
from scentline.agents.operate.audit.audit import audit
from scentline.agents.operate.control.command import submit
from scentline.agents.operate.control.requests import AddPredicate, Seeds
from scentline.agents.operate.inspect.record import judged_pages, outcomes
from scentline.agents.operate.snapshot import take
from scentline.agents.operate.topics import lags
from scentline.streams.published import HarvestPoint, Outcome
from scentline.streams.settings import Settings
from scentline.streams.topics import HARVEST, OUTCOMES
from scentline.streams.transport.journal import Journal
from scentline.streams.transport.kafka.admin import kept
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.kafka.crawls import Crawl
from tests.patience import wait_for

WEB = (5, 4, 30, 2)  # seed, sites, pages a site, topics
TOPIC, *_ = sorted(SyntheticWeb(*WEB).facts().pages)
#: Those of a topic, and each site's home page.
PAGES = sum(SyntheticWeb(*WEB).facts().pages.values()) + WEB[1]
LATER = AddPredicate("later", f'category("{TOPIC}")', kept=True)
PARTITIONS = 2
ROLES = ("fetch", "judge", "frontier", "learn", "harvest")


class Judged(Crawl):
    """A crawl whose every page is wanted, by two workers: each has a part of the pages to judge."""

    def __init__(self, directory: Path, broker: str, proxy: str) -> None:
        labels = directory / "labels.tsv"
        labels.write_text("".join(f"{url}\t{name}\n" for url, name in SyntheticWeb(*WEB).labels()))
        values = {
            "kafka.session_seconds": 3,
            "kafka.heartbeat_seconds": 1,
            "fetch.proxy": proxy,
            "fetch.delay_seconds": 0,
            "frontier.window_max": 3,
            "frontier.lease_seconds": 20,
            "judge.labels": str(labels),
            "predicates.first": 'not "unheard-of"',
        }
        super().__init__(directory, broker, PARTITIONS, values)

    def counted(self, predicate: str) -> int:
        """Return the pages that count for a predicate."""
        points = [
            msgspec.json.decode(entry.value or b"", type=HarvestPoint)
            for number in range(PARTITIONS)
            for entry in kept(self.settings, HARVEST.name, number)
        ]
        return max((point.pages for point in points if point.predicate == predicate), default=0)

    def done(self) -> bool:
        """Return whether every page of the web counts for both predicates, and nothing waits."""
        counted = {self.counted("first"), self.counted("later")}
        return counted == {PAGES} and not any(each.lag for each in lags(self.settings))


def wait(what: str, condition: Callable[[], bool], *workers: WorkerProcess) -> None:
    def checked() -> bool:
        for worker in workers:
            worker.check()
        return condition()

    wait_for(what, checked)


def recorded(settings: Settings) -> tuple[dict[str, Outcome], int]:
    """Return the judged pages of the snapshot, and how many verdicts came later."""
    with Journal.open(settings.data / "journal", read_only=True) as journal:
        return judged_pages(journal), sum(outcome.later for outcome in outcomes(journal))


def test_a_later_predicate_counts_every_page_once_whatever_happens_to_a_judge(
    tmp_path: Path, empty_kafka: str
) -> None:
    with synthetic_server(*WEB) as server, Judged(tmp_path, empty_kafka, server.url) as crawl:
        one, two = crawl.worker("one", *ROLES), crawl.worker("two", "judge")
        submit(crawl.settings, Seeds(tuple(SyntheticWeb(*WEB).seeds(3))))
        wait("the first pages", lambda: crawl.ends(OUTCOMES.name) > 30, one, two)
        two.freeze()  # it judges without the predicate what it holds, if anybody listens to it yet
        assert crawl.command("predicate", "add", "later", LATER.expression, "--kept") == "later is active\n"
        wait("kept pages to be judged", lambda: one.said().count("kept pages were judged") == PARTITIONS, one)
        two.thaw()
        submit(crawl.settings, LATER)
        wait("the end", crawl.done, one, two)
    take(crawl.settings, lambda _: None)
    report = audit(crawl.settings)
    assert (report.examples, report.lost, report.judged_twice, report.behind) == ([], 0, 0, 0)
    pages, later = recorded(crawl.settings)
    assert later > 30
    categories = dict(SyntheticWeb(*WEB).labels())
    assert len(pages) == PAGES
    for url, page in pages.items():
        assert page.verdict == {"first": True, "later": categories[url].startswith(TOPIC)}
