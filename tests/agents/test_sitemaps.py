"""Sitemaps and feeds: which are read, and what keeps a site from being asked for more than it should."""

import asyncio
import gzip
import itertools
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.fetch import sitemaps as module
from scentline.agents.fetch.listings import Dated, Listing
from scentline.agents.fetch.result import UNKNOWN, Answer, FetchError, Validators
from scentline.agents.fetch.sitemaps import Kind, Sitemaps, believed
from scentline.models.dates import seconds_of
from scentline.streams.settings import RevisitSettings
from tests.agents.loopback import awaited
from tests.cases import each_case
from tests.patience import PATIENCE

HOST = "http://example.org"
VERSION = Validators('"1"')


def urlset(*urls: str) -> bytes:
    inner = "".join(f"<url>\n<loc> {url} </loc><lastmod>2024-01-01</lastmod></url>" for url in urls)
    return f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{inner}</urlset>'.encode()


def index(*urls: str, dated: str = "") -> bytes:
    inner = "".join(f"<sitemap>{dated}<loc>{url}</loc></sitemap>" for url in urls)
    return f"<sitemapindex>{inner}</sitemapindex>".encode()


def dated(**dates: str) -> bytes:
    """Return a sitemap of pages by name, each with its lastmod."""
    inner = "".join(f"<url><loc>{HOST}/{url}</loc><lastmod>{on}</lastmod></url>" for url, on in dates.items())
    return f"<urlset>{inner}</urlset>".encode()


class Web:
    """Sitemaps by URL, and what was asked and told."""

    def __init__(self, **files: bytes | Answer | FetchError) -> None:
        self.files = {f"{HOST}/{name}": file for name, file in files.items()}
        self.asked: list[tuple[str, Validators]] = []
        self.told: list[str] = []
        self.kinds: list[Kind] = []
        self.hinted: dict[str, float] = {}
        self.time = 0.0
        self.on_ask: Callable[[], None] = lambda: None

    async def ask(self, url: str, known: Validators) -> Answer:
        self.asked.append((url.removeprefix(HOST + "/"), known))
        self.on_ask()
        file = self.files.get(url, Answer(404, None, b""))
        if isinstance(file, FetchError):
            raise file
        if isinstance(file, Answer):
            return file
        return Answer(304, None, b"") if known == VERSION else Answer(200, None, file, VERSION)

    async def tell(self, kind: Kind, urls: Sequence[Dated]) -> None:
        assert 0 < len(urls) <= module.BATCH
        self.kinds.append(kind)
        self.told += [one.url for one in urls]
        self.hinted |= {one.url.removeprefix(HOST + "/"): one.time for one in urls if one.time is not None}

    def sitemaps(self, limit: int = 1000, revisit: RevisitSettings | None = None) -> Sitemaps:
        return Sitemaps(self.ask, limit, lambda: self.time, revisit)

    def names(self) -> list[str]:
        return [name for name, _ in self.asked]


def walk(web: Web, sitemaps: Sitemaps, *files: str, origin: str = HOST) -> list[str]:
    """Have an origin's sitemaps read; return the URLs told."""
    return walked(web, sitemaps, lambda: sitemaps.announce(origin, files))


def walked(web: Web, sitemaps: Sitemaps, announce: Callable[[], None]) -> list[str]:
    """Have all read that something announces; return the URLs told."""

    async def run() -> None:
        announce()
        worker = asyncio.create_task(sitemaps.work(web.tell))
        async with asyncio.timeout(PATIENCE):
            while sitemaps.reading:
                await asyncio.sleep(0.001)
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)

    before = len(web.told)
    asyncio.run(run())
    return web.told[before:]


