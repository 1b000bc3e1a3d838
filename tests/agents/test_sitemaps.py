"""Sitemaps: what they list, which are read, and what keeps a site from being asked for more than it should."""

import asyncio
import gzip
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from agents.fetch import sitemaps as module
from agents.fetch.body import MAX_MEMBERS
from agents.fetch.result import UNKNOWN, Answer, FetchError, Validators
from agents.fetch.sitemaps import Sitemaps, read
from tests.patience import PATIENCE

HOST = "http://example.org"
VERSION = Validators('"1"')


def urlset(*urls: str) -> bytes:
    inner = "".join(f"<url>\n<loc> {url} </loc><lastmod>2024-01-01</lastmod></url>" for url in urls)
    return f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{inner}</urlset>'.encode()


def index(*urls: str) -> bytes:
    inner = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f"<sitemapindex>{inner}</sitemapindex>".encode()


class TestReading:
    def test_a_sitemap_and_an_index_are_told_apart(self) -> None:
        assert read(urlset("http://a/1", "http://a/2")).urls == ["http://a/1", "http://a/2"]
        assert read(index("http://a/1")).sitemaps == ["http://a/1"]
        assert not read(index("http://a/1")).urls

    def test_gzip_text_and_a_byte_order_mark_are_read(self) -> None:
        assert read(gzip.compress(urlset("http://a/1"))).urls == ["http://a/1"]
        assert read(b"\xef\xbb\xbf\n" + urlset("http://a/1").removeprefix(b'<?xml version="1.0"?>')).urls
        assert read(b"\xef\xbb\xbfhttp://a/1\r\nftp://a/2\nhttps://a/3 \n").urls == [
            "http://a/1",
            "https://a/3",
        ]

    def test_escapes_are_undone_and_pictures_of_a_page_are_no_pages(self) -> None:
        text = (
            b"<urlset xmlns:image='i'><url><loc>http://a/?b=1&amp;c=2</loc>"
            b"<image:image><image:loc>http://a/i.png</image:loc></image:image></url></urlset>"
        )
        assert read(text).urls == ["http://a/?b=1&c=2"]

    def test_what_is_broken_is_read_as_far_as_it_goes(self) -> None:
        assert read(urlset("http://a/1", "http://a/2")[:-40]).urls[0] == "http://a/1"

    def test_no_more_is_read_than_the_limit(self) -> None:
        assert len(read(urlset(*(f"http://a/{n}" for n in range(5000))), 7).urls) == 7
        assert len(read(b"http://a/\n" * 50, 7).urls) == 7
        assert read(urlset("http://a/" + "x" * 2000)).urls == []

    def test_a_bomb_of_zeros_and_one_of_entities_take_little_memory(self) -> None:
        laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 20))
        entities = f'<!DOCTYPE x [<!ENTITY l0 "ha">{laughs}]><urlset><url><loc>&l19;</loc></url></urlset>'
        bomb = gzip.compress(bytes(200_000_000), 9)
        tracemalloc.start()
        assert read(bomb).urls == []
        assert all(len(url) <= 2000 for url in read(entities.encode()).urls)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
        tracemalloc.stop()

    def test_what_holds_hardly_anything_in_very_many_parts_is_no_sitemap(self) -> None:
        assert read(gzip.compress(b"") * (MAX_MEMBERS + 1) + gzip.compress(b"http://a/1")).urls == []
        assert read(gzip.compress(b"") * (MAX_MEMBERS - 1) + gzip.compress(b"http://a/1")).urls == [
            "http://a/1"
        ]
        declared = b"<!DOCTYPE x [<!ELEMENT x (" + b"a," * 4_000_000 + b"a)>]>"
        tracemalloc.start()
        assert read(declared + urlset("http://a/1")).urls == []
        assert read(b"\r" * 9_000_000 + b"http://a/1").urls == ["http://a/1"]
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
        tracemalloc.stop()

    def test_no_file_is_read_for_an_entity(self) -> None:
        text = (
            b'<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><urlset><url><loc>&f;</loc></url></urlset>'
        )
        assert "root" not in "".join(read(text).urls)

    @given(st.binary(max_size=300) | st.text(alphabet="<>/&;urlsetocmap \n", max_size=200).map(str.encode))
    @examples(derandomize=True, deadline=None)
    def test_rubbish_is_an_empty_sitemap_or_a_short_one(self, text: bytes) -> None:
        assert len(read(text, 5).urls) <= 5
        assert len(read(b"<urlset>" + text, 5).sitemaps) <= 5


class Web:
    """Sitemaps by URL, and what was asked and told."""

    def __init__(self, **files: bytes | Answer | FetchError) -> None:
        self.files = {f"{HOST}/{name}": file for name, file in files.items()}
        self.asked: list[tuple[str, Validators]] = []
        self.told: list[str] = []
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

    async def tell(self, urls: list[str]) -> None:
        assert 0 < len(urls) <= module.BATCH
        self.told += urls

    def sitemaps(self, limit: int = 1000) -> Sitemaps:
        return Sitemaps(self.ask, limit, lambda: self.time)

    def names(self) -> list[str]:
        return [name for name, _ in self.asked]


def walk(web: Web, sitemaps: Sitemaps, *files: str, origin: str = HOST) -> list[str]:
    """Have an origin's sitemaps read; return the URLs told."""

    async def run() -> None:
        sitemaps.announce(origin, files)
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
        web = Web(
            a=Answer(301, f"{HOST}/b", b""), b=urlset(f"{HOST}/1"), c=Answer(301, "http://other.org/", b"")
        )
        assert walk(web, web.sitemaps(), f"{HOST}/a", f"{HOST}/c") == [f"{HOST}/1"]
        assert web.names() == ["a", "c", "b"]

    def test_indexes_in_circles_and_without_end_come_to_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MAX_FILES", 10)
        many = [f"{HOST}/x{number}" for number in range(500)]
        web = Web(i=index(f"{HOST}/i", *many))
        walk(web, web.sitemaps(), f"{HOST}/i")
        assert len(web.asked) == 10
        deep = Web(**{f"d{n}": index(f"{HOST}/d{n + 1}") for n in range(9)})
        walk(deep, deep.sitemaps(), f"{HOST}/d0")
        assert deep.names() == ["d0", "d1", "d2"]

    def test_what_nobody_expected_of_one_file_ends_its_host_for_now_and_no_other(self) -> None:
        web = Web(a=urlset(f"{HOST}/1"))

        def broken() -> None:
            raise RecursionError

        web.on_ask = broken
        sitemaps = web.sitemaps()

        async def run() -> None:
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

        asyncio.run(run())

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
        assert web.asked == [("i", UNKNOWN), ("a", UNKNOWN), ("i", VERSION)]

    @pytest.mark.parametrize(
        "trouble", [FetchError("retry", "timeout"), Answer(503, None, b""), Answer(429, None, b"")]
    )
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

    def test_one_file_that_is_refused_or_missing_stops_no_other(self) -> None:
        web = Web(a=FetchError("refused", "body over 10 bytes"), c=urlset(f"{HOST}/1"))
        assert walk(web, web.sitemaps(), f"{HOST}/a", f"{HOST}/b", f"{HOST}/c") == [f"{HOST}/1"]

    def test_a_host_that_asks_to_be_left_alone_is_asked_no_more(self) -> None:
        web = Web(i=index(f"{HOST}/a"), a=urlset(f"{HOST}/1"))
        sitemaps = web.sitemaps()
        web.on_ask = lambda: sitemaps.stop("example.org")
        assert walk(web, sitemaps, f"{HOST}/i") == []
        assert web.names() == ["i"]
