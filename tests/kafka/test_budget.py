"""Two frontier workers pass the budget by no more than what the other one has in flight."""

import json
from contextlib import ExitStack
from pathlib import Path

from agents.offline.process import ServerProcess
from agents.offline.synthetic.web import SyntheticWeb
from agents.operate.control.command import submit
from agents.operate.control.requests import Seeds
from agents.operate.topics.create import create
from agents.operate.topics.lag import lags
from bench.faults.workers import WorkerProcess
from streams.configuration import load
from streams.settings import Settings
from streams.topics import OUTCOMES
from streams.transport.kafka.admin import Admin
from tests.patience import wait_for

WEB = (5, 8, 40, 2)  # seed, sites, pages a site, topics
PARTITIONS, WORKERS = 4, 2
BUDGET, WINDOW = 100, 8
#: Looks in a row that find the same, a quarter of a second apart: for longer than a fetch takes.
QUIET_LOOKS = 16


def judged(settings: Settings) -> int:
    with Admin(settings) as admin:
        return sum(admin.ends((OUTCOMES.name, number) for number in range(PARTITIONS)).values())


def test_two_workers_judge_as_many_pages_as_they_may_and_a_window_more_at_most(
    tmp_path: Path, empty_kafka: str
) -> None:
    with ExitStack() as resources:
        server = resources.enter_context(ServerProcess.synthetic(*WEB))
        values = {
            "broker": empty_kafka,
            "streams.partitions": PARTITIONS,
            "fetch.proxy": server.url,
            # Few pages are judged while a verdict is on its way through the learner.
            "fetch.delay_seconds": 0.5,
            "fetch.connections": WINDOW,
            "frontier.window_share": 1,
            "frontier.window_max": WINDOW,
            "frontier.budget": BUDGET,
            "predicates.menu": 'title("*")',
        }
        config = tmp_path / "crawl.toml"
        config.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()))
        settings = load({}, config_file=config, environ={}).settings
        create(settings)
        for number in range(WORKERS):
            worker = WorkerProcess(f"worker-{number}", ("all",), tmp_path, ("--config", str(config)))
            resources.callback(worker.kill)
            worker.start()
        submit(settings, Seeds(tuple(SyntheticWeb(*WEB).seeds(8))))
        seen: list[int] = []

        def ended() -> bool:
            seen.append(judged(settings))
            quiet = len(seen) >= QUIET_LOOKS and seen[-QUIET_LOOKS] == seen[-1] >= BUDGET
            return quiet and not any(each.lag for each in lags(settings))

        wait_for("the budget to be spent", ended)
    # What the learner had not told is a part of a window: the verdicts of pages that were just in flight.
    assert BUDGET <= seen[-1] <= BUDGET + 2 * WINDOW
