"""Predicates that are added, paused and removed between crawls: what is counted stays exact."""

from pathlib import Path
from typing import Any

import pytest

from scentline.agents.operate.control.command import submit
from scentline.agents.operate.control.requests import Redefinition
from scentline.agents.operate.inspect.record import judged_pages
from scentline.streams.published import Outcome
from scentline.streams.settings import Settings
from scentline.streams.transport.journal import Journal
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import last_line, printed
from tests.e2e.crawls import exact, options, write_labels

MUSIC = 'category("Music")'


@pytest.mark.parametrize("policy", ["learned", "combined"])
def test_predicates_that_come_pause_and_go_between_crawls_judge_what_they_should_and_counts_stay_exact(
    tmp_path: Path, web: SyntheticWeb, proxy: str, policy: str
) -> None:
    settings = Settings.model_validate({"data": tmp_path / "scentline-data", "frontier": {"policy": policy}})
    write_labels(tmp_path / "labels.tsv", web)
    given = {
        "fetch.proxy": proxy, "fetch.delay_seconds": 0, "streams.partitions": 3, "frontier.policy": policy,
        "frontier.explore": 0.1,
    }  # fmt: skip
    categories = dict(web.labels())
    command = (
        "crawl", "--seed", next(iter(categories)), "--labels", "labels.tsv", "--json",
        "--predicate", 'sports=category("Sports")', *options(given),
    )  # fmt: skip

    def crawl(budget: int) -> dict[str, dict[str, Any]]:
        """Crawl up to a budget; return the figures of each predicate."""
        found = last_line(printed(tmp_path, *command, "--budget", str(budget)))
        exact(tmp_path, "--set", f"frontier.policy={policy}", judged=budget)
        predicates: dict[str, dict[str, Any]] = found["predicates"]
        return predicates

    def pages() -> list[Outcome]:
        with Journal.open(settings.data / "journal", read_only=True) as journal:
            return sorted(judged_pages(journal).values(), key=lambda page: page.time)

    crawl(30)
    submit(settings, Redefinition("music", MUSIC, kept=True))
    submit(settings, Redefinition("new", MUSIC, share=2.0))
    found = crawl(60)
    hits = sum(categories[page.url].startswith("Music") for page in pages())
    assert (found["music"]["judged"], found["music"]["hits"]) == (60, hits), "as if it had been there"
    assert found["new"]["judged"] == 30
    submit(settings, Redefinition("sports", state="paused"))
    submit(settings, Redefinition("new", state="removed"))
    found = crawl(90)
    assert set(found) == {"sports", "music"}
    assert (found["sports"]["judged"], found["music"]["judged"]) == (90, 90), "one that is paused still judges"
    assert sum("new" in page.verdict for page in pages()) == 30
    assert {page.predicate for page in pages()[60:]} == {"music"}
