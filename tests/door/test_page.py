"""The calls of docs/doors.md, as they are shown, on a crawl of its own."""

import json
import shlex
import subprocess
from pathlib import Path

from tests.agents.commands import printed, running
from tests.door.clients import door_of
from tests.patience import wait_for
from tests.test_pages import blocks


def test_the_first_page_is_fetched_by_the_calls_of_the_page(tmp_path: Path) -> None:
    command, calls = blocks("doors", "sh")[0], blocks("doors", "bash")[0]
    words = shlex.split(command.replace("127.0.0.1:7070", "127.0.0.1:0"))
    with running(tmp_path, *words[1:], "--set", "fetch.delay_seconds=0") as crawl:
        script = calls.replace("http://127.0.0.1:7070", door_of(crawl))
        assert crawl.stderr is not None
        assert "no client at the door" in crawl.stderr.readline()
        lines = ["bash", "-c", script.replace("\ndoor ", "\necho; door ")]
        done = subprocess.run(lines, capture_output=True, text=True, check=True, cwd=tmp_path)
        said = "At the door: 1 client has 1 page"
        wait_for("the door to be shown", lambda: said in printed(tmp_path, "top", "--data", "doors"))
    discovered, leased, settled, again = map(json.loads, done.stdout.split("\n")[1:])
    assert (discovered["said"], settled["said"]) == (["taken"], ["ok"])
    urls = [[order["url"] for order in call["orders"]] for call in (leased, again)]
    assert urls == [["http://example.org/"], ["http://example.org/rink"]]
