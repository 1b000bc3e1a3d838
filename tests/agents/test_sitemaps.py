"""Sitemaps and feeds: which are read, and what keeps a site from being asked for more than it should."""

import asyncio
import gzip
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scentline.agents.fetch import sitemaps as module
from scentline.agents.fetch.result import Answer, FetchError
from scentline.agents.fetch.sitemaps import Dated, Kind, Listing, Sitemaps, believed
from scentline.models.dates import seconds_of
from scentline.models.records import Version
from scentline.models.settings import RevisitSettings
from tests.agents.loopback import awaited
from tests.cases import each_case
from tests.patience import PATIENCE

HOST = "http://example.org/"
VERSION = Version('"1"')
NOON = "2024-03-10T12:00:00Z"
NOW = seconds_of(NOON) or 0.0
DAY = 86_400.0
KEEPING_UP = RevisitSettings(shortest_seconds=600)


def urlset(*urls: str) -> bytes:
    inner = "".join(f"<url>\n<loc> {url} </loc><lastmod>2024-01-01</lastmod></url>" for url in urls)
    return f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{inner}</urlset>'.encode()


def index(*urls: str, dated: str = "") -> bytes:
    inner = "".join(f"<sitemap>{dated}<loc>{url}</loc></sitemap>" for url in urls)
    return f"<sitemapindex>{inner}</sitemapindex>".encode()


def dated(**dates: str) -> bytes:
    """Return a sitemap of pages by name, each with its lastmod."""
    inner = "".join(f"<url><loc>/{url}</loc><lastmod>{on}</lastmod></url>" for url, on in dates.items())
    return f"<urlset>{inner}</urlset>".encode()


def feed(**dates: str) -> Answer:
    """Return a feed of pages by name, each with its date, of which no version is told."""
    inner = "".join(f"<entry><link href='/{url}'/><updated>{on}</updated></entry>" for url, on in dates.items())
    return Answer(200, None, f"<feed>{inner}</feed>".encode())


def naming(url: str) -> bytes:
    return f"<head><link rel=alternate type=application/atom+xml href={url}></head>".encode()


class Web:
    """The files of a host by name, what reads them, and what was asked and told: of the host, by name."""

    def __init__(self, revisit: RevisitSettings | None = None, limit: int = 1000, **files: Any) -> None:
        self.files = files
        self.asked: list[tuple[str, Version | None]] = []
        self.told: list[str] = []
        self.kinds: list[Kind] = []
        self.hinted: dict[str, float] = {}
        self.time = NOW
        self.on_ask: Callable[[], None] = lambda: None
        self.sitemaps = Sitemaps(self.ask, limit, lambda: self.time, revisit)

    async def ask(self, url: str, known: Version | None) -> Answer:
        name = url.removeprefix(HOST)
        self.asked.append((name, known))
        self.on_ask()
        file = self.files.get(name, Answer(404, None, b""))
        if isinstance(file, FetchError):
            raise file
        if isinstance(file, bytes):
            return Answer(304, None, b"") if known == VERSION else Answer(200, None, file, VERSION)
        assert isinstance(file, Answer)
        return file

    async def tell(self, kind: Kind, urls: Sequence[Dated]) -> None:
        assert 0 < len(urls) <= module.BATCH
        self.kinds.append(kind)
        self.told += [one.url.removeprefix(HOST) for one in urls]
        self.hinted |= {one.url.removeprefix(HOST): one.time for one in urls if one.time is not None}

    def names(self) -> list[str]:
        return [name for name, _ in self.asked]

    def announce(self, *names: str) -> None:
        self.sitemaps.announce(HOST.rstrip("/"), tuple(name if ":" in name else HOST + name for name in names))

    def walk(self, *names: str) -> list[str]:
        """Have sitemaps of the host read, by name or by URL; return what is told."""
        self.announce(*names)
        return self.read()

    def sees(self, *feeds: str, page: str = "") -> list[str]:
        """Have the feeds read that a page names."""
        for url in feeds:
            self.sitemaps.seen(HOST + page, "", naming(url))
        return self.read()

    def is_asked(self, page: str = "1", kind: str = "text/html") -> list[str]:
        """Have read what is due when the host is asked for a page."""
        self.sitemaps.seen(HOST + page, kind)
        return self.read()

    def read(self) -> list[str]:
        before = len(self.told)
        asyncio.run(self.working(lambda: not self.sitemaps.reading))
        return self.told[before:]

    async def working(self, *ends: Callable[[], bool]) -> None:
        """Have one worker read until each of the ends came about, one after the other."""
        worker = asyncio.create_task(self.sitemaps.work(self.tell))
        async with asyncio.timeout(PATIENCE):
            for end in ends:
                while not end():
                    await asyncio.sleep(0.001)
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)


