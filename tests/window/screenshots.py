"""``python -m tests.window.screenshots``: pictures of each screen, on a running crawl of the demo's web."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep

from PIL import Image

from scentline_lab.demo.command import ACCESSES, PAGES_PER_SITE, PREDICATES, SITES, TOPICS, USERS
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import ROOT
from tests.window.browser import SCHEMES, Browser
from tests.window.crawls import RunningCrawl, of_predicates
from tests.window.windows import SHOWN, base_of, printed_address

_SEED = 0
_WIDTH, _HEIGHT = 1300, 1000
#: Colours of a picture: letters stay smooth, and a picture has less than 100 kB.
_COLOURS = 64
#: Seconds for which a screen is looked at before its picture is taken: figures that are a second old are in.
_SECONDS = 4.0


@contextmanager
def _crawl(directory: Path, requests: int) -> Iterator[RunningCrawl]:
    """Give a crawl of the demo's web that runs, and has made so many requests."""
    web = SyntheticWeb(_SEED, SITES, PAGES_PER_SITE, TOPICS)
    log, labels, served = (directory / name for name in ("access.log", "labels.tsv", "served.log"))
    log.write_text("".join(f"{line}\n" for line in web.access_log(USERS, ACCESSES)), encoding="utf-8")
    labels.write_text("".join(f"{url}\t{topic}\n" for url, topic in web.labels()), encoding="utf-8")
    with synthetic_server(_SEED, SITES, PAGES_PER_SITE, TOPICS, log=served) as server:
        arguments = [
            "--log", str(log), "--labels", str(labels), *of_predicates(PREDICATES), "--budget", "5000",
            "--set", f"fetch.proxy={server.url}", "--set", "fetch.delay_seconds=1",
        ]  # fmt: skip
        with RunningCrawl(directory / "demo", arguments, lambda: _lines(served)) as crawl:
            crawl.wait_for(requests)
            yield crawl


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _small(path: Path) -> None:
    """Write a picture anew with few colours."""
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def _take(out: Path, browser: Browser, base: str, widths: Sequence[int], whole: bool) -> None:
    for screen in SHOWN:
        browser.open("about:blank")
        browser.look(_WIDTH, height=_HEIGHT)
        browser.open(f"{base}/#/{screen}")
        browser.wait(f"document.querySelector('main .{screen}')?.innerText.trim().length > 0")
        sleep(_SECONDS)
        for width in widths:
            for scheme in SCHEMES:
                browser.look(width, scheme, _HEIGHT)
                sleep(0.5)
                name = f"{screen}-{scheme}" if len(widths) == 1 else f"{screen}-{width}-{scheme}"
                browser.picture(out / f"{name}.png", whole)
                _small(out / f"{name}.png")


def main() -> None:
    """Take the pictures."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images" / "window", help="directory")
    parser.add_argument("--width", type=int, action="append", help="of a window, in pixels; repeatable")
    parser.add_argument("--whole", action="store_true", help="all of each page, not what a window shows of it")
    parser.add_argument("--requests", type=int, default=1500, help="of the crawl before the first picture")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with (
        TemporaryDirectory() as directory,
        _crawl(Path(directory), given.requests) as crawl,
        printed_address(crawl.data) as address,
        Browser() as browser,
    ):
        browser.open(address)
        browser.wait("location.pathname === '/'")
        _take(given.out, browser, base_of(address), given.width or [_WIDTH], given.whole)


if __name__ == "__main__":
    main()
