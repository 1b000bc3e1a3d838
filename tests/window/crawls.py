"""A crawl of a hostile web that runs beside the tests: it is killed, started again, and told what to do."""

import subprocess
import time
from pathlib import Path
from typing import Self

from tests.agents.commands import COMMAND, environment, printed
from tests.patience import PATIENCE, wait_for
from tests.webs.hostile import SCRIPT, HostileWeb, address, log_lines

#: A predicate with hits, and one whose expression is hostile.
PREDICATES = {
    "hockey": '"ice hockey"',
    "hostile": f'url("{SCRIPT}") or url("<img src=x onerror=\'globalThis.hit=2\'>") or "gardens"',
}


class RunningCrawl:
    """A crawl in a process of its own, without an end; ``web`` counts what it is asked."""

    def __init__(self, directory: Path, web: HostileWeb) -> None:
        self.web = web
        self.data = directory / "data"
        self._errors = directory / "errors.txt"
        self._log = directory / "access.log"
        self._log.write_text("".join(f"{line}\n" for line in log_lines(time.time())), encoding="utf-8")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, or go on after it was killed; it has fetched something when this returns."""
        before = self.requests()
        predicates = [word for item in PREDICATES.items() for word in ("--predicate", "=".join(item))]
        with self._errors.open("ab") as errors:
            self._process = subprocess.Popen(
                [
                    *COMMAND, "crawl", "--data", str(self.data), "--log", str(self._log), "--follow",
                    "--seed", address(0, 0), *predicates, "--budget", "100000",
                    "--set", f"fetch.proxy={self.web.url}", "--set", "fetch.delay_seconds=0.5",
                    "--set", "frontier.retry_seconds=5",
                ],
                cwd=self.data.parent, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=errors,
            )  # fmt: skip
        wait_for("a request of the crawl", lambda: self._goes_on(before))

    def _goes_on(self, before: int) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._errors.read_text()
        return self.requests() > before

    def kill(self) -> None:
        """End it as a failing machine would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)
            self._process = None

    def requests(self) -> int:
        """Return how many requests the web has had."""
        return self.web.asked.total()

    def told(self, *arguments: str) -> str:
        """Run a command on its directory, and return what it prints."""
        return printed(self.data.parent, *arguments, "--data", str(self.data))