def test_an_index_leads_to_its_sitemaps_and_they_to_their_urls() -> None:
    first, rest = urlset(f"{HOST}1", f"{HOST}%7e2"), gzip.compress(urlset("/3"))
    web = Web(i=index(f"{HOST}a", f"{HOST}b", f"{HOST}a"), a=first, b=rest)
    assert web.walk("i") == ["1", "~2", "3"]
    assert web.names() == ["i", "a", "b"]


def test_only_the_hosts_own_sitemaps_and_urls_count() -> None:
    web = Web(
        i=index("http://other.org/a", "http://10.0.0.1/a", "file:///a", "/a"),
        a=urlset("http://other.org/1", "http://example.org:8080/2", "javascript:3", "/4"),
    )
    web.announce("http://other.org/map", "http://169.254.169.254/")
    assert not web.sitemaps.reading
    assert web.walk("i", "http://other.org/i") == ["4"]
    assert web.names() == ["i", "a"]


def test_a_redirect_is_followed_on_its_host_alone() -> None:
    away, refused = Answer(301, "http://other.org/", b""), FetchError("refused", "body over 10 bytes")
    web = Web(a=Answer(301, f"{HOST}b", b""), b=urlset("/1"), c=away, d=refused)
    assert web.walk(*"acde") == ["1"]
    assert web.names() == [*"acdeb"]


def test_indexes_in_circles_and_without_end_come_to_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILES", 10)
    web = Web(i=index("/i", *(f"/x{number}" for number in range(500))))
    web.walk("i")
    assert len(web.asked) == 10
    deep = Web(None, 1000, **{f"d{n}": index(f"/d{n + 1}") for n in range(9)})
    deep.walk("d0")
    assert deep.names() == ["d0", "d1", "d2"]


@awaited
async def test_what_nobody_expected_of_one_file_ends_its_host_for_now_and_no_other() -> None:
    web = Web(a=urlset("/1"))

    def broken() -> None:
        raise RecursionError

    def well() -> bool:
        if ended := not web.sitemaps.reading:
            web.on_ask = lambda: None
            web.announce("a")
        return ended

    web.on_ask = broken
    web.sitemaps.announce("http://broken.org", ("http://broken.org/a",))
    await web.working(well, lambda: web.told == ["1"])


def test_no_more_urls_are_taken_than_the_setting_says() -> None:
    web = Web(limit=500, a=urlset(*map(str, range(450))), b=urlset(*(f"b{n}" for n in range(450))), c=b"")
    told = web.walk("a", "b", "c")
    assert (len(told), told[-1]) == (500, "b49")
    assert web.names() == ["a", "b"]


def test_a_host_is_read_once_a_day_and_then_only_what_has_changed() -> None:
    web = Web(i=index("/a"), a=urlset("/1"))
    assert [web.walk("i"), web.walk("i")] == [["1"], []]
    assert len(web.asked) == 2
    web.time += DAY
    assert web.walk("i") == []
    assert web.asked == [("i", None), ("a", None), ("i", None), ("a", VERSION)]
    assert web.hinted == {}


@each_case("trouble", [FetchError("retry", "timeout"), Answer(503, None, b""), Answer(429, None, b"")])
def test_a_host_in_trouble_is_let_be_and_read_whole_the_next_day(trouble: FetchError | Answer) -> None:
    web = Web(i=index("/a", "/b"), a=trouble, b=urlset("/1"))
    assert web.walk("i") == []
    assert web.names() == ["i", "a"]
    web.time += DAY
    web.files["a"] = urlset("/2")
    assert web.walk("i") == ["2", "1"]


def test_a_host_that_asks_to_be_left_alone_is_asked_no_more() -> None:
    web = Web(KEEPING_UP, i=index("/a"), a=urlset("/1"))
    web.on_ask = lambda: web.sitemaps.stop("example.org")
    assert web.walk("i") == []
    web.sitemaps.seen(HOST, "", naming("/f"))
    web.sitemaps.stop("example.org")
    assert web.read() == []
    assert web.names() == ["i"]


def test_what_is_known_of_files_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_MARKS", 250)
    texts = {name: urlset(*(f"{name}{number}" for number in range(100))) for name in "abc"}
    web = Web(None, 1000, **{name: Answer(200, None, text) for name, text in texts.items()})
    web.walk("a", "b", "c")
    web.time += DAY
    assert len(web.walk("c", "b")) == 0
    web.time += DAY
    assert len(web.walk("a")) == 100


