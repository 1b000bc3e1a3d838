"""``python -m tests.window.screenshots``: the pictures of docs/window.md, on a crawl of the demo's web."""

from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep

from PIL import Image

from scentline_lab.demo import ACCESSES, PAGES_PER_SITE, PREDICATES, SITES, TOPICS, USERS
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import ROOT
from tests.e2e.crawls import synthetic, write_labels, write_log
from tests.window.browser import Browser
from tests.window.crawls import of_predicates, running_crawl
from tests.window.windows import SHOWN, base_of, printed_address

_OUT = ROOT / "docs" / "images" / "window"
#: The scheme of colours of each screen's picture.
_SCHEMES = {screen: "dark" if screen in ("hosts", "errors", "learning") else "light" for screen in SHOWN}
_WIDTH, _HEIGHT = 1300, 1000
#: Colours of a picture: letters stay smooth, and a picture has less than 100 kB.
_COLOURS = 64
#: Seconds for which a screen is looked at before its picture is taken: figures that are a second old are in.
_SECONDS = 4.0
#: Requests of the crawl before the first picture.
_REQUESTS = 1_500


def main() -> None:
    """Take the pictures."""
    web = SyntheticWeb(0, SITES, PAGES_PER_SITE, TOPICS)
    with TemporaryDirectory() as directory, synthetic(web) as served:
        log = write_log(Path(directory, "access.log"), web, USERS, ACCESSES)
        labels = write_labels(Path(directory, "labels.tsv"), web)
        arguments = [
            "--log", str(log), "--labels", str(labels), *of_predicates(PREDICATES), "--budget", "5000",
            "--set", f"fetch.proxy={served.origin}", "--set", "fetch.delay_seconds=1",
        ]  # fmt: skip
        with (
            running_crawl(Path(directory, "demo"), arguments, lambda: len(served.asked)) as crawl,
            printed_address(crawl.data) as address,
            Browser() as browser,
        ):
            crawl.wait_for(_REQUESTS)
            browser.open(address)
            browser.wait("location.pathname === '/'")
            for screen in SHOWN:
                _take(browser, base_of(address), screen)


def _take(browser: Browser, base: str, screen: str) -> None:
    browser.open("about:blank")
    browser.look(_WIDTH, height=_HEIGHT)
    browser.open(f"{base}/#/{screen}")
    browser.wait(f"document.querySelector('main .{screen}')?.innerText.trim().length > 0")
    sleep(_SECONDS)
    path = _OUT / f"{screen}-{_SCHEMES[screen]}.png"
    browser.look(_WIDTH, _SCHEMES[screen], _HEIGHT)
    sleep(0.5)
    browser.picture(path)
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


if __name__ == "__main__":
    main()
