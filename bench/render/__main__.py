"""``python -m bench.render``: hits a minute where half of the pages need scripts: all, none and some rendered.

The same web is crawled for as long each way. Of the pages that ``where-needed`` rendered, those behind the
first `FIRST` are counted that needed it.
"""

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.command import crawling, each, summary
from bench.render.web import ScriptedWeb
from scentline.agents.operate.record import all_entries, outcomes
from scentline.models.records import RENDERS, Decoder, FetchOrder
from scentline.streams.transport.journal import Journal

WAYS = ("always", "never", "where-needed")
FIRST = 300  #: Rendered pages before which it is still learned where to render.


def main() -> None:
    """Parse the command line, crawl each way, and print a line for each."""
    parser = argparse.ArgumentParser(prog="bench.render")
    parser.add_argument("--hosts", type=int, default=40)
    parser.add_argument("--pages", type=int, default=60, help="pages of each host")
    parser.add_argument("--seconds", type=float, default=150.0, help="how long each crawl is")
    parser.add_argument("--delay", type=float, default=1.0, help="seconds between two requests to a host")
    parser.add_argument("--first", type=int, default=FIRST, help="rendered pages not counted")
    parser.add_argument("--way", action="append", choices=WAYS)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    given = parser.parse_args()
    web = ScriptedWeb(given.hosts, given.pages)
    for way in given.way or WAYS:
        found = crawl(web, way, given.seconds, given.delay, given.set)
        late = found.rendered[given.first :]
        needed = f"{sum(map(web.needs, late)) / len(late):.1%}" if late else "none"
        print(
            f"{way}: {60 * found.hits / given.seconds:.0f} hits a minute, {found.hits} of {found.judged} "
            f"judged pages; {len(found.rendered)} rendered, behind the first {given.first} {needed} needed it"
        )


@dataclass(frozen=True)
class Found:
    """What a crawl came to, and the URLs that it had rendered, in their order."""

    judged: int
    hits: int
    rendered: Sequence[str]


def crawl(web: ScriptedWeb, way: str, seconds: float, delay: float, more: Sequence[str] = ()) -> Found:
    """Crawl a web for so many seconds. Raises CalledProcessError, ServerProcessError."""
    settings = (f"fetch.delay_seconds={delay}", f"render.pages={way}", f"frontier.time={seconds}", *more)
    words = each("--set", settings)
    with tempfile.TemporaryDirectory(prefix="scentline-render-") as directory, web.served() as server:
        data = Path(directory) / "data"
        summary(*crawling(server.url, data, web.seeds, {"nebula": '"nebula"'}, *words))
        return _found(data)


def _found(data: Path) -> Found:
    with Journal.open(data / "journal", read_only=True) as journal:
        judged = {outcome.url: outcome.verdict.get("nebula", False) for outcome in outcomes(journal)}
        decode = Decoder[FetchOrder](FetchOrder)
        orders = sorted(
            (entry.timestamp, decode(entry.value or b"").url) for entry in all_entries(journal, RENDERS)
        )
    return Found(len(judged), sum(judged.values()), [url for _, url in orders])


if __name__ == "__main__":
    main()
