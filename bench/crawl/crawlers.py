"""The two crawlers: how each is started on the same seeds, and how its pages are counted."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

AGENT = "bench/1.0 (+mailto:bench@example.org)"
PREDICATES = ('science=category("Science")', 'music=category("Music")')
_HERE = Path(__file__).parent


class Crawler(Protocol):
    """A crawler that can be started again and again on one directory, and goes on where it was."""

    @property
    def name(self) -> str:
        """What the report calls it."""

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
    name: str = "Scrapy"

    def command(self, directory: Path, proxy: str) -> list[str]:
        """Return the command; the proxy is told by the environment."""
        return [
            str(self.python), "-m", "scrapy", "runspider", str(_HERE / "spider.py"),
            "-a", f"seeds={self.seeds}", "-s", f"JOBDIR={directory / 'job'}", "-s", f"USER_AGENT={AGENT}",
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
class Scentline:
    """Scentline with the learned policy and two predicates."""

    seeds: Path
    labels: Path
    name: str = "Scentline"

    def command(self, directory: Path, proxy: str) -> list[str]:
        """Return the command."""
        return [
            *_SCENTLINE, "crawl", "--data", str(directory / "data"), "--labels", str(self.labels),
            *_each("--predicate", PREDICATES), *_each("--seed", self.seeds.read_text().split()),
            *_each("--set", (f"fetch.proxy={proxy}", "fetch.delay_seconds=0", f"fetch.user_agent={AGENT}")),
        ]  # fmt: skip

    def environment(self, proxy: str) -> dict[str, str]:
        """Return an environment without settings of one's own."""
        return {name: value for name, value in os.environ.items() if not name.startswith("SCENTLINE_")}

    def kept(self, directory: Path) -> int:
        """Have the crawl audited, which recounts everything from the judged pages; each counts once."""
        audit = subprocess.run(  # noqa: S603 - this project's own command
            [*_SCENTLINE, "audit", "--json", "--data", str(directory / "data")],
            check=True, capture_output=True, text=True, cwd=directory, env=self.environment(""),
        )  # fmt: skip
        found = json.loads(audit.stdout.splitlines()[-1])
        if found["differences"] or found["judged_twice"]:
            raise AssertionError(f"the audit found differences: {found}")
        judged: int = found["judged"]
        return judged


_SCENTLINE = (sys.executable, "-c", "from agents.cli import main; main()")


def _each(option: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (option, value)]
