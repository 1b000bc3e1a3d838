"""A crawl that keeps up: what sitemaps and feeds list is found, and signs of changes are told and followed."""

import threading
import time
from collections import Counter
from pathlib import Path

from scentline.streams.facts import Hinted, SightingPack
from scentline.streams.records import Decoder
from scentline.streams.topics import SIGHTINGS
from scentline.streams.transport.journal import Journal
from tests.agents.commands import COMMAND, running, wait_until
from tests.agents.test_cli_crawl import judged_so_far
from tests.e2e.test_keep_up import TEA, Site, keeping_up, serving, told

FEED = '<link rel="alternate" type="application/atom+xml" href="/feed">'


class Listing(Site):
    """A site with a sitemap and a feed, each of a page that nothing else leads to, and when that changed."""

    def __init__(self) -> None:
        super().__init__()
        self.pages = {
            "/": (f"{FEED} Welcome to all.", ["/a"]),
            "/a": (TEA, ()),
            "/listed": (f"{TEA} Listed.", ()),
            "/fed": (f"{TEA} Fed.", ()),
        }
        self.date = "2024-03-01"
        self.asked: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body; count what was asked for, and what it said."""
        files = {
            "/robots.txt": f"Sitemap: {self.url}/map.xml",
            "/map.xml": f"<urlset><url><loc>{self.url}/listed</loc><lastmod>{self.date}</lastmod></url>",
            "/feed": f"<feed><entry><link href='/fed'/><updated>{self.date}</updated></entry></feed>",
        }
        with self._lock:
            self.asked[path, self.date] += 1
        if path in files:
            return 200, {"Content-Type": "application/xml"}, files[path].encode()
        return super().answer(path)


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
    site = Listing()
    with serving(site) as site.url:
        command = [*keeping_up(site), "--set", "fetch.sitemaps=true"]
        with running(tmp_path, *command, program=COMMAND) as process:
            wait_until(lambda: judged_so_far(tmp_path / "scentline-data") >= 4, process)
            wait_until(lambda: {("appeared", "listed"), ("appeared", "fed")} <= set(told(tmp_path)), process)
            process.kill()
        assert hints(tmp_path) == {}, "what changed long ago is no news"
        now = int(time.time())
        site.date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
        with running(tmp_path, *command, program=COMMAND) as process:
            # Each is asked for once more when what it said is in the log.
            wait_until(lambda: all(site.asked[path, site.date] > 1 for path in ("/map.xml", "/feed")), process)
            process.terminate()
            process.wait()
        assert hints(tmp_path) == {("listed", "sitemap"): now, ("fed", "feed"): now}
        assert len(told(tmp_path)) == len(set(told(tmp_path))), "each is told once"


class Watched(Site):
    """A site that notes what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body."""
        self.asked.append(path)
        return super().answer(path)


def test_a_page_whose_size_differs_in_the_log_is_visited_again(tmp_path: Path) -> None:
    site, log = Watched(), tmp_path / "access.log"
    site.pages = {"/a": (f"{TEA} Once.", ()), "/b": (f"{TEA} Twice in a cup.", ())}
    given = {"fetch.allow": "127.0.0.1", "fetch.delay_seconds": 0, "revisit.shortest_seconds": 0.2}
    options = [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
    command = ["crawl", "--keep-up", "--log", str(log), "--follow", "--predicate", 'tea="tea"', *options]

    def view(path: str, size: int) -> None:
        head = f"{time.time():.3f} 9 192.0.2.7 TCP_MISS/200 {size} GET {site.url}{path}"
        with log.open("a") as lines:
            lines.write(f"{head} - HIER_DIRECT/- text/html\n")

    with serving(site) as site.url:
        view("/a", 5000)
        view("/b", 5000)
        with running(tmp_path, *command, program=COMMAND) as process:
            wait_until(lambda: judged_so_far(tmp_path / "scentline-data") >= 2, process)
            wait_until(lambda: {("appeared", "a"), ("appeared", "b")} <= set(told(tmp_path)), process)
            site.pages["/a"] = ("Cups and saucers of porcelain, made for tea by hand in old workshops.", ())
            view("/b", 5007)
            view("/a", 6000)
            wait_until(lambda: ("changed", "a") in told(tmp_path), process)
            process.terminate()
            process.wait()
    # Of itself no page is due within the hour, before one was seen to change so soon.
    again = [path for number, path in enumerate(site.asked) if path in site.asked[:number]]
    assert again[0] == "/a"
