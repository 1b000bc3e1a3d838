"""A site that sets every trap at once: the crawl goes on past them, and ends."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from tests.agents.commands import printed
from tests.agents.loopback import Request, Server, response, serving
from tests.rubbish.measured import MEMORY, Ended, run
from tests.rubbish.stalls import LONGEST, TELLS_STALLS, longest_turn

HOSTILE = [
    "http://169.254.169.254/latest/meta-data/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:70/",
    "javascript:alert(1)",
    "data:text/html,<p>hello",
    "/" + "a" * 100_000,
    "http://" + "a" * 100_000 + ".test/",
    "?" + "q=1&" * 25_000,
    "/caf\udce9",
    "/nul\0byte",
    "http://[::ffff:169.254.169.254]/",
    "http://0xa9fea9fe/",
    "//",
    "http://:80/",
    "http://a.test:99999/",
]


def page(*links: str, before: bytes = b"") -> bytes:
    anchors = "".join(f'<a href="{link}">a link</a> ' for link in links)
    return before + f"<title>A page</title><p>{anchors}</p>".encode(errors="surrogateescape")


PAGES = {
    "/": response(page(*HOSTILE, "/loop-a", "/self", "/invalid", "/nul", "/line", "/last")),
    "/loop-a": response(b"", "302 Found", location="/loop-b"),
    "/loop-b": response(b"", "302 Found", location="/loop-a"),
    "/self": response(b"", "301 Moved", location="/self"),
    "/invalid": response(page("/after-invalid", before=b"\xc3\x28\xf0\x9f\x80\xff" * 100)),
    "/nul": response(page("/after-nul", before=b"\0<p>" + b"plain words " * 200 + b"no\0thing")),
    "/line": response(page("/after-line", before=b"word " * 150_000)),
}
LAST = response(page())
GOOD = {"/", "/invalid", "/after-invalid", "/nul", "/after-nul", "/line", "/after-line", "/last"}


async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
    found = PAGES.get(request.target)
    writer.write(found or (LAST if request.target in GOOD else response(b"", "404 Not Found")))


@pytest.fixture(scope="module")
def site() -> Iterator[Server]:
    """Serve the pages from a thread, for a crawl in another process."""
    ready, over = Event(), Event()
    found: list[Server] = []

    async def serve() -> None:
        async with serving(answer) as server:
            found.append(server)
            ready.set()
            await asyncio.to_thread(over.wait)

    thread = Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait()
    yield found[0]
    over.set()
    thread.join()


@pytest.fixture(scope="module")
def crawled(site: Server, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ended]:
    cwd = tmp_path_factory.mktemp("hostile")
    ended = run(
        cwd, "crawl", "--seed", f"{site.origin}/", "--predicate", 'any=not "unheard-of"', "--json",
        "--set", "fetch.allow=127.0.0.1", "--set", "fetch.delay_seconds=0", "--set", "frontier.attempts=2",
        "--set", "frontier.retry_seconds=0.1", first=TELLS_STALLS,
    )  # fmt: skip
    assert ended.status == 0, ended.err
    return cwd, ended


def test_the_good_pages_are_all_judged(site: Server, crawled: tuple[Path, Ended]) -> None:
    cwd, _ = crawled
    found = [
        json.loads(line)["url"] for line in printed(cwd, "matches", "any", "--format", "jsonl").splitlines()
    ]
    assert {url.removeprefix(site.origin) for url in found} == GOOD


def test_each_page_is_asked_for_once(site: Server, crawled: tuple[Path, Ended]) -> None:
    targets = site.targets()
    assert sorted(targets) == sorted(set(targets))
    assert max(map(len, targets)) < 3_000


def test_it_is_done_in_little_memory_and_without_a_traceback(crawled: tuple[Path, Ended]) -> None:
    _, ended = crawled
    assert ended.memory < MEMORY
    assert "Traceback" not in ended.err


def test_no_turn_of_the_loop_is_long(crawled: tuple[Path, Ended]) -> None:
    _, ended = crawled
    seconds, what = longest_turn(ended.err)
    assert seconds < LONGEST, what


def test_nothing_is_left_in_doubt(crawled: tuple[Path, Ended]) -> None:
    cwd, _ = crawled
    report = json.loads(printed(cwd, "audit", "--json"))
    assert (report["judged"], report["judged_twice"], report["lost"], report["differences"]) == (
        len(GOOD),
        0,
        0,
        0,
    )
    assert printed(cwd, "dead-letters", "--json") == ""