class TestWalking:
    def test_an_index_leads_to_its_sitemaps_and_they_to_their_urls(self) -> None:
        web = Web(
            i=index(f"{HOST}/a", f"{HOST}/b", f"{HOST}/a"),
            a=urlset(f"{HOST}/1", f"{HOST}/%7e2"),
            b=gzip.compress(urlset(f"{HOST}/3")),
        )
        assert walk(web, web.sitemaps(), f"{HOST}/i") == [f"{HOST}/1", f"{HOST}/~2", f"{HOST}/3"]
        assert web.names() == ["i", "a", "b"]

    def test_only_the_hosts_own_sitemaps_and_urls_count(self) -> None:
        web = Web(
            i=index("http://other.org/a", "http://10.0.0.1/a", "file:///a", f"{HOST}/a"),
            a=urlset("http://other.org/1", f"{HOST}:8080/2", "javascript:3", f"{HOST}/4"),
        )
        sitemaps = web.sitemaps()
        sitemaps.announce(HOST, ("http://other.org/map", "http://169.254.169.254/"))
        assert not sitemaps.reading
        assert walk(web, sitemaps, f"{HOST}/i", "http://other.org/i") == [f"{HOST}/4"]
        assert web.names() == ["i", "a"]

    def test_a_redirect_is_followed_on_its_host_alone(self) -> None:
        away, refused = Answer(301, "http://other.org/", b""), FetchError("refused", "body over 10 bytes")
        web = Web(a=Answer(301, f"{HOST}/b", b""), b=urlset(f"{HOST}/1"), c=away, d=refused)
        assert walk(web, web.sitemaps(), *(f"{HOST}/{name}" for name in "acde")) == [f"{HOST}/1"]
        assert web.names() == ["a", "c", "d", "e", "b"]

    def test_indexes_in_circles_and_without_end_come_to_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MAX_FILES", 10)
        many = [f"{HOST}/x{number}" for number in range(500)]
        web = Web(i=index(f"{HOST}/i", *many))
        walk(web, web.sitemaps(), f"{HOST}/i")
        assert len(web.asked) == 10
        deep = Web(**{f"d{n}": index(f"{HOST}/d{n + 1}") for n in range(9)})
        walk(deep, deep.sitemaps(), f"{HOST}/d0")
        assert deep.names() == ["d0", "d1", "d2"]

    @awaited
    async def test_what_nobody_expected_of_one_file_ends_its_host_for_now_and_no_other(self) -> None:
        web = Web(a=urlset(f"{HOST}/1"))

        def broken() -> None:
            raise RecursionError

        web.on_ask = broken
        sitemaps = web.sitemaps()
        worker = asyncio.create_task(sitemaps.work(web.tell))
        sitemaps.announce("http://broken.org", ("http://broken.org/a",))
        async with asyncio.timeout(PATIENCE):
            while sitemaps.reading:
                await asyncio.sleep(0.001)
            web.on_ask = lambda: None
            sitemaps.announce(HOST, (f"{HOST}/a",))
            while not web.told:
                await asyncio.sleep(0.001)
        assert web.told == [f"{HOST}/1"]
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)

    def test_no_more_urls_are_taken_than_the_setting_says(self) -> None:
        web = Web(
            a=urlset(*(f"{HOST}/{n}" for n in range(450))),
            b=urlset(*(f"{HOST}/b{n}" for n in range(450))),
            c=urlset(f"{HOST}/c"),
        )
        told = walk(web, web.sitemaps(limit=500), f"{HOST}/a", f"{HOST}/b", f"{HOST}/c")
        assert (len(told), told[-1]) == (500, f"{HOST}/b49")
        assert web.names() == ["a", "b"]

    def test_a_host_is_read_once_a_day_and_then_only_what_has_changed(self) -> None:
        web = Web(i=index(f"{HOST}/a"), a=urlset(f"{HOST}/1"))
        sitemaps = web.sitemaps()
        assert walk(web, sitemaps, f"{HOST}/i") == [f"{HOST}/1"]
        assert walk(web, sitemaps, f"{HOST}/i", origin="http://example.org") == []
        assert len(web.asked) == 2
        web.time = 86_400.0
        assert walk(web, sitemaps, f"{HOST}/i") == []
        assert web.asked == [("i", UNKNOWN), ("a", UNKNOWN), ("i", UNKNOWN), ("a", VERSION)]
        assert web.hinted == {}

    @each_case("trouble", [FetchError("retry", "timeout"), Answer(503, None, b""), Answer(429, None, b"")])
    def test_a_host_in_trouble_is_let_be_and_read_whole_the_next_day(
        self, trouble: FetchError | Answer
    ) -> None:
        web = Web(i=index(f"{HOST}/a", f"{HOST}/b"), a=trouble, b=urlset(f"{HOST}/1"))
        sitemaps = web.sitemaps()
        assert walk(web, sitemaps, f"{HOST}/i") == []
        assert web.names() == ["i", "a"]
        web.time = 86_400.0
        web.files[f"{HOST}/a"] = urlset(f"{HOST}/2")
        assert walk(web, sitemaps, f"{HOST}/i") == [f"{HOST}/2", f"{HOST}/1"]

    def test_a_host_that_asks_to_be_left_alone_is_asked_no_more(self) -> None:
        web = Web(i=index(f"{HOST}/a"), a=urlset(f"{HOST}/1"))
        sitemaps = web.sitemaps()
        web.on_ask = lambda: sitemaps.stop("example.org")
        assert walk(web, sitemaps, f"{HOST}/i") == []
        assert web.names() == ["i"]
        feeds = web.sitemaps(revisit=KEEPING_UP)
        feeds.seen(f"{HOST}/", naming("/f"))
        feeds.stop("example.org")
        assert walked(web, feeds, lambda: None) == []
        assert web.names() == ["i"]


