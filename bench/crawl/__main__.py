"""``python -m bench.crawl``: the same pages crawled by Scrapy and by Scentline, turn by turn.

Everything is written to a directory that is removed at the end, unless it is named.
"""

import argparse
import tempfile
from pathlib import Path

from agents.signals import end_as_by_ctrl_c
from bench.crawl.crawlers import Crawler, Scentline, Scrapy
from bench.crawl.measure import CrawlerError, Resumed, Run, killed, whole
from bench.crawl.report import table
from bench.crawl.server import Nginx, ServerError, find
from bench.crawl.web import unpack

DATA = Path(__file__).parents[3] / "shared" / "data" / "wikispeedia"


def main() -> None:
    """Parse the command line, run, and print the report; an error that has an explanation ends with it."""
    given = _arguments().parse_args()
    end_as_by_ctrl_c()  # so that what was started is ended
    for file in (given.pages, given.labels):
        if not file.is_file():
            raise SystemExit(f"bench: needs the shared data file {file}; name another with --pages, --labels")
    try:
        if given.keep is None:
            with tempfile.TemporaryDirectory(prefix="scentline-bench-") as directory:
                _run(given, Path(directory))
        else:
            _run(given, given.keep.absolute())
    except (ServerError, CrawlerError) as error:
        raise SystemExit(f"bench: {error}") from error


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.crawl")
    parser.add_argument("--scrapy", type=Path, required=True, help="the Python that has Scrapy")
    parser.add_argument("--nginx", type=Path, required=True, help="where an unpacked nginx may lie")
    parser.add_argument("--pages", type=Path, default=DATA / "pages.warc.gz", help="WARC file of the pages")
    parser.add_argument("--labels", type=Path, default=DATA / "topics.tsv.gz", help="URL and category")
    parser.add_argument("--rounds", type=int, default=3, help="whole crawls by each")
    parser.add_argument("--keep", type=Path, help="write here, and leave it")
    return parser


def _run(given: argparse.Namespace, directory: Path) -> None:
    pages = unpack(given.pages, directory / "web")
    seeds = directory / "seeds.txt"
    seeds.write_text("\n".join(pages.seeds) + "\n")
    print(f"{len(pages.urls)} pages, {len(pages.seeds)} seeds", flush=True)
    crawlers: list[Crawler] = [
        Scrapy(given.scrapy.absolute(), seeds),
        Scentline(seeds, given.labels.absolute()),
    ]
    runs: dict[str, list[Run]] = {crawler.name: [] for crawler in crawlers}
    resumed: dict[str, Resumed] = {}
    with Nginx(find(given.nginx), directory / "web", directory / "nginx") as nginx:
        for number in range(1, given.rounds + 1):
            for crawler in crawlers:
                run = whole(crawler, nginx, directory / f"{crawler.name}-{number}")
                runs[crawler.name].append(run)
                print(
                    f"{crawler.name} {number}: {run.pages} pages, {run.rate:.1f} a second, "
                    f"{run.cpu_a_page:.1f} ms of CPU a page, {run.memory / 1e6:.0f} MB",
                    flush=True,
                )
        for crawler in crawlers:
            resumed[crawler.name] = killed(
                crawler,
                nginx,
                directory / f"{crawler.name}-killed",
                pages.urls,
                directory / f"{crawler.name}-1",
            )
    print(f"\n{table(runs, resumed)}")


if __name__ == "__main__":
    main()
