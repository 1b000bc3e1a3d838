"""A crawl of pages that hang, crash and eat memory: each costs itself, and the crawl can be asked and ended."""

import asyncio
import json
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from deploy.ports import free_port
from tests.agents.commands import COMMAND, environment, printed, scentline
from tests.agents.loopback import Request, Server, response, serving
from tests.patience import wait_for
from tests.rubbish.deadly import installed
from tests.rubbish.pages import hostile_pages

#: Seconds for an answer and for the end of a crawl, many more than either takes.
PROMPT = 30.0
DEADLY = ["abort", "segfault", "exit", "kill", "loop"]
FINE = ["fine", "print", "last"]
HOSTILE = ["marks", "ends of others", "parted by tables", "a long base", "parameters of sessions"]


@contextmanager
def site(titles: list[str]) -> Iterator[Server]:
    """Serve a page for each title, and a front page that links to them."""
    known = {f"/{name.replace(' ', '-')}": body for name, body in hostile_pages().items() if name in titles}
    links = "".join(f"<a href='/{title.replace(' ', '-')}'>page</a> " for title in titles)

    async def answer(request: Request, writer: asyncio.StreamWriter) -> None:
        name = request.target[1:]
        plain = f"<title>{name}</title><p>{links if not name else 'A page.'}".encode()
        found = request.target == "/" or name in titles or request.target in known
        page = response(known.get(request.target, plain))
        writer.write(page if found else response(b"", "404 Not Found"))

    ready, over = Event(), Event()
    served: list[Server] = []

    async def serve() -> None:
        async with serving(answer) as server:
            served.append(server)
            ready.set()
            await asyncio.to_thread(over.wait)

    thread = Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait()
    try:
        yield served[0]
    finally:
        over.set()
        thread.join()


def options(origin: str, *changed: str) -> list[str]:
    settings = ["fetch.allow=127.0.0.1", "fetch.delay_seconds=0", "judge.python=deadly", *changed]
    given = [part for setting in settings for part in ("--set", setting)]
    return ["crawl", "--seed", f"{origin}/", "--predicate", 'told=category("Told")', *given]


def test_deadly_and_hostile_pages_cost_themselves_alone(tmp_path: Path) -> None:
    path = installed(tmp_path)
    with site([*DEADLY, *HOSTILE, *FINE]) as served:
        origin = served.origin
        ended = scentline(tmp_path, *options(origin, "judge.cpu_seconds=10"), PYTHONPATH=path)
    assert ended.returncode == 0, ended.stderr
    found = printed(tmp_path, "matches", "told", "--format", "jsonl").splitlines()
    judged = {json.loads(line)["url"].removeprefix(f"{origin}/") for line in found}
    assert judged == {"", *FINE, *(name.replace(" ", "-") for name in HOSTILE)}
    letters = [json.loads(line) for line in printed(tmp_path, "dead-letters", "--json").splitlines()]
    assert sorted(letter["reason"] for letter in letters) == [
        "it ended the process that read it: SIGABRT",
        "it ended the process that read it: SIGKILL",
        "it ended the process that read it: SIGSEGV",
        "it ended the process that read it: status 0",
        "over 10 seconds of CPU (judge.cpu_seconds)",
    ]
    for name in DEADLY:
        assert "refused" in printed(tmp_path, "explain", f"{origin}/{name}")
    report = json.loads(printed(tmp_path, "audit", "--json"))
    assert (report["judged"], report["judged_twice"], report["lost"]) == (len(judged), 0, 0)
    assert report["differences"] == 0
    assert ended.stderr.count("a page could not be judged") == len(DEADLY)


def test_a_crawl_answers_and_ends_while_a_page_is_read_without_end(tmp_path: Path) -> None:
    port = free_port()
    variables = environment(PYTHONPATH=installed(tmp_path))
    with site(["hold"]) as served:
        given = options(
            served.origin, "judge.cpu_seconds=100000", "judge.seconds=100000", f"metrics.port={port}"
        )
        with subprocess.Popen([*COMMAND, *given], cwd=tmp_path, env=variables, stderr=subprocess.PIPE) as crawl:
            try:
                wait_for("the page without end", lambda: "/hold" in served.targets())
                for _ in range(10):
                    time.sleep(0.1)
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=PROMPT) as answer:
                        assert answer.status == 200
                crawl.send_signal(signal.SIGTERM)
                _, said = crawl.communicate(timeout=PROMPT)
            finally:
                crawl.kill()
    assert b"Traceback" not in said
    assert crawl.returncode in (0, -signal.SIGTERM, 130, 143), said
