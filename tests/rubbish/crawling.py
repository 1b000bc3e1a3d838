"""A whole crawl among rubbish: it ends by itself, with every good page judged and every count exact.

``python -m tests.rubbish.crawling SECONDS`` crawls webs at random for so long, and says which went wrong.
"""

import json
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.agents.commands import printed
from tests.e2e.crawls import ANY, exact, options
from tests.rubbish.measured import LONGEST, MEMORY, TELLS_STALLS, longest_turn, run
from tests.rubbish.web import NETWORK, Web

#: The seeds of webs that the tests crawl.
SEEDS = 2


def matches(directory: Path, predicate: str = "any") -> set[str]:
    lines = printed(directory, "matches", predicate, "--format", "jsonl").splitlines()
    return {json.loads(line)["url"] for line in lines}


def crawl(directory: Path, seed: str, given: Mapping[str, object]) -> set[str]:
    """Crawl to the end, and check all that can go wrong; return the pages that were judged."""
    command = ("crawl", "--seed", seed, "--predicate", ANY, *options({"fetch.delay_seconds": 0} | dict(given)))
    ended = run(directory, *command, first=TELLS_STALLS)
    assert ended.status == 0, ended.err
    assert "Traceback" not in ended.err, ended.err
    assert ended.memory < MEMORY
    stall, what = longest_turn(ended.err)
    assert stall < LONGEST, what
    found = matches(directory)
    exact(directory, judged=len(found))
    assert printed(directory, "dead-letters", "--json") == ""
    return found


def crawl_at_random(seed: int, directory: Path) -> None:
    """Crawl the web of a seed, an odd one through a proxy; AssertionError where anything is wrong."""
    web = Web(seed, proxied=seed % 2 == 1)
    with web.served():
        given = {
            "fetch.timeout_seconds": 2, "fetch.first_byte_seconds": 1, "frontier.attempts": 1,
            "fetch.sitemaps": "true",
            **({"fetch.proxy": f"http://127.0.0.1:{web.port}"} if web.proxied else {"fetch.allow": NETWORK}),
        }  # fmt: skip
        assert set(web.good) <= crawl(directory, web.good[0], given)


def main() -> None:
    seed, wrong, end = SEEDS, 0, time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        with TemporaryDirectory() as directory:
            try:
                crawl_at_random(seed, Path(directory))
            except Exception:
                traceback.print_exc()
                print(f"fuzz: crawl: seed {seed} went wrong; give it to test_corpus.py to see it again")
                wrong += 1
        seed += 1
    print(f"fuzz: crawl: {seed - SEEDS} webs crawled, {wrong} of them wrong")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
