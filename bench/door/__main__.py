"""``make door``: what other crawlers find by our frontier's order, and what the door's calls cost.

Each comparison is made in one run. Crawls go to a directory that is removed at the end, unless it is named.
"""

import argparse
from pathlib import Path

from bench.command import directory_of
from bench.crawl.measure import CrawlerError
from bench.crawl.server import Nginx, ServerError, find
from bench.crawl.web import unpack
from bench.door.calls import TAUGHT, discover, lease_settle
from bench.door.harvest import compared, webs
from bench.door.pairs import crawlers
from scentline.agents.signals import end_as_by_ctrl_c


def main() -> None:
    """Parse the command line, run, and print; an error that has an explanation ends with it."""
    given = _arguments().parse_args()
    end_as_by_ctrl_c()  # so that what was started is ended
    try:
        with directory_of(given.keep, "door") as directory:
            _run(given, directory)
    except (ServerError, CrawlerError, FileExistsError) as error:
        raise SystemExit(f"bench: {error}") from error


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.door")
    parser.add_argument("--python", type=Path, required=True, help="the Python that has Scrapy and Crawlee")
    parser.add_argument("--nginx", type=Path, default=Path("nginx"), help="where an unpacked nginx may lie")
    parser.add_argument("--crawler", choices=("scrapy", "crawlee"), default="scrapy")
    parser.add_argument("--web", action="append", choices=("wikispeedia", "docs"), help="a web; both")
    parser.add_argument("--pages", type=int, help="of each crawl; a thousand, or 200 of a quick run")
    parser.add_argument("--seconds", type=int, help="of each crawl by the clock; a minute, or ten seconds")
    parser.add_argument("--rounds", type=int, default=1, help="crawls by each, of which the means count")
    parser.add_argument("--lease-settle", action="store_true", help="only what leases and answers cost")
    parser.add_argument("--discover", type=int, metavar="URLS", help="only what a URL costs that is discovered")
    parser.add_argument("--quick", action="store_true", help="few pages and seconds")
    parser.add_argument("--keep", type=Path, help="write the crawls to this new directory")
    return parser


def _run(given: argparse.Namespace, directory: Path) -> None:
    web, *_ = webs(directory)
    if given.lease_settle:
        print(lease_settle(web.archive, directory, 500 if given.quick else 4_000))
    elif given.discover:
        unpack(web.archive, directory / "web")
        ours, _ = crawlers("scrapy", web, given.python, TAUGHT, 0.0)
        with Nginx(find(given.nginx), directory / "web", directory / "nginx") as nginx:
            print(discover(ours, nginx, directory, given.discover // (10 if given.quick else 1)))
    else:
        _compare(given, directory)


def _compare(given: argparse.Namespace, directory: Path) -> None:
    pages, seconds = (200, 10) if given.quick else (1_000, 60)
    how = {"pages": given.pages or pages, "seconds": given.seconds or seconds, "rounds": given.rounds}
    for of in webs(directory):
        # Crawlee's spider knows the articles alone.
        if of.name in (given.web or (of.name,)) and (given.crawler == "scrapy" or of.labels is not None):
            place = directory / of.name
            found = compared(given.crawler, of, given.python.absolute(), find(given.nginx), place, how)
            print(found, flush=True)


if __name__ == "__main__":
    main()
