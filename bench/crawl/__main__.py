"""``python -m bench.crawl``: the same pages crawled by Scrapy, Crawlee and Scentline, turn by turn.

What they write goes to a directory that is removed at the end, unless it is named; JSON and a picture are kept.
"""

import argparse
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from bench.command import WIKISPEEDIA, directory_of, needs
from bench.crawl import report
from bench.crawl.crawlers import BOTH, COMMON, RARE, SQLITE, Crawlee, Crawler, Scentline, Scrapy
from bench.crawl.measure import CrawlerError, Resumed, Run, killed, whole
from bench.crawl.server import Nginx, ServerError, find
from bench.crawl.web import DOMAIN, Pages, unpack
from scentline.agents.judge.judges import load_labels
from scentline.agents.signals import end_as_by_ctrl_c

#: Pages of each crawl of a quick run.
QUICK_PAGES = 400


def main() -> None:
    """Parse the command line, run, and print the report; an error that has an explanation ends with it."""
    given = _arguments().parse_args()
    end_as_by_ctrl_c()  # so that what was started is ended
    for file in (given.pages, given.labels):
        needs(file, "bench")
    try:
        with directory_of(given.keep, "bench") as directory:
            _run(given, directory)
    except (ServerError, CrawlerError, FileExistsError) as error:
        raise SystemExit(f"bench: {error}") from error


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.crawl")
    parser.add_argument("--python", type=Path, required=True, help="the Python that has Scrapy and Crawlee")
    parser.add_argument("--nginx", type=Path, required=True, help="where an unpacked nginx may lie")
    parser.add_argument(
        "--pages", type=Path, default=WIKISPEEDIA / "pages.warc.gz", help="WARC file of the pages"
    )
    parser.add_argument("--labels", type=Path, default=WIKISPEEDIA / "topics.tsv.gz", help="URL and category")
    parser.add_argument("--rounds", type=int, default=3, help="crawls by each")
    parser.add_argument("--focused", type=int, default=1_500, help="pages of a crawl with one predicate")
    parser.add_argument(
        "--quick", action="store_true", help=f"one round of {QUICK_PAGES} pages, nothing killed"
    )
    parser.add_argument("--results", type=Path, default=Path("bench-results"), help="where results are kept")
    parser.add_argument("--keep", type=Path, help="write the crawls to this new directory")
    return parser


def _run(given: argparse.Namespace, directory: Path) -> None:
    pages = unpack(given.pages, directory / "web")
    print(f"{len(pages.urls)} pages, {len(pages.seeds)} seeds", flush=True)
    seeds = directory / "seeds.txt"
    seeds.write_text("\n".join(pages.seeds) + "\n")
    rounds, kind = (1, "quick") if given.quick else (given.rounds, "whole")
    crawlers = _crawlers(given, seeds)
    with Nginx(find(given.nginx), directory / "web", directory / "nginx") as nginx:
        runs = _rounds(crawlers, nginx, directory, _categories(given.labels, pages), rounds)
        resumed = {} if given.quick else _kills(crawlers, nginx, directory, pages)
    found = report.aims(runs)
    parts = [report.table(runs), report.aimed(found, report.before(given.results, kind))]
    if resumed:
        parts.insert(1, report.kills(resumed))
    parts.append(f"kept as {report.keep(given.results, kind, runs, resumed, found)}")
    print("", *parts, sep="\n\n")


def _crawlers(given: argparse.Namespace, seeds: Path) -> list[Crawler]:
    """Return the crawlers of a round."""
    most, focused = (QUICK_PAGES, QUICK_PAGES) if given.quick else (None, given.focused)
    python, labels = given.python.absolute(), given.labels.absolute()
    return [
        Scrapy(seeds, most, report.SCRAPY, python, {}, DOMAIN),
        Scrapy(seeds, most, report.SQLITE, python, SQLITE, DOMAIN),
        Crawlee(seeds, most, report.CRAWLEE, python),
        Scentline(seeds, most, report.BREADTH, labels, "breadth-first", BOTH),
        Scentline(seeds, most, report.LEARNED, labels, "learned", BOTH),
        Scentline(seeds, focused, report.ONE_COMMON, labels, "learned", BOTH[:1]),
        Scentline(seeds, focused, report.ONE_RARE, labels, "learned", BOTH[1:]),
    ]


def _categories(labels: Path, pages: Pages) -> dict[str, list[str]]:
    known = load_labels(labels)
    return {name: [url for url in pages.urls if name in known.categories(url)] for name in (COMMON, RARE)}


def _rounds(
    crawlers: Sequence[Crawler],
    nginx: Nginx,
    directory: Path,
    categories: Mapping[str, Collection[str]],
    rounds: int,
) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = {crawler.name: [] for crawler in crawlers}
    for number in range(1, rounds + 1):
        for crawler in crawlers:
            run = whole(crawler, nginx, _place(directory, crawler, number), categories)
            runs[crawler.name].append(run)
            print(
                f"{crawler.name} {number}: {run.pages} pages, {run.rate:.1f} a second, "
                f"{run.cpu_a_page:.1f} ms of CPU a page, {run.memory / 1e6:.0f} MB",
                flush=True,
            )
    return runs


def _kills(crawlers: Sequence[Crawler], nginx: Nginx, directory: Path, pages: Pages) -> dict[str, Resumed]:
    """Kill each crawler that takes all pages, half-way."""
    return {
        crawler.name: killed(
            crawler, nginx, _place(directory, crawler, "killed"), pages.urls, _place(directory, crawler, 1)
        )
        for crawler in crawlers
        if crawler.pages is None
    }


def _place(directory: Path, crawler: Crawler, number: int | str) -> Path:
    return directory / f"{crawler.name.replace(' ', '-')}-{number}"


if __name__ == "__main__":
    main()