# keeping up


@given(st.lists(st.none() | st.floats(0, 2e4), max_size=40), st.floats(0, 2e4), st.booleans())
def test_what_is_believed_is_past_not_of_one_hour(dates: list[float | None], now: float, feed: bool) -> None:
    listing = Listing()
    listing.feed = feed
    found = [one.time for one in believed(listing, [Dated("", date) for date in dates], now)]
    past = sorted(date for date in dates if date is not None and date <= now)
    crowded = len(past) >= 10 and past[-(len(past) // 2) - 1] > past[-1] - (60 if feed else 3600)
    assert found == [None if crowded or date is None or date > now else date for date in dates]


def test_a_later_date_is_told_again_and_an_equal_one_is_not() -> None:
    web = Web(KEEPING_UP, a=dated(x="2024-03-09", y="2024-03-09", old="2024-02-08", future="2024-03-12"))
    web.walk("a")
    assert web.hinted == dict.fromkeys("xy", NOW - 36 * 3600)
    web.time += 3600
    web.files["a"] = Answer(200, None, dated(x="2024-03-10", y="2024-03-09"))
    assert web.walk("a") == ["x"]
    assert web.hinted == {"x": NOW - 12 * 3600, "y": NOW - 36 * 3600}


def test_a_host_is_read_again_the_later_the_less_it_brings() -> None:
    web = Web(KEEPING_UP, a=urlset("/1"), b=urlset("/2"))

    def waits(seconds: Iterable[int]) -> list[float]:
        """Return the seconds between those times, among these, at which the host is asked."""
        times, begun = [], web.time
        for later in seconds:
            asked, web.time = len(web.asked), begun + later
            web.walk("a", "b")
            times += [web.time] * (len(web.asked) > asked)
        return [after - before for before, after in itertools.pairwise(times)]

    assert waits(range(0, 400_000, 100)) == [1200, 2400, 4800, 9600, 19200, 38400, 76800, 86400, 86400]
    web.time += DAY
    web.files["a"] = Answer(200, None, urlset("/3"))
    assert waits((0, 1100, 1200)) == [1200], "two files, and one of them brought something"
    assert web.told == ["1", "2", "3"]


def test_a_file_that_its_index_says_did_not_change_is_asked_for_once_a_day() -> None:
    def an_index(date: str) -> Answer:
        return Answer(200, None, index("/a", dated=f"<lastmod>{date}</lastmod>"))

    web = Web(KEEPING_UP, a=urlset("/1"))
    for later, day, asked in ((0, 1, "ia"), (7200, 1, "i"), (7200, 2, "ia"), (DAY, 2, "ia")):
        web.time += later
        web.files["i"], web.asked = an_index(f"2024-03-0{day}"), []
        web.walk("i")
        assert web.names() == [*asked]


# feeds


def test_the_feed_that_a_page_names_is_read_and_its_dates_are_told() -> None:
    web = Web(KEEPING_UP, feed=feed(x="2024-03-10T11:00:00Z", y="2024-01-01"), map=urlset("/1"))
    assert web.sees("../feed", page="a/b") == ["x", "y"]
    assert (web.kinds, web.hinted) == (["feed"], {"x": NOW - 3600})
    web.files["atom"] = feed(z="2024-03-10")
    web.time += DAY
    assert web.is_asked("atom", "application/rss+xml") == ["z"]
    assert web.walk("map") == ["1"], "it has a turn of its own"


def test_a_feed_is_read_again_when_its_host_is_asked_for_any_page() -> None:
    web = Web(KEEPING_UP, feed=feed(x="2024-03-10T10:00:00Z"))
    web.sees("/feed")
    web.files["feed"] = feed(x="2024-03-10T10:00:00Z", y="2024-03-10T12:05:00Z")
    web.time += 500
    assert web.is_asked() == []
    web.time += 100
    assert web.is_asked() == ["y"]
    assert web.hinted == {"x": NOW - 7200, "y": NOW + 300}
    web.sitemaps.seen("http://other.org/1", "text/html")
    assert not web.sitemaps.reading
    assert len(web.asked) == 2


def test_only_a_hosts_own_feeds_count_and_few_of_them() -> None:
    names = [f"f{number}" for number in range(20)]
    web = Web(KEEPING_UP, 1000, **{name: feed(x="2024-03-10") for name in names})
    web.sees("http://other.org/feed", *names)
    web.time += DAY
    web.is_asked("")
    assert set(web.names()) == set(names[: module.MAX_FEEDS])
