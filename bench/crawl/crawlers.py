"""The crawlers: how each is started on the same seeds, and how its pages are counted."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

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


class Crawler(Protocol):
    """A crawler that can be started again and again on one directory, and goes on where it was."""

    @property
    def name(self) -> str:
        """What the report calls it."""

    @property
    def data(self) -> str | None:
        """Where Scentline's data directory lies below that of the crawl, None for others."""

    @property
    def pages(self) -> int | None:
        """After how many pages it ends, None where it takes all."""

    def command(self, directory: Path, proxy: str) -> list[str]:
        """Return the command that crawls, through ``proxy``, into ``directory``."""

    def environment(self, proxy: str) -> dict[str, str]:
        """Return the environment of the command."""

    def kept(self, directory: Path) -> int:
        """Return how many distinct pages its output holds."""


@dataclass(frozen=True)
class Scrapy:
    """Scrapy with JOBDIR: its queue and the requests it has seen are on disk."""

    python: Path
    seeds: Path
    pages: int | None
    name: str
    settings: dict[str, str]
    within: str
    data: None = None

    def command(self, directory: Path, proxy: str) -> list[str]:
        """Return the command; the proxy is told by the environment."""
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
class Crawlee:
    """Crawlee with its default storage: requests and items are files on disk, one each."""

    python: Path
    seeds: Path
    pages: int | None
    name: str = "Crawlee"
    data: None = None

    def command(self, directory: Path, proxy: str) -> list[str]:
        """Return the command; it writes below the current directory."""
        most = [] if self.pages is None else [str(self.pages)]
        return [str(self.python), str(_HERE / "crawlee_spider.py"), str(self.seeds), proxy, AGENT, *most]

    def environment(self, proxy: str) -> dict[str, str]:
        """Return this process's environment."""
        return dict(os.environ)

    def kept(self, directory: Path) -> int:
        """Count the items that can be read."""
        items = (directory / "storage" / "datasets" / "default").glob("[0-9]*.json")
        return len({json.loads(item.read_text())["url"] for item in items})


@dataclass(frozen=True)
class Scentline:
    """Scentline with a policy, predicates as NAME=EXPRESSION, and further ``settings``."""

    seeds: Path
    labels: Path | None
    pages: int | None
    name: str
    policy: str
    predicates: Sequence[str]
    delay: float = 0.0
    data: str = "data"
    settings: Sequence[str] = ()

    def command(self, directory: Path, proxy: str) -> list[str]:
        """Return the command."""
        labels = [] if self.labels is None else ["--labels", str(self.labels)]
        most = [] if self.pages is None else ["--budget", str(self.pages)]
        settings = each("--set", (f"fetch.delay_seconds={self.delay:g}", *self.settings))
        more = (*labels, *most, "--policy", self.policy, *settings)
        seeds = self.seeds.read_text().split()
        return [*COMMAND, "crawl", *crawling(proxy, directory / self.data, seeds, self.predicates, *more)]

    def environment(self, proxy: str) -> dict[str, str]:
        """Return an environment without settings of one's own."""
        return {name: value for name, value in os.environ.items() if not name.startswith("SCENTLINE_")}

    def kept(self, directory: Path) -> int:
        """Have the crawl audited, which recounts everything from the judged pages; each counts once."""
        audit = subprocess.run(  # noqa: S603 - this project's own command
            [*COMMAND, "audit", "--json", "--data", str(directory / self.data)],
            check=True, capture_output=True, text=True, cwd=directory, env=self.environment(""),
        )  # fmt: skip
        found = json.loads(audit.stdout.splitlines()[-1])
        if found["differences"] or found["judged_twice"]:
            raise AssertionError(f"the audit found differences: {found}")
        judged: int = found["judged"]
        return judged
