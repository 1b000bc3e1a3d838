"""The crawlers: how each is started on the same seeds, and how its pages are counted."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bench.command import AGENT, COMMAND, crawling, each

#: The predicates, as categories: on a common subject and on a rare one.
COMMON, RARE = "Science", "Music"
BOTH = tuple(f'{name.lower()}=category("{name}")' for name in (COMMON, RARE))
#: First in, first out, as Scrapy's FAQ has it for a crawl in breadth-first order, on its SQLite queues.
SQLITE = {
    "DEPTH_PRIORITY": "1",
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoSQLiteQueue",
    "SCHEDULER_START_DISK_QUEUE": "scrapy.squeues.PickleFifoSQLiteQueue",
}
_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Crawler:
    """A crawler that can be started again and again on one directory, and goes on where it was.

    ``name`` is what the report calls it; it ends after so many ``pages``, or takes all. ``data`` is where
    Scentline's data directory lies below that of the crawl, None for others.
    """

    seeds: Path
    pages: int | None
    name: str
    data: ClassVar[str | None] = None

    def command(self, directory: Path, proxy: str) -> list[str]:
        """Return the command that crawls, through ``proxy``, into ``directory``."""
        raise NotImplementedError

    def environment(self, proxy: str) -> dict[str, str]:
        """Return the environment of the command, without settings of one's own."""
        return {name: value for name, value in os.environ.items() if not name.startswith("SCENTLINE_")}

    def kept(self, directory: Path) -> int:
        """Return how many distinct pages its output holds."""
        raise NotImplementedError


@dataclass(frozen=True)
class Scrapy(Crawler):
    """Scrapy with JOBDIR: its queue, and the requests it has seen, are on disk."""

    python: Path
    settings: Mapping[str, str]
    within: str

    def command(self, directory: Path, proxy: str) -> list[str]:
        """Return the command."""
        settings = {**self.settings, "JOBDIR": str(directory / "job"), "USER_AGENT": AGENT}
        if self.pages is not None:
            settings["CLOSESPIDER_PAGECOUNT"] = str(self.pages)
        return [
            str(self.python), "-m", "scrapy", "runspider", str(_HERE / "spider.py"),
            "-a", f"seeds={self.seeds}", "-a", f"within={self.within}",
            *each("-s", [f"{name}={value}" for name, value in settings.items()]),
            "-o", f"{directory / 'items.jsonl'}",
        ]  # fmt: skip

    def environment(self, proxy: str) -> dict[str, str]:
        """Return an environment that names the proxy."""
        return {**os.environ, "http_proxy": proxy, "no_proxy": ""}

    def kept(self, directory: Path) -> int:
        """Count the items that were written whole."""
        items = (directory / "items.jsonl").read_text().splitlines()
        return len({json.loads(item)["url"] for item in items if item.endswith("}")})


@dataclass(frozen=True)
class Crawlee(Crawler):
    """Crawlee with its default storage: requests and items are files on disk, below the current directory."""

    python: Path

    def command(self, directory: Path, proxy: str) -> list[str]:
        """Return the command."""
        most = [] if self.pages is None else [str(self.pages)]
        return [str(self.python), str(_HERE / "crawlee_spider.py"), str(self.seeds), proxy, AGENT, *most]

    def kept(self, directory: Path) -> int:
        """Count the items that can be read."""
        items = (directory / "storage" / "datasets" / "default").glob("[0-9]*.json")
        return len({json.loads(item.read_text())["url"] for item in items})


@dataclass(frozen=True)
class Scentline(Crawler):
    """Scentline with a policy, predicates as NAME=EXPRESSION, and further ``settings``."""

    labels: Path | None
    policy: str
    predicates: Sequence[str]
    delay: float = 0.0
    settings: Sequence[str] = ()
    data: ClassVar[str | None] = "data"

    def command(self, directory: Path, proxy: str) -> list[str]:
        """Return the command."""
        labels = [] if self.labels is None else ["--labels", str(self.labels)]
        most = [] if self.pages is None else ["--budget", str(self.pages)]
        settings = each("--set", (f"fetch.delay_seconds={self.delay:g}", *self.settings))
        more = (*labels, *most, "--policy", self.policy, *settings)
        seeds = self.seeds.read_text().split()
        return [*COMMAND, "crawl", *crawling(proxy, directory / "data", seeds, self.predicates, *more)]

    def kept(self, directory: Path) -> int:
        """Have the crawl audited, which recounts everything from the judged pages; each counts once."""
        audit = subprocess.run(  # noqa: S603 - this project's own command
            [*COMMAND, "audit", "--json", "--data", str(directory / "data")],
            check=True, capture_output=True, text=True, cwd=directory, env=self.environment(""),
        )  # fmt: skip
        found = json.loads(audit.stdout.splitlines()[-1])
        if found["differences"] or found["judged_twice"]:
            raise AssertionError(f"the audit found differences: {found}")
        return int(found["judged"])
