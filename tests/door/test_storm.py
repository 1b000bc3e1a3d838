"""StormCrawler on URLFrontier's gRPC: what its spout and its status updater send, with their defaults.

Source: StormCrawler 3, Spout.populateBuffer, StatusUpdaterBolt.store, JSoupParserBolt and DefaultScheduler; in
metadata.persist are anchors, parse.title, fetch.statusCode and scentline.item.
"""

import time
from pathlib import Path
from typing import Any

from lxml import html

from scentline.agents.door.leases import Parked
from scentline.agents.door.metadata import answer_from, memo_from, metadata_of, wanted_from
from scentline.agents.door.proto import OK
from scentline.models.records import FetchOrder
from scentline.models.url import canonical
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import last_line
from tests.cases import each_case
from tests.door.clients import has_tip
from tests.door.urlfrontier import CallError, Client, Metadata, crawling, discovered, known
from tests.door.urlfrontier import metadata_of as kept
from tests.e2e.crawls import SIZE, exact, outcomes_of, pages_of
from tests.patience import PATIENCE

PAGES = 40
DAY = 86_400


#: How a call ends whose service is gone, also before the client notices that.
ENDS = ("UNAVAILABLE", "CANCELLED", "DEADLINE_EXCEEDED")
GONE_SECONDS = 20.0


class Topology:
    """Fetches from a web of its own what the frontier orders; ``links`` are those of the pages that came."""

    def __init__(self, client: Client, web: SyntheticWeb) -> None:
        self._client = client
        self._web = web
        self.links: dict[str, set[str]] = {}

    def spout(self) -> list[Any]:
        asked = {"max_urls_per_queue": 10, "delay_requestable": 300, "max_queues": 10}
        found: list[Any] = self._client("GetURLs", GONE_SECONDS, **asked)
        return found

    def crawl(self, seeds: list[str]) -> None:
        """Crawl until the service is gone: its clients hear of no other end."""
        self.update(*map(discovered, seeds))
        try:
            while True:
                for found in self.spout():
                    self.fetch(found.url, kept(found))
        except CallError as error:
            assert str(error) in ENDS

    def fetch(self, url: str, metadata: dict[str, tuple[str, ...]]) -> None:
        answer = self._web.answer(url, {})
        path = {"url.path": (*metadata.get("url.path", ()), url)}
        found: dict[str, str | tuple[str, ...]] = dict(metadata)
        found |= {"fetch.statusCode": str(answer.status), "fetch.loadingTime": "12"}
        target = dict(answer.headers).get("Location")
        if target is not None:
            self.update(discovered(target, path))
            found["_redirTo"] = target
        elif answer.status == 200:
            page = html.fromstring(answer.body, base_url=url)
            anchors = [(canonical(str(each.get("href")), url), each) for each in page.iter("a")]
            links = {link or "": str(each.xpath("string()")) for link, each in anchors}
            self.links[url] = set(links)
            self.update(*(discovered(link, {**path, "anchors": text}) for link, text in links.items()))
            found["parse.title"] = page.findtext(".//title") or ""
            found["scentline.item"] = "Tip" if has_tip(url) else "Other"
        self.update(known(url, found, date=int(time.time()) + DAY))

    def update(self, *items: Any) -> None:
        assert self._client.put(*items) == [OK] * len(items)


def test_a_crawl_by_a_topology(tmp_path: Path) -> None:
    web = SyntheticWeb(*SIZE)
    with crawling(tmp_path, "--budget", str(PAGES)) as (crawl, address), Client(address) as client:
        topology = Topology(client, web)
        topology.crawl(web.seeds(2))
        printed, _ = crawl.communicate(timeout=PATIENCE)
    assert last_line(printed)["fetched"] == PAGES
    exact(tmp_path, "--data", "data", judged=PAGES)
    outcomes = {outcome.url: outcome for outcome in outcomes_of(tmp_path / "data")}
    assert {url: outcome.verdict for url, outcome in outcomes.items()} == {
        url: {"tip": has_tip(url)} for url in topology.links
    }
    assert {url: {link.url for link in outcome.links} for url, outcome in outcomes.items()} == topology.links
    for row in pages_of(tmp_path / "data"):
        parents = [url for url, links in topology.links.items() if row.url in links]
        hits = sum(map(has_tip, parents))
        assert row.links == ({"tip": [len(parents), hits]} if parents else {}), row


def ended(found: Metadata, due: int) -> tuple[int, str, list[str]]:
    order = FetchOrder(
        url="http://a.test/", order=1, predicate="tip", policy="learned", explored=False, probability=1.0,
        priority=0.0, depth=0, lease=0.0,
    )  # fmt: skip
    given = {name: [values] if isinstance(values, str) else list(values) for name, values in found.items()}
    answer = answer_from(Parked(order, bool, 0.0, early=False), given, due)
    return answer.status, answer.reason, answer.items


@each_case(
    "found, due, expected",
    [
        ({}, 0, (200, "", [])),
        ({"scentline.item": ("Tip", "Price")}, DAY, (200, "", ["Tip", "Price"])),
        ({"fetch.statusCode": "404"}, 0, (404, "", [])),
        ({"fetch.statusCode": "4040"}, 0, (200, "", [])),
        ({"_redirTo": "http://b.test/"}, 0, (301, "", [])),
        ({"error.cause": "ROBOTS.TXT"}, 0, (0, "robots", [])),
        ({"fetch.exception": "Socket timeout fetching"}, DAY, (0, "connection", [])),
        ({"fetch.exception": "Socket timeout fetching"}, 0, (0, "failed", [])),
    ],
)
def test_metadata_says_how_a_fetch_ended(
    found: Metadata, due: int, expected: tuple[int, str, list[str]]
) -> None:
    assert ended(found, due) == expected


def test_metadata_is_kept_but_for_the_beginning_of_a_long_path() -> None:
    short = {"url.path": ["http://a.test/"], "depth": ["1"]}
    assert metadata_of(memo_from(short)) == short
    path = [f"http://a.test/{number}/{'x' * 100}" for number in range(100)]
    kept = metadata_of(memo_from({"url.path": path, "depth": ["100"]}))
    assert kept["depth"] == ["100"]
    assert kept["url.path"] == path[-len(kept["url.path"]) :]
    assert 20 < len(kept["url.path"]) < 40
    assert metadata_of('{"depth": 3}') == metadata_of("no JSON") == {}


def test_a_seed_has_no_page_that_leads_to_it() -> None:
    seed = wanted_from("http://a.test/", {"depth": ["0"]})
    assert (seed.seed, seed.parent, seed.text) == (True, "", "")
    link = wanted_from(
        "http://a.test/b", {"url.path": ["http://c.test/", "http://a.test/"], "anchors": ["B", "b"]}
    )
    assert (link.seed, link.parent, link.text) == (False, "http://a.test/", "B b")
