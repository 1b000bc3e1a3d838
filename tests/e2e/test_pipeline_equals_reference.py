"""Real crawls count what a recount finds, whatever predicates come and go between them."""

from pathlib import Path
from typing import Any

import pytest

from scentline.agents.operate.audit import audit
from scentline.agents.operate.control import submit
from scentline.agents.operate.record import judged_pages, read_ledger
from scentline.agents.operate.requests import Redefinition
from scentline.models.policy.features import split
from scentline.models.published import Outcome
from scentline.streams.settings import Settings
from scentline.streams.transport.journal import Journal
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import last_line, printed
from tests.agents.shards import table
from tests.agents.word_tables import write_words
from tests.e2e.crawls import crawl, exact, options, topics, write_labels, write_log

BUDGET = 100
#: Kinds of features that a crawl of pages and a log must have come across.
KINDS = {
    "linkage": {"base", "word", "token", "link"},
    "combined": {"base", "word", "token", "link", "user", "signature", "region"},
    "learned": {
        "base", "link", "user", "region", "page word", "anchor", "context", "heading", "URL word", "prefix",
        "subject",
    },
}  # fmt: skip
MUSIC = 'category("Music")'


@pytest.mark.parametrize("policy", KINDS)
def test_the_learners_counts_are_a_recounts(tmp_path: Path, web: SyntheticWeb, proxy: str, policy: str) -> None:
    first, *others = (f'category("{topic}")' for topic in topics(web)[:3])
    log = write_log(tmp_path / "access.log", web, users=20, accesses=300)
    words = write_words(tmp_path / "words.table", (url for url, _ in web.labels()))
    settings = Settings.model_validate({
        "data": tmp_path / "data",
        "predicates": {"first": first, "second": " or ".join(others)},
        "streams": {"partitions": 3},
        "fetch": {"proxy": proxy, "delay_seconds": 0.0},
        "judge": {"labels": str(write_labels(tmp_path / "labels.tsv", web))},
        "learn": {"semantic": str(words)} if policy == "learned" else {},
        "frontier": {
            "policy": policy, "budget": BUDGET, "parents": 3, "visitors": 5, "together": 16, "explore": 0.1,
        },
    })  # fmt: skip
    assert crawl(settings, web.seeds(2), [str(log)]) == BUDGET
    report = audit(settings)
    assert report.clean, report.examples
    assert report.judged == BUDGET
    with table(settings.data, "frontier") as parts:
        kinds = {split(feature).kind for feature, *_ in read_ledger(parts).items()}
    assert KINDS[policy] <= kinds
    assert ("subject" in kinds) == (policy == "learned")


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

    def crawled(budget: int) -> dict[str, dict[str, Any]]:
        found = last_line(printed(tmp_path, *command, "--budget", str(budget)))
        exact(tmp_path, "--set", f"frontier.policy={policy}", judged=budget)
        predicates: dict[str, dict[str, Any]] = found["predicates"]
        return predicates

    def pages() -> list[Outcome]:
        with Journal.open(settings.data / "journal", read_only=True) as journal:
            return sorted(judged_pages(journal).values(), key=lambda page: page.time)

    crawled(30)
    submit(settings, Redefinition("music", MUSIC, kept=True))
    submit(settings, Redefinition("new", MUSIC, share=2.0))
    found = crawled(60)
    hits = sum(categories[page.url].startswith("Music") for page in pages())
    assert (found["music"]["judged"], found["music"]["hits"]) == (60, hits), "as if it had been there"
    assert found["new"]["judged"] == 30
    submit(settings, Redefinition("sports", state="paused"))
    submit(settings, Redefinition("new", state="removed"))
    found = crawled(90)
    assert set(found) == {"sports", "music"}
    assert (found["sports"]["judged"], found["music"]["judged"]) == (90, 90), "one that is paused still judges"
    assert sum("new" in page.verdict for page in pages()) == 30
    assert {page.predicate for page in pages()[60:]} == {"music"}
