"""A crawl over the dangerous web, seen from its servers: polite, safe, and at its end by itself."""

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from tests.agents.commands import printed
from tests.cases import each_case
from tests.e2e.pace import keeps
from tests.rubbish.measured import run
from tests.webs.dangers.ailing import RETRY_AFTER
from tests.webs.dangers.endless import COPIES, NEAR_COPIES, SESSION_PAGES
from tests.webs.dangers.server import Asked, by_host, read_log
from tests.webs.dangers.web import FORBIDDEN, NETWORK, facts
from tests.webs.process import serve_dangers

pytestmark = pytest.mark.slow

#: Seconds after which a crawl that has not ended by itself has failed.
PATIENCE = 300
DELAY = 0.5
#: The server may note late that it has answered.
JITTER = 0.25
MEMORY = 600_000_000
#: Requests, of which a site without an end may take some before it is known as one.
ENOUGH = 200


@dataclass(frozen=True)
class Crawled:
    """What the servers were asked, and what the crawler took; ``ended`` says that it did so by itself."""

    asked: dict[str, list[Asked]]
    data: Path
    memory: int
    ended: bool
    errors: str

    def targets(self, host: str) -> list[str]:
        return [asked.target for asked in self.asked.get(host, ())]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    directory = tmp_path_factory.mktemp("dangers")
    record = directory / "asked.jsonl"
    given = {
        "fetch.allow": NETWORK, "fetch.delay_seconds": DELAY, "fetch.timeout_seconds": 8,
        "fetch.first_byte_seconds": 7, "frontier.attempts": 2, "frontier.retry_seconds": 1,
    }  # fmt: skip
    with serve_dangers(record) as server:
        # What does not end by itself is interrupted, so that the other tests have something to look at.
        run_out = run(
            directory, "crawl", "--seed", server.url, "--predicate", 'any=not "unheard-of"', "--json",
            *(word for key, value in given.items() for word in ("--set", f"{key}={value}")),
            prefix=("timeout", "--signal=INT", str(PATIENCE)), seconds=2 * PATIENCE,
        )  # fmt: skip
    assert run_out.status in (0, 124), run_out.err
    return Crawled(dict(by_host(read_log(record))), directory, run_out.memory, run_out.status == 0, run_out.err)


def test_it_ends_by_itself(crawled: Crawled) -> None:
    assert crawled.ended


def test_the_good_pages_of_every_host_are_fetched(crawled: Crawled) -> None:
    missing = {host: good - set(crawled.targets(host)) for host, good in facts().good.items()}
    assert {host: paths for host, paths in missing.items() if paths} == {}


def test_no_forbidden_path_is_asked_for(crawled: Crawled) -> None:
    for host, forbidden in facts().forbidden.items():
        assert forbidden.isdisjoint(crawled.targets(host))


def test_nothing_inside_is_ever_asked(crawled: Crawled) -> None:
    assert crawled.targets(FORBIDDEN) == []


def test_robots_txt_is_asked_before_anything_else(crawled: Crawled) -> None:
    assert {asked[0].target for asked in crawled.asked.values()} == {"/robots.txt"}


def test_no_host_is_asked_by_two_at_once(crawled: Crawled) -> None:
    overlapping = [
        (first, second)
        for asked in crawled.asked.values()
        for first, second in pairwise(asked)
        if second.began < first.ended
    ]
    assert overlapping == []


def test_no_delay_is_broken(crawled: Crawled) -> None:
    delays = facts().crawl_delays
    for host, asked in crawled.asked.items():
        times = [each.began for each in asked]
        paced = times[1:] if host in delays else times  # robots.txt tells the delay
        assert keeps(paced, max(DELAY, delays.get(host, 0.0))), (host, times)


@each_case(("host", "target"), [("overloaded", "/busy"), ("unavailable", "/down")])
def test_a_host_that_asks_for_patience_gets_it(crawled: Crawled, host: str, target: str) -> None:
    refused = next(asked for asked in crawled.asked[host] if asked.status in (429, 503))
    later = [asked for asked in crawled.asked[host] if asked.began > refused.began]
    assert later[0].began - refused.ended > RETRY_AFTER - JITTER
    assert [asked.status for asked in crawled.asked[host] if asked.target == target] == [refused.status, 200]


def test_hosts_that_wait_or_are_slow_hold_up_no_other(crawled: Crawled) -> None:
    patient = {"overloaded", "unavailable"}
    waited = min(
        asked.began for host in patient for asked in crawled.asked[host] if asked.target.startswith("/after/")
    )
    assert max(asked.ended for asked in crawled.asked["home"]) < waited


@each_case(("host", "target"), [("slow", "/slow"), ("silent", "/silent")])
def test_while_a_slow_host_is_asked_others_are_too(crawled: Crawled, host: str, target: str) -> None:
    began = [asked.began for name, others in crawled.asked.items() if name != host for asked in others]
    # At its second attempt there may be nobody else left to ask.
    slow = next(asked for asked in crawled.asked[host] if asked.target == target)
    assert any(slow.began < moment < slow.ended for moment in began)


@each_case("host", ["calendar", "paths", "soft-404", "sessions"])
def test_a_site_without_an_end_is_left(crawled: Crawled, host: str) -> None:
    assert len(crawled.targets(host)) < ENOUGH


def test_session_ids_do_not_make_new_pages(crawled: Crawled) -> None:
    pages = [target for target in crawled.targets("sessions") if target not in ("/", "/robots.txt")]
    names = {target.partition("?")[0].partition(";")[0] for target in pages}
    assert len(names) == SESSION_PAGES
    assert len(pages) <= 3 * SESSION_PAGES


def test_redirects_are_followed_to_a_page_and_no_further(crawled: Crawled) -> None:
    targets = crawled.targets("redirects")
    assert len(targets) == len(set(targets)), "a circle was followed twice"
    assert "/too-far" not in targets


def test_copies_are_judged_once(crawled: Crawled) -> None:
    found = [
        json.loads(line) for line in printed(crawled.data, "matches", "any", "--format", "jsonl").splitlines()
    ]
    copies = [page["url"] for page in found if "/copy-" in page["url"] or "/original" in page["url"]]
    near = [page["url"] for page in found if "/near-" in page["url"]]
    assert len(copies) + len(near) < COPIES + NEAR_COPIES, found
    assert len(copies) <= 1


def test_memory_stays_bounded(crawled: Crawled) -> None:
    assert crawled.memory < MEMORY


def test_nothing_goes_wrong_without_a_name(crawled: Crawled) -> None:
    assert "Traceback" not in crawled.errors
    assert printed(crawled.data, "dead-letters", "--json") == ""
