"""A crawl that keeps up: what sitemaps and feeds list is found, and signs of changes are told and followed."""

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from scentline.streams.facts import Hinted, SightingPack
from scentline.streams.records import Decoder
from scentline.streams.topics import SIGHTINGS
from scentline.streams.transport.journal import Journal
from tests.agents.commands import COMMAND, printed, running, wait_until
from tests.e2e.crawls import judged_so_far, options
from tests.webs.serving import Exchange, Served, serving

TEA = "Green leaves of tea in a pot of water."
FEED = '<link rel="alternate" type="application/atom+xml" href="/feed">'


class Site:
    """A site of pages that a test changes: texts by path, and what is served as XML; all links to /a."""

    def __init__(self, pages: Mapping[str, str]) -> None:
        self.pages = dict(pages)
        self.date = ""
        self.files: dict[str, str] = {}
        self.asked: Counter[tuple[str, str]] = Counter()

    async def answer(self, exchange: Exchange) -> None:
        """Answer; count what was asked for, and the date that it said."""
        self.asked[exchange.path, self.date] += 1
        if exchange.path in self.files:
            origin = f"http://{exchange.headers['host']}"
            body = self.files[exchange.path].format(origin=origin, date=self.date)
            exchange.send(200, body.encode(), "application/xml")
        elif exchange.path in self.pages:
            text = self.pages[exchange.path]
            exchange.send(200, f'<title>{exchange.path}</title><p>{text}<p><a href="/a">a</a>'.encode())
        else:
            exchange.send(404)


def keeping_up(*where: str, **given: object) -> list[str]:
    settings = {
        "fetch.allow": "127.0.0.1", "fetch.delay_seconds": 0, "fetch.delay_factor": 0,
        "judge.duplicates": "false", "revisit.shortest_seconds": 0.2, "revisit.tell_seconds": 0.5, **given,
    }  # fmt: skip
    return ["crawl", "--predicate", 'tea="tea"', "--keep-up", *where, *options(settings)]


def told(cwd: Path) -> Sequence[tuple[str, str]]:
    """Return the changes: kind and page."""
    lines = printed(cwd, "changes", "--format", "jsonl").splitlines()
    return [(change["kind"], change["url"].rpartition("/")[2]) for change in map(json.loads, lines)]


def hints(cwd: Path) -> dict[tuple[str, str], float]:
    """Return the last time that was told of each page and kind."""
    decode = Decoder[SightingPack](SightingPack)
    found: dict[tuple[str, str], float] = {}
    with Journal.open(cwd / "scentline-data" / "journal", read_only=True) as journal:
        for partition in range(journal.partitions(SIGHTINGS.name)):
            for entry in journal.read(SIGHTINGS.name, partition, 0, 100_000):
                for _, _, fact in decode(entry.value or b"").facts:
                    if isinstance(fact, Hinted):
                        found[fact.url.rpartition("/")[2], fact.kind] = fact.time
    return found


def test_what_sitemaps_and_feeds_list_is_found_and_their_dates_are_told(tmp_path: Path) -> None:
    site = Site({"/": FEED, "/a": TEA, "/listed": f"{TEA} Listed.", "/fed": f"{TEA} Fed."})
    site.date = "2024-03-01"
    site.files = {
        "/robots.txt": "Sitemap: {origin}/map.xml",
        "/map.xml": "<urlset><url><loc>{origin}/listed</loc><lastmod>{date}</lastmod></url>",
        "/feed": "<feed><entry><link href='/fed'/><updated>{date}</updated></entry></feed>",
    }
    with serving(site.answer) as served:
        brief = {"fetch.sitemaps": "true", "revisit.longest_seconds": 0.5}
        command = keeping_up("--seed", f"{served.origin}/", **brief)
        with running(tmp_path, *command, program=COMMAND) as process:
            wait_until(lambda: judged_so_far(tmp_path / "scentline-data") >= 4, process)
            wait_until(lambda: {("appeared", "listed"), ("appeared", "fed")} <= {*told(tmp_path)}, process)
        assert hints(tmp_path) == {}, "what changed long ago is no news"
        now = int(time.time())
        site.date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
        with running(tmp_path, *command, program=COMMAND) as process:
            # Each is asked for once more when what it said is in the log.
            wait_until(lambda: all(site.asked[path, site.date] > 1 for path in ("/map.xml", "/feed")), process)
            process.terminate()
            process.wait()
        assert hints(tmp_path) == {("listed", "sitemap"): now, ("fed", "feed"): now}
        assert len(told(tmp_path)) == len({*told(tmp_path)}), "each is told once"


def view(served: Served, log: Path, path: str, size: int) -> None:
    """Note in a proxy's log that somebody saw a page, which had so many bytes."""
    with log.open("a") as lines:
        head = f"{time.time():.3f} 9 192.0.2.7 TCP_MISS/200 {size} GET {served.origin}{path}"
        lines.write(f"{head} - HIER_DIRECT/- text/html\n")


def test_a_page_whose_size_differs_in_the_log_is_visited_again(tmp_path: Path) -> None:
    site, log = Site({"/a": f"{TEA} Once.", "/b": f"{TEA} Twice in a cup."}), tmp_path / "access.log"
    with serving(site.answer) as served:
        view(served, log, "/a", 5000)
        view(served, log, "/b", 5000)
        command = keeping_up("--log", str(log), "--follow")
        with running(tmp_path, *command, program=COMMAND) as process:
            wait_until(lambda: judged_so_far(tmp_path / "scentline-data") >= 2, process)
            wait_until(lambda: {("appeared", "a"), ("appeared", "b")} <= {*told(tmp_path)}, process)
            site.pages["/a"] = "Cups and saucers of porcelain, made for tea by hand in old workshops."
            view(served, log, "/b", 5007)
            view(served, log, "/a", 6000)
            wait_until(lambda: ("changed", "a") in told(tmp_path), process)
            process.terminate()
            process.wait()
    # Of itself no page is due within the hour, before one was seen to change so soon.
    targets = served.targets()
    again = [path for number, path in enumerate(targets) if path in targets[:number]]
    assert again[0] == "/a"
