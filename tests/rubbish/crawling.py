"""A whole crawl over a web at random: it ends by itself, with every good page judged and every count exact."""

import json
from pathlib import Path

from tests.agents.commands import printed
from tests.patience import PATIENCE
from tests.rubbish.measured import MEMORY, run
from tests.rubbish.stalls import LONGEST, TELLS_STALLS, longest_turn
from tests.rubbish.web import NETWORK, Web, serving


def crawl(seed: int, directory: Path) -> None:
    """Crawl the web of a seed, an odd one through a proxy; AssertionError where anything is wrong."""
    with serving(Web(seed, proxied=seed % 2 == 1)) as web:
        given = {
            "fetch.delay_seconds": 0, "fetch.timeout_seconds": 2, "fetch.first_byte_seconds": 1,
            "frontier.attempts": 1, "fetch.sitemaps": "true",
            **({"fetch.proxy": f"http://127.0.0.1:{web.port}"} if web.proxied else {"fetch.allow": NETWORK}),
        }  # fmt: skip
        ended = run(
            directory, "crawl", "--seed", web.good[0], "--predicate", 'any=not "unheard-of"', "--json",
            *(word for key, value in given.items() for word in ("--set", f"{key}={value}")),
            first=TELLS_STALLS, seconds=PATIENCE,
        )  # fmt: skip
    assert ended.status == 0, ended.err
    assert "Traceback" not in ended.err, ended.err
    assert ended.memory < MEMORY
    stall, what = longest_turn(ended.err)
    assert stall < LONGEST, what
    found = printed(directory, "matches", "any", "--format", "jsonl").splitlines()
    assert set(web.good) <= {json.loads(line)["url"] for line in found}
    report = json.loads(printed(directory, "audit", "--json"))
    assert (report["judged"], report["judged_twice"], report["lost"], report["differences"]) == (
        len(found),
        0,
        0,
        0,
    )
    assert printed(directory, "dead-letters", "--json") == ""