NOON = "2024-03-10T12:00:00Z"
NOW = seconds_of(NOON) or 0.0
KEEPING_UP = RevisitSettings(shortest_seconds=600)


def times_of(listed: list[Dated]) -> list[float | None]:
    return [one.time for one in listed]


class TestBelief:
    @given(st.lists(st.none() | st.floats(0, 2e4), max_size=40), st.floats(0, 2e4), st.booleans())
    def test_what_is_believed_is_past_and_most_dates_lie_not_in_one_hour(
        self, dates: list[float | None], now: float, feed: bool
    ) -> None:
        listing = Listing()
        listing.feed = feed
        found = times_of(believed(listing, [Dated("", date) for date in dates], now))
        past = sorted(date for date in dates if date is not None and date <= now)
        crowded = len(past) >= 10 and past[-(len(past) // 2) - 1] > past[-1] - (60 if feed else 3600)
        assert found == [None if crowded or date is None or date > now else date for date in dates]


class TestKeepingUp:
    def test_a_later_date_is_told_again_and_an_equal_one_is_not(self) -> None:
        web = Web(a=dated(x="2024-03-09", y="2024-03-09", old="2024-02-08", future="2024-03-12"))
        web.time = NOW
        sitemaps = web.sitemaps(revisit=KEEPING_UP)
        walk(web, sitemaps, f"{HOST}/a")
        assert web.hinted == dict.fromkeys("xy", NOW - 36 * 3600)
        web.time += 3600
        web.files[f"{HOST}/a"] = Answer(200, None, dated(x="2024-03-10", y="2024-03-09"))
        assert walk(web, sitemaps, f"{HOST}/a") == [f"{HOST}/x"]
        assert web.hinted == {"x": NOW - 12 * 3600, "y": NOW - 36 * 3600}

    def test_a_host_is_read_again_the_later_the_less_it_brings(self) -> None:
        web = Web(a=urlset(f"{HOST}/1"), b=urlset(f"{HOST}/2"))
        sitemaps = web.sitemaps(revisit=KEEPING_UP)
        times = []
        for web.time in range(0, 400_000, 100):
            asked = len(web.asked)
            walk(web, sitemaps, f"{HOST}/a", f"{HOST}/b")
            if len(web.asked) > asked:
                times.append(web.time)
        waits = [after - before for before, after in itertools.pairwise(times)]
        assert waits == [1200, 2400, 4800, 9600, 19200, 38400, 76800, 86400, 86400]
        web.time += 86_400
        web.files[f"{HOST}/a"] = Answer(200, None, urlset(f"{HOST}/3"))
        assert walk(web, sitemaps, f"{HOST}/a", f"{HOST}/b") == [f"{HOST}/3"]
        web.time += 1100
        assert walk(web, sitemaps, f"{HOST}/a") == []
        web.time += 100
        asked = len(web.asked)
        walk(web, sitemaps, f"{HOST}/a")
        assert len(web.asked) == asked + 1

    def test_a_file_that_its_index_says_did_not_change_is_asked_for_once_a_day(self) -> None:
        def an_index(date: str) -> Answer:
            return Answer(200, None, index(f"{HOST}/a", dated=f"<lastmod>{date}</lastmod>"))

        web = Web(i=an_index("2024-03-01"), a=urlset(f"{HOST}/1"))
        web.time = NOW
        sitemaps = web.sitemaps(revisit=KEEPING_UP)
        walk(web, sitemaps, f"{HOST}/i")
        web.time += 7200
        walk(web, sitemaps, f"{HOST}/i")
        assert web.names() == ["i", "a", "i"]
        web.files[f"{HOST}/i"] = an_index("2024-03-02")
        web.time += 7200
        walk(web, sitemaps, f"{HOST}/i")
        assert web.names()[3:] == ["i", "a"]
        web.time += 86_400
        walk(web, sitemaps, f"{HOST}/i")
        assert web.names()[5:] == ["i", "a"]

    def test_what_is_known_of_files_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "_MAX_MARKS", 250)
        files = {name: urlset(*(f"{HOST}/{name}{number}" for number in range(100))) for name in "abc"}
        web = Web(**{name: Answer(200, None, text) for name, text in files.items()})
        sitemaps = web.sitemaps()
        walk(web, sitemaps, *(f"{HOST}/{name}" for name in "abc"))
        web.time = 86_400.0
        assert len(walk(web, sitemaps, f"{HOST}/c", f"{HOST}/b")) == 0
        web.time = 2 * 86_400.0
        assert len(walk(web, sitemaps, f"{HOST}/a")) == 100


def feed(**dates: str) -> Answer:
    """Return a feed of pages by name, each with its date, of which no version is told."""
    inner = "".join(f"<entry><link href='/{url}'/><updated>{on}</updated></entry>" for url, on in dates.items())
    return Answer(200, None, f"<feed>{inner}</feed>".encode())


def naming(url: str) -> bytes:
    return f"<head><link rel=alternate type=application/atom+xml href={url}></head>".encode()


class TestFeeds:
    def test_the_feed_that_a_page_names_is_read_and_its_dates_are_told(self) -> None:
        web = Web(feed=feed(x="2024-03-10T11:00:00Z", y="2024-01-01"))
        web.time = NOW
        sitemaps = web.sitemaps(revisit=KEEPING_UP)
        told = walked(web, sitemaps, lambda: sitemaps.seen(f"{HOST}/a/b", naming("../feed")))
        assert told == [f"{HOST}/x", f"{HOST}/y"]
        assert (web.kinds, web.hinted) == (["feed"], {"x": NOW - 3600})
        web.files[f"{HOST}/atom"], web.files[f"{HOST}/map"] = feed(z="2024-03-10"), urlset(f"{HOST}/1")
        web.time += 86_400
        media_type = "application/rss+xml"
        assert walked(web, sitemaps, lambda: sitemaps.asked(f"{HOST}/atom", media_type)) == [f"{HOST}/z"]
        assert walk(web, sitemaps, f"{HOST}/map") == [f"{HOST}/1"], "it has a turn of its own"

    def test_it_is_read_again_when_its_host_is_asked_for_any_page(self) -> None:
        web = Web(feed=feed(x="2024-03-10T10:00:00Z"))
        web.time = NOW
        sitemaps = web.sitemaps(revisit=KEEPING_UP)
        walked(web, sitemaps, lambda: sitemaps.seen(f"{HOST}/", naming("/feed")))
        web.files[f"{HOST}/feed"] = feed(x="2024-03-10T10:00:00Z", y="2024-03-10T12:05:00Z")
        web.time += 500
        assert walked(web, sitemaps, lambda: sitemaps.asked(f"{HOST}/1", "text/html")) == []
        web.time += 100
        assert walked(web, sitemaps, lambda: sitemaps.asked(f"{HOST}/1", "text/html")) == [f"{HOST}/y"]
        assert web.hinted == {"x": NOW - 7200, "y": NOW + 300}
        assert walked(web, sitemaps, lambda: sitemaps.asked("http://other.org/1", "text/html")) == []
        assert len(web.asked) == 2

    def test_only_a_hosts_own_feeds_count_and_few_of_them(self) -> None:
        web = Web(**{f"f{number}": feed(x="2024-03-10") for number in range(20)})
        web.files["http://other.org/feed"] = feed(y="2024-03-10")
        sitemaps = web.sitemaps(revisit=KEEPING_UP)

        def announce() -> None:
            sitemaps.seen(f"{HOST}/", naming("http://other.org/feed"))
            for number in range(20):
                sitemaps.seen(f"{HOST}/", naming(f"/f{number}"))

        walked(web, sitemaps, announce)
        web.time = 86_400.0
        walked(web, sitemaps, lambda: sitemaps.asked(f"{HOST}/", "text/html"))
        assert set(web.names()) == {f"f{number}" for number in range(module.MAX_FEEDS)}

    def test_none_is_read_where_pages_are_not_visited_again(self) -> None:
        web = Web(feed=feed(x="2024-03-10"))
        sitemaps = web.sitemaps()
        sitemaps.seen(f"{HOST}/", naming("/feed"))
        sitemaps.asked(f"{HOST}/feed", "application/rss+xml")
        assert not sitemaps.reading
