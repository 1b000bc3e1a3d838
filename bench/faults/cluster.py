"""A crawl on Kafka on this machine: a broker, the archived web, and workers for every role."""

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType

from bench.command import COMMAND
from bench.faults.crawl import Crawl
from bench.faults.workers import WorkerError, WorkerProcess
from deploy.kafka.broker import QUICK, Broker
from deploy.ports import free_port
from scentline.agents.offline.serve import ServerProcess
from scentline.agents.operate.control import known_predicates, submit
from scentline.agents.operate.requests import Redefinition, Seeds, State
from scentline.agents.operate.topics import lags
from scentline.streams.settings import load
from scentline.streams.topics import OUTCOMES
from scentline.streams.transport.kafka.admin import Admin

#: Seconds after which what does not come about has failed.
PATIENCE = 180.0
#: Seconds between two looks.
LOOK_SECONDS = 0.3
#: Looks in a row at which nothing may wait for the crawl to be at rest.
QUIET_LOOKS = 4
#: What the workers are told, so that a fault does not take minutes to get over.
SESSION_SECONDS, HEARTBEAT_SECONDS, LEASE_SECONDS = 6, 2, 20


class Cluster:
    """Everything that runs; ``layout`` has the roles of each worker by its name, ``more`` further settings."""

    def __init__(
        self,
        directory: Path,
        crawl: Crawl,
        layout: Mapping[str, Sequence[str]],
        partitions: int,
        more: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        self.directory = directory
        self.crawl = crawl
        self.broker = Broker(directory / "broker", free_port(), java=QUICK)
        self._layout = layout
        self._partitions = partitions
        self._more = more
        self._resources = ExitStack()
        self.workers: dict[str, WorkerProcess] = {}

    def __enter__(self) -> "Cluster":
        try:
            self._start()
        except BaseException:
            self._resources.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def _start(self) -> None:
        self.broker.start()
        self._resources.callback(self.broker.stop)
        web = self._resources.enter_context(ServerProcess.archive([self.crawl.pages]))
        config = self.directory / "crawl.toml"
        config.write_text(self._config(web.url), encoding="utf-8")
        self.options = ("--config", str(config))
        self.settings = load({"data": str(self.directory / "here")}, config_file=config, environ={}).settings
        self.run("topics", "create", *self.options)
        for name, roles in self._layout.items():
            self.workers[name] = WorkerProcess(name, roles, self.directory, self.options)
            self._resources.callback(self.workers[name].kill)
            self.workers[name].start()

    def _config(self, proxy: str) -> str:
        crawl = self.crawl
        values = {
            "broker": self.broker.address,
            "streams.partitions": self._partitions,
            "kafka.session_seconds": SESSION_SECONDS,
            "kafka.heartbeat_seconds": HEARTBEAT_SECONDS,
            "fetch.proxy": proxy,
            "fetch.delay_seconds": 2,  # the pages last for all faults
            "frontier.lease_seconds": LEASE_SECONDS,
            "judge.labels": str(crawl.labels),
        } | {f"predicates.{name}": expression for name, expression in crawl.predicates.items()}
        values |= self._more
        # What JSON makes of a string or a number is TOML too.
        return "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())

    # commands

    def run(self, *arguments: str) -> str:
        """Run a command to its end; return what it printed."""
        done = subprocess.run(  # noqa: S603 - no shell reads it
            [*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=PATIENCE,
            cwd=self.directory,
        )  # fmt: skip
        if done.returncode:
            raise WorkerError(
                f"scentline {' '.join(arguments)}: status {done.returncode}: {done.stderr[-2000:]}"
            )
        return done.stdout

    def seed(self) -> None:
        """Give the crawl its seeds."""
        submit(self.settings, Seeds(tuple(self.crawl.seeds)))

    def pause(self) -> None:
        """Have nothing more fetched, and wait until nothing is under way."""
        self._state("paused")
        self.wait("the crawl to come to rest", self._at_rest(), PATIENCE)

    def resume(self) -> None:
        """Have pages fetched again."""
        self._state("active")

    def _state(self, state: State) -> None:
        for name in known_predicates(self.settings):
            submit(self.settings, Redefinition(name, state=state))

    # where it stands

    def judged(self) -> int:
        """Return the outcomes that were written, repeats counted in."""
        with Admin(self.settings) as admin:
            return sum(admin.ends([(OUTCOMES.name, number) for number in range(self._partitions)]).values())

    def waiting(self) -> int:
        """Return the messages that wait for a role."""
        return sum(each.lag for each in lags(self.settings))

    def _at_rest(self) -> Callable[[], bool]:
        quiet, judged = 0, -1

        def look() -> bool:
            nonlocal quiet, judged
            now = self.judged()
            quiet = quiet + 1 if self.waiting() == 0 and now == judged else 0
            judged = now
            return quiet >= QUIET_LOOKS

        return look

    def wait(self, what: str, done: Callable[[], bool], seconds: float = PATIENCE) -> float:
        """Wait until something has come about; return the seconds. Raises `WorkerError` where it does not."""
        start = time.monotonic()
        while not done():
            if time.monotonic() > start + seconds:
                said = "\n".join(f"{worker.name}: {worker.said()[-600:]}" for worker in self.workers.values())
                raise WorkerError(
                    f"waited {seconds:.0f} s for {what}, in vain; {json.dumps(self._lag())}\n{said}"
                )
            time.sleep(LOOK_SECONDS)
        return time.monotonic() - start

    def _lag(self) -> dict[str, int]:
        return {f"{each.topic}/{each.partition}": each.lag for each in lags(self.settings) if each.lag}

    def wait_for_pages(self, pages: int) -> float:
        """Wait until so many more pages were judged; return the seconds."""
        goal = self.judged() + pages
        return self.wait(f"{pages} more pages", lambda: self.judged() >= goal)
