"""A crawl on Kafka comes to the same counts as one on the embedded log."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from scentline.streams.settings import Settings
from scentline.streams.topics import INBOXES, OUTCOMES, declared, group_of
from scentline.streams.transport.kafka.admin import Admin
from scentline_lab.synthetic.serve import synthetic_server
from scentline_lab.synthetic.web import SyntheticWeb
from tests.agents.commands import last_line, printed, running, scentline
from tests.patience import wait_for
from tests.rubbish.measured import run
from tests.window.windows import entered

WEB = (5, 3, 30, 3)  # seed, sites, pages a site, topics
PARTITIONS = 2


@pytest.fixture(scope="module")
def proxy() -> Iterator[str]:
    with synthetic_server(*WEB) as server:
        yield server.url


def arguments(directory: Path, proxy: str) -> list[str]:
    """Return the options of a crawl of the whole web, with its log, that two predicates ask for."""
    web = SyntheticWeb(*WEB)
    (directory / "access.log").write_text("\n".join(web.access_log(users=10, accesses=150)) + "\n")
    (directory / "labels.tsv").write_text("".join(f"{url}\t{name}\n" for url, name in web.labels()))
    options = ["--log", "access.log", "--labels", "labels.tsv", "--json"]
    for seed in web.seeds(2):
        options += ["--seed", seed]
    for topic in sorted(web.facts().pages)[:2]:
        options += ["--predicate", f'{topic}=category("{topic}")']
    settings = [
        f"fetch.proxy={proxy}", "fetch.delay_seconds=0", f"streams.partitions={PARTITIONS}",
        "observe.user_key=the same on both",
        "frontier.evidence_share=1",  # which pages do not teach goes by the order in which they come
    ]  # fmt: skip
    return [*options, *(word for value in settings for word in ("--set", value))]


def counts(directory: Path, *command: str, first: str = "", seconds: float = 120) -> dict[str, object]:
    """Run a crawl to its end, after ``first``; return what it counted."""
    ended = run(directory, "crawl", *command, first=first, seconds=seconds)
    assert ended.status == 0, ended.err
    found = last_line(ended.out)
    return {name: found[name] for name in ("fetched", "failed", "refused", "candidates")} | {
        name: (predicate["hits"], predicate["judged"]) for name, predicate in found["predicates"].items()
    }


def test_a_crawl_of_a_whole_web_counts_the_same_on_both_logs(
    tmp_path: Path, proxy: str, empty_kafka: str
) -> None:
    options = arguments(tmp_path, proxy)
    embedded = counts(tmp_path, *options, "--data", "embedded")
    printed(tmp_path, "topics", "create", "--partitions", str(PARTITIONS), "--broker", empty_kafka)
    with entered(tmp_path / "window", "--broker", empty_kafka) as window:  # from before the crawl to its end
        kafka = counts(tmp_path, *options, "--data", "kafka", "--broker", empty_kafka)
        assert kafka == embedded
        assert kafka["candidates"] == 0
        audit = printed(tmp_path, "audit", "--data", "embedded", "--json")
        mirrored = ("audit", "--data", "window/mirror", "--json")
        wait_for("the mirror's end", lambda: scentline(tmp_path, *mirrored).stdout == audit, pause=2.0)
        shown = window.get("/api/crawl").json()
        assert [predicate["state"] for predicate in shown["predicates"]] == ["active", "active"]
    printed(tmp_path, "snapshot", "--broker", empty_kafka, "--data", "snapshot")
    assert printed(tmp_path, "audit", "--data", "snapshot", "--json") == audit
    refused = scentline(
        tmp_path, "snapshot", "--broker", empty_kafka, "--data", "other", "--set", "frontier.policy=linkage"
    )
    assert refused.returncode == 2
    assert "the crawl has the policy learned, the settings have linkage" in refused.stderr.splitlines()[-1]
    assert not (tmp_path / "other").exists()


def test_a_crawl_goes_on_from_a_snapshot_of_the_one_that_runs_and_another_of_that_kafka_hears_nothing(
    tmp_path: Path, proxy: str, empty_kafka: str
) -> None:
    options = arguments(tmp_path, proxy)
    del options[:2]  # the log: what was fed after the cut would have to be fed again
    options += ["--set", "kafka.prefix=two-"]
    slow = (*options, "--set", "fetch.delay_seconds=0.5", "--set", "frontier.lease_seconds=10")
    create = ("topics", "create", "--partitions", str(PARTITIONS), "--broker", empty_kafka)
    printed(tmp_path, *create)
    printed(tmp_path, *create, "--set", "kafka.prefix=two-")
    broker, other = (
        Settings.model_validate({"broker": empty_kafka, "kafka": {"prefix": prefix}}) for prefix in ("two-", "")
    )
    places = [(OUTCOMES.name, number) for number in range(PARTITIONS)]
    with running(tmp_path, "crawl", *slow, "--data", "kafka", "--broker", empty_kafka) as crawl:
        with Admin(broker) as admin:
            wait_for("pages", lambda: sum(admin.ends(places).values()) >= 10)
        printed(tmp_path, "snapshot", "--broker", empty_kafka, "--data", "today", "--set", "kafka.prefix=two-")
        assert crawl.poll() is None
        crawl.kill()
    everywhere = [(topic.name, number) for topic in declared(PARTITIONS) for number in range(topic.partitions)]
    with Admin(other) as admin:
        assert not any(admin.ends(everywhere).values())
        assert admin.members(map(group_of, INBOXES)) == {}
    said = scentline(tmp_path, "audit", "--data", "today").stderr
    assert said == "" or re.match(r"nothing was compared: \d+ messages are not absorbed yet", said), said
    ended = last_line(printed(tmp_path, "crawl", *slow, "--data", "today"))
    whole = last_line(printed(tmp_path, "crawl", *options, "--data", "embedded"))
    assert (ended["fetched"], ended["candidates"]) == (whole["fetched"], 0)
    found = last_line(printed(tmp_path, "audit", "--data", "today", "--json"))
    assert [found[name] for name in ("judged", "judged_twice", "lost", "differences")] == [
        whole["fetched"],
        0,
        0,
        0,
    ]
