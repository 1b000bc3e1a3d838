"""``python -m bench.stages``: a crawl of recorded pages with timers on its stages; the table sums to all of it.

All times are CPU time, user and system. The timers themselves take some 0.3 ms a page. With ``--flame`` the
crawl has no timers: py-spy samples all its processes, and draws a flame graph.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from bench.command import COMMAND, DATA, WIKISPEEDIA, crawling
from bench.crawl.crawlers import BOTH
from bench.crawl.web import HOME
from bench.stages.stopwatch import Stopwatch
from bench.stages.table import PAGE, STAGES, spent
from scentline.agents.cli import main as scentline
from scentline.agents.offline.serve import ServerProcess

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Parse the command line, crawl, and print the table."""
    given = _arguments().parse_args()
    stopwatch = Stopwatch()
    with ServerProcess.archive([given.pages]) as server, tempfile.TemporaryDirectory() as directory:
        command = _command(given, server.url, Path(directory))
        if given.flame is not None:
            _draw(given, command)
            return
        stopwatch.watch(STAGES)
        begun = time.thread_time()
        sys.argv = ["scentline", *command]
        with suppress(SystemExit):
            scentline()
        print(table(stopwatch, begun, time.thread_time()))


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench.stages")
    parser.add_argument(
        "--pages", type=Path, default=WIKISPEEDIA / "pages.warc.gz", help="WARC file of the pages"
    )
    parser.add_argument("--labels", type=Path, default=WIKISPEEDIA / "topics.tsv.gz", help="URL and category")
    parser.add_argument("--seed", default=HOME, help="where the crawl begins")
    parser.add_argument("--policy", default="learned")
    parser.add_argument("--budget", type=int, default=1_500, help="pages to fetch")
    parser.add_argument("--flame", type=Path, help="SVG file to draw a flame graph into, instead of the table")
    parser.add_argument("--py-spy", default="py-spy", help="the program that draws it")
    return parser


def _draw(given: argparse.Namespace, command: Sequence[str]) -> None:
    """Crawl under py-spy; a function is one box, however many of its lines were met, and paths are short."""
    spy = [given.py_spy, "record", "--subprocesses", "--function", "--rate", "200", "-o", str(given.flame)]
    subprocess.run([*spy, "--", *COMMAND, *command], check=True)  # noqa: S603 - this project's own command
    drawn = given.flame.read_text()
    for place in (ROOT, DATA):
        drawn = drawn.replace(f"{place}/", "")
    given.flame.write_text(drawn)


def _command(given: argparse.Namespace, proxy: str, data: Path) -> list[str]:
    more = ("--labels", str(given.labels), "--policy", given.policy, "--budget", str(given.budget))
    return ["crawl", *crawling(proxy, data / "data", [given.seed], BOTH, *more)]


def table(stopwatch: Stopwatch, begun: float, ended: float) -> str:
    """Return what each stage took a page, the longest first; ``begun`` and ``ended`` are of the main thread."""
    pages = stopwatch.calls[PAGE]
    taken = spent(stopwatch, begun, ended)
    lines = [_line(f"{pages} pages", ("ms a page", "calls", "us each", "share"))]
    whole = sum(taken.values())
    for stage, seconds in sorted(taken.items(), key=lambda entry: -entry[1]):
        calls = stopwatch.calls[stage]
        each = (f"{calls / pages:.2f}", f"{1e6 * seconds / calls:.1f}") if calls else ("", "")
        lines.append(_line(stage, (f"{1e3 * seconds / pages:.3f}", *each, f"{seconds / whole:.1%}")))
    lines.append(_line("all", (f"{1e3 * whole / pages:.3f}", "", "", "")))
    return "\n".join(lines)


def _line(stage: str, cells: Sequence[str]) -> str:
    return f"{stage:<40}" + "".join(f"{cell:>12}" for cell in cells)


if __name__ == "__main__":
    main()
