"""Two frontier workers pass a budget that was set by no more than what the other one has in flight.

They fetch nothing that was excluded.
"""

from pathlib import Path

import msgspec

from scentline.agents.operate.control.command import known_steering, submit
from scentline.agents.operate.control.requests import Budget, Exclude, Seeds
from scentline.agents.operate.topics import lags
from scentline.models.url import host
from scentline.streams.published import Limit, Outcome
from scentline.streams.settings import Settings
from scentline.streams.topics import OUTCOMES
from scentline.streams.transport.kafka.admin import kept
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.kafka.crawls import Crawl
from tests.patience import wait_for

WEB = (5, 8, 40, 2)  # seed, sites, pages a site, topics
PARTITIONS, WORKERS = 4, 2
BUDGET, WINDOW = 100, 8
#: Looks in a row that find the same, a quarter of a second apart: for longer than a fetch takes.
QUIET_LOOKS = 16


def hosts(settings: Settings) -> set[str]:
    """Return the hosts of the pages that were judged."""
    found = (entry for number in range(PARTITIONS) for entry in kept(settings, OUTCOMES.name, number))
    return {host(msgspec.json.decode(entry.value or b"", type=Outcome).url) for entry in found}


def test_two_workers_judge_as_many_pages_as_they_may_and_a_window_more_at_most(
    tmp_path: Path, empty_kafka: str
) -> None:
    values = {
        # Few pages are judged while a verdict is on its way through the learner.
        "fetch.delay_seconds": 0.5,
        "fetch.connections": WINDOW,
        "frontier.window_share": 1,
        "frontier.window_max": WINDOW,
        "predicates.menu": 'title("*")',
    }
    with (
        synthetic_server(*WEB) as server,
        Crawl(tmp_path, empty_kafka, PARTITIONS, {"fetch.proxy": server.url, **values}) as crawl,
    ):
        settings = crawl.settings
        seeds = tuple(SyntheticWeb(*WEB).seeds(8))
        excluded = host(seeds[0])
        submit(settings, Exclude(f"http://{excluded}/"))
        submit(settings, Budget(pages=BUDGET))
        for number in range(WORKERS):
            crawl.worker(f"worker-{number}", "all")
        submit(settings, Seeds(seeds))
        seen: list[int] = []

        def ended() -> bool:
            seen.append(crawl.ends(OUTCOMES.name))
            quiet = len(seen) >= QUIET_LOOKS and seen[-QUIET_LOOKS] == seen[-1] >= BUDGET
            return quiet and not any(each.lag for each in lags(settings))

        wait_for("the budget to be spent", ended)
        assert hosts(settings) and excluded not in hosts(settings)
        # Each worker told that the budget took the place of none.
        [limit] = [each for each in known_steering(settings).in_force if isinstance(each, Limit)]
        assert limit.setting == 0
    # What the learner had not told is a part of a window: the verdicts of pages that were just in flight.
    assert BUDGET <= seen[-1] <= BUDGET + 2 * WINDOW
