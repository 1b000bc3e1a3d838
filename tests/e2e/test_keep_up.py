"""A crawl keeps up with a site that changes: it tells what appeared, changed, left and moved, until Ctrl-C."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.agents.commands import COMMAND, last_line, printed, running, wait_until
from tests.agents.test_changes import items
from tests.agents.test_cli_crawl import judged_so_far
from tests.patience import PATIENCE

TEA, COFFEE = "Green leaves of tea in a pot of water.", "Black beans of coffee in a mill of iron."


class Site:
    """A site of pages that a test changes: a page is its text and its links, or the path that it moved to."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[str, Sequence[str]] | str] = {}
        self.url = ""

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body."""
        page = self.pages.get(path)
        if page is None:
            return 404, {}, b""
        if isinstance(page, str):
            return 301, {"Location": page}, b""
        text, links = page
        linked = "".join(f'<p><a href="{link}">{link[1:]}</a>' for link in links)
        return 200, {"Content-Type": "text/html"}, f"<title>{path}</title><p>{text}{linked}".encode()


@contextmanager
def serving(site: Site) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, headers, body = site.answer(self.path)
            self.send_response(status)
            for name, value in (*headers.items(), ("Content-Length", str(len(body)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    made.pages = {
        "/": ("Welcome to all.", ["/a", "/b", "/c", "/d"]),
        "/a": (TEA, ()),
        "/b": (f"{TEA} Twice.", ()),
        "/c": (COFFEE, ()),
        "/d": (f"{TEA} Thrice.", ()),
    }
    with serving(made) as made.url:
        yield made


def keeping_up(site: Site) -> list[str]:
    given = {
        "fetch.allow": "127.0.0.1", "fetch.delay_seconds": 0, "fetch.delay_factor": 0,
        "frontier.retry_seconds": 0.5, "judge.duplicates": "false",
        "revisit.shortest_seconds": 0.2, "revisit.longest_seconds": 0.5, "revisit.tell_seconds": 0.5,
    }  # fmt: skip
    options = [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
    return ["crawl", "--seed", f"{site.url}/", "--predicate", 'tea="tea"', "--keep-up", "--json", *options]


def told(cwd: Path) -> list[tuple[str, str]]:
    lines = printed(cwd, "changes", "--format", "jsonl").splitlines()
    found: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return [(change["kind"], change["url"].rpartition("/")[2]) for change in found]


def current(cwd: Path) -> int:
    """Return how many matches the newest point of the harvest tells of; 0 until it tells of revisits."""
    point = last_line(printed(cwd, "harvest", "--format", "jsonl"))
    assert point["matches"] == 0 or 0 < point["freshness"] <= 1
    assert 0 <= point["revisit_share"] < 1
    return int(point["matches"]) if point["revisits"] and point["revisit_share"] else 0


def matches(cwd: Path) -> set[str]:
    lines = printed(cwd, "matches", "tea", "--format", "jsonl").splitlines()
    return {json.loads(line)["url"].rpartition("/")[2] for line in lines}


def test_a_crawl_keeps_up_until_it_is_told_to_end_and_goes_on_with_the_same_command(
    site: Site, tmp_path: Path
) -> None:
    def heard(*changes: tuple[str, str]) -> bool:
        return set(changes) <= set(told(tmp_path))

    with running(tmp_path, *keeping_up(site), program=COMMAND) as process:
        wait_until(lambda: judged_so_far(tmp_path / "scentline-data") >= 5, process)
        wait_until(lambda: heard(("appeared", "a"), ("appeared", "b"), ("appeared", "d")), process)
        site.pages["/a"] = ("Cups and saucers of porcelain, made for tea by hand in old workshops.", ())
        site.pages["/b"] = (COFFEE, ())
        site.pages["/c"] = (f"{TEA} At last.", ["/e"])
        site.pages["/e"] = (f"{TEA} It is new here.", ())
        wait_until(
            lambda: heard(("changed", "a"), ("left", "b"), ("appeared", "c"), ("appeared", "e")), process
        )
        process.terminate()
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130
        assert last_line(out)["revisits"] > 0
    assert matches(tmp_path) == {"a", "c", "d", "e"}
    del site.pages["/c"]
    site.pages["/d"] = "/f"
    site.pages["/f"] = (f"{TEA} It has moved.", ())
    with running(tmp_path, *keeping_up(site), program=COMMAND) as process:
        wait_until(lambda: heard(("left", "c"), ("moved", "d"), ("appeared", "f")), process)
        wait_until(lambda: current(tmp_path) == 3, process)
        process.terminate()
        _, err = process.communicate(timeout=PATIENCE)
    assert " revisits, " in err
    assert matches(tmp_path) == {"a", "e", "f"}
    assert len(told(tmp_path)) == len(set(told(tmp_path))), "each is told once"
    feed = items(printed(tmp_path, "changes", "--format", "rss"))
    assert {item["title"] for item in feed} >= {"Appeared: /f", "Moved: /d", "Left: /c", "Changed: /a"}
