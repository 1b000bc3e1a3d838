"""Links that looked good and were not, or led to nothing, lower what the same owner's links promise later."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scentline.agents.frontier.keys import page_key
from scentline.agents.frontier.priorities import LinkPromises
from scentline.agents.frontier.rows import Choice, FrontierRow, FrontierShard, PageRow
from scentline.models.frontier.promises import believed
from scentline.streams.facts import Failed, Inherited, Judged, Redirected
from scentline.streams.topics import SIGHTINGS
from tests.agents.books import NO, YES, a_book, linked, page
from tests.agents.shards import Disk, disk, take_in, write

FARM, GOOD = "http://farm.net/", "http://good.org/"


@pytest.fixture
def rows(tmp_path: Path) -> Iterator[Disk]:
    with disk(tmp_path / "data") as found:
        yield found


class Crawl:
    """A book on one shard, and pages that are chosen with much expected of them."""

    def __init__(self, rows: Disk) -> None:
        self.rows = rows
        self.book = a_book(policy="learned")
        self.shard: FrontierShard = rows.shard(FrontierRow, SIGHTINGS, 0)

    def links(self, source: str, *targets: str) -> None:
        take_in(self.shard, self.book, linked(source, targets, YES))

    def chosen(self, url: str) -> None:
        row = page(self.shard, url)
        row.state, row.attempts = "leased", 1
        row.choice = Choice("p", "learned", False, 1.0, 1.0, 1.0, expected=0.9)
        self.shard.put(page_key(url), row)

    def belief(self, url: str, promises: LinkPromises | None = None) -> float:
        """Return the logit that is left of one of 0."""
        found = self.shard.get(page_key(url))
        assert isinstance(found, PageRow)
        return believed(0.0, (promises or self.book.promises).belief(self.shard, found))

    def good(self) -> None:
        targets = [f"http://good.org/{number}" for number in range(60)]
        self.links(GOOD, *targets)
        for url in targets[1:]:
            self.chosen(url)
            take_in(self.shard, self.book, Judged(url, YES, 1.0))


@pytest.fixture
def crawl(rows: Disk) -> Crawl:
    found = Crawl(rows)
    found.good()
    return found


def broken(kind: str, url: str) -> object:
    ends = {
        "miss": Judged(url, NO, 1.0),
        "gone": Failed(url, 1, "gone", "HTTP 404", 1.0),
        "refused": Failed(url, 1, "refused", "robots.txt", 1.0),
        "redirect": Redirected(url, 1, "http://elsewhere.net/", 1.0),
        "circle": Redirected(url, 1, "http://farm.net/again", 1.0),
    }
    return ends[kind]


@pytest.mark.parametrize("kind", ["miss", "gone", "refused", "redirect", "circle"])
def test_an_owner_whose_links_come_to_nothing_is_believed_less(crawl: Crawl, kind: str) -> None:
    targets = [f"http://farm.net/{number}" for number in range(60)]
    crawl.links(FARM, *targets)
    assert crawl.belief(targets[0]) == 0
    for url in targets[1:]:
        crawl.chosen(url)
        take_in(crawl.shard, crawl.book, broken(kind, url))
    assert crawl.belief(targets[0]) < -1
    assert crawl.belief("http://good.org/0") == 0


def test_whoever_links_to_a_page_answers_for_it_and_not_who_is_linked_to(crawl: Crawl) -> None:
    targets = [f"http://victim.org/{number}" for number in range(60)]
    crawl.links(FARM, *targets[1:])
    for url in targets[1:]:
        crawl.chosen(url)
        take_in(crawl.shard, crawl.book, broken("gone", url))
    crawl.links("http://victim.org/", targets[0])
    assert crawl.belief(targets[0]) == 0
    crawl.links("http://farm.net/other", "http://victim.org/more")
    assert crawl.belief("http://victim.org/more") < -1


def test_a_chain_of_redirects_that_leads_nowhere_breaks_what_was_promised(crawl: Crawl) -> None:
    for chain in range(30):
        take_in(crawl.shard, crawl.book, Inherited(f"http://farm.net/{chain}", 1, {"p": 1.0}, hops=5))
        crawl.chosen(f"http://farm.net/{chain}")
        take_in(crawl.shard, crawl.book, broken("circle", f"http://farm.net/{chain}"))
    take_in(crawl.shard, crawl.book, Inherited("http://farm.net/new", 1, {"p": 1.0}))
    assert crawl.belief("http://farm.net/new") < -1


def test_a_restart_forgets_no_promise(crawl: Crawl) -> None:
    targets = [f"http://farm.net/{number}" for number in range(30)]
    crawl.links(FARM, *targets)
    for url in targets[1:]:
        crawl.chosen(url)
        take_in(crawl.shard, crawl.book, broken("miss", url))
    write(crawl.shard)
    before = crawl.belief(targets[0])
    again = LinkPromises()
    again.open(crawl.rows.shard(FrontierRow, SIGHTINGS, 0))
    assert crawl.belief(targets[0], again) == pytest.approx(before)
    assert before < -0.5


def test_what_a_partition_told_is_forgotten_with_it(crawl: Crawl) -> None:
    crawl.links(FARM, "http://farm.net/1", "http://farm.net/2")
    write(crawl.shard)
    crawl.book.promises.close([crawl.shard])
    before = crawl.belief("http://farm.net/1")
    crawl.book.promises.close([])
    assert before == crawl.belief("http://farm.net/1") == 0
