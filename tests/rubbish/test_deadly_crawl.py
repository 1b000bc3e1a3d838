"""A crawl of pages that hang, crash and eat memory: each costs itself, and the crawl can be asked and ended."""

import json
import signal
import urllib.request
from pathlib import Path

from bench.fuzz.corpus import CORPUS, content
from deploy.ports import free_port
from tests.agents.commands import printed, running, scentline
from tests.e2e.crawls import exact, options
from tests.patience import wait_for
from tests.rubbish.crawling import matches
from tests.rubbish.deadly import installed
from tests.webs.serving import Exchange, serving

#: Seconds for an answer and for the end of a crawl, many more than either takes.
PROMPT = 30.0
DEADLY = ["abort", "segfault", "exit", "kill", "loop"]
FINE = ["fine", "print", "last"]
HOSTILE = [
    "combining-marks-out-of-order", "end-tags-of-another", "blocks-in-open-tags",
    "short-links-under-a-long-base", "parameters-of-sessions",
]  # fmt: skip


async def answer(exchange: Exchange) -> None:
    """Answer with a page of that title, or with one of the corpus; the front page links to all."""
    name = exchange.target[1:]
    if name in HOSTILE:
        exchange.send(200, content(CORPUS / "page" / f"{name}.xz"))
    elif name in ("", "hold", *DEADLY, *FINE):
        links = "" if name else "".join(f"<a href='/{each}'>page</a> " for each in (*DEADLY, *HOSTILE, *FINE))
        exchange.send(200, f"<title>{name}</title><p>{links or 'A page.'}".encode())
    else:
        exchange.send(404)


def command(seed: str, **changed: object) -> list[str]:
    given = {"fetch.allow": "127.0.0.1", "fetch.delay_seconds": 0, "judge.python": "deadly", **changed}
    return ["crawl", "--seed", seed, "--predicate", 'told=category("Told")', *options(given)]


def test_deadly_and_hostile_pages_cost_themselves_alone(tmp_path: Path) -> None:
    path = installed(tmp_path)
    with serving(answer) as served:
        origin = f"{served.origin}/"
        ended = scentline(tmp_path, *command(origin, **{"judge.cpu_seconds": 3}), PYTHONPATH=path)
    assert ended.returncode == 0, ended.stderr
    judged = {url.removeprefix(origin) for url in matches(tmp_path, "told")}
    assert judged == {"", *FINE, *HOSTILE}
    letters = [json.loads(line) for line in printed(tmp_path, "dead-letters", "--json").splitlines()]
    assert sorted(letter["reason"] for letter in letters) == [
        "it ended the process that read it: SIGABRT",
        "it ended the process that read it: SIGKILL",
        "it ended the process that read it: SIGSEGV",
        "it ended the process that read it: status 0",
        "over 3 seconds of CPU (judge.cpu_seconds)",
    ]
    for name in DEADLY:
        assert "refused" in printed(tmp_path, "explain", f"{origin}{name}")
    exact(tmp_path, judged=len(judged))
    assert ended.stderr.count("a page could not be judged") == len(DEADLY)


def test_a_crawl_answers_and_ends_while_a_page_is_read_without_end(tmp_path: Path) -> None:
    port = free_port()
    endless = {"judge.cpu_seconds": 100_000, "judge.seconds": 100_000, "metrics.port": port}
    with serving(answer) as served:
        given = command(f"{served.origin}/hold", **endless)
        with running(tmp_path, *given, PYTHONPATH=installed(tmp_path)) as process:
            wait_for("the page without end", lambda: "/hold" in served.targets())
            for _ in range(10):
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=PROMPT) as found:
                    assert found.status == 200
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=PROMPT)
    assert "Traceback" not in said
    assert process.returncode in (0, -signal.SIGTERM, 130, 143), said
